"""Figures of a diagnosis draw what it says, on the axes given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gradfeat import figures
from reports.diagnosis_factory import DIAGNOSES, bikes, classes, hostile, noise

FIGURES = {
    "variance_parts": lambda found, ax: figures.variance_parts(found.shares, ax=ax),
    "degrees": lambda found, ax: figures.degrees(found.degrees, ax=ax),
    "curvature": lambda found, ax: figures.curvature(found.curvature, ax=ax),
    "loadings": lambda found, ax: figures.loadings(found.directions, 0, ax=ax),
}


def texts(ax) -> list[str]:
    return [t.get_text() for t in ax.texts]


@pytest.mark.parametrize("name", FIGURES)
class TestEveryFigure:
    def test_it_draws_on_the_axes_given_and_leaves_settings_alone(self, name):
        before, ax = dict(mpl.rcParams), Figure().add_subplot()
        assert FIGURES[name](bikes(), ax) is ax
        assert ax.has_data()
        assert ax.get_title(loc="left")
        assert ax.get_xlabel()
        assert dict(mpl.rcParams) == before

    def test_every_variant_can_be_drawn(self, name):
        for found in DIAGNOSES.values():
            if name != "loadings" or found.directions.number:
                FigureCanvasAgg(FIGURES[name](found, None).figure).draw()

    def test_names_are_never_mathematics(self, name):
        FigureCanvasAgg(FIGURES[name](hostile(), None).figure).draw()


def test_bars_are_the_shares_and_the_rest():
    ax = figures.variance_parts(bikes().shares)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.51, 0.11, 0.28, 0.10])
    assert texts(ax) == ["51 %", "11 %", "28 %", "10 %"]


def test_a_share_below_zero_is_drawn_as_none():
    ax = figures.variance_parts(noise().shares)
    assert [bar.get_width() for bar in ax.patches] == [0, 0, 0, 1]
    assert texts(ax)[:3] == ["no evidence"] * 3


def test_degrees_beyond_chance_have_their_own_mark():
    by_marker = {
        line.get_marker(): list(line.get_xdata()) for line in figures.degrees(bikes().degrees).lines
    }
    assert by_marker["D"] == [1, 2]
    assert by_marker["o"] == [3, 4]


def test_eigenvalues_beyond_the_threshold_have_their_own_mark():
    lines = {line.get_marker(): line for line in figures.curvature(bikes().curvature).lines}
    assert list(lines["D"].get_xdata()) == [1]
    assert len(lines["o"].get_xdata()) == 23


def test_a_spectrum_without_sign_has_one_threshold():
    count = [
        sum(line.get_linestyle() == "--" for line in figures.curvature(found.curvature).lines)
        for found in (bikes(), classes())
    ]
    assert count == [2, 1]


def test_loadings_are_sorted_by_size():
    found = bikes().directions
    widths = [bar.get_width() for bar in figures.loadings(found, 1).patches]
    assert widths == pytest.approx(sorted(found.loadings[:, 1], key=lambda v: -abs(v)))
    assert len(widths) == len(np.unique(widths))
