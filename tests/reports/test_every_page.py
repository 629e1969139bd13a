"""Every page, of a comparison or a diagnosis: well-formed, self-contained, accessible, the same."""

from __future__ import annotations

import re
from itertools import pairwise

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes

from gradfeat.drawing.style import axes_or_new, dress
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.interface.page import inline_svg
from reports.factory import VARIANTS
from reports.pages import PAGES, each, page_of, source


@pytest.mark.parametrize("name", each(PAGES))
class TestEveryPage:
    def test_tags_are_closed_in_order(self, name):
        assert page_of(name).crossed == []
        assert page_of(name).open == []

    def test_nothing_is_loaded_from_anywhere(self, name):
        for tag, attrs in page_of(name).tags:
            for key in ("src", "href", "srcset", "data", "action", "poster"):
                value = attrs.get(key) or ""
                assert value == "" or value.startswith(("#", "data:image/png")), (tag, value)
            assert tag not in {"script", "link", "iframe", "object", "embed"}
        assert not re.search(r"@import|url\((?!#)", source(name))
        assert "https://" not in source(name)
        assert "http://" not in source(name)

    def test_no_handler_runs(self, name):
        assert not [k for _, attrs in page_of(name).tags for k in attrs if k.startswith("on")]

    def test_ids_are_unique_and_references_resolve(self, name):
        ids = [attrs["id"] for _, attrs in page_of(name).tags if attrs.get("id")]
        assert len(ids) == len(set(ids))
        html = source(name)
        refs = re.findall(r'(?:url\(|href=")#([^)"]+)|aria-labelledby="([^"]+)"', html)
        assert {a or b for a, b in refs} <= set(ids)

    def test_headings_descend_without_gaps(self, name):
        levels = [int(t[1]) for t, _ in page_of(name).tags if re.fullmatch(r"h[1-6]", t)]
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))

    def test_language_viewport_and_alternative_texts(self, name):
        page = page_of(name)
        assert page.all("html") == [{"lang": "en"}]
        assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all(
            "meta"
        )
        for attrs in page.all("svg"):
            assert attrs["role"] == "img"
            assert len(attrs["aria-label"] or "") > 40
        assert len(page.all("figcaption")) == len(page.all("figure")) == len(page.all("svg"))

    def test_every_table_stands_in_a_scroll_wrapper(self, name):
        assert source(name).count("<table") == source(name).count('<div class="scroll"')


@pytest.mark.parametrize("name", ["three", "diagnosis of bikes"])
def test_the_same_results_give_the_same_bytes(name):
    draw, shown = PAGES[name]
    with mpl.rc_context({"font.size": 25, "axes.facecolor": "black", "svg.fonttype": "path"}):
        again = draw(shown)
    assert again == source(name)


def test_settings_of_matplotlib_stay():
    before = dict(mpl.rcParams)
    draw, shown = PAGES["streamed"]
    draw(shown)
    assert dict(mpl.rcParams) == before


def test_light_dark_and_print():
    html = source("regression")
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    for rule in ("default-src", "base-uri", "form-action"):
        assert f"{rule} 'none'" in html


def test_a_title_that_is_wider_than_its_figure_is_not_cut():
    def width(title: str) -> float:
        def draw(ax: Axes | None = None) -> Axes:
            return dress(axes_or_new(ax, 2.0), title)

        svg = str(inline_svg(CaptionedFigure("wide", draw, "A title.")))
        box = re.search(r'viewBox="0 0 ([\d.]+)', svg)
        assert box is not None
        return float(box[1])

    assert width("W" * 54) > width("short") + 30


def test_settings_stand_below_the_scores_and_not_in_their_lines():
    html = source("regression")
    scores, settings = html.index("Scores with 95 %"), html.index("Settings that were chosen")
    told = [m.settings for m in VARIANTS["regression"].methods if m.settings]
    key, value = next(iter(told[0].items()))
    assert scores < settings < html.index(f"{key} = {value}")
