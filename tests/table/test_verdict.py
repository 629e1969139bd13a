"""Yes, no or unclear, on draws made for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gradfeat import compare
from gradfeat.table.methods import METHODS
from gradfeat.table.results import Interval, MethodResult
from gradfeat.table.scores import FEWEST_TEST_ROWS, Drawn
from gradfeat.table.verdict import SMALLEST, below_chance, beyond_chance, verdict

NOISE = np.random.default_rng(0).normal(scale=0.1, size=400)


RESULTS = [
    MethodResult(m.name, m.label, m.family, {}, 0.0, 100, {}, rows_there=100) for m in METHODS
]


def draws(score: str = "R2", **centres: float):
    return {name.replace("_", "-"): {score: Drawn(c, c + NOISE)} for name, c in centres.items()}


def answer(score: str = "R2", rows: int = 100, **centres: float):
    found = verdict(RESULTS, draws(score, **centres), rows)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rfm", "expected", "words"),
    [
        (0.9, "yes", "helps here"),
        (0.1, "no", "does not help"),
        (0.5, "same", "no practical difference"),
    ],
)
def test_the_answer_follows_the_interval(rfm, expected, words):
    found = answer(rfm=rfm, linear=0.5, kernel=0.4, boosting=2.0)
    assert (found.answer, found.learned, found.fixed) == (expected, "rfm", "linear")
    assert words in found.sentence
    assert found.difference.estimate == pytest.approx(rfm - 0.5)


def test_an_interval_on_both_sides_decides_nothing():
    both = {"linear": {"R2": Drawn(0.5, 0.5 + NOISE)}, "rfm": {"R2": Drawn(0.55, 0.55 - NOISE)}}
    found = verdict(RESULTS, both, 100)
    assert found is not None
    assert found.answer == "unclear"
    assert "do not decide" in found.sentence


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
    found = verdict(RESULTS, {name: {"R2": Drawn(*found)} for name, found in both.items()}, 100)
    assert found is not None
    assert found.answer == "no"


def test_few_test_rows_decide_nothing():
    assert answer(rows=FEWEST_TEST_ROWS - 1, rfm=0.9, linear=0.1).answer == "unclear"
    assert answer(rows=FEWEST_TEST_ROWS, rfm=0.9, linear=0.1).answer == "yes"


def test_where_no_method_is_beyond_chance_features_have_nothing_to_help_with():
    found = verdict(RESULTS, draws(rfm=0.02, linear=-0.3), 100, beyond=False)
    assert found is not None
    assert found.answer == "unclear"
    assert "do not decide" in found.sentence


def test_on_noise_a_comparison_leaves_open_what_features_do():
    """They make less difference than is worth naming, and nothing is there to make one with."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(1_600, 5)), columns=[*"abcde"])
    frame["y"] = rng.standard_t(5, 1_600)
    asked = {"time": 1.0, "methods": ["linear", "gradient-features"]}
    found = compare(frame, "y", **asked).results.verdict
    assert found is not None
    assert found.answer == "unclear"
    assert max(-found.difference.low, found.difference.high) < SMALLEST


@pytest.mark.parametrize(("score", "chance"), [("R2", 0.0), ("AUC", 0.5), ("accuracy", 0.6)])
def test_a_score_is_beyond_chance_where_all_of_its_interval_is(score, chance):
    """Of a constant R2 is 0, the area 1/2 and the accuracy the share of the largest class."""
    y = np.repeat([0.0, 1.0], [60, 40])
    others = {} if score == "R2" else {"accuracy": Interval(chance, 0.5, 0.7)}
    for low, high, above, under in ((0.01, 0.2, True, False), (-0.01, 0.2, False, False)):
        scores = others | {score: Interval(chance + 0.1, chance + low, chance + high)}
        assert beyond_chance(y, scores) is above
        assert below_chance(y, scores) is under
    if score != "AUC":
        scores = {score: Interval(chance - 0.1, chance - 0.2, chance - 0.01)}
        assert below_chance(y, scores)
        assert not beyond_chance(y, scores)


def test_one_family_alone_has_no_verdict():
    assert verdict(RESULTS, draws(linear=0.5, boosting=0.9), 100) is None
    assert verdict(RESULTS, draws(rfm=0.5), 100) is None


def test_extreme_differences_are_short():
    assert len(answer("RMSE", rfm=1e100, linear=3e100).sentence) < 300


@pytest.mark.parametrize("score", ["R2", "RMSE", "accuracy"])
def test_a_difference_that_is_not_worth_naming_is_no_practical_difference(score):
    found = (
        answer(score, rfm=0.501, linear=0.5)
        if score != "RMSE"
        else answer(score, rfm=50.1, linear=50.0)
    )
    assert found.answer == "same"
    assert "no practical difference" in found.sentence
    assert "-0.000" not in found.sentence


def test_methods_that_agree_on_every_test_row_may_differ_on_others():
    said = {name: {"accuracy": Drawn(1.0, np.ones(400))} for name in ("rfm", "linear")}
    few, many = (verdict(RESULTS, said, rows) for rows in (48, 3000))
    assert few is not None
    assert many is not None
    assert (few.answer, many.answer) == ("unclear", "same")
    # 1 - .025^(1/48), the exact bound of none in 48
    assert few.difference.high == pytest.approx(0.0740, abs=1e-4)


def test_of_ties_the_next_score_decides_and_fewer_rows_are_said():
    draws = {
        "linear": {"accuracy": Drawn(0.9, 0.9 + NOISE), "log-loss": Drawn(0.5, 0.5 + NOISE)},
        "kernel": {"accuracy": Drawn(0.9, 0.9 + NOISE), "log-loss": Drawn(0.3, 0.3 + NOISE)},
        "rfm": {"accuracy": Drawn(0.95, 0.95 + NOISE), "log-loss": Drawn(0.3, 0.3 + NOISE)},
    }
    found = verdict(RESULTS, draws, 100, {"rfm": " (fitted to 5 of 9 rows)"})
    assert found is not None
    assert found.fixed == "kernel"
    assert "Recursive feature machine (fitted to 5 of 9 rows) beats" in found.sentence


@pytest.mark.parametrize(
    ("rfm", "rows", "expected"),
    [
        (0.9, {"rfm": 50}, "yes"),
        (0.9, {"linear": 91}, "yes"),
        (0.7, {"linear": 50}, "uneven"),
        (0.9, {"linear": 50}, "yes"),  # 1 - .5 / 2 = .75 is not enough
        (0.1, {"rfm": 50}, "uneven"),
        (-0.9, {"rfm": 50}, "no"),
        (0.1, {"linear": 50}, "no"),
        (0.5, {"rfm": 50}, "uneven"),
        (0.5, {"linear": 50}, "uneven"),
    ],
)
def test_more_rows_alone_are_no_help_of_features(rfm, rows, expected):
    results = [replace(r, rows_used=rows.get(r.name, 100)) for r in RESULTS]
    found = verdict(results, draws(rfm=rfm, linear=0.5), 100)
    assert found is not None
    assert found.answer == expected
    assert ("different rows" in found.sentence) == (expected == "uneven")
