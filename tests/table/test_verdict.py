"""Yes, no or unclear, on draws made for it."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.table.methods import METHODS
from gradfeat.table.scores import FEWEST_TEST_ROWS, verdict

NOISE = np.random.default_rng(0).normal(scale=0.1, size=400)


def draws(**centres: float):
    return {name.replace("_", "-"): (c, c + NOISE) for name, c in centres.items()}


def answer(score: str = "R2", rows: int = 100, **centres: float):
    found = verdict(METHODS, draws(**centres), score, rows)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rfm", "expected", "words"),
    [(0.9, "yes", "helps here"), (0.1, "no", "does not help"), (0.5, "unclear", "do not decide")],
)
def test_the_answer_follows_the_interval(rfm, expected, words):
    found = answer(rfm=rfm, linear=0.5, kernel=0.4, boosting=2.0)
    assert (found.answer, found.learned, found.fixed) == (expected, "rfm", "linear")
    assert words in found.sentence
    assert found.difference.estimate == pytest.approx(rfm - 0.5)


def test_of_a_loss_less_is_better():
    found = answer("RMSE", rfm=1.0, gradient_features=3.0, kernel=2.0, linear=5.0)
    assert (found.answer, found.learned, found.fixed) == ("yes", "rfm", "kernel")
    assert found.difference.estimate == pytest.approx(-1.0)
    assert answer("RMSE", rfm=2.0, kernel=1.0).answer == "no"


def test_noise_shared_by_both_families_cancels():
    assert answer(rfm=0.51, linear=0.5).answer == "yes"


def test_the_best_of_each_family_is_taken_anew_in_every_resample():
    swing = np.where(np.arange(400) < 200, 1.0, -1.0)
    both = {"linear": (0.0, swing), "kernel": (0.0, -swing), "rfm": (0.5, np.full(400, 0.5))}
    found = verdict(METHODS, both, "R2", 100)
    assert found is not None
    assert found.answer == "no"


def test_few_test_rows_decide_nothing():
    assert answer(rows=FEWEST_TEST_ROWS - 1, rfm=0.9, linear=0.1).answer == "unclear"
    assert answer(rows=FEWEST_TEST_ROWS, rfm=0.9, linear=0.1).answer == "yes"


def test_one_family_alone_has_no_verdict():
    assert verdict(METHODS, draws(linear=0.5, boosting=0.9), "R2", 100) is None
    assert verdict(METHODS, draws(rfm=0.5), "R2", 100) is None


def test_extreme_differences_are_short():
    assert len(answer("RMSE", rfm=1e100, linear=3e100).sentence) < 300
