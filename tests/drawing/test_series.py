"""Means and intervals over seeds, and the strokes that show them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import t

from catalogue.figure_faults import overlaps, shown
from gradfeat.catalogue.shared.curves import metric_series
from gradfeat.drawing import style
from gradfeat.drawing.panels import caption, finished, panels, shared_key
from gradfeat.drawing.series import Series, level, line, points, summary
from gradfeat.maths.interval_ends import interval_ends

CELLS = DataFrame(
    {
        "n": [20, 10, 10, 10, 10, 20],
        "model": ["ntk", "net", "net", "net", "ntk", "net"],
        "accuracy": [0.7, 0.8, 0.9, 0.94, 0.6, np.nan],
    }
)


MARKS = dict(zip(("ntk", "net"), style.class_marks(("ntk", "net")), strict=True))


def _series(model: str) -> Series:
    return metric_series(CELLS[CELLS["model"] == model], "n", "accuracy", MARKS[model])


def test_the_interval_is_student_s():
    gains = CELLS.assign(accuracy=CELLS["accuracy"] - 0.85)
    found = summary(gains[gains["model"] == "net"], "n", "accuracy")
    inside = t.interval(0.95, 2, loc=0.03, scale=np.std([0.8, 0.9, 0.94], ddof=1) / 3**0.5)
    assert found.columns.tolist() == ["n", "mean", "low", "high", "seeds"]
    assert found[["low", "high"]].to_numpy()[0] == pytest.approx(inside)
    assert found["seeds"].tolist() == [3]  # a cell of nan alone is no point


@pytest.mark.parametrize("values", [[0.8, 0.9, 1.0], [0.0, 0.001, 0.2], [1.0, 1.0, 1.0]])
def test_an_interval_of_shares_stays_within_0_and_1(values):
    found = summary(DataFrame({"n": 10, "accuracy": values}), "n", "accuracy").iloc[0]
    assert 0 <= found["low"] <= found["mean"] <= found["high"] <= 1


def test_an_interval_of_positive_values_is_positive_and_that_of_others_is_not():
    losses = DataFrame({"n": 10, "loss": [0.01, 0.02, 9.0]})
    assert summary(losses, "n", "loss").iloc[0]["low"] > 0
    assert summary(losses.assign(loss=losses["loss"] - 0.02), "n", "loss").iloc[0]["low"] < 0


def test_ends_that_are_close_agree_with_the_plain_interval_on_every_scale():
    for within in ((0.2, 0.9), (0.2, 2.0), (-1.0, 2.0)):
        low, high = interval_ends([0.5], [1e-4], *within)
        assert (low[0], high[0]) == pytest.approx((0.4999, 0.5001), rel=1e-7)


def test_one_seed_has_a_mean_and_no_interval():
    row = summary(CELLS[CELLS["model"] == "ntk"], "n", "accuracy").iloc[0]
    assert (row["n"], row["mean"], row["seeds"]) == (10, 0.6, 1)
    assert np.isnan([row["low"], row["high"]]).all()


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match="no column 'width'; name one of these: n, model, acc"):
        summary(CELLS, "width", "accuracy")


def test_points_have_markers_and_bars_that_end_at_the_interval():
    (ax,) = panels(1)[1]
    net = _series("net")
    dots, caps, (bars,) = points(ax, net)
    assert dots.get_linestyle() == "None"
    assert dots.get_marker() == net.mark.marker
    ends = bars.get_segments()[0][:, 1]
    assert ends == pytest.approx([net.low[0], net.high[0]])
    assert len(caps) == 2
    assert ax.get_lines()[0].get_linestyle() != "-"


def test_connected_points_have_one_line_more():
    one, two = panels(2)[1]
    net = _series("net")
    points(one, net)
    points(two, net, connect=True)
    assert len(two.get_lines()) == len(one.get_lines()) + 1


def test_a_shift_moves_ink_and_not_the_limits():
    one, two = panels(2)[1]
    ntk = _series("ntk")
    still, moved = points(one, ntk)[0], points(two, ntk, shift=7.2)[0]
    assert one.get_xlim() == two.get_xlim()
    for ax in (one, two):
        ax.set_position((0, 0, 1, 1))
    at = [d.get_transform().transform((10, 0.6)) for d in (still, moved)]
    assert at[1] - at[0] == pytest.approx([0.1 * one.figure.dpi, 0])  # 7.2 of 72 points an inch


def test_theory_has_no_marker_and_lies_behind_the_points():
    (ax,) = panels(1)[1]
    drawn = line(ax, np.array([1.0, 2.0]), np.array([0.5, 0.6]), "theory", "#000000")
    dots = points(ax, _series("ntk"))[0]
    assert (drawn.get_marker(), drawn.get_linestyle()) == ("None", "-")
    assert drawn.get_zorder() < dots.get_zorder()


def test_theory_at_one_place_is_a_dash_wider_than_a_point():
    (ax,) = panels(1)[1]
    drawn = line(ax, np.array([2.0]), np.array([0.5]), "theory", "#000000")
    assert (drawn.get_marker(), drawn.get_markersize() > 15) == ("_", True)


def test_a_level_is_named_inside_the_axes_above_or_below_it():
    figure, (ax,) = panels(1)
    ax.set_ylim(0, 1)
    level(ax, 0.5, "half")
    level(ax, 0.5, "below", below=True)
    figure.draw_without_rendering()
    frame, line_at = ax.get_window_extent(), ax.transData.transform((0, 0.5))[1]
    above, under = (text.get_window_extent() for text in ax.texts)
    assert under.y1 < line_at < above.y0 + 1  # one pixel: descent of the letters
    assert all(frame.x0 < box.x0 < box.x1 < frame.x1 for box in (above, under))


def test_the_shared_key_has_each_label_once_points_first():
    figure, axes = panels(3, columns=2)
    for ax in axes:
        line(ax, np.array([10.0, 20.0]), np.array([0.5, 0.6]), "theory", "#000000")
        points(ax, _series("ntk"))
    shared_key(figure, axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ntk", "theory"]


def test_words_and_key_leave_the_axes_alone():
    figure, axes = panels(2)
    for ax in axes:
        points(ax, _series("ntk"))
    shared_key(figure, axes)
    caption(figure, "word " * 60)
    figure.draw_without_rendering()
    words = figure.get_supxlabel()
    assert max(map(len, words.splitlines())) <= 14 * 6.8
    under = figure.texts[0].get_window_extent()
    key = figure.legends[0].get_window_extent()
    assert under.x1 < figure.bbox.x1
    for ax in axes:
        box = ax.get_tightbbox()
        assert box is not None
        assert under.y1 <= box.y0
        assert box.y1 <= key.y0


def test_no_panels_are_refused():
    with pytest.raises(ValueError, match="0 panels in 3 columns"):
        panels(0)
    assert isinstance(panels(5, columns=9)[0], Figure)


def test_a_number_and_its_percent_sign_stay_on_one_line():
    figure, _ = panels(1)
    for letters in range(60, 80):
        caption(figure, "w" * letters + " with 95 % intervals")
        assert "95\xa0%" in figure.get_supxlabel()


@pytest.mark.parametrize("levels", [[1.0, 2.0], [1.0, 1.0], [1.0, 1.5, 2.0], [1.0, 40.0, 41.0]])
@pytest.mark.parametrize("below", [True, False])
def test_names_of_levels_that_lie_close_do_not_meet(levels, below):
    """As where two seeds have intervals 40 times as long as what the levels differ by."""
    _, (ax,) = panels(1)
    ax.set_ylim(-50, 100)
    for y in levels:
        level(ax, y, f"level {y:g}", below=below)
    drawn = finished([ax], "Levels.")
    assert overlaps(shown(drawn)) == []
    places = {words: box.y0 for words, box in shown(drawn) if words.startswith("level")}
    assert len(places) == len({*levels})
    assert [*places.values()] == sorted(places.values())


def test_names_of_levels_that_lie_apart_stay_where_they_are():
    _, (ax,) = panels(1)
    ax.set_ylim(0, 3)
    for y in (1.0, 2.0):
        level(ax, y, f"level {y:g}", below=True)
    finished([ax], "Levels.")
    assert {text.get_verticalalignment() for text in ax.texts} == {"top"}
