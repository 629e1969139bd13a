"""Numbers behind the figures, against other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, r2_score

from gradfeat.drawing.style import (
    MAX_POINTS,
    bin_labels,
    binned,
    class_codes,
    drawn_rows,
    explained,
    inner_limits,
    wilson,
)
from gradfeat.figures.comparison import span
from gradfeat.figures.confusion import confusion_counts
from gradfeat.table.results import Interval


def test_every_finite_row_is_drawn_up_to_the_limit():
    y = np.arange(20_000.0)
    y[5] = np.nan
    rows = drawn_rows(y)
    assert len(set(rows.tolist())) == len(rows) == MAX_POINTS
    assert 5 not in rows
    assert np.array_equal(rows, drawn_rows(y))
    assert drawn_rows(y[:10]).tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_bins_hold_the_means_of_their_points():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1_000))
    bins = binned(x, y)
    assert bins.counts.sum() == 1_000
    assert len(bins.x) == 24
    assert (bins.counts * bins.mean).sum() / 1_000 == pytest.approx(y.mean())
    group = y[bin_labels(x) == 3]
    half = 1.96 * group.std(ddof=1) / len(group) ** 0.5
    assert bins.high[3] - bins.mean[3] == pytest.approx(half)
    assert bins.q90[3] == pytest.approx(np.quantile(group, 0.9))


@pytest.mark.parametrize("x", [np.zeros(100), np.repeat([0.0, 1.0], 50), np.array([2.0])])
def test_equal_values_share_a_bin(x):
    labels = bin_labels(x)
    assert len(np.unique(labels)) == labels.max() + 1 == len(np.unique(x))
    assert np.isfinite(binned(x, x).high).all()


def test_wilson_agrees_with_scipy():
    low, high = wilson(np.array([0.03]), np.array([100]))
    reference = binomtest(3, 100).proportion_ci(0.95, method="wilson")
    # 1.96 stands for 1.959964: relative difference 2e-5 of the half width
    assert (low[0], high[0]) == pytest.approx(tuple(reference), abs=1e-5)


def test_r2_and_confusion_agree_with_sklearn():
    rng = np.random.default_rng(0)
    y, p = rng.standard_normal((2, 50))
    assert explained(y, p) == pytest.approx(r2_score(y, p))
    assert np.isnan(explained(np.ones(3), np.ones(3)))
    t, q = rng.integers(0, 3, (2, 60))
    assert np.array_equal(confusion_counts(t, q, ("a", "b", "c")), confusion_matrix(t, q))


@pytest.mark.parametrize("y", [[2], [-1], [0.0], ["a"], [True]])
def test_class_codes_are_positions(y):
    assert class_codes(np.array([1, 0]), ("a", "b")).tolist() == [1, 0]
    with pytest.raises(ValueError, match="must be integers from 0 to 1, positions"):
        class_codes(np.array(y), ("a", "b"))


def test_the_span_of_an_interval():
    assert span(Interval(1.0, 0.5, 2.0)) == "0.500 to 2.000"
    assert span(Interval(1.0, float("nan"), 2.0)) == ""


@pytest.mark.parametrize("level", [0.0, -3.0, 1.18e21, 1e300])
def test_limits_of_one_value_leave_room_at_any_size(level):
    low, high = inner_limits(level * (1 + 1e-15 * np.arange(5)))
    assert low < level < high
    assert high - low > 1e-3 * abs(level)
