"""The smoothed truncated ReLU: averages, autograd, limits, coefficients, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradfeat.maths import hermite
from gradfeat.maths.activations import ReLU, TruncatedReLU
from gradfeat.maths.smoothing import SmoothedTruncatedReLU, smoothed
from gradfeat.maths.streams import stream

NOISES = [0.05, 0.3, 2.0]
Z = torch.linspace(-3, 4, 57, dtype=torch.float64)
every = pytest.mark.parametrize("noise", NOISES)


def average(function, noise: float) -> torch.Tensor:
    """E function(z + noise xi) by the trapezium rule on a fine grid."""
    xi = torch.linspace(-9, 9, 100_001, dtype=torch.float64)
    density = torch.exp(-xi.square() / 2)
    values = torch.stack([function(z + noise * xi) @ density for z in Z])
    return values / density.sum()


@every
def test_value_and_slope_are_averages_over_the_noise(noise):
    sigma, sharp = SmoothedTruncatedReLU(noise), TruncatedReLU()
    # The step of the grid is 2e-4 of a standard deviation: kinks cost its square, jumps its
    # size times the density (below 0.4) on either side.
    torch.testing.assert_close(sigma(Z), average(sharp, noise), rtol=0, atol=1e-7 * noise + 1e-9)
    torch.testing.assert_close(
        sigma.derivative(Z), average(sharp.derivative, noise), rtol=0, atol=2e-4
    )


@every
def test_value_is_within_the_error_of_a_monte_carlo_average(noise):
    xi = torch.randn(200_000, generator=stream(0, "noise")).double()
    for z in (0.0, 0.4, 1.0):
        draws = TruncatedReLU()(z + noise * xi)
        error = float(draws.std()) / math.sqrt(len(xi)) + 1e-12
        exact = float(SmoothedTruncatedReLU(noise)(torch.tensor(z).double()))
        # Nine comparisons; 4.5 standard errors are exceeded once in 16,000 seeds.
        assert abs(float(draws.mean()) - exact) < 4.5 * error


@every
def test_derivative_equals_autograd(noise):
    z = Z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(SmoothedTruncatedReLU(noise)(z).sum(), z)
    # Differences of numbers of order |z|/noise <= 80: some hundred units of rounding.
    torch.testing.assert_close(
        SmoothedTruncatedReLU(noise).derivative(Z), expected, rtol=0, atol=1e-13 / noise
    )


def test_no_noise_is_the_limit():
    away = Z[(Z.abs() > 0.01) & ((Z - 1).abs() > 0.01)]
    # Kinks are 10 standard deviations away: Phi(-10) = 8e-24 is left, and rounding.
    torch.testing.assert_close(
        SmoothedTruncatedReLU(1e-3)(away), TruncatedReLU()(away), rtol=0, atol=1e-14
    )
    assert torch.equal(
        SmoothedTruncatedReLU(1e-3).derivative(away), TruncatedReLU().derivative(away)
    )


@every
def test_symmetric_about_one_half(noise):
    sigma = SmoothedTruncatedReLU(noise)
    torch.testing.assert_close(sigma(Z) + sigma(1 - Z), torch.ones_like(Z), rtol=0, atol=1e-14)


@every
def test_coefficients_follow_from_those_of_more_noise(noise):
    """E sigma(Z + s xi) He_k(Z): a Gaussian of variance 1 + s^2 against the sharp function."""
    c = SmoothedTruncatedReLU(noise).hermite_coefficients(8)
    scale = math.sqrt(1 + noise**2)

    def widened(z: np.ndarray) -> np.ndarray:
        return np.clip(scale * z, 0, 1)

    # With g(z) = sigma(scale z), Mehler's formula gives c_k = c_k(g) / scale^k.
    sharp = hermite.hermite_coefficients(widened, 8, (0.0, 1 / scale))
    gap = np.abs(c - sharp / scale ** np.arange(9)) * hermite.root_factorials(8)
    # Quadrature to 1e-14 of moments of order one on some fifty panels.
    assert gap.max() < 1e-12


@every
def test_second_moment_equals_a_fine_grid(noise):
    z = torch.linspace(-9, 9, 100_001, dtype=torch.float64)
    density = torch.exp(-z.square() / 2)
    exact = float(SmoothedTruncatedReLU(noise)(z).square() @ density / density.sum())
    # The trapezium rule converges faster than any power for smooth decaying functions.
    assert SmoothedTruncatedReLU(noise).second_moment() == pytest.approx(exact, rel=1e-12)


@every
def test_float32_keeps_dtype_and_agrees(noise):
    sigma = SmoothedTruncatedReLU(noise)
    for function in (sigma, sigma.derivative):
        assert function(Z.float()).dtype == torch.float32
        # r(z) and r(z - 1) are at most 4; a few units of 1.2e-7 each, slopes times 1/noise.
        torch.testing.assert_close(
            function(Z.float()).double(), function(Z), rtol=0, atol=2e-6 + 1e-6 / noise
        )


def test_smoothed_resolves():
    assert smoothed(TruncatedReLU(), 0.5) == SmoothedTruncatedReLU(0.5)
    assert smoothed(ReLU(), 0.0) == ReLU()


def test_refuses():
    for noise in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="give a finite standard deviation above 0"):
            SmoothedTruncatedReLU(noise)
    with pytest.raises(ValueError, match=r"noise is 0.1 with ReLU\(\): noise before"):
        smoothed(ReLU(), 0.1)
    with pytest.raises(ValueError, match="save the network with TruncatedReLU"):
        SmoothedTruncatedReLU(0.1).spec()
