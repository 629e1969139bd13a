"""Scores and their resamples against scikit-learn's weighted ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score, roc_auc_score

from gradfeat.table.scores import (
    Predictions,
    about_few,
    interval,
    intervals,
    merit,
    replicates,
    resamples,
)

# Sums of 40 rounded terms of order one.
ROUNDING = 1e-10


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e140])
def test_regression_scores_are_scikit_learns(rng, unit):
    y = rng.normal(2.0, size=40)
    f = y + rng.normal(size=40)
    W = resamples(np.arange(40), 1)[:30]
    found = replicates(unit * y, Predictions(unit * f, None), np.arange(40), W)
    for w, r2, rmse in zip(W, found["R2"].draws, found["RMSE"].draws, strict=True):
        assert r2 == pytest.approx(r2_score(y, f, sample_weight=w), abs=ROUNDING)
        expected = mean_squared_error(y, f, sample_weight=w) ** 0.5
        assert rmse / unit == pytest.approx(expected, abs=ROUNDING)
    assert found["R2"][0] == pytest.approx(r2_score(y, f), abs=ROUNDING)


@pytest.mark.parametrize("K", [2, 4])
def test_classification_scores_are_scikit_learns_with_ties(rng, K):
    y = np.arange(40) % K
    P = np.round(rng.dirichlet(np.ones(K), size=40) * 4) + 0.5
    P /= P.sum(axis=1, keepdims=True)
    f = P.argmax(axis=1).astype(float)
    assert len(np.unique(P[:, -1])) < 20
    W = resamples(np.arange(40), 1)[:30]
    drawn = replicates(y.astype(float), Predictions(f, P), np.arange(40), W)
    found = {name: one.draws for name, one in drawn.items()}
    for i, w in enumerate(W):
        codes = range(K)
        auc = np.mean([roc_auc_score(y == k, P[:, k], sample_weight=w) for k in codes[K == 2 :]])
        assert found["AUC"][i] == pytest.approx(auc, abs=ROUNDING)
        assert found["accuracy"][i] == pytest.approx(accuracy_score(y, f, sample_weight=w))
        expected = log_loss(y, P, labels=list(codes), sample_weight=w)
        assert found["log-loss"][i] == pytest.approx(expected, abs=ROUNDING)


def test_a_target_that_does_not_vary_has_no_r2_and_no_auc():
    y, said = np.full(5, 0.1), Predictions(np.arange(5.0), None)
    rows = np.arange(5)
    assert list(replicates(y, said, rows, resamples(rows, 0))) == ["RMSE"]
    certain = Predictions(np.zeros(5), np.tile([1.0, 0.0], (5, 1)))
    found = replicates(np.zeros(5), certain, rows, resamples(rows, 0))
    assert list(found) == ["accuracy", "log-loss"]


def test_resamples_without_variation_or_without_a_class_are_nan():
    y, W = np.array([0.1, 0.1, 0.1, 7.3]), np.array([[2.0, 1, 1, 0], [1, 1, 1, 1]])
    r2 = replicates(y, Predictions(y + 0.1, None), np.arange(4), W)["R2"].draws
    assert np.isnan(r2).tolist() == [True, False]
    P = np.tile([0.5, 0.5], (4, 1))
    codes, rows = np.array([0.0, 0, 0, 1]), np.arange(4)
    auc = replicates(codes, Predictions(np.zeros(4), P), rows, W)["AUC"].draws
    assert np.isnan(auc[0])
    assert auc[1] == 0.5


def test_resamples_depend_on_the_seed_alone():
    rows = np.arange(9)
    assert (resamples(rows, 4) == resamples(rows, 4)).all()
    assert (resamples(rows, 4) != resamples(rows, 5)).any()
    assert (resamples(rows, 4).sum(axis=1) == 9).all()
    assert resamples(rows // 3, 4).shape[1] == 3


def test_the_interval_leaves_out_what_is_not_finite():
    draws = np.array([np.nan, *np.linspace(0, 1, 101), np.inf])
    found = interval(0.5, draws, 10**6)
    assert (found.low, found.high) == pytest.approx((0.025, 0.975), abs=1e-5)
    # R: qt(.975, 9) / qnorm(.975) * sqrt(10 / 9)
    wide = interval(0.5, draws, 10)
    assert (wide.high - 0.5) / 0.475 == pytest.approx(2.262157 / 1.959964 * (10 / 9) ** 0.5)
    assert np.isnan(interval(0.5, np.array([np.nan, 1.0]), 9).low)


def test_merit_turns_losses_round():
    assert [merit(name, 1.0) for name in ("R2", "accuracy", "RMSE", "log-loss")] == [1, 1, -1, -1]


def found_intervals(y, said, units=None):
    units = np.arange(len(y)) if units is None else units
    return intervals(y, replicates(y, said, units, resamples(units, 0)), units)


def test_proportions_have_exact_intervals_where_no_resample_is_wrong():
    y = np.repeat([0.0, 1.0], 24)
    P = np.eye(2)[y.astype(int)] * 0.8 + 0.1
    found = found_intervals(y, Predictions(y, P))
    assert (found["accuracy"].low, found["accuracy"].high) == pytest.approx((0.926, 1.0), abs=5e-4)
    wrong = np.where(np.arange(48) < 6, 1 - y, y)
    ends = found_intervals(y, Predictions(wrong, P))["accuracy"]
    # R: binom.test(42, 48)
    assert (ends.low, ends.high) == pytest.approx((0.7475, 0.9527), abs=5e-4)


def test_few_test_rows_have_scores_without_intervals():
    for n, known in ((2, False), (5, False), (9, False), (10, True)):
        y, f = np.arange(float(n)), np.arange(n) + 0.01 * (-1.0) ** np.arange(n)
        found = found_intervals(y, Predictions(f, None))
        assert np.isfinite(found["RMSE"].estimate)
        assert np.isfinite(found["R2"].low) == np.isfinite(found["RMSE"].high) == known
        assert bool(about_few(np.arange(n))) != known
    right = np.eye(2)[[0, 1, 0, 1]]
    codes = np.array([0, 1, 0, 1])
    found = found_intervals(codes, Predictions(codes, right))
    assert 0.3 < found["accuracy"].low < 0.5


@pytest.mark.parametrize(
    ("rows", "rare", "shift"),
    [(30, 1, 0.0), (30, 1, 2.0), (60, 2, 1.0), (100, 5, 2.0), (400, 100, 1.0)],
)
def test_intervals_of_ranks_hold_the_area_whatever_the_rare_class(rows, rare, shift):
    """Normal scores, shifted: the area is Phi(shift / sqrt 2); the bootstrap held half of them."""
    y = np.repeat([1.0, 0.0], [rare, rows - rare])
    rng, truth, held, above = np.random.default_rng(0), norm.cdf(shift / 2**0.5), 0, 0
    for _ in range(300):
        p = 1 / (1 + np.exp(-rng.normal(size=rows) - shift * y))
        said = Predictions(np.zeros(rows), np.c_[1 - p, p])
        value = replicates(y, said, np.arange(rows), np.ones((1, rows)))
        found = intervals(y, value, np.arange(rows))
        held += found["AUC"].low <= truth <= found["AUC"].high
        above += shift == 0 and found["AUC"].low > 0.5
    # .95 less four standard errors of 300
    assert held >= 270
    assert above <= 17  # .025 and four


def _errors_of(law: str, rng: np.random.Generator, n: int):
    x = rng.normal(size=n)
    if law == "wide":
        x = (rng.lognormal(size=n) - np.exp(0.5)) / 2.161
    noise = rng.standard_t(3, n) / 3**0.5 if law == "tails" else rng.normal(size=n)
    return 0.8 * x, x + noise


@pytest.mark.parametrize(
    ("law", "score", "rows", "least"),
    [
        ("normal", "RMSE", 20, 0.90),
        ("normal", "R2", 20, 0.90),
        ("normal", "RMSE", 250, 0.91),
        ("tails", "RMSE", 30, 0.76),
        ("tails", "RMSE", 250, 0.80),
        ("wide", "R2", 250, 0.83),
    ],
)
def test_intervals_of_losses_hold_the_truth_where_few_rows_decide(law, score, rows, least):
    """Percentiles alone held .88, .88, .93, .64, .71 and .78 of 300 draws."""
    truth = {"RMSE": 1.04**0.5, "R2": 1 - 1.04 / 2}[score]
    held = 0
    for k in range(120):
        f, y = _errors_of(law, np.random.default_rng([rows, k]), rows)
        found = found_intervals(y, Predictions(f, None))[score]
        held += found.low <= truth <= found.high
    assert held / 120 >= least


def test_rows_of_groups_say_less_than_as_many_rows():
    """Predictions of 0, of 20 groups of 10 whose rows share most of their error."""
    held, rows_held, right = 0, 0, 0
    units = np.repeat(np.arange(20), 10)
    for k in range(60):
        rng = np.random.default_rng(k)
        u = rng.normal(size=20)
        y = (u[units] + 0.3 * rng.normal(size=200)) / 1.09**0.5
        said = Predictions(np.zeros(200), None)
        found, rows = found_intervals(y, said, units)["RMSE"], found_intervals(y, said)["RMSE"]
        held += found.low <= 1.0 <= found.high
        rows_held += rows.low <= 1.0 <= rows.high
        code = (rng.random(20) < 0.7)[units].astype(float)
        P = np.tile([0.3, 0.7], (200, 1))
        accuracy = found_intervals(code, Predictions(np.ones(200), P), units)["accuracy"]
        right += accuracy.low <= 0.7 <= accuracy.high
    assert rows_held / 60 < 0.6
    assert held / 60 >= 0.83
    assert right / 60 >= 0.83


def test_ranks_of_groups_say_less_than_those_of_as_many_rows():
    """Scores of 12 and 12 groups of 10 rows that share most of their error, at two areas.

    .95 of 40 draws, less four standard errors; those of rows held the area in two of three.
    """
    units, y = np.repeat(np.arange(24), 10), np.repeat([0.0, 1.0], 120)
    held, rows_held = 0, 0
    for k, shift in itertools.product(range(20), (0.5, 1.5)):
        rng = np.random.default_rng(k)
        z = (rng.normal(size=24)[units] + 0.1 * rng.normal(size=240)) / 1.01**0.5 + shift * y
        p, truth = norm.cdf(z), norm.cdf(shift / 2**0.5)
        said = Predictions(np.zeros(240), np.c_[1 - p, p])
        found, rows = (found_intervals(y, said, by)["AUC"] for by in (units, np.arange(240)))
        held += found.low <= truth <= found.high
        rows_held += rows.low <= truth <= rows.high
    assert held / 40 >= 0.81
    assert rows_held / 40 < 0.8
