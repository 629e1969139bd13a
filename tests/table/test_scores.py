"""Scores and their resamples against scikit-learn's weighted ones."""

from __future__ import annotations

import numpy as np
import pytest
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
    W = resamples(40, 1)[:30]
    found = replicates(unit * y, Predictions(unit * f, None), W)
    for w, r2, rmse in zip(W, found["R2"][1], found["RMSE"][1], strict=True):
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
    W = resamples(40, 1)[:30]
    found = {name: v for name, (_, v) in replicates(y.astype(float), Predictions(f, P), W).items()}
    for i, w in enumerate(W):
        codes = range(K)
        auc = np.mean([roc_auc_score(y == k, P[:, k], sample_weight=w) for k in codes[K == 2 :]])
        assert found["AUC"][i] == pytest.approx(auc, abs=ROUNDING)
        assert found["accuracy"][i] == pytest.approx(accuracy_score(y, f, sample_weight=w))
        expected = log_loss(y, P, labels=list(codes), sample_weight=w)
        assert found["log-loss"][i] == pytest.approx(expected, abs=ROUNDING)


def test_a_target_that_does_not_vary_has_no_r2_and_no_auc():
    y, said = np.full(5, 0.1), Predictions(np.arange(5.0), None)
    assert list(replicates(y, said, resamples(5, 0))) == ["RMSE"]
    certain = Predictions(np.zeros(5), np.tile([1.0, 0.0], (5, 1)))
    assert list(replicates(np.zeros(5), certain, resamples(5, 0))) == ["accuracy", "log-loss"]


def test_resamples_without_variation_or_without_a_class_are_nan():
    y, W = np.array([0.1, 0.1, 0.1, 7.3]), np.array([[2.0, 1, 1, 0], [1, 1, 1, 1]])
    r2 = replicates(y, Predictions(y + 0.1, None), W)["R2"][1]
    assert np.isnan(r2).tolist() == [True, False]
    P = np.tile([0.5, 0.5], (4, 1))
    auc = replicates(np.array([0.0, 0, 0, 1]), Predictions(np.zeros(4), P), W)["AUC"][1]
    assert np.isnan(auc[0])
    assert auc[1] == 0.5


def test_resamples_depend_on_the_seed_alone():
    assert (resamples(9, 4) == resamples(9, 4)).all()
    assert (resamples(9, 4) != resamples(9, 5)).any()
    assert (resamples(9, 4).sum(axis=1) == 9).all()


def test_the_interval_leaves_out_what_is_not_finite():
    found = interval(0.5, np.array([np.nan, *np.linspace(0, 1, 101), np.inf]))
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    assert np.isnan(interval(0.5, np.array([np.nan, 1.0])).low)


def test_merit_turns_losses_round():
    assert [merit(name, 1.0) for name in ("R2", "accuracy", "RMSE", "log-loss")] == [1, 1, -1, -1]


def test_proportions_have_exact_intervals_where_no_resample_is_wrong():
    y = np.repeat([0.0, 1.0], 24)
    P = np.eye(2)[y.astype(int)] * 0.8 + 0.1
    found = intervals(y, replicates(y, Predictions(y, P), resamples(48, 0)))
    assert (found["accuracy"].low, found["accuracy"].high) == pytest.approx((0.926, 1.0), abs=5e-4)
    # 24 disjoint pairs, all in order: .025^(1/24)
    assert found["AUC"].low == pytest.approx(0.025 ** (1 / 24))
    wrong = np.where(np.arange(48) < 6, 1 - y, y)
    ends = intervals(y, replicates(y, Predictions(wrong, P), resamples(48, 0)))["accuracy"]
    # R: binom.test(42, 48)
    assert (ends.low, ends.high) == pytest.approx((0.7475, 0.9527), abs=5e-4)


def test_few_test_rows_have_scores_without_intervals():
    for n, known in ((2, False), (5, False), (9, False), (10, True)):
        y, f = np.arange(float(n)), np.arange(n) + 0.01 * (-1.0) ** np.arange(n)
        found = intervals(y, replicates(y, Predictions(f, None), resamples(n, 0)))
        assert np.isfinite(found["RMSE"].estimate)
        assert np.isfinite(found["R2"].low) == np.isfinite(found["RMSE"].high) == known
        assert bool(about_few(n)) != known
    right = np.eye(2)[[0, 1, 0, 1]]
    codes = np.array([0, 1, 0, 1])
    found = intervals(codes, replicates(codes, Predictions(codes, right), resamples(4, 0)))
    assert 0.3 < found["accuracy"].low < 0.5
