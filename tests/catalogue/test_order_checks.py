"""Counts of seeds: which comes first, which ranks go together, what never happens."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from gradfeat.catalogue.shared.comparisons import earlier, earlier_along, never, ranked, sign_p
from gradfeat.errors import ExperimentError

BOTH = {"than_metric": "b"}


def pairs(first, second) -> pd.DataFrame:
    return pd.DataFrame({"seed": range(len(first)), "a": first, "b": second})


def test_first_in_all_of_ten_seeds_holds_and_last_in_all_fails():
    found = earlier("a", None, None, **BOTH)(pairs(np.zeros(10), np.ones(10)))
    assert found.outcome == "holds"
    # Pr[10 of 10] = q^10 is 5 % at q = 0.05^(1/10).
    assert found.low == pytest.approx(0.05**0.1)
    assert "p = 0.002 " in found.words
    assert earlier("b", None, None, than_metric="a")(pairs(np.zeros(10), np.ones(10))).outcome == (
        "fails"
    )


def test_seven_of_ten_are_not_enough_and_four_seeds_never_are():
    mixed = earlier("a", None, None, **BOTH)(pairs(np.zeros(10), [1] * 7 + [-1] * 3))
    assert mixed.outcome == "not enough evidence"
    few = earlier("a", None, None, **BOTH)(pairs(np.zeros(4), np.ones(4)))
    assert few.outcome == "not enough evidence"


def test_a_tie_is_no_win_and_has_no_part_in_p():
    tied = earlier("a", None, None, **BOTH)(pairs(np.zeros(10), np.zeros(10)))
    assert tied.outcome == "fails"
    assert "p =" not in tied.words
    assert sign_p(np.array([0.0, 0.0, 1.0])) == 1.0


def test_seeds_are_paired_by_cell():
    table = pd.DataFrame(
        {"n": [1] * 6 + [2] * 6, "seed": [*range(6), *range(6)], "t": [*range(6), *range(1, 7)]}
    )
    assert earlier("t", {"n": 1}, {"n": 2})(table).outcome == "holds"
    assert earlier("t", {"n": 2}, {"n": 1})(table).outcome == "fails"
    assert earlier("t", {"n": 1}, {"n": 3})(table).outcome == "not enough evidence"


def grid(value) -> pd.DataFrame:
    cells = itertools.product([0.0, 0.5, 1.0], range(6))
    return pd.DataFrame([{"p": p, "seed": s, "t": value(p, s)} for p, s in cells])


def test_every_neighbour_counts_along_a_factor():
    assert earlier_along("t", "p")(grid(lambda p, s: p + s)).outcome == "holds"
    assert earlier_along("t", "p")(grid(lambda p, s: min(p, 0.5) + s)).outcome == "fails"
    one = grid(lambda p, s: p + s).query("p == 0")
    assert earlier_along("t", "p")(one).outcome == "not enough evidence"


def test_rank_correlation_takes_any_scale_and_sees_the_wrong_order():
    rising = grid(lambda p, s: np.exp(5 * p) + s)
    assert ranked("t", "p", 0.99)(rising).estimate == 1
    assert ranked("t", "p", 0.5, falling=True)(rising).outcome == "fails"
    found = ranked("t", "p", 0.5, falling=True)(grid(lambda p, s: -p - s))
    assert (found.outcome, found.estimate) == ("holds", -1)  # the sign that the claim names
    assert found.words.endswith("bound -0.5; p = 0.031 of none")
    assert "p = 0.031 of none" in ranked("t", "p", 0.5)(rising).words


def test_rank_correlation_of_what_does_not_vary_is_no_evidence():
    assert ranked("t", "p", 0.5)(grid(lambda *_: 1.0)).outcome == "not enough evidence"


def test_rank_correlation_with_ties_is_that_of_mean_ranks():
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: 1.5 / (1.5 * 2)^(1/2).
    tied = grid(lambda p, s: s + float(p == 1.0))
    assert ranked("t", "p", 0.5)(tied).estimate == pytest.approx(1.5 / 3**0.5)


def counts(values, cells: int = 1) -> pd.DataFrame:
    """A row for each seed and each of `cells` cells; the values are those of cell 0, else 0."""
    rows = [
        {"n": n, "seed": seed, "missed": float(value) if n == 0 else 0.0}
        for n in range(cells)
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_one_bad_seed_of_twenty_contradicts_never():
    assert never("missed")(counts([0] * 20)).outcome == "holds"
    found = never("missed")(counts([0] * 19 + [1]))
    assert (found.outcome, found.estimate, found.n) == ("fails", 1 / 20, 20)
    # Pr[no bad seed of 20] = (1 - q)^20 is 95 % at the lower limit q.
    assert found.low == pytest.approx(1 - 0.95 ** (1 / 20))
    assert "missed is not 0 in 1 of 20 seeds" in found.words


def test_never_looks_at_every_cell_and_only_at_matched_ones():
    one = counts([0] * 19 + [2], cells=3)
    assert never("missed")(one).outcome == "fails"
    assert never("missed", {"n": [1, 2]})(one).outcome == "holds"
    opposite = one.assign(missed=one["missed"].where(one["n"] != 1, -one["seed"] // 19 * 2.0))
    assert never("missed")(opposite).outcome == "fails"


def test_nan_is_no_0_and_one_seed_or_none_says_nothing_of_never():
    assert never("missed")(counts([0] * 19 + [np.nan])).outcome == "not enough evidence"
    assert never("missed")(counts([np.nan, 1, 0])).outcome == "fails"
    assert never("missed")(counts([0])).outcome == "not enough evidence"
    assert never("missed", {"n": 7})(counts([0, 0])).outcome == "not enough evidence"
    with pytest.raises(ExperimentError, match="'lost' is no metric"):
        never("lost")(counts([0, 0]))
