"""Figures draw what the results say, on the axes given, and leave matplotlib's settings alone."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gradfeat import figures
from gradfeat.drawing import style
from gradfeat.figures.comparison import FAMILIES, comparison_figure, losses_figure
from gradfeat.figures.directions import direction_figure, eigenvalues_figure
from gradfeat.figures.projections import class_plane_figure, predicted_figure
from gradfeat.reports.words import columns_sentence
from gradfeat.table.results import Bars, ColumnLoss, Interval, MethodResult
from reports.factory import (
    HOSTILE,
    classification,
    first_step,
    hostile,
    one_column,
    regression,
    wide,
)
from reports.factory import with_failure as failing

BIKES, SPECIES = regression(300), classification(3, 300)


def drawn(bikes=BIKES, species=SPECIES):
    """Every figure as a function of `ax`."""
    found, kinds = bikes.directions, species.directions
    x, z = found.projections[:, 0], kinds.projections
    names = {"classes": species.classes, "target": species.target}
    y, p, c = bikes.y_true, bikes.y_pred, species.y_true
    return {
        "comparison": lambda ax: figures.comparison(bikes.methods, ax=ax),
        "eigenvalues": lambda ax: figures.eigenvalues(found, ax=ax),
        "direction": lambda ax: figures.direction(found, 0, ax=ax),
        "importances": lambda ax: figures.importances(found, ax=ax),
        "first_step": lambda ax: figures.first_step(bikes.first_step, ax=ax),
        "target_curve": lambda ax: figures.target_curve(x, y, target=bikes.target, ax=ax),
        "target_plane": lambda ax: figures.target_plane(
            found.projections, y, target=bikes.target, ax=ax
        ),
        "class_shares": lambda ax: figures.class_shares(z[:, 0], c, **names, ax=ax),
        "class_plane": lambda ax: figures.class_plane(z, c, **names, ax=ax),
        "predicted": lambda ax: figures.predicted(y, p, target=bikes.target, ax=ax),
        "confusion": lambda ax: figures.confusion(
            c, species.y_pred, classes=species.classes, ax=ax
        ),
    }


def texts(ax: Axes) -> list[str]:
    return [t.get_text() for t in ax.texts]


@pytest.mark.parametrize("name", drawn())
class TestEveryFigure:
    def test_it_draws_on_the_axes_given(self, name):
        ax = Figure().add_subplot()
        assert drawn()[name](ax) is ax
        assert ax.has_data()

    def test_it_makes_axes_outside_pyplot_when_none_are_given(self, name):
        before = pyplot.get_fignums()
        ax = drawn()[name](None)
        assert ax.has_data()
        assert pyplot.get_fignums() == before

    def test_it_has_a_title_and_axis_labels(self, name):
        ax = drawn()[name](None)
        assert ax.get_title(loc="left")
        assert ax.get_xlabel()
        assert ax.get_ylabel() or name in {"comparison", "direction", "importances", "first_step"}

    def test_it_leaves_global_settings_alone(self, name):
        before = dict(mpl.rcParams)
        drawn()[name](None)
        assert dict(mpl.rcParams) == before

    def test_names_are_never_mathematics(self, name):
        """`HOSTILE` holds two dollar signs around broken TeX: as mathematics it would raise."""
        ax = drawn(hostile(BIKES), hostile(SPECIES))[name](None)
        FigureCanvasAgg(ax.figure).draw()


class TestComparison:
    def test_methods_stand_in_the_order_of_their_scores(self):
        labels = [t for t in texts(figures.comparison(BIKES.methods)) if "(0." not in t]
        order = sorted(BIKES.methods, key=lambda m: -m.scores["R2"].estimate)
        assert labels == [style.short(m.label, 34) for m in order]

    def test_a_lower_error_is_better(self):
        ax = figures.comparison(BIKES.methods, score="RMSE")
        assert ax.get_xlabel() == "test RMSE (lower is better)"
        assert texts(ax)[0] == "Gradient-boosted trees"

    def test_the_point_is_at_the_estimate_with_the_mark_of_its_family(self):
        ax = figures.comparison(BIKES.methods)
        drawn = {
            (round(float(line.get_xdata()[0]), 9), line.get_marker(), line.get_color())
            for line in ax.lines
            if len(line.get_xdata()) == 1
        }
        marks = [(m.scores["R2"].estimate, FAMILIES[m.family]) for m in BIKES.methods]
        assert drawn == {(x, mark.marker, mark.color) for x, mark in marks}

    def test_the_line_of_the_best_fixed_method_runs_through_no_words(self):
        ax = figures.comparison(BIKES.methods)
        (guide,) = ax.collections
        FigureCanvasAgg(ax.figure).draw()
        to_axes = ax.transData.inverted()
        for text in ax.texts:
            low, high = to_axes.transform(text.get_window_extent())[:, 1]
            for segment in guide.get_segments():
                assert segment[:, 1].max() < low or segment[:, 1].min() > high

    def test_families_differ_in_colour_and_in_marker(self):
        marks = FAMILIES.values()
        assert len({m.color for m in marks}) == len({m.marker for m in marks}) == 3

    def test_a_failed_method_is_named_as_failed(self):
        lines = texts(figures.comparison(failing(BIKES).methods))
        assert "Kernel ridge (Laplace) could not be fitted" in lines

    def test_an_unknown_interval_draws_the_point_alone(self):
        nan = float("nan")
        method = MethodResult("a", "A", "fixed", {"R2": Interval(0.5, nan, nan)}, 1, 9, {})
        assert texts(figures.comparison([method])) == ["A", "0.500"]

    def test_a_useless_method_does_not_squeeze_the_others(self):
        bad = replace(BIKES.methods[0], scores={"R2": Interval(-40.0, -50.0, -30.0)})
        ax = figures.comparison([bad, *BIKES.methods[1:]])
        assert ax.get_xlim()[0] > -0.2
        assert "−40.00  (−50.00 to −30.00)" in texts(ax)

    def test_nothing_but_failures_still_draws(self):
        lost = [replace(m, scores={}, error="no") for m in BIKES.methods]
        assert texts(figures.comparison(lost)) == ["7 methods could not be fitted"]
        assert texts(figures.comparison(lost[:1])) == ["Linear (ridge) could not be fitted"]


class TestDirections:
    def test_the_line_is_at_the_number_of_effective_directions(self):
        ax = figures.eigenvalues(BIKES.directions)
        assert any(np.allclose(line.get_xdata(), 3.5) for line in ax.lines)
        assert texts(ax) == ["3 effective directions"]

    def test_unknown_bands_leave_the_eigenvalues(self):
        empty = np.full(12, np.nan)
        unknown = Interval(float("nan"), float("nan"), float("nan"))
        found = replace(
            BIKES.directions, eigenvalues_low=empty, eigenvalues_high=empty, n_effective=unknown
        )
        ax = figures.eigenvalues(found)
        assert texts(ax) == []
        assert [b.get_height() for b in ax.patches] == pytest.approx(found.eigenvalues)

    def test_twelve_bars_and_the_sum_of_the_rest(self):
        found = wide(BIKES).directions
        ax, values = figures.importances(found), found.importances
        widths = [bar.get_width() for bar in ax.patches]
        assert len(widths) == 13
        assert sum(widths) == pytest.approx(values.sum())  # rounding of 100 terms
        assert abs(widths[0]) == pytest.approx(np.abs(values).max())
        assert ax.get_yticklabels()[-1].get_text() == "sum of 88 others"

    def test_the_rest_of_a_direction_has_a_size_and_no_sign(self):
        found = wide(BIKES).directions
        ax, values = figures.direction(found, 1), found.bars.weights[:, 1]
        widths = np.array([bar.get_width() for bar in ax.patches])
        assert len(widths) == 13
        assert abs(widths[0]) == pytest.approx(np.abs(values).max())
        assert (widths**2).sum() == pytest.approx((values**2).sum())  # rounding of 100 terms
        assert widths[-1] > 0
        assert ax.get_yticklabels()[-1].get_text() == "88 others together"
        assert not [t for t in texts(ax)[-1:] if t.startswith(("+", "−"))]

    def test_texts_have_bars_without_a_sign(self):
        bars = Bars(("a", "note"), np.array([[-0.6], [0.8]]), (True, False))
        found = replace(BIKES.directions, bars=bars)
        assert texts(figures.direction(found)) == ["0.80", "−0.60"]
        assert (
            "Grey: texts, hours and weekdays, of a size without sign."
            in direction_figure(found, 0).caption
        )
        assert "note (0.80) and a (−0.60)" in direction_figure(found, 0).caption

    def test_losses_are_drawn_with_intervals_by_columns_that_were_shuffled_together(self):
        found = BIKES.importances
        ax = figures.losses(found)
        assert len(ax.patches) == len(found.losses)
        assert ax.patches[0].get_width() == found.losses[0].loss.estimate
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert names[:2] == ["hr", "temp with atemp"]
        many = figures.losses(wide(BIKES).importances)
        assert len(many.patches) == 12
        assert not [t for t in many.get_yticklabels() if "more" in t.get_text()]

    def test_what_costs_more_but_is_not_told_is_said(self):
        """The first row, the caption and the sentence of the answer name the same column."""
        lost = (
            ColumnLoss(("SEX",), Interval(0.05, 0.01, 0.09)),
            ColumnLoss((*"abcd",), Interval(0.06, 0.02, 0.09), rest=True),
            ColumnLoss(("ID",), Interval(0.07, -0.02, 0.16)),
        )
        found = replace(BIKES.importances, losses=lost)
        report = replace(BIKES, importances=found)
        said = losses_figure(found, "Boosting").caption
        for words in (said, columns_sentence(report, found)):
            assert "needs SEX most" in words
            assert "ID may cost more (0.070), but its interval holds 0" in words
            assert "a with b and 2 more, for which there was no time apart, cost 0.060" in words
        assert figures.losses(found).get_yticklabels()[0].get_text() == "SEX"

    def test_one_column(self):
        found = one_column(BIKES).directions
        assert len(figures.direction(found).patches) == 1
        assert figures.eigenvalues(found).has_data()


class TestLargeNumbers:
    """No offset such as 1e6 apart from the ticks, where it would lie on the legend."""

    @pytest.mark.parametrize(("scale", "word"), [(1e6, "M"), (1e-8, "e−8")])
    def test_ticks_have_their_unit(self, scale, word):
        z = BIKES.directions.projections
        y, p = BIKES.y_true * scale, BIKES.y_pred * scale
        for ax in (
            figures.target_curve(z[:, 0], y),
            figures.predicted(y, p),
            figures.target_plane(z, y),
        ):
            ax.figure.draw_without_rendering()
            offsets = [side.yaxis.get_offset_text().get_text() for side in ax.figure.axes]
            assert not any(offsets)
            last = ax.figure.axes[-1]
            assert last.get_yticklabels()[-1].get_text().endswith(word)


def test_classes_of_few_test_rows_are_not_called_far_apart():
    z = np.array([[0.0, 0.0]] * 20 + [[1.0, 0.0]] * 20 + [[9.0, 0.0]])
    names, y = ("a", "b", "rare"), np.repeat([0, 1, 2], [20, 20, 1])
    assert "a and b lie furthest apart: 1.00" in class_plane_figure(z, y, names, "kind").caption
    few = class_plane_figure(z[19:21], y[19:21], names, "kind").caption
    assert "apart" not in few
    assert "10 test rows" in few


class TestFirstStep:
    def test_bars_are_masses_with_their_intervals_and_p(self):
        found = BIKES.first_step
        ax = figures.first_step(found)
        widths = [bar.get_width() for bar in ax.patches]
        assert widths == pytest.approx([m.estimate for m in found.mass])
        ends = [np.asarray(line.get_xdata()).tolist() for line in ax.lines]
        assert ends[:2] == [[m.low, m.high] for m in found.mass]
        assert ends[2] == [0.02, 0.02]
        assert ax.get_xlim()[1] > max(m.high for m in found.mass)

    def test_the_largest_weights_name_a_direction(self):
        found = BIKES.first_step
        at = int(np.abs(found.folded[:, 1]).argmax())
        assert any(
            t.startswith(f"2: {found.columns[at]} +0.") for t in texts(figures.first_step(found))
        )

    def test_columns_of_a_direction_without_the_sum_of_the_rest(self):
        found = wide(BIKES).first_step
        weights = found.folded[:, 0]
        ax = figures.column_weights(found.columns, weights, "Direction 1")
        assert len(ax.patches) == 12
        assert abs(ax.patches[0].get_width()) == pytest.approx(np.abs(weights).max())
        assert "12 largest of 100" in ax.get_xlabel()
        assert "largest" not in figures.column_weights(("a",), np.ones(1), "One").get_xlabel()

    def test_the_first_eight_of_many(self):
        columns = BIKES.first_step.columns
        assert len(figures.first_step(first_step(columns, 12)).patches) == 8
        assert figures.first_step(first_step(columns, 0)).get_xlim()[1] == pytest.approx(0.105)


class TestTargets:
    def test_a_projection_without_values_still_draws(self):
        nothing = np.full(300, np.nan)
        assert figures.target_curve(nothing, BIKES.y_true).get_ylabel() == "target"
        codes = {"classes": SPECIES.classes}
        assert figures.class_shares(nothing, SPECIES.y_true, **codes).get_title(loc="left")

    def test_class_shares_sum_to_one(self):
        z, y = SPECIES.directions.projections[:, 0], SPECIES.y_true
        ax = figures.class_shares(z, y, classes=SPECIES.classes)
        total = sum(np.asarray(line.get_ydata()) for line in ax.lines)
        assert total == pytest.approx(1)

    def test_classes_differ_in_colour_and_marker_together(self):
        marks = style.class_marks(tuple(map(str, range(56))))
        assert len({(m.color, m.marker) for m in marks}) == 56
        assert len({m.color for m in marks[:7]}) == len({m.marker for m in marks[:7]}) == 7

    def test_r2_is_of_all_rows(self):
        y = np.linspace(0, 1, 50)
        p = y.copy()
        p[3] = np.nan
        assert "R² = 1.000" in texts(figures.predicted(y, p))

    @pytest.mark.parametrize("k", [1, 2, 6, 7, 20])
    def test_the_confusion_matrix_shows_row_percentages(self, k):
        report = classification(k, 900)
        ax = figures.confusion(report.y_true, report.y_pred, classes=report.classes)
        shares = np.array([cell.get_alpha() for cell in ax.patches]).reshape(k, k)
        assert shares.sum(axis=1) == pytest.approx(1)
        assert any(f"{100 * shares[0, 0]:.0f}" in text for text in texts(ax))

    def test_too_many_classes_for_a_matrix(self):
        report = classification(21, 900)
        with pytest.raises(ValueError, match="21 classes were given and at most 20"):
            figures.confusion(report.y_true, report.y_pred, classes=report.classes)


#: A score just below one, with its ends.
ENDS = (0.99999, 0.999985, 0.999992)


class TestNames:
    def test_labels_of_bars_are_wrapped_and_not_cut(self):
        name = "flipper_length_mm_measured_on_the_left_side"
        lines = style.wrapped(name, 22).split("\n")
        assert "".join(lines) == name
        assert max(map(len, lines)) <= 23

    def test_axes_have_no_offset(self):
        rows = [MethodResult("kernel", "Kernel", "fixed", {"R2": Interval(*ENDS)}, 0.1, 9, {})]
        ax = figures.comparison(rows)
        ax.figure.draw_without_rendering()
        assert ax.xaxis.get_offset_text().get_text() == ""
        assert all(label.get_text().startswith("0.9999") for label in ax.get_xticklabels())

    def test_long_names_are_cut_in_the_middle(self):
        cut = style.short("x" * 50 + "_end", 20)
        assert len(cut) == 20
        assert cut.endswith("_end")

    def test_what_cannot_be_printed_is_replaced(self):
        assert "\x07" not in style.short(HOSTILE, 200)
        assert style.short(" \n ") == "(no name)"


class TestCaptions:
    def test_bands_and_lines_that_are_not_drawn_are_not_spoken_of(self):
        found = BIKES.directions
        assert "dark line its 95 % bootstrap" in eigenvalues_figure(found).caption
        assert "left of the orange line, is 3 (95 %" in eigenvalues_figure(found).caption
        same = replace(found, n_effective=Interval(2.0, 2.0, 2.0))
        assert eigenvalues_figure(same).caption.endswith("left of the orange line, is 2.")
        nan = float("nan")
        empty = np.full(12, nan)
        unknown = replace(found, eigenvalues_low=empty, eigenvalues_high=empty)
        caption = eigenvalues_figure(replace(unknown, n_effective=Interval(nan, nan, nan))).caption
        assert "bootstrap" not in caption
        assert "the number of effective directions is –." in caption

    def test_intervals_that_are_not_known_are_not_spoken_of(self):
        nan = float("nan")
        methods = [replace(m, scores={"R2": Interval(0.5, nan, nan)}) for m in BIKES.methods]
        caption = comparison_figure(replace(BIKES, methods=tuple(methods))).caption
        assert "bar" not in caption
        assert "the bar its 95 % interval." in comparison_figure(BIKES).caption

    def test_a_figure_draws_the_plot_that_it_speaks_of(self):
        figure = predicted_figure(BIKES)
        assert figure.draw().get_ylabel() == "predicted log1p(bikers)"
        r2 = next(text for text in texts(figure.draw()) if text.startswith("R² = "))
        assert f"reaches R2 {r2.removeprefix('R² = ')};" in figure.caption

    def test_names_over_a_bar_end_before_its_number(self):
        columns = tuple(f"a_long_name_of_{i}" for i in range(6))
        even = replace(first_step(columns, 1), folded=np.full((6, 1), 6**-0.5))
        (name,) = [text for text in texts(figures.first_step(even)) if text.startswith("1: ")]
        assert name.count("+0.41") == 2
