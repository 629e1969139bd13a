"""Verdicts: rules, symmetry, calibration, and what is not decided."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_trials import make

from gradfeat.lab import (
    ExperimentError,
    above,
    agrees,
    below,
    each,
    every,
    greater,
    judge,
    ordered,
    ratio,
    slope,
    within,
)
from gradfeat.lab.claims import slopes_by_seed
from gradfeat.lab.intervals import mean_limits


def table(values, n=1):
    """Return rows of one cell, or of cells n = 0, 1, ... where values are lists."""
    rows = values if isinstance(values[0], list) else [values]
    return pd.DataFrame(
        [{"n": n + i, "seed": s, "a": v} for i, row in enumerate(rows) for s, v in enumerate(row)]
    )


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([1.0, 1.1, 1.2], "holds"),
        ([0.0, 0.1, 0.2], "fails"),
        ([0.4, 0.5, 0.6], "not enough evidence"),
    ],
)
def test_above_decides_by_one_sided_limits(values, outcome):
    verdict = above("a", 0.5)(table(values))
    limits = mean_limits(np.array(values))
    assert verdict.outcome == outcome
    assert (verdict.estimate, verdict.low, verdict.high, verdict.n) == (
        *(limits.estimate, limits.low, limits.high),
        3,
    )


numbers = st.lists(st.floats(-10, 10), min_size=2, max_size=8)


@settings(max_examples=50)
@given(numbers, st.floats(-10, 10))
def test_a_claim_of_the_negative_is_the_same_claim(values, bound):
    negative = [-value for value in values]
    assert above("a", bound)(table(values)).outcome == below("a", -bound)(table(negative)).outcome
    swapped = within("a", -bound - 1, -bound)(table(negative)).outcome
    assert within("a", bound, bound + 1)(table(values)).outcome == swapped


@settings(max_examples=50)
@given(numbers, st.floats(-10, 10))
def test_above_and_below_never_both_hold_or_both_fail_unless_at_a_point(values, bound):
    one, other = above("a", bound)(table(values)), below("a", bound)(table(values))
    if one.low < one.high:
        assert (one.outcome, other.outcome) not in [("holds", "holds"), ("fails", "fails")]
    if one.outcome == "fails":
        assert other.outcome == "holds"


def rate(make_check, statistic, outcome, n, repetitions, draw):
    rng = np.random.default_rng(0)
    check = make_check(statistic)
    outcomes = [check(table(list(draw(rng, n)))).outcome for _ in range(repetitions)]
    return outcomes.count(outcome) / repetitions


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "n"), [("mean", 5), ("median", 25)])
@pytest.mark.parametrize("outcome", ["holds", "fails"])
def test_a_claim_at_its_bound_is_decided_in_five_percent(statistic, n, outcome):
    repetitions = 600
    # 3 standard errors of a share of 5 %; bootstrapped medians are a few points off at n = 25.
    slack = 3 * (0.05 * 0.95 / repetitions) ** 0.5 + (0.03 if statistic == "median" else 0.0)
    found = rate(
        *(lambda s: above("a", 0.0, statistic=s), statistic, outcome, n, repetitions),
        lambda rng, n: rng.standard_normal(n),
    )
    assert abs(found - 0.05) < slack


def test_equivalence_at_its_bound_holds_in_five_percent():
    found = rate(
        *(lambda s: within("a", -9.0, 0.0, statistic=s), "mean", "holds", 6, 600),
        lambda rng, n: rng.standard_normal(n),
    )
    assert abs(found - 0.05) < 3 * (0.05 * 0.95 / 600) ** 0.5


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0], "a: 1 seed, and at least 2 are needed"),
        ([1.0, np.nan, np.inf], "a: not finite for 2 of 3 seeds"),
    ],
)
def test_too_little_is_not_enough_evidence(values, words):
    for check in (above("a", 0), below("a", 0), within("a", 0, 1)):
        verdict = check(table(values))
        assert (verdict.outcome, verdict.words) == ("not enough evidence", words)
        assert np.isnan(verdict.estimate)


def test_no_rows_is_not_enough_evidence_but_wrong_names_are_errors():
    assert above("a", 0, {"n": 7})(table([1.0, 2.0])).words == "a: no such cells in this run"
    empty = pd.DataFrame(columns=["n", "seed"])
    checks = [
        above("a", 0),
        each("n", above("a", 0)),
        ordered("a", "n"),
        agrees("a", "b", margin=1.0),
    ]
    for check in [*checks, greater("a", {"n": 1}, {"n": 2}), every()]:
        assert check(empty).outcome == "not enough evidence"
    for check in [above("a", 0, {"m": 1}), ordered("a", "m"), each("m", above("a", 0))]:
        with pytest.raises(ExperimentError, match="'m' is no setting; there are n"):
            check(table([1.0, 2.0]))
    with pytest.raises(ExperimentError, match="'b' is no metric; there are a"):
        above("b", 0)(table([1.0, 2.0]))


def test_a_median_needs_five_seeds_and_ignores_one_outlier():
    values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, -99.0]
    assert above("a", 0.9, statistic="median")(table(values[:4])).outcome == "not enough evidence"
    assert above("a", 0.9, statistic="median")(table(values)).outcome == "holds"
    assert above("a", 0.9)(table(values)).outcome == "not enough evidence"


def test_values_without_spread_are_a_point():
    verdict = above("a", 0.1)(table([0.1] * 3))
    assert (verdict.outcome, verdict.low, verdict.high) == ("holds", 0.1, 0.1)
    assert below("a", 0.1)(table([0.1] * 3)).outcome == "holds"


def test_cells_of_a_seed_are_averaged_and_incomplete_seeds_left_out():
    rows = table([[1.0, 2.0, 3.0], [3.0, 4.0]])
    verdict = above("a", 0)(rows)
    assert (verdict.n, verdict.estimate) == (2, 2.5)
    assert above("a", 0, {"n": [1]})(rows).n == 3


def test_pairing_by_seed_sees_what_two_samples_would_not():
    rng = np.random.default_rng(0)
    common = 100 * rng.standard_normal(5)
    low = list(common + 0.1 * rng.standard_normal(5))
    high = list(common + 1 + 0.1 * rng.standard_normal(5))
    rows = table([low, high])
    assert greater("a", {"n": 2}, {"n": 1})(rows).outcome == "holds"
    assert greater("a", {"n": 1}, {"n": 2})(rows).outcome == "fails"
    assert greater("a", {"n": 2}, {"n": 1}, margin=2)(rows).outcome == "fails"
    assert ordered("a", "n")(rows).outcome == "holds"
    assert ordered("a", "n", increasing=False)(rows).outcome == "fails"
    assert ordered("a", "n", {"n": 1})(rows).outcome == "not enough evidence"
    rows["b"] = rows["a"] - 1
    assert greater("a", {"n": 1}, {"n": 1}, 0.5, "b")(rows).outcome == "holds"


def test_the_worst_of_several_is_shown():
    rows = table([[1.0, 1.1], [5.0, 5.1]])
    verdict = each("n", below("a", 4))(rows)
    assert verdict.outcome == "fails"
    assert verdict.words.endswith("at n=2")
    assert each("n", below("a", 4), {"n": 1})(rows).outcome == "holds"
    open_, holds = above("a", 3), above("a", 0)
    assert every(holds, open_)(rows) == open_(rows)


def test_theory_is_held_against_every_cell():
    rng = np.random.default_rng(1)
    rows = table([list(n + 0.1 * rng.standard_normal(6)) for n in (1, 2, 3)])

    def right(n):
        return {"a": float(n)}

    def wrong_at_two(n):
        return {"a": float(n) + (n == 2)}

    verdict = agrees("a", wrong_at_two, margin=0.2)(rows)
    assert verdict.outcome == "fails"
    assert "at n=2" in verdict.words
    assert agrees("a", wrong_at_two, {"n": [1, 3]}, margin=1.0)(rows).outcome == "holds"
    assert agrees("a", right, margin=0.01)(rows).outcome == "not enough evidence"
    assert agrees("a", right, margin=1.0)(rows).outcome == "holds"
    assert agrees("a", lambda n: {"a": np.nan}, margin=1.0)(rows).outcome == "not enough evidence"  # noqa: ARG005
    rows["theory"] = rows["n"] + 0.5
    assert agrees("a", "theory", margin=0.1)(rows).outcome == "fails"


def test_agreement_with_a_theory_that_lacks_the_metric_names_what_it_has():
    rows = table([1.0, 2.0])
    with pytest.raises(ExperimentError, match=r"theory says nothing of 'a'; there are error, b\."):
        agrees("a", lambda n: {"error": n, "b": n}, margin=1.0)(rows)


def test_agreement_without_spread_allows_rounding():
    rows = table([0.1 + 0.2] * 3)
    assert agrees("a", lambda **cell: {"a": 0.3}, margin=0.0)(rows).outcome == "holds"  # noqa: ARG005
    assert agrees("a", lambda **cell: {"a": 0.3001}, margin=0.0)(rows).outcome == "fails"  # noqa: ARG005


def test_a_theory_at_its_margin_is_contradicted_about_as_often_as_its_level_says():
    rng, repetitions = np.random.default_rng(0), 500
    check = agrees("a", lambda n: {"a": 0.0}, z=2.0, margin=0.0)  # noqa: ARG005
    failed = [check(table(list(rng.standard_normal(5)))).outcome for _ in range(repetitions)]
    share, true = failed.count("fails") / repetitions, 0.0455
    assert abs(share - true) < 3 * (true * (1 - true) / repetitions) ** 0.5


def test_a_claim_that_cannot_be_checked_leaves_the_others():
    good, bad = {"Fine. [p. 1]": above("a", 0)}, {"Odd. [p. 2]": above("b", 0)}
    odd, fine = judge(make(checks=bad | good), table([1.0, 1.1]))
    assert (fine[1].outcome, odd[1].outcome) == ("holds", "cannot be checked")
    assert odd[1].words.startswith("claim 'Odd.' of 'test' cannot be checked: 'b'")


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_the_verdict_of_several_checks_is_the_nearest_to_its_bound(places):
    rows = table([1.0, 1.2, 1.1])
    checks = [above("a", 0.0), above("a", 0.9)]
    clearances = [check(rows).clearance for check in checks]
    assert 0 < clearances[1] < clearances[0]
    assert every(*(checks[i] for i in places))(rows).words.endswith("bound 0.9")


@pytest.mark.parametrize(
    ("check", "clearance"),
    [
        (above("a", 1.0), (1.1 - 1.0) / 0.337 - 0.5),
        (below("a", 1.0), (1.0 - 1.1) / 0.337 - 0.5),
        (within("a", 0.5, 1.3), (1.3 - 1.1) / 0.337 - 0.5),
        (within("a", 0.9, 3.0), (1.1 - 0.9) / 0.337 - 0.5),
    ],
)
def test_clearance_is_in_lengths_of_the_interval(check, clearance):
    # 2.92 sd / sqrt(3) to each side, so the interval is .3372 long.
    assert check(table([1.0, 1.2, 1.1])).clearance == pytest.approx(clearance, abs=2e-3)


def test_without_an_interval_clearance_is_the_least_or_has_the_sign_of_the_gap():
    assert above("a", 0.0)(table([1.0])).clearance == -math.inf
    assert above("a", 0.0)(table([1.0, 1.0])).clearance == math.inf
    assert above("a", 2.0)(table([1.0, 1.0])).clearance == -math.inf


@pytest.mark.parametrize("sentence", ["Fine.", "Fine. [p. 1", "[p. 1]", "Fine.[p. 1]"])
def test_a_claim_without_its_source_is_refused(sentence):
    with pytest.raises(ExperimentError, match=r"has no source: end the sentence in one, such as"):
        make(checks={sentence: above("a", 0)})


def test_slopes_are_those_of_powers_and_decided_by_their_interval():
    rng = np.random.default_rng(0)
    n = np.repeat([10, 100, 1000], 5)
    seconds = 3e-6 * n**2.0 * np.exp(0.05 * rng.standard_normal(15))
    rows = pd.DataFrame({"n": n, "seed": list(range(5)) * 3, "seconds": seconds})
    assert slope("seconds", "n", 1.8, 2.2)(rows).outcome == "holds"
    assert slope("seconds", "n", 2.5, 3.5)(rows).outcome == "fails"
    assert slope("seconds", "n", 2.0, 2.2)(rows).outcome == "not enough evidence"
    # Each seed is one straight line: that of NumPy's fit to its own points.
    one = rows[rows["seed"] == 2]
    expected = np.polyfit(np.log(one["n"]), np.log(one["seconds"]), 1)[0]
    assert slopes_by_seed(rows, "seconds", "n").tolist()[2] == pytest.approx(expected, rel=1e-12)


def test_a_slope_needs_positive_values_and_all_levels():
    rows = pd.DataFrame({"n": [1, 2] * 3, "seed": [0, 0, 1, 1, 2, 2], "a": [1.0, 2] * 3})
    assert len(slopes_by_seed(rows.iloc[:5], "a", "n")) == 2
    rows.loc[0, "a"] = 0.0
    assert "not finite for 1 of 3" in slope("a", "n", 0, 1)(rows).words
    with pytest.raises(ExperimentError, match="'m' is no setting"):
        slope("a", "m", 0, 1)(rows)


def test_each_of_several_factors_is_each_within_each():
    cells = [(n, m, seed) for n in (1, 2) for m in (3, 4) for seed in range(3)]
    rows = pd.DataFrame(cells, columns=["n", "m", "seed"])
    rows["a"] = rows["n"] * rows["m"] + 0.01 * rows["seed"]
    for bound in (2.0, 5.0):
        check, where = above("a", bound), {"m": [3, 4]}
        both, nested = each("n m", check, where)(rows), each("n", each("m", check), where)(rows)
        assert replace(both, words="") == replace(nested, words="")
    assert each("n m", above("a", 5.0))(rows).words.endswith("at n=1, m=3")


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [((1.9, 2.1), "holds"), ((2.2, 9.0), "fails"), ((0.0, 2.0), "not enough evidence")],
)
def test_a_ratio_is_judged_and_told_in_its_own_unit(bounds, outcome):
    """Of ratios 1.97, 2, 2.03: their logarithms are symmetric about log 2."""
    rows = [(t, s, v) for s, own in enumerate((1.97, 2.0, 4 / 1.97)) for t, v in ((1, own), (9, 1))]
    times = pd.DataFrame(rows, columns=["t", "seed", "loss"])
    found = ratio("loss", {"t": 1}, {"t": 9}, *bounds)(times)
    assert (found.outcome, round(found.estimate, 9)) == (outcome, 2.0)
    assert found.low * found.high == pytest.approx(4.0)
    assert found.words.startswith("geometric mean loss (t=1) / loss (t=9) 2 [")


def test_a_ratio_needs_positive_numbers():
    rows = pd.DataFrame({"t": [1, 9] * 2, "seed": [0, 0, 1, 1], "loss": [1, 1, -1, 1]})
    found = ratio("loss", {"t": 1}, {"t": 9}, 1.0)(rows)
    assert (found.outcome, "not positive for 1 of 2" in found.words) == (
        "not enough evidence",
        True,
    )


def test_an_agreement_within_a_factor_or_a_share_is_told_as_a_ratio_to_theory():
    losses = pd.DataFrame({"n": [1] * 4, "seed": range(4), "loss": [0.95, 1.0, 1.0, 1.05]})
    theory = lambda n: {"loss": 0.8 / n}  # noqa: E731
    for near, outcome in ((2.0, "holds"), (1.1, "fails")):
        found = agrees("loss", theory, z=2.0, margin=near, by="factor")(losses)
        assert (found.outcome, round(found.estimate, 2)) == (outcome, 1.25)
        assert "geometric mean loss / theory (0.8) 1.249 [" in found.words
    for near, outcome in ((0.5, "holds"), (0.05, "fails")):
        found = agrees("loss", theory, z=2.0, margin=near, by="share")(losses)
        assert (found.outcome, round(found.estimate, 9)) == (outcome, 1.25)


def test_a_verdict_says_at_which_settings_that_no_grid_has_it_was_reached():
    both = {"Positive. [x]": above("a", 0.0), "Of the first. [x]": above("a", 0.0, {"n": 1})}
    found = make(checks=both)
    own, strange = table([1.0, 1.1], n=1), table([-1.0, -1.1], n=600)
    assert [v.elsewhere for _, v in judge(found, own)] == ["", ""]
    mixed = judge(found, pd.concat([own, strange]))
    assert [v.elsewhere for _, v in mixed] == ["n = 600", ""]
    fails = judge(found, strange)[0][1]
    assert (fails.outcome, fails.elsewhere) == ("fails", "n = 600")


def test_a_mean_over_cells_is_called_one():
    words = above("a", 0.0)(table([[1.0, 1.1], [1.0, 1.2]])).words
    assert words.startswith("mean a over 2 cells 1.075")
