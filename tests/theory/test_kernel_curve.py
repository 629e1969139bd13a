"""The kernel's learning curve against simulated kernel ridge, and in cases solved by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.theory.kernel_curve import effective_ridge, ridge_risk
from gradfeat.theory.zonal_spectrum import (
    ZonalSpectrum,
    homogeneous_shares,
    multiplicities,
    spherical_shares,
    zonal_spectrum,
)

D, NOISE, RIDGE = 10, 0.3, 1e-3
TALK = HermiteSeries((0.0, 0.0, 1 / 2, 0.0, 1 / math.sqrt(48)))


def tangent_kernel(t):
    """The ReLU's, without bias, as a function of the cosine."""
    t = np.clip(t, -1, 1)
    theta = np.arccos(t)
    return (np.sqrt(1 - t**2) + 2 * (np.pi - theta) * t) / np.pi


def exponential(t):
    return np.exp(2 * (t - 1))


def simulated(kernel, n, trials, rng, *, sphere, rows=1000):
    """Squared error of kernel ridge on fresh rows, one number for each training sample."""
    errors = []
    for _ in range(trials):
        X = rng.standard_normal((n + rows, D))
        size = np.linalg.norm(X, axis=1, keepdims=True)
        unit, scale = X / size, np.ones((n + rows, 1)) if sphere else size
        f = TALK((unit * math.sqrt(D) if sphere else X)[:, 0])
        K = kernel(unit @ unit[:n].T) * scale * scale[:n].T
        y = f[:n] + NOISE * rng.standard_normal(n)
        c = np.linalg.solve(K[:n] + RIDGE * np.eye(n), y)
        errors.append(np.mean((K[n:] @ c - f[n:]) ** 2))
    return np.array(errors)


@pytest.mark.parametrize("kernel", [tangent_kernel, exponential])
@pytest.mark.parametrize(("n", "trials"), [(50, 60), (150, 40), (500, 12)])
def test_curve_meets_kernel_ridge_on_the_sphere(kernel, n, trials):
    risk = ridge_risk(
        zonal_spectrum(kernel, D), spherical_shares(TALK, D), n, ridge=RIDGE, noise=NOISE
    )
    errors = simulated(kernel, n, trials, np.random.default_rng(n), sphere=True)
    # Beyond 4 standard errors: the equivalent itself is good to a few times 1/n.
    assert abs(errors.mean() - risk) < 4 * errors.std() / math.sqrt(trials) + 3 / n * risk


@pytest.mark.parametrize(("n", "trials"), [(150, 40), (500, 12)])
def test_curve_meets_a_homogeneous_kernel_on_gaussian_inputs(n, trials):
    shares, beyond = homogeneous_shares(TALK, D)
    spectrum = D * zonal_spectrum(tangent_kernel, D)
    risk = ridge_risk(spectrum, shares, n, ridge=RIDGE, noise=NOISE, beyond=beyond)
    errors = simulated(tangent_kernel, n, trials, np.random.default_rng(n), sphere=False)
    assert abs(errors.mean() - risk) < 4 * errors.std() / math.sqrt(trials) + 3 / n * risk


def test_linear_ridge_is_the_classical_formula():
    # One eigenvalue, N = d modes, no ridge to speak of: risk = noise^2 d/(n - d).
    spectrum = ZonalSpectrum((10.0,), (1.0,))
    n = np.array([[20, 40], [100, 1000]])
    risk = ridge_risk(spectrum, (1.0,), n, ridge=1e-10, noise=0.5)
    np.testing.assert_allclose(risk, 0.25 * 10 / (n - 10), rtol=1e-6)  # ridge/n, relative


def test_effective_ridge_solves_its_equation():
    spectrum = zonal_spectrum(exponential, D)
    n = np.array([3.0, 300.0, 3e5])
    kappa = effective_ridge(spectrum, n, ridge=0.2)
    N, values = np.array(spectrum.multiplicities), np.array(spectrum.eigenvalues)
    total = [N @ (values / (values + k)) + (0.2 + spectrum.tail) / k for k in kappa]
    np.testing.assert_allclose(total, n, rtol=1e-10)
    assert (effective_ridge(spectrum, n, ridge=0.4) > kappa).all()


def test_in_high_dimension_the_curve_is_the_staircase():
    # Every degree up to 4 present with eigenvalue k-th share over N_k, as Ghorbani et al. assume.
    d, shares = 1_000_000, (0.0, 0.0, 0.5, 0.0, 0.5)
    N = multiplicities(d, 5)
    spectrum = ZonalSpectrum(tuple(N), tuple(0.2 / N), 0.1)
    n = float(d) ** np.array([0.5, 1.5, 2.5, 3.5, 4.5])
    risk = ridge_risk(spectrum, shares, n, ridge=0.0)
    # Half a power from an edge n/N_k = k!/sqrt(d) is 0.024 for k = 4 (and its inverse above).
    # n rows are enough for the degrees up to log n / log d (Ghorbani et al. 2021, Theorem 4).
    np.testing.assert_allclose(risk, [1.0, 1.0, 0.5, 0.5, 0.0], atol=0.05)


def test_each_option_moves_the_risk_the_right_way():
    spectrum, shares = zonal_spectrum(exponential, D), spherical_shares(TALK, D)
    plain = float(ridge_risk(spectrum, shares, 200, ridge=1e-3))
    assert float(ridge_risk(spectrum, shares, 200, ridge=1e-3, noise=0.5)) > plain
    assert float(ridge_risk(spectrum, shares, 200, ridge=1e-3, beyond=0.1)) > plain + 0.1
    assert float(ridge_risk(spectrum, shares, 200, ridge=1e6)) == pytest.approx(
        sum(shares), rel=1e-3
    )
    assert float(ridge_risk(spectrum, shares, 2000, ridge=1e-3)) < plain


def test_listing_more_degrees_changes_nothing_while_the_tail_is_unlearnt():
    curves = [
        ridge_risk(
            zonal_spectrum(tangent_kernel, D, K),
            spherical_shares(TALK, D, 4),
            [100, 1000],
            ridge=RIDGE,
            noise=NOISE,
        )
        for K in (12, 60)
    ]
    # Tail eigenvalues over kappa are below 1e-3 there.
    np.testing.assert_allclose(*curves, rtol=1e-3)


def test_bad_input_is_named():
    spectrum = ZonalSpectrum((1.0, 5.0), (0.5, 0.1))
    with pytest.raises(ValueError, match="n goes down to 0"):
        ridge_risk(spectrum, (1.0,), [0, 10], ridge=1.0)
    with pytest.raises(ValueError, match="give a ridge above 0"):
        ridge_risk(spectrum, (1.0,), 10, ridge=0.0)
    with pytest.raises(ValueError, match="shares of 3 degrees"):
        ridge_risk(spectrum, (1.0, 0.0, 0.0), 10, ridge=1.0)
    with pytest.raises(ValueError, match="noise"):
        ridge_risk(spectrum, (1.0,), 10, ridge=1.0, noise=-0.1)
