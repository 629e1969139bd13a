"""The gradient series against Monte Carlo and direct integration; Lemma 1 and its error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from gradfeat.maths.hermite import HermiteSeries, ramp_coefficients
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.activation_coefficients import coefficients_of, relu_coefficients
from gradfeat.theory.damian22_gradient import (
    beyond_linear,
    gradient_series,
    leading_term,
    population_gradient,
)

BIASES = (-1.0, 0.0, 0.5, 2.0)


def directions(d: int, r: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, r)))[0]


@pytest.mark.parametrize(("degree", "r"), [(2, 1), (3, 2), (4, 3), (5, 2), (5, 3)])
@pytest.mark.parametrize("b", BIASES)
def test_series_is_the_monte_carlo_gradient(degree, r, b):
    rng = np.random.default_rng(10 * degree + r)
    d, N = 5, 200_000
    g, U, W = MultiHermite.random(r, degree, rng), directions(d, r, rng), rng.normal(size=(4, d))
    x = rng.standard_normal((N, d))
    weight = g(x @ U)[:, None] * (x @ W.T + b > 0)
    mean, square = weight.T @ x / N, (weight**2).T @ x**2 / N
    z = (mean - gradient_series(g, U, W, b)) / np.sqrt((square - mean**2) / N)
    assert np.abs(z).max() < 4  # standard errors, over 20 entries


def plane_integral(g: HermiteSeries, w: tuple[float, float], b: float) -> np.ndarray:
    """E[g(z_1) z 1{w.z + b > 0}] on a grid: z_2 runs from the kink on, so both axes are smooth."""
    nodes, weights = special.roots_legendre(400)
    z1 = 12 * nodes
    kink = np.clip(-(b + w[0] * z1) / w[1], -12, 12)
    half = (12 - kink) / 2
    z2 = kink[:, None] + half[:, None] * (nodes + 1)
    density = np.exp(-(z1[:, None] ** 2 + z2**2) / 2) / (2 * math.pi)
    mass = 12 * weights[:, None] * half[:, None] * weights * density * g(z1)[:, None]
    return np.array([np.sum(mass * z1[:, None]), np.sum(mass * z2)])


@pytest.mark.parametrize("w", [(0.6, 0.8), (-1.5, 0.4), (0.1, 3.0)])
@pytest.mark.parametrize("b", BIASES)
def test_series_is_the_integral_over_the_plane_of_u_and_w(w, b):
    g = HermiteSeries((0.7, -0.4, 0.5, 0.3, -0.2, 0.1))
    rng = np.random.default_rng(0)
    axes = directions(7, 2, rng)
    found = gradient_series(MultiHermite.from_series(g), axes[:, :1], (axes @ w)[None], b)[0]
    # The rule is exact to rounding of 160,000 terms of size up to about 10.
    np.testing.assert_allclose(found, axes @ plane_integral(g, w, b), atol=1e-11)


def test_a_smooth_activation_by_numeric_coefficients():
    g, w, b = HermiteSeries((0.2, 1.0, 0.5, 0.3)), np.array([1.2, -0.7]), 0.4
    z, weights = special.roots_hermitenorm(200)
    one, two = np.meshgrid(z, z, indexing="ij")
    mass = np.outer(weights, weights) / weights.sum() ** 2
    mass = mass * g(one) / np.cosh(w[0] * one + w[1] * two + b) ** 2
    expected = np.array([np.sum(mass * one), np.sum(mass * two)])
    target, U = MultiHermite.from_series(g), np.eye(2)[:, :1]
    found = gradient_series(target, U, w[None], b, coefficients=coefficients_of(np.tanh))[0]
    # tanh' has poles at distance pi/2/|w|: 200 nodes leave about exp(-2 sqrt(200) 1.1).
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(found - gradient_series(target, U, w[None], b)[0]).max() > 0.01


def test_relu_coefficients_are_the_ramp_and_the_quadrature():
    scale, bias = np.array([0.5, 1.0, 2.0]), np.array([1.0, -0.5, 0.0])
    closed = relu_coefficients(scale, bias, 6)
    ramp = [s * ramp_coefficients(-b / s, 6) for s, b in zip(scale, bias, strict=True)]
    np.testing.assert_allclose(closed, ramp, atol=1e-15)
    numeric = coefficients_of(lambda z: np.maximum(z, 0), (0.0,))(scale, bias, 6)
    np.testing.assert_allclose(closed, numeric, atol=1e-13)  # the quadrature's stated error
    assert relu_coefficients(scale, bias, 0).shape == (3, 1)


@pytest.mark.parametrize("length", [0.1, 1.0, 7.0])
def test_relu_gradient_depends_on_w_and_b_by_their_ratio(length):
    rng = np.random.default_rng(1)
    g, U, W = MultiHermite.random(2, 4, rng), directions(6, 2, rng), rng.normal(size=(3, 6))
    b = np.array([0.3, -1.0, 0.0])
    scaled = gradient_series(g, U, length * W, length * b)
    np.testing.assert_allclose(scaled, gradient_series(g, U, W, b), atol=1e-13)  # rounding


def test_a_constant_target_leaves_the_mean_of_the_neuron():
    # E[x 1{w.x + b > 0}] = u phi(b/|w|), and E x = 0 beyond.
    W, b = np.array([[3.0, 4.0]]), 2.0
    g = MultiHermite(((0,),), (1.5,))
    found = gradient_series(g, np.eye(2)[:, :1], W, b)[0]
    np.testing.assert_allclose(found, 1.5 * stats.norm.pdf(0.4) * W[0] / 5, rtol=1e-13)


def test_printed_coefficients_of_the_series_without_bias():
    # science: c_0 = 1/sqrt(2 pi), c_1 = 1/2, c_2j = (-1)^(j-1) (2j-3)!!/sqrt(2 pi), odd ones zero.
    c = relu_coefficients(np.ones(1), np.zeros(1), 8)[0] * special.factorial(np.arange(9))
    printed = np.array([1, math.sqrt(math.pi / 2), 1, 0, -1, 0, 3, 0, -15]) / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(c, printed, atol=1e-14)


def test_partial_sums_end_in_the_whole_and_begin_with_lemma_1():
    rng = np.random.default_rng(2)
    g, U, W = MultiHermite.random(3, 5, rng), directions(8, 3, rng), rng.normal(size=(4, 8))
    a = rng.choice([-1.0, 1.0], 4)
    sums = [population_gradient(g, U, W, a, order=k) for k in range(7)]
    assert np.abs(sums[0]).max() == 0
    np.testing.assert_allclose(sums[1], leading_term(g, U, W, a), atol=1e-14)
    assert all(np.abs(sums[k] - sums[k - 1]).max() > 1e-4 for k in range(1, 5))
    np.testing.assert_array_equal(sums[6], population_gradient(g, U, W, a))


def test_population_gradient_is_the_slope_of_the_loss():
    # The loss of the pair (w, a), (w0, -a) by Gauss-Hermite in the plane, smooth activation.
    g, U, a, b = HermiteSeries((1.0, -2.0, 0.5, 0.4)), np.eye(2)[:, :1], 1.0, 0.3
    z, weights = special.roots_hermitenorm(60)
    x = np.stack(np.meshgrid(z, z, indexing="ij"), -1)
    mass = np.outer(weights, weights) / weights.sum() ** 2
    rest = HermiteSeries((0.0, 0.0, 0.5, 0.4))(x[..., 0])
    w0 = np.array([0.3, 0.5])

    def loss(w: np.ndarray) -> float:
        return float(np.sum(mass * (rest - a * (np.sin(x @ w + b) - np.sin(x @ w0 + b))) ** 2))

    step = 1e-5
    slope = [(loss(w0 + step * e) - loss(w0 - step * e)) / (2 * step) for e in np.eye(2)]
    found = population_gradient(
        MultiHermite.from_series(g),
        U,
        w0[None],
        np.array([a]),
        b,
        coefficients=coefficients_of(np.sin),
    )
    np.testing.assert_allclose(found[0], slope, atol=1e-8)  # step^2, and rounding/step


def test_beyond_linear_removes_constant_and_linear_part_only():
    g = MultiHermite.random(2, 3, np.random.default_rng(3))
    rest = beyond_linear(g)
    z = np.random.default_rng(4).normal(size=(5, 2))
    expected = g(z) - g.part(0)(z) - g.part(1)(z)
    np.testing.assert_allclose(rest(z), expected, atol=1e-14)
    assert beyond_linear(g.part(1)).norm_squared() == 0


@pytest.mark.parametrize(
    ("U", "W", "order", "words"),
    [
        (np.ones((3, 1)), np.eye(3), None, "not orthonormal"),
        (np.eye(3)[:, :2], np.eye(3), None, "1 variables"),
        (np.eye(3)[:, :1], np.eye(4), None, r"W \(4, 4\)"),
        (np.eye(3)[:, :1], np.diag([1.0, 0.0, 1.0]), None, "Row 1 of W is zero"),
        (np.eye(3)[:, :1], np.eye(3), -1, "order of the series was -1"),
    ],
)
def test_bad_input_is_named(U, W, order, words):
    with pytest.raises(ValueError, match=words):
        gradient_series(MultiHermite(((2,),), (1.0,)), U, W, order=order)
