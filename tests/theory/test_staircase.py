"""The staircase: its steps, its edges, and the shares it sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.kernel_curve import (
    degree_learned,
    degree_shares,
    series_shares,
    staircase_risk,
)


@pytest.mark.parametrize("p", [3, 4, 5])
def test_the_talks_target_is_at_one_then_a_half_then_nothing(p):
    he_p = [0.0] * p + [1 / math.sqrt(2 * math.factorial(p))]
    target = HermiteSeries((0.0, 0.0, 0.5)) + HermiteSeries(tuple(he_p))
    d = 10
    n = np.array([2, 99, 101, 0.99 * d**p, 1.01 * d**p, 3e9])
    risk = staircase_risk(series_shares(target), d, n)
    np.testing.assert_allclose(risk, [1, 1, 0.5, 0.5, 0, 0], atol=1e-15)


def test_powers_of_d_are_nan_with_a_warning_and_the_rest_stays():
    with pytest.warns(RuntimeWarning, match=r"nan at n = \[100.0, 1000.0\]"):
        learned = degree_learned(10, [[50, 100], [1000, 1001]])
    np.testing.assert_array_equal(learned, [[1, np.nan], [np.nan, 3]])
    with pytest.warns(RuntimeWarning, match="jumps"):
        risk = staircase_risk((1.0, 1.0), 7, [343, 342])
    np.testing.assert_array_equal(risk, [np.nan, 0.0])


def test_neighbours_of_a_power_are_decided_for_large_d():
    # log(125**3)/log(125) is 3 only up to rounding: the neighbours must not be mistaken for it.
    assert degree_learned(125, [125**3 - 1, 125**3 + 1]).tolist() == [2.0, 3.0]


def test_below_d_only_the_constant_is_learnt():
    assert float(staircase_risk((4.0, 1.0, 2.0), 10, 9)) == 3.0


def test_shares_are_the_energy_by_degree_measured_on_a_sample():
    g = MultiHermite.random(2, 3, np.random.default_rng(0))
    z = np.random.default_rng(1).normal(size=(200_000, 2))
    for k, share in enumerate(degree_shares(g)):
        square = g.part(k)(z) ** 2
        # Rounding is all that separates them where the part is constant.
        assert abs(square.mean() - share) < 4 * square.std() / math.sqrt(len(z)) + 1e-15
    assert sum(degree_shares(g)) == pytest.approx(1)


def test_shares_of_one_direction_are_those_of_its_multi_index_form():
    g = HermiteSeries((0.3, -1.0, 0.0, 0.2))
    np.testing.assert_allclose(series_shares(g), degree_shares(MultiHermite.from_series(g)))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="d is 1"):
        degree_learned(1, 10)
    with pytest.raises(ValueError, match="n at least 0"):
        degree_learned(5, [10, 0])
    with pytest.raises(ValueError, match="shares were"):
        staircase_risk((0.5, -0.1), 5, 10)
