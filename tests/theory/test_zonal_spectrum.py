"""Eigenvalues and shares by degree against sums, harmonics by hand, and samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.theory.zonal_spectrum import (
    gegenbauer,
    homogeneous_shares,
    multiplicities,
    spherical_shares,
    zonal_spectrum,
)

TALK = HermiteSeries((0.0, 0.0, 1 / 2, 0.0, 1 / math.sqrt(48)))


def tangent_kernel(t):
    """The ReLU's, without bias, as a function of the cosine: 2 at t = 1."""
    t = np.clip(t, -1, 1)
    theta = np.arccos(t)
    return (np.sqrt(1 - t**2) + 2 * (np.pi - theta) * t) / np.pi


@pytest.mark.parametrize("d", [2, 3, 10])
def test_multiplicities_count_homogeneous_polynomials(d):
    # Homogeneous polynomials of degree k are the harmonics of degrees k, k-2, k-4, ...
    counts = multiplicities(d, 8)
    for k in range(9):
        assert counts[k::-2].sum() == pytest.approx(math.comb(k + d - 1, k))


@pytest.mark.parametrize("d", [3, 10, 200])
def test_gegenbauer_polynomials_are_those_of_scipy_and_orthogonal(d):
    t = np.linspace(-1, 1, 7)
    scipys = [special.eval_gegenbauer(k, d / 2 - 1, t) for k in range(6)]
    ours = gegenbauer(5, d, t)
    np.testing.assert_allclose(ours, [c / c[-1] for c in scipys], atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 10, 500])
def test_a_polynomial_kernel_is_recovered_from_its_eigenvalues(d):
    coefficients = [0.3, 0.2, 0.5, 0.0, 0.7]

    def h(t):
        return np.polynomial.polynomial.polyval(t, coefficients)

    spectrum, t = zonal_spectrum(h, d, 6), np.linspace(-1, 1, 11)
    # Rounding times the root of the multiplicity, 5e5 for degree 5 in 500 dimensions.
    terms = np.multiply(spectrum.multiplicities, spectrum.eigenvalues)
    np.testing.assert_allclose(terms @ gegenbauer(6, d, t), h(t), atol=1e-9)
    assert spectrum.tail == 0


def test_powers_in_many_dimensions_have_factorial_eigenvalues():
    # E[t^k P_k(t)] = k!/(d (d+2) ... (d+2k-2)).
    d = 12
    for k in range(6):
        value = zonal_spectrum(lambda t, k=k: t**k, d, k).eigenvalues[k]
        assert value == pytest.approx(math.factorial(k) / math.prod(range(d, d + 2 * k, 2)))


def test_tangent_kernel_has_no_odd_degree_from_three_on_and_its_trace():
    spectrum = zonal_spectrum(tangent_kernel, 10, 9)
    assert spectrum.eigenvalues[1] == pytest.approx(1 / 10, rel=1e-12)  # E[t * t], odd part is t
    assert max(spectrum.eigenvalues[3::2]) < 1e-13
    listed = np.dot(spectrum.multiplicities, spectrum.eigenvalues)
    assert listed + spectrum.tail == pytest.approx(2, rel=1e-12)
    longer = zonal_spectrum(tangent_kernel, 10, 60)
    assert longer.tail < 0.3 * spectrum.tail
    assert (0.5 * spectrum).tail == 0.5 * spectrum.tail


def test_degrees_that_rounding_hides_are_left_to_the_tail():
    # d = 300: multiplicities pass 10^12 at degree 6, and the trace stays the kernel's.
    spectrum = zonal_spectrum(tangent_kernel, 300, 30)
    assert multiplicities(300, 30)[5] < 1e12 < multiplicities(300, 30)[6]
    assert spectrum.eigenvalues[4] > 0
    assert max(spectrum.eigenvalues[6:]) == 0
    listed = np.dot(spectrum.multiplicities, spectrum.eigenvalues)
    assert listed + spectrum.tail == pytest.approx(2, rel=1e-12)


def test_eigenvalues_are_those_of_a_large_kernel_matrix():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(np.exp(X @ X.T))[::-1] / 1500
    spectrum = zonal_spectrum(np.exp, 3, 4)
    expected = np.repeat(spectrum.eigenvalues, np.array(spectrum.multiplicities, int))
    # Sampling moves an eigenvalue by a few times 1/sqrt(n).
    np.testing.assert_allclose(values[:9], expected[:9], rtol=0.15)


@pytest.mark.parametrize("d", [3, 10])
def test_spherical_shares_sum_to_the_energy_on_the_sphere(d):
    x = np.random.default_rng(0).normal(size=(200_000, d))
    z = TALK(math.sqrt(d) * x[:, 0] / np.linalg.norm(x, axis=1))
    shares = spherical_shares(TALK, d, 6)
    assert abs(np.mean(z**2) - sum(shares)) < 4 * np.std(z**2) / math.sqrt(len(z))
    assert max(shares[5:]) < 1e-20
    assert shares[0] == pytest.approx(np.mean(z) ** 2, abs=8 * float(np.std(z)) / math.sqrt(len(z)))


@pytest.mark.parametrize("g", [TALK, HermiteSeries((0.2, 1.0, 0.3, -0.4))])
def test_shares_tend_to_those_of_the_hermite_series(g):
    factorials = [math.factorial(k) for k in range(len(g.coefficients))]
    gaussian = np.square(g.coefficients) * factorials  # E (part of degree k)^2
    for found in (
        spherical_shares(g, 10_000, len(gaussian) - 1),
        homogeneous_shares(g, 10_000)[0],
    ):
        # Corrections are of relative order (degree)^2/d.
        np.testing.assert_allclose(found, gaussian, atol=0.005)


def test_homogeneous_shares_are_projections_measured_on_a_sample():
    d, N = 6, 400_000
    x = np.random.default_rng(1).normal(size=(N, d))
    rho = np.linalg.norm(x, axis=1)
    f, counts = TALK(x[:, 0]), multiplicities(d, 4)
    shares, beyond = homogeneous_shares(TALK, d)
    features = gegenbauer(4, d, x[:, 0] / rho) * np.sqrt(counts)[:, None] * rho / math.sqrt(d)
    for k, share in enumerate(shares):
        product = f * features[k]
        assert abs(product.mean() - math.sqrt(share)) < 4 * product.std() / math.sqrt(N)
    best = np.linalg.lstsq(features.T, f, rcond=None)[0]
    left = (f - best @ features) ** 2
    assert abs(left.mean() - beyond) < 4 * left.std() / math.sqrt(N)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="degree 2 is -"):
        zonal_spectrum(lambda t: 1 - t**2, 5, 2)
    with pytest.raises(ValueError, match="d is 1"):
        multiplicities(1, 3)
    with pytest.raises(ValueError, match="k_max is -1"):
        spherical_shares(TALK, 5, -1)
