"""Box and ball together: projection and support function against generic solvers and optimality."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from gradfeat.maths.box_ball import project, support

VECTORS = st.lists(st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=1, max_size=8)
BOUNDS = st.one_of(st.floats(0.05, 5), st.just(math.inf))


def clipped_to_ball(v, lam, B1):
    """The minimiser over the box alone of |a - v|^2 + lam |a|^2."""
    return (v / (1 + lam)).clamp(-B1, B1)


def by_bisection(v, B1, B2):
    """Projection by 200 halvings of the multiplier's interval: slow and another way."""
    low, high = 0.0, 1e9
    if float(clipped_to_ball(v, 0.0, B1).norm()) <= B2:
        return clipped_to_ball(v, 0.0, B1)
    for _ in range(200):
        middle = (low + high) / 2
        inside = float(clipped_to_ball(v, middle, B1).norm()) <= B2
        low, high = (low, middle) if inside else (middle, high)
    return clipped_to_ball(v, high, B1)


@given(VECTORS, BOUNDS, BOUNDS)
def test_projection_is_the_one_by_bisection(values, B1, B2):
    v = torch.tensor(values, dtype=torch.float64)
    # Rounding of the multiplier, at most 1e9 eps, times |v|.
    torch.testing.assert_close(project(v, B1, B2), by_bisection(v, B1, B2), rtol=0, atol=1e-9)


@given(VECTORS, VECTORS, BOUNDS, BOUNDS)
def test_projection_satisfies_its_variational_inequality(values, others, B1, B2):
    v = torch.tensor(values, dtype=torch.float64)
    other = torch.tensor([*others, *[0.0] * 8][: len(v)], dtype=torch.float64)
    a, b = project(v, B1, B2), project(other, B1, B2)
    assert float(a.abs().max()) <= B1
    assert float(a.norm()) <= B2 * (1 + 1e-14)
    assert float((v - a) @ (b - a)) <= 1e-12


@given(VECTORS, VECTORS, BOUNDS, BOUNDS)
def test_support_is_reached_and_not_exceeded(values, others, B1, B2):
    v = torch.tensor(values, dtype=torch.float64)
    other = torch.tensor([*others, *[0.0] * 8][: len(v)], dtype=torch.float64)
    h = support(v, B1, B2)
    assert float(v @ project(other, B1, B2)) <= h + 1e-12
    if math.isfinite(h):
        # The projection of s v tends to the maximiser and is one from a finite s on unless the
        # entries of v are tiny; 1e9 against entries of at least 1e-3 and bounds of at most 5.
        assert float(v @ project(1e9 * v, B1, B2)) == pytest.approx(h, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_projection_and_support_are_those_of_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(6)
    B1, B2 = 0.5, 0.9
    limits = {
        "bounds": [(-B1, B1)] * 6,
        "constraints": {"type": "ineq", "fun": lambda a: B2**2 - a @ a, "jac": lambda a: -2 * a},
        "options": {"ftol": 1e-14, "maxiter": 500},
    }
    nearest = minimize(
        lambda a: (a - v) @ (a - v), np.zeros(6), jac=lambda a: 2 * (a - v), **limits
    )
    highest = minimize(lambda a: -a @ v, np.full(6, 0.1), jac=lambda _: -v, **limits)
    tensor = torch.tensor(v)
    # SLSQP ends within the root of its tolerance of the minimiser.
    np.testing.assert_allclose(project(tensor, B1, B2), nearest.x, rtol=0, atol=1e-6)
    assert support(tensor, B1, B2) == pytest.approx(-highest.fun, rel=1e-7)


def test_without_bounds_nothing_is_projected_and_the_support_is_infinite():
    v = torch.tensor([1.0, -2.0])
    assert torch.equal(project(v, math.inf, math.inf), v)
    assert support(v, math.inf, math.inf) == math.inf
    assert support(0 * v, math.inf, math.inf) == 0.0


def test_huge_and_tiny_entries_neither_overflow_nor_vanish():
    v = torch.tensor([3e200, 4e200], dtype=torch.float64)
    torch.testing.assert_close(project(v, math.inf, 1.0), torch.tensor([0.6, 0.8]).double())
    assert support(v, math.inf, 1.0) == pytest.approx(5e200)
    assert support(1e-200 * (v / 1e200), math.inf, 1.0) == pytest.approx(5e-200)


@pytest.mark.parametrize(("B1", "B2"), [(0.0, 1.0), (1.0, -1.0), (math.nan, 1.0)])
def test_bounds_that_are_not_positive_are_refused(B1, B2):
    with pytest.raises(ValueError, match="give positive numbers, or inf"):
        project(torch.ones(2), B1, B2)
