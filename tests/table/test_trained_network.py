"""The trained network of a comparison: passes within the time, and rare classes."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.table import budgets as module
from gradfeat.table.budgets import epochs
from gradfeat.table.methods import METHODS, MethodInput, validation_folds

MAKE = next(m.make for m in METHODS if m.name == "trained-network")


@pytest.fixture
def _clock(monkeypatch):
    """Every timing of three products takes 3 ms of the processor, and hours of the wall."""
    now = iter(range(100))
    monkeypatch.setattr(module.time, "thread_time", lambda: 3e-3 * next(now))
    monkeypatch.setattr(module.time, "perf_counter", lambda: 1e4 * next(now))


@pytest.mark.usefixtures("_clock")
def test_passes_follow_from_time_and_rows():
    # A step of 200 rows costs 6 x 1 ms x (1 + outputs/columns).
    # 50, 25 and 25 of them would fit: the next fewer of the allowed numbers.
    assert epochs(6.0, 2000, 4, 4, 8) == 40
    assert epochs(3.0, 2000, 4, 4, 8) == 20
    assert epochs(6.0, 4000, 4, 4, 8) == 20


@pytest.mark.usefixtures("_clock")
def test_passes_stay_within_limits():
    assert epochs(0.0, 2000, 4, 1, 8) == 10
    assert epochs(1e9, 10, 4, 1, 8) == 200


def situation(y: np.ndarray, classification: bool) -> MethodInput:
    fewest = int(np.unique(y, return_counts=True)[1].min()) if classification else len(y)
    folds = validation_folds(y, classification)
    return MethodInput(len(y), fewest, classification, 0, None, folds, 3, 1, 5.0, 5.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_learns_a_product_in_the_units_of_the_target():
    X = np.random.default_rng(0).standard_normal((1200, 3))
    y = 1e6 * (X[:, 0] * X[:, 1] + 5)
    fitted = MAKE(situation(y[:1000], False)).fit(X[:1000], y[:1000])
    # A linear model explains nothing of it.
    assert fitted.score(X[1000:], y[1000:]) > 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_class_of_one_row_is_no_failure():
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    y[0] = "c"
    fitted = MAKE(situation(y, True)).fit(X, y)
    assert fitted.predict_proba(X).shape == (60, 3)
    assert (fitted.predict(X) == y).mean() > 0.9
