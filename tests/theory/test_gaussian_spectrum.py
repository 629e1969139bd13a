"""The Gaussian kernel on Gaussian inputs: Mercer's sum, shares, and simulated ridge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.maths.hermite import gauss_hermite
from gradfeat.theory.input_spectra import GaussianLine, gaussian_law
from gradfeat.theory.kernel_curve import KernelLaw, tuned_risk


def centred_sine(x):
    """E = 0 under N(0, 1), even and odd parts."""
    return np.sin(1.3 * x + 0.5) - math.exp(-(1.3**2) / 2) * math.sin(0.5)


def total(law: KernelLaw) -> float:
    N, eigenvalues = np.array(law.spectrum.multiplicities), np.array(law.spectrum.eigenvalues)
    return float(N @ eigenvalues) + law.spectrum.tail


@pytest.mark.parametrize(("std", "bandwidth"), [(1.0, 0.8), (0.3, 2.0), (2.0, 3.0)])
def test_eigenfunctions_solve_the_integral_equation(std, bandwidth):
    """integral k(x, z) phi_j(z) dN(z) = eigenvalue_j phi_j(x), tested against smooth g.

    E[g(x) k(x, z)] integrated with phi_j is eigenvalue_j E[g phi_j]; both by quadrature, so the
    tolerance is its rounding.
    """
    line = GaussianLine(std, bandwidth)
    z, w = gauss_hermite(150)
    x = std * z
    k = np.exp(-(np.subtract.outer(x, x) ** 2) / (2 * bandwidth**2))

    def smoothed(points):
        return (w * centred_sine(x)) @ np.exp(
            -(np.subtract.outer(x, points) ** 2) / (2 * bandwidth**2)
        )

    j = np.arange(9)
    expected = line.first * line.ratio**j * line.projections(centred_sine, 8)
    np.testing.assert_allclose(line.projections(smoothed, 8), expected, atol=1e-10)
    assert np.trace(w[:, None] * k) == pytest.approx(line.first / (1 - line.ratio), rel=1e-10)


@pytest.mark.parametrize("ambient", [0.0, 0.1, 1.0])
def test_eigenvalues_sum_to_the_trace_and_shares_to_the_square(ambient):
    law = gaussian_law(centred_sine, 2, 12, 2.0, ambient=ambient)
    z, w = gauss_hermite(100)
    assert total(law) == pytest.approx(1.0, rel=1e-9)
    assert sum(law.shares) + law.beyond == pytest.approx(w @ centred_sine(z) ** 2, rel=1e-9)
    assert law.beyond < 1e-6


def test_inputs_without_spread_do_not_matter_and_unit_spread_needs_no_two_groups():
    """At ambient 0 any d is r; at ambient 1 the two groups give what one group of d would."""
    flat = [gaussian_law(centred_sine, 2, d, 1.5, ambient=0.0) for d in (2, 50)]
    risks = [law.risk([200.0], 0.1, 0.2)[0] for law in flat]
    assert risks[0] == pytest.approx(risks[1], rel=1e-9)
    near, far = (gaussian_law(centred_sine, 1, d, 3.0) for d in (4, 16))
    assert near.risk([200.0], 0.1, 0.2)[0] < 0.5 * far.risk([200.0], 0.1, 0.2)[0]


def test_shares_of_two_directions_have_their_cross_term():
    """Brute force: the squares of E[f phi_a phi_b] over all (a, b) of each degree."""
    k_max = 12
    line = GaussianLine(1.0, 1.2)
    o, p = (line.projections(f, k_max) for f in (np.ones_like, centred_sine))
    squares = ((np.outer(p, o) + np.outer(o, p)) / math.sqrt(2)) ** 2
    degree = np.add.outer(np.arange(k_max + 1), np.arange(k_max + 1))
    expected = [squares[degree == k].sum() for k in range(k_max + 1)]
    law = gaussian_law(centred_sine, 2, 2, 1.2, k_max=k_max)
    np.testing.assert_allclose(law.shares[: k_max + 1], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("r", "d", "ambient", "bandwidth"), [(1, 20, 1.0, 5.0), (2, 20, 0.1, 1.4), (2, 16, 1.0, 4.0)]
)
def test_curve_meets_simulated_ridge(r, d, ambient, bandwidth):
    n, ridge, noise, rng = 300, 0.1, 0.3, np.random.default_rng(d + r)
    law = gaussian_law(centred_sine, r, d, bandwidth, ambient=ambient)
    errors = []
    for _ in range(20):
        X = rng.standard_normal((n + 1_000, d))
        X[:, r:] *= ambient
        f = centred_sine(X[:, :r]).sum(axis=1) / math.sqrt(r)
        square = (X**2).sum(axis=1)
        distance = square[:, None] + square[:n] - 2 * X @ X[:n].T
        K = np.exp(-distance / (2 * bandwidth**2))
        y = f[:n] + noise * rng.standard_normal(n)
        errors.append(np.mean((K[n:] @ np.linalg.solve(K[:n] + ridge * np.eye(n), y) - f[n:]) ** 2))
    risk = float(law.risk(n, ridge, noise))
    # Beyond 4 standard errors: eigenfunctions are not Gaussian, worth some percent at these sizes.
    assert abs(np.mean(errors) - risk) < 4 * np.std(errors) / math.sqrt(20) + 0.06 * risk


def test_the_chosen_penalty_and_kernel_are_the_best():
    laws = [gaussian_law(centred_sine, 1, 10, b) for b in (1.5, 4.0)]
    best = tuned_risk(laws, [50.0, 500.0], noise=0.2)
    for law in laws:
        for ridge in (1e-3, 0.1, 10.0):
            assert (best <= law.risk([50.0, 500.0], ridge, 0.2) * 1.05).all()
    assert (best < tuned_risk(laws[:1], [50.0, 500.0], noise=0.2)).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="bandwidth is 0"):
        GaussianLine(1.0, 0.0)
    with pytest.raises(ValueError, match="r is 3, d 2"):
        gaussian_law(np.sin, 3, 2, 1.0)
    with pytest.raises(ValueError, match="ambient -1"):
        gaussian_law(np.sin, 1, 2, 1.0, ambient=-1)
