"""The pages of all made-up reports and diagnoses, taken apart for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from gradfeat.interface.page import page
from gradfeat.reports import diagnosis_contents, fit_contents
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.results import FitReport
from reports.diagnosis_factory import DIAGNOSES
from reports.factory import VARIANTS

VOID = {"meta", "br", "hr", "img", "input", "link"}


@dataclass
class Page(HTMLParser):
    """Tags with their attributes, visible text, and whether tags close in order."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def parse(html: str) -> Page:
    parsed = Page()
    parsed.feed(html)
    parsed.close()
    return parsed


def render(report: FitReport) -> str:
    return page("report.html.j2", fit_contents(report))


def render_diagnosis(found: DiagnosisReport) -> str:
    return page("diagnosis.html.j2", diagnosis_contents(found))


def plain(report: FitReport) -> str:
    """A page without its figures, which take nearly all of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradfeat.interface.page.inline_svg", lambda figure: figure.caption)
        return render(report)


def words(report: FitReport) -> str:
    """The text of a page without its figures."""
    return parse(plain(report)).text


#: By a name: what renders, and what is rendered.
PAGES = {name: (render, report) for name, report in VARIANTS.items()} | {
    f"diagnosis of {name}": (render_diagnosis, found) for name, found in DIAGNOSES.items()
}


#: Pages of which each part stands on another one too: drawn in `make test-all`.
LIKE_OTHERS = ("tiny", "one-column-classes")


def each(names: Iterable[str]) -> list[Any]:
    """A case a page, those that are like others slow."""
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in LIKE_OTHERS)) for n in names]


@cache
def source(name: str) -> str:
    draw, shown = PAGES[name]
    return draw(shown)


@cache
def page_of(name: str) -> Page:
    return parse(source(name))


def squeezed(text: str) -> str:
    return " ".join(text.replace("\x07", "\ufffd").split())
