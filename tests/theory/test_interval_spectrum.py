"""Kernels on a uniform input: the spectrum, the rate it implies, and simulated ridge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.theory.input_spectra import interval_law, minimax_exponent
from gradfeat.theory.kernel_curve import tuned_risk


def exponential(distance):
    return np.exp(-distance)


def matern(distance):
    t = math.sqrt(5) * distance
    return np.exp(-t) * (1 + t + t**2 / 3)


def kink(x):
    return np.maximum(x, 0) - 0.25


def test_eigenvalues_are_those_of_the_exponential_kernel():
    """Known for exp(-|x - z|) on [-1, 1]: 1/(1 + w^2) with tan w = 1/w or -w, density 1/2.

    Nystrom's error at a kink on the diagonal is of the order of one over the squared nodes.
    """
    law = interval_law(exponential, kink)
    found = np.array(law.spectrum.eigenvalues[:4])
    w = np.sqrt(1 / found - 1)
    even, odd = w[::2], w[1::2]
    np.testing.assert_allclose(even * np.tan(even), 1, atol=2e-3)
    np.testing.assert_allclose(np.tan(odd) / odd, -1, atol=2e-3)


def test_eigenvalues_sum_to_the_trace():
    law = interval_law(matern, kink)
    assert sum(law.spectrum.eigenvalues) + law.spectrum.tail == pytest.approx(1.0, rel=1e-12)
    assert law.spectrum.tail < 1e-9


@pytest.mark.parametrize(("g", "order"), [(np.sign, 0.5), (kink, 1.5)])
def test_the_curve_has_the_minimax_slope(g, order):
    """Local slopes at finite n come down to the exponent: 0.06 above it from n = 1,000 to 4,000."""
    law = interval_law(matern, g)
    low, high = tuned_risk([law], [1_000.0, 4_000.0], noise=0.3)
    assert math.log(low / high) / math.log(4) == pytest.approx(minimax_exponent(order), abs=0.08)


def test_curve_meets_simulated_ridge():
    law, rng, n = interval_law(matern, kink), np.random.default_rng(0), 200
    errors = []
    for _ in range(40):
        x = rng.uniform(-1, 1, n + 1_000)
        K = matern(np.abs(x[:, None] - x[:n]))
        y = kink(x[:n]) + 0.3 * rng.standard_normal(n)
        fit = K[n:] @ np.linalg.solve(K[:n] + 0.05 * np.eye(n), y)
        errors.append(np.mean((fit - kink(x[n:])) ** 2))
    risk = float(law.risk(n, 0.05, 0.3))
    # Beyond 4 standard errors: about ten functions matter, so the equivalent is good to 10 %.
    assert abs(np.mean(errors) - risk) < 4 * np.std(errors) / math.sqrt(40) + 0.1 * risk


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="k_max is 0"):
        interval_law(matern, kink, 0)
    with pytest.raises(ValueError, match="order is 0 and dimension 1"):
        minimax_exponent(0)
