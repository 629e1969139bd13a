"""Traces, edges and density of random features: by quadrature, bisection and simulation."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_step_samples import SIGMAS, on_sphere
from scipy.optimize import bisect

from gradfeat.theory.feature_resolvent import FeatureLimit
from gradfeat.theory.ridge_errors import moments

#: (phi, psi, lambda, c_1^2, c_{>1}^2): more and fewer rows than dimensions and neurons, each part
#: of the activation alone, and hardly any penalty.
POINTS = [
    (0.5, 2 / 3, 0.01, 0.25, 0.0908),
    (0.5, 0.5, 0.1, 0.25, 0.0908),
    (2.0, 0.7, 0.05, 0.4, 0.3),
    (0.3, 3.0, 1.0, 1.0, 0.2),
    (1.0, 1.0, 1e-3, 0.0, 1.0),
    (0.8, 1.6, 0.02, 0.7, 0.0),
    (1.5, 0.4, 0.03, 2.0, 0.0),
    (0.5, 1.5, 1e-8, 0.25, 0.1),
    (0.5, 0.25, 1e-8, 0.25, 0.1),
]
points = pytest.mark.parametrize(("phi", "psi", "lam", "linear", "rest"), POINTS)
ranges = st.floats(0.05, 20)


@functools.cache
def marchenko_pastur(phi: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of X X^T/d and their weights, d/n = phi: x = 1 + y + 2 sqrt(y) cos(angle)."""
    y = min(phi, 1 / phi)
    angle = (np.arange(4_000) + 0.5) * math.pi / 4_000
    x = 1 + y + 2 * math.sqrt(y) * np.cos(angle)
    weight = 2 * np.sin(angle) ** 2 / x / 4_000
    if phi >= 1:
        return x, weight
    return np.r_[0.0, x / phi], np.r_[1 - phi, phi * weight]


def by_quadrature(phi, psi, lam, linear, rest) -> tuple[float, float, float]:
    """m_1, m_2, g of the deterministic equivalent: its one root by bisection."""
    x, weight = marchenko_pastur(phi)
    z, sigma = lam * psi / phi, linear * x + rest

    def wrong(g: float) -> float:
        return g * (1 + psi / phi * float(weight @ (sigma / (z + g * sigma)))) - 1

    g = float(np.asarray(bisect(wrong, 1e-14, 1.0, xtol=1e-18)))
    return float(weight @ (1 / (z + g * sigma))), float(weight @ (x / (z + g * sigma))), g


@points
def test_traces_equal_the_fixed_point_over_the_marchenko_pastur_law(phi, psi, lam, linear, rest):
    found = FeatureLimit(phi, psi, linear, rest).traces(lam)
    expected = by_quadrature(phi, psi, lam, linear, rest)
    # The midpoint rule in the angle is exact to rounding; bisection is good to 1e-14 of g >= 1e-8.
    np.testing.assert_allclose([found.m1, found.m2, found.g], expected, rtol=2e-6)
    if lam > 1e-6:
        np.testing.assert_allclose([found.m1, found.m2, found.g], expected, rtol=1e-9)


@points
def test_slopes_equal_finite_differences(phi, psi, lam, linear, rest):
    limit, h = FeatureLimit(phi, psi, linear, rest), 1e-4
    found, up, down = (limit.traces(lam * (1 + e)) for e in (0, h, -h))
    for name in ("m1", "m2", "g"):
        slope = (getattr(up, name) - getattr(down, name)) / (2 * h * lam)
        # Second order in h, plus rounding of the difference 1e-16/h of the value.
        floor = 1e-10 * abs(getattr(found, name)) / (h * lam)
        np.testing.assert_allclose(getattr(found, "d" + name), slope, rtol=1e-6, atol=floor)
    np.testing.assert_allclose([found.s, found.ds], psi / phi * np.array([found.m1, found.dm1]))
    np.testing.assert_allclose([found.t, found.dt], psi / phi * np.array([found.m2, found.dm2]))


@pytest.mark.parametrize("name", ["centred relu", "tanh", "erf", "wave"])
@pytest.mark.parametrize(("phi", "psi", "lam"), [(0.5, 2 / 3, 0.01), (1.5, 0.75, 0.1)])
def test_traces_are_those_of_simulated_features(name, phi, psi, lam):
    rng, n = np.random.default_rng(7), 400
    d, N = round(n * phi), round(n * phi / psi)
    X, W = rng.standard_normal((n, d)), on_sphere(rng, N, d)
    F = SIGMAS[name].values(X @ W.T)
    K = np.linalg.inv(F @ F.T / N + lam * psi / phi * np.eye(n))
    _, linear, rest = moments(SIGMAS[name].activation)
    found = FeatureLimit(phi, psi, linear, rest).traces(lam)
    # Traces average themselves: fluctuations and corrections are a few 1/n of the value.
    assert np.trace(K) / n == pytest.approx(found.m1, rel=10 / n)
    assert np.sum((K @ X) * X) / n / d == pytest.approx(found.m2, rel=10 / n)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
def test_edge_of_pure_noise_is_that_of_marchenko_pastur(ratio):
    limit = FeatureLimit(1.0, ratio, 0.0, 2.0)
    expected = math.sqrt(2 / ratio) * (1 + math.sqrt(ratio))  # of F/sqrt(n), variance 2
    assert limit.largest_singular_value() == pytest.approx(expected, rel=1e-10)


def test_largest_value_of_many_features_is_typical():
    rng, (n, d, N) = np.random.default_rng(0), (4000, 800, 400)
    F = SIGMAS["tanh"].values(rng.standard_normal((n, d)) @ on_sphere(rng, N, d).T)
    largest = math.sqrt(np.linalg.eigvalsh(F.T @ F / n)[-1])
    _, linear, rest = moments(SIGMAS["tanh"].activation)
    limit = FeatureLimit(d / n, d / N, linear, rest)
    # Spread and next order of the value are near N^{-2/3}/2 = 0.9 %.
    assert largest == pytest.approx(float(limit.typical_largest(n)), rel=0.01)
    assert largest < float(limit.largest_singular_value())


@pytest.mark.parametrize(
    ("name", "phi", "psi"), [("centred relu", 0.5, 2 / 3), ("tanh", 1.5, 0.5), ("wave", 0.3, 1.0)]
)
def test_edge_and_density_are_those_of_simulated_features(name, phi, psi):
    rng, n = np.random.default_rng(1), 300
    d, N = round(n * phi), round(n * phi / psi)
    F = SIGMAS[name].values(rng.standard_normal((n, d)) @ on_sphere(rng, N, d).T)
    values = np.sqrt(np.linalg.eigvalsh((F @ F.T if n < N else F.T @ F) / n))
    _, linear, rest = moments(SIGMAS[name].activation)
    limit = FeatureLimit(phi, psi, linear, rest)
    typical, edge = float(limit.typical_largest(n)), float(limit.largest_singular_value())
    assert typical < edge
    # The Tracy-Widom law's mean is 1.21 units below the edge and its standard deviation 1.27.
    assert abs(values[-1] - typical) < 3 * (edge - typical)
    grid = np.linspace(1e-4, float(limit.largest_singular_value()), 800)
    density = limit.singular_value_density(grid)
    share = np.cumsum(density) * (grid[1] - grid[0])
    # The peak near 0 is a power at worst; 800 points see all but a few tenths of a percent of it.
    assert share[-1] == pytest.approx(1.0, abs=5e-3)
    for quantile in (0.25, 0.5, 0.75):
        at = float(np.quantile(values, quantile))
        # Eigenvalues are rigid: the count below a point is right to a few of n.
        assert np.interp(at, grid, share) == pytest.approx(quantile, abs=8 / n + 5e-3)


def test_density_is_zero_beyond_the_edge_and_the_quarter_circle_for_square_noise():
    limit = FeatureLimit(1.0, 1.0, 0.0, 1.0)
    s = np.array([0.3, 1.0, 1.7])
    np.testing.assert_allclose(
        limit.singular_value_density(s), np.sqrt(4 - s**2) / math.pi, rtol=1e-9
    )
    assert limit.singular_value_density([2.001]) == 0


@given(phi=ranges, psi=ranges, linear=st.floats(0, 4), rest=st.floats(0.01, 4), lam=ranges)
@settings(max_examples=60)
def test_traces_fall_with_the_penalty_and_scale_with_the_activation(phi, psi, linear, rest, lam):
    found = FeatureLimit(phi, psi, linear, rest).traces([lam, 2 * lam])
    for values in (found.m1, found.m2):
        assert 0 < values[1] < values[0]
    assert (np.array([found.dm1, found.dm2]) < 0).all()
    assert ((found.g > 0) & (found.g < 1)).all()
    assert (found.s * [lam, 2 * lam] <= 1 + 1e-12).all()
    # 3 sigma and 9 lambda: K is 9 times as large.
    scaled = FeatureLimit(phi, psi, 9 * linear, 9 * rest).traces([9 * lam, 18 * lam])
    np.testing.assert_allclose(9 * scaled.m1, found.m1, rtol=1e-9)
    np.testing.assert_allclose(9 * scaled.m2, found.m2, rtol=1e-9)


def test_arguments_broadcast_and_equal_single_calls():
    phi, psi = np.array([0.5, 1.0])[:, None, None], np.array([0.4, 1.0, 2.0])[:, None]
    lam = np.array([0.01, 0.1, 1.0, 10.0])
    found = FeatureLimit(phi, psi, 0.25, 0.1).traces(lam)
    edges = FeatureLimit(phi[..., 0], psi[:, 0], 0.25, 0.1).typical_largest(500)
    assert found.m1.shape == found.dm2.shape == (2, 3, 4)
    assert edges.shape == (2, 3)
    for i, j, k in np.ndindex(2, 3, 4):
        alone = FeatureLimit(phi[i, 0, 0], psi[j, 0], 0.25, 0.1)
        one = alone.traces(lam[k])
        for name in ("m1", "m2", "g", "dm1", "dm2", "dg", "s", "t"):
            assert getattr(found, name)[i, j, k] == pytest.approx(getattr(one, name), rel=1e-12)
        assert edges[i, j] == pytest.approx(alone.typical_largest(500), rel=1e-12)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.0, 1.0, 1.0, 1.0), "give d/n and d/N, finite and above 0"),
        ((1.0, -1.0, 1.0, 1.0), "psi -1.0"),
        ((1.0, math.nan, 1.0, 1.0), "finite and above 0"),
        ((1.0, 1.0, -0.1, 1.0), "c_1\\^2 is -0.1"),
        ((1.0, 1.0, 0.0, 0.0), "constant activation has no features"),
    ],
)
def test_bad_numbers_are_named(numbers, words):
    with pytest.raises(ValueError, match=words):
        FeatureLimit(*numbers)


def test_bad_rows_and_values_are_named():
    limit = FeatureLimit(1.0, 1.0, 0.0, 1.0)
    for n in (0, -1, math.nan):
        with pytest.raises(ValueError, match="give rows above 0"):
            limit.typical_largest(n)
    with pytest.raises(ValueError, match="singular values are nan: give finite"):
        limit.singular_value_density(math.nan)
    assert limit.singular_value_density(-1.0) == 0


def test_penalties_below_the_rounding_of_the_moments_have_traces():
    # n << N, noise alone: K is c_{>1}^2 (1 + psi/phi) I but for a part of order psi/phi = 1e-6
    found = FeatureLimit(1e3, 1e-3, 0.0, 6.0).traces(1e-10)
    assert float(found.m1) == pytest.approx(1 / 6, rel=1e-5)
    assert float(found.g) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("lam", [0.0, -1.0, math.nan, math.inf])
def test_a_penalty_has_to_be_above_0(lam):
    with pytest.raises(ValueError, match="1e-8 stands for none"):
        FeatureLimit(1.0, 1.0, 1.0, 1.0).traces([1.0, lam])
