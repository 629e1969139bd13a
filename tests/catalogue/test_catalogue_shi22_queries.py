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
    right = pd.DataFrame(cells).assign(over_bound=5.0, share_asked=0.95)
    right["over_bound"] += 1e-3 * right["seed"]
    assert [v.outcome for _, v in judge(EXPERIMENT, right)] == ["holds"] * 3
    for place, metric, wrong in (
        (0, "over_bound", 0.5), (1, "share_asked", 0.5), (2, "over_bound", 9.0)
    ):  # fmt: skip
        table = right.assign(**{metric: wrong + 1e-4 * right["seed"]})
        assert judge(EXPERIMENT, table)[place][1].outcome == "fails"
