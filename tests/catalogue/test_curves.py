"""Points of a metric and laws through them, as figures of the catalogue draw them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gradfeat.catalogue.shared.curves import draw_metric, law_line
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.style import Mark

MARK = Mark("rows", "#000000", "o")


@pytest.fixture
def ax():
    return panels(1)[1][0]


def test_rows_without_the_metric_are_left_out(ax):
    rows = pd.DataFrame({"d": [10, 10, 20], "seed": [0, 1, 0], "needed": [3.0, 5.0, np.nan]})
    found = draw_metric(ax, rows, "d", "needed", MARK, connect=True)
    assert found is not None
    assert (found.x.tolist(), found.mean.tolist()) == ([10], [4.0])
    assert len(ax.lines) == 4  # a point, two caps of its interval, a pale line


def test_nothing_is_drawn_or_named_where_no_row_has_the_metric(ax):
    rows = pd.DataFrame({"d": [10], "seed": [0], "needed": [np.nan]})
    assert draw_metric(ax, rows, "d", "needed", MARK) is None
    assert draw_metric(ax, rows.iloc[:0], "d", "needed", MARK) is None
    assert ax.get_legend_handles_labels() == ([], [])
    assert not ax.lines


def test_a_law_stands_at_the_height_of_the_points(ax):
    rows = pd.DataFrame({"d": [10, 20, 40], "seed": [0, 0, 0], "needed": [300.0, 1200.0, 4800.0]})
    found = draw_metric(ax, rows, "d", "needed", MARK)
    assert found is not None
    law_line(ax, found, lambda d: d**2, "d squared", "#000000")
    x, y = ax.lines[-1].get_data()
    assert (x[0], x[-1]) == pytest.approx((10, 40))
    assert np.asarray(y) == pytest.approx(3 * np.asarray(x) ** 2)
    assert finished([ax], "Words.") is ax.figure


def test_a_law_is_not_drawn_through_one_point(ax):
    rows = pd.DataFrame({"d": [10, 10], "seed": [0, 1], "needed": [300.0, 400.0]})
    found = draw_metric(ax, rows, "d", "needed", MARK)
    assert found is not None
    before = len(ax.lines)
    law_line(ax, found, lambda d: d**2, "d squared", "#000000")
    assert len(ax.lines) == before
