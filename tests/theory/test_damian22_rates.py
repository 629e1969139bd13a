"""Rates: their exponents, their regimes, and what they say of each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.theory import damian22_rates as rates


def exponent(f, low=1e6, high=1e7):
    """Slope of log f between two large arguments."""
    return math.log(f(high) / f(low)) / math.log(high / low)


def test_exponents_of_the_theorems():
    found = {
        "network in d": exponent(lambda d: rates.network_samples(d, 2, 4)),
        "network in r": exponent(lambda r: rates.network_samples(10, r, 4)),
        "network in kappa": exponent(lambda k: rates.network_samples(10, 2, 4, k)),
        "kernel in d": exponent(lambda d: rates.kernel_samples(d, 4)),
        "queries in d": exponent(lambda d: rates.query_samples(d, 4)),
        "transfer in r": exponent(lambda r: rates.transfer_samples(r, 3)),
        "transfer in kappa": exponent(lambda k: rates.transfer_samples(2, 3, k)),
        "width in loss": exponent(lambda e: rates.width_needed(2, 3, e)),
    }
    expected = [2, 4, 8, 4, 2, 3, 6, -2]
    # Lower-order terms are below 1e-5 of the leading one.
    np.testing.assert_allclose(list(found.values()), expected, atol=1e-4)


def test_network_beats_the_kernel_from_degree_three_on():
    assert rates.network_samples(1000, 1, 2) >= rates.kernel_samples(1000, 2)
    assert rates.network_samples(1000, 1, 3) < 0.01 * rates.kernel_samples(1000, 3)


def test_network_loss_is_each_of_its_terms_in_turn():
    many = 1e30
    by_rows = rates.network_loss(10, 2, 3, [1e8, 4e8], many, kappa=2.0)
    np.testing.assert_allclose(by_rows, [math.sqrt(10 * 8 * 64 / n) + n**-0.25 for n in (1e8, 4e8)])
    by_width = rates.network_loss(10, 2, 3, many, [1e6, 4e6], kappa=2.0)
    np.testing.assert_allclose(by_width, [math.sqrt(8 * 64 / m) for m in (1e6, 4e6)], rtol=1e-4)
    excess = float(by_width[0])  # inverted by the width
    assert rates.width_needed(2, 3, excess, 2.0) == pytest.approx(1e6, rel=1e-3)


def test_transfer_loss_has_no_dimension_and_saturates_at_the_width():
    inside = [rates.transfer_loss(d, 1, 3, 1e9, 64, 1000) for d in (10, 1000)]
    np.testing.assert_array_equal(inside[0], inside[1])
    narrow = rates.transfer_loss(10, 1, 3, 1e9, [1e30, 1e31], 100)
    np.testing.assert_allclose(narrow, 0.1, rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda n: rates.network_loss(10, 2, 3, n, 100),
        lambda n: rates.transfer_loss(10, 2, 3, n, 50, 100),
    ],
)
def test_outside_its_regime_a_loss_is_nan_with_a_warning(call):
    with pytest.warns(RuntimeWarning, match="n goes down to 199"):
        loss = call(np.array([199.0, 200.0]))
    assert np.isnan(loss).tolist() == [True, False]


def test_too_few_inputs_for_the_directions_are_outside_too():
    with pytest.warns(RuntimeWarning, match=r"kappa r\^1.5 = 8"):
        assert np.isnan(rates.network_loss(7, 4, 2, 1e9, 100))


def test_query_tolerance_is_the_formula_and_stands_for_its_samples():
    assert rates.query_tolerance(50, 3, 20) == pytest.approx((math.log(1000) / 50) ** 0.75)
    # tau^-2 = d^(p/2) up to the logarithm.
    tau = rates.query_tolerance(1e6, 4, 1)
    assert tau**-2 * math.log(1e6) ** 2 == pytest.approx(rates.query_samples(1e6, 4))


@pytest.mark.parametrize(
    ("k", "one_step", "query", "online"),
    [(1, 1, 1, 1), (2, 2, 1, 1), (3, 3, 1.5, 2), (4, 4, 2, 3)],
)
def test_scales_by_information_exponent(k, one_step, query, online):
    scales = rates.suggested_samples(100, 3, k, 5)
    powers = np.log([scales.one_step, scales.query_bound, scales.online_sgd]) / np.log(100)
    np.testing.assert_allclose(powers, [one_step, query, online], atol=1e-12)
    assert (scales.information, scales.kernel) == (300.0, 1e10)
    assert scales.query_bound <= scales.one_step <= scales.kernel


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="kappa is 0"):
        rates.network_samples(10, 1, 4, 0)
    with pytest.raises(ValueError, match="n is -1"):
        rates.network_loss(10, 1, 2, [100, -1], 10)
    with pytest.raises(ValueError, match=r"queries \* d is 1"):
        rates.query_tolerance(1, 2, 1)
    with pytest.raises(ValueError, match="exponent was 3 and the degree 2"):
        rates.suggested_samples(10, 1, 3, 2)
