"""shi22-queries: probabilities of queries, the learner at its two ends, claims that can fail."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from gradfeat.catalogue.shi22_queries import EXPERIMENT, Queries, trial, walsh
from gradfeat.lab import judge


def subsets_of(D: int, k: int) -> np.ndarray:
    return np.array([sum(1 << i for i in one) for one in combinations(range(D), k)])


def parity(subset: int, D: int) -> np.ndarray:
    """prod_{i in subset} x_i at all x in {-1, 1}^D, in the order of `walsh`."""
    X = 1 - 2 * np.array([[(n >> i) & 1 for i in range(D)] for n in range(2**D)])
    return np.prod([X[:, i] for i in range(D) if subset >> i & 1], axis=0)


def test_chances_are_probabilities_over_all_inputs():
    D, subsets = 6, subsets_of(6, 3)
    queries = Queries(D, subsets)
    group = np.array([0, 5, 11])
    signs = np.where(sum(parity(int(subsets[i]), D) for i in group) >= 0, 1, -1)
    direct = [(parity(int(S), D) == signs).mean() for S in subsets]
    np.testing.assert_allclose(queries.chances(group), direct, atol=1e-15)


def test_walsh_twice_is_the_size_times_the_function():
    values = np.random.default_rng(0).standard_normal(32)
    np.testing.assert_allclose(walsh(walsh(values)), 32 * values, atol=1e-12)


@pytest.mark.parametrize(("tolerance", "learns"), [(0.49, True), (0.51, False)])
def test_one_set_a_query_takes_any_tolerance_below_a_half(tolerance, learns):
    queries = Queries(6, subsets_of(6, 3))
    groups = [np.array([i]) for i in range(20)]
    guesses = [queries.learn(groups, tolerance, A)[1] for A in range(20)]
    assert (guesses == list(range(20))) is learns


@pytest.mark.parametrize(
    ("A", "tolerance", "left"),
    [
        (0, 0.15, [0, 1]),  # the oracle says .7: .6 is within the tolerance of it, .5 is not
        (0, 0.25, [0, 1, 2]),  # it says 1/2, which is within the tolerance of all three
        (1, 0.15, [1, 2]),  # it says 1/2, not .6, of which .7 would be within the tolerance
        (1, 0.09, [1]),
        (2, 0.15, [1, 2]),
        (2, 0.05, [2]),
    ],
)
def test_the_oracle_says_one_half_wherever_its_tolerance_allows_and_the_truth_elsewhere(
    A, tolerance, left
):
    """Of three sets with chances .7, .6 and .5, the ones that one reply leaves."""
    group = np.array([0])
    queries = Queries(3, np.array([1, 2, 4]), {group.tobytes(): np.array([0.7, 0.6, 0.5])})
    found = queries._left(group, np.arange(3), tolerance, A)
    assert found.tolist() == left


def test_queries_end_where_one_set_is_left():
    queries = Queries(6, subsets_of(6, 3))
    groups = [np.array([i]) for i in range(20)]
    assert queries.learn(groups, 0.4, 1) == (2, 1)
    assert queries.learn(groups, 0.4, 19) == (19, 19)


def test_groups_trade_queries_for_tolerance():
    alone, grouped = (trial(8, power, hidden=6, seed=0) for power in (0.0, 0.67))
    assert grouped["queries"] < alone["queries"] / 2
    assert grouped["inverse_tolerance"] > 2 * alone["inverse_tolerance"]


def test_each_claim_fails_where_its_number_is_wrong():
    cells = [
        {"D": D, "power": p, "k": 3, "hidden": 30, "seed": s}
        for D, p, s in product([6, 8], [0.0, 0.67], range(3))
    ]
    right = pd.DataFrame(cells).assign(share_asked=0.2, over_bound=12.0)
    right.loc[right["power"] == 0.0, "share_asked"] = 0.95  # each claim in its own cells alone
    right.loc[right["power"] == 0.67, "over_bound"] = 5.0
    right["over_bound"] += 1e-3 * right["seed"]
    assert [v.outcome for _, v in judge(EXPERIMENT, right)] == ["holds"] * 3
    for place, metric, wrong in (
        (0, "over_bound", 0.5), (1, "share_asked", 0.5), (2, "over_bound", 9.0)
    ):  # fmt: skip
        table = right.assign(**{metric: wrong + 1e-4 * right["seed"]})
        assert judge(EXPERIMENT, table)[place][1].outcome == "fails"
