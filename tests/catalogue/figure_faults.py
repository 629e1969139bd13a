"""What a reader of a figure stumbles over: long captions, long keys, texts that overlap."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

MOST_LINES, MOST_ENTRIES = 2, 8
#: Pixels at 100 dots an inch that two boxes may share: boxes of letters are larger than their ink.
SHARED = 1.5

#: Experiments whose figures do not keep a rule yet: the list may only shrink.
KNOWN = frozenset((Path(__file__).parent / "known_figures.txt").read_text().split())


def known_of(name: str) -> set[str]:
    """Rules that the figure of an experiment is known to break, as NAME:RULE."""
    return {line for line in KNOWN if line.startswith(f"{name}:")}


def shown(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text with the box around it, as one drawing of the figure puts it on the page."""
    found, draw = [], Text.draw

    def noted(text: Text, renderer: RendererBase) -> None:
        if text.get_visible() and text.get_text().strip():
            found.append((text.get_text().strip(), text.get_window_extent(renderer)))
        draw(text, renderer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        FigureCanvasAgg(figure).draw()
    return found


def overlaps(texts: list[tuple[str, Bbox]]) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes share more than a rim."""
    return [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(texts, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > SHARED and min(a.y1, b.y1) - max(a.y0, b.y0) > SHARED
    ]


def cut_off(texts: list[tuple[str, Bbox]], page: Bbox) -> list[str]:
    """Texts that leave the page."""
    return [
        words
        for words, box in texts
        if box.x0 < page.x0 - SHARED or box.x1 > page.x1 + SHARED
        or box.y0 < page.y0 - SHARED or box.y1 > page.y1 + SHARED
    ]  # fmt: skip


def entries(figure: Figure) -> list[int]:
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [len(legend.get_texts()) for legend in legends if legend is not None]


def faults(figure: Figure) -> dict[str, object]:
    """What breaks a rule, by the rule's name; empty where nothing does."""
    texts = shown(figure)
    found = {
        "caption": (figure.get_supxlabel() or "-" * (MOST_LINES + 1)).split("\n")[MOST_LINES:],
        "key": [n for n in entries(figure) if n > MOST_ENTRIES],
        "overlap": overlaps(texts),
        "cut": cut_off(texts, figure.bbox),
    }
    return {rule: breaks for rule, breaks in found.items() if breaks}
