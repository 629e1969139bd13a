"""Theorems 2 and 3: values, regime, and a fixed-feature model that respects the bound."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from gradfeat.theory.bounds import fixed_feature_bound, query_bound


def test_bound_is_the_formula_and_broadcasts():
    bound = fixed_feature_bound(D=500, k=5, p_o=0.4, N=np.array([[1], [50]]), B=[0.0, 1.6])
    expected = [[0.4, 0.4 * (1 - 2**0.5 * 0.05)], [0.4, 0.4 * (1 - 10 * 0.05)]]
    np.testing.assert_allclose(bound, expected, rtol=1e-14)  # rounding of a few operations


@pytest.mark.parametrize(("D", "k"), [(500, 3), (500, 6), (79, 5)])
def test_outside_its_regime_the_bound_is_nan_with_a_warning(D, k):
    with pytest.warns(RuntimeWarning, match=f"k is {k} and D is {D}"):
        assert np.isnan(fixed_feature_bound(D=D, k=k, p_o=0.5, N=[10, 20], B=1.0)).all()


def test_smallest_admitted_size_has_a_value():
    assert np.isfinite(fixed_feature_bound(D=80, k=5, p_o=0.5, N=10, B=1.0))


def test_best_head_on_features_that_know_a_part_of_parity_respects_the_bound():
    # Features: the 2^k - 1 characters of A other than parity. By orthogonality they say nothing
    # about the parity part, so the least hinge loss there is 1 and the bound p_o or less holds.
    k, p_o = 5, 0.5
    x = np.array(list(product([-1, 1], repeat=k)))
    F = np.array([x[:, list(S)].prod(1) for S in characters(k) if len(S) < k]).T
    y = x.prod(1)
    B = 0.5
    loss = p_o * least_hinge_loss(F, y, B / np.sqrt(F.shape[1]))
    bound = float(fixed_feature_bound(D=80, k=k, p_o=p_o, N=F.shape[1], B=B))
    assert loss == pytest.approx(p_o, abs=1e-9)  # the solver's tolerance
    assert 0 < bound < loss


def characters(k: int) -> list[tuple[int, ...]]:
    """All subsets of {0..k-1}."""
    return [tuple(np.flatnonzero(keep)) for keep in product([0, 1], repeat=k)]


def least_hinge_loss(F: np.ndarray, y: np.ndarray, box: float) -> float:
    """min over |a_i| <= box of the mean hinge loss: a linear programme in (a, slack)."""
    n, N = F.shape
    cost = np.r_[np.zeros(N), np.full(n, 1 / n)]
    rows = np.hstack([-y[:, None] * F, -np.eye(n)])
    bounds = [(-box, box)] * N + [(0, None)] * n
    return float(linprog(cost, rows, -np.ones(n), bounds=bounds).fun)


def test_query_bound_is_the_formula():
    error, cost = query_bound(D=16, k=3)
    assert error == pytest.approx(0.5 - 560.0**-3, rel=1e-14)
    assert (2 * cost) ** 3 == pytest.approx(comb(16, 3), rel=1e-12)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="k is 5 and D is 4"):
        query_bound(D=4, k=5)
    with pytest.raises(ValueError, match="B at least -1"):
        fixed_feature_bound(D=500, k=5, p_o=0.5, N=10, B=-1.0)
