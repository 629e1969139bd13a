"""Simplified gradients of Gaussian inputs: Monte Carlo, integrals in the plane, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from gradfeat.theory.label_gradients import (
    linear_gradient,
    sign_gradient,
)

BIASES = (-1.5, -0.3, 0.0, 0.4, 2.0)
E1 = np.array([1.0, 0.0, 0.0])


def z_scores(found: np.ndarray, W: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray):
    """(mean of y x 1{w.x > b} - found) in standard errors, (m, d)."""
    fires = (x @ W.T > b).astype(float)
    mean = fires.T @ (y[:, None] * x) / len(x)
    square = fires.T @ (y[:, None] * x) ** 2 / len(x)
    return (mean - found) / (np.sqrt((square - mean**2) / len(x)) + 1e-12)


@pytest.mark.parametrize("length", [0.3, 2.0])
def test_closed_forms_are_the_monte_carlo_means(length):
    rng = np.random.default_rng(0)
    d, N = 4, 200_000
    u, x = np.linalg.qr(rng.standard_normal((d, 1)))[0][:, 0], rng.standard_normal((N, d))
    W, b = length * rng.standard_normal((5, d)), length * np.array(BIASES)
    turned = np.where(rng.random(N) < 0.2, -1.0, 1.0)
    along, noise = x @ u, rng.standard_normal(N)
    pairs = [
        (linear_gradient(u, W, b), along + 0.5 * noise),
        (sign_gradient(u, W, b), np.sign(along)),
        (sign_gradient(u, W, b, flip=0.2), np.sign(along) * turned),
        (sign_gradient(u, W, b, flip=0.5), np.where(noise < 0, -1.0, 1.0)),
    ]
    for found, y in pairs:
        assert np.abs(z_scores(found, W, b, x, y)).max() < 4.5  # 160 entries over both lengths


@pytest.mark.parametrize("b", BIASES)
@pytest.mark.parametrize("angle", [0.1, 1.0, math.pi / 2, 2.5])
def test_signs_are_the_integral_over_the_plane(angle, b):
    """E[sign(z1) z 1{cos z1 + sin z2 > b}]: the inner integral is closed, the outer by a rule."""
    nodes, weights = special.roots_legendre(2000)
    c, s = math.cos(angle), math.sin(angle)
    found = sign_gradient(E1, np.array([[c, s, 0.0]]), b)[0]
    expected = np.zeros(3)
    for side in (-1.0, 1.0):
        z, mass = side * 5 * (nodes + 1), 5 * weights * side
        mass = mass * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        t = (b - c * z) / s
        expected[0] += mass @ (z * stats.norm.sf(t))
        expected[1] += mass @ stats.norm.pdf(t)
    # Smooth integrands, at steepest of width 0.1 on [0, 10]: the rule is exact to rounding;
    # beyond 10 there is less than 1e-21.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("b", BIASES)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_neuron_along_u(b, side):
    """E[|z| 1{side z > b}] and E[z^2 1{side z > b}] on the axis, nothing beside it."""
    W, density = side * 2 * E1[None], stats.norm.pdf(b / 2)
    t = b / 2
    absolute = density if t > 0 else 2 * stats.norm.pdf(0) - density
    if t == 0:
        absolute = stats.norm.pdf(0)
    np.testing.assert_allclose(sign_gradient(E1, W, b)[0], absolute * E1, rtol=0, atol=1e-15)
    square = stats.norm.sf(t) + t * density
    np.testing.assert_allclose(linear_gradient(E1, W, b)[0], square * E1, rtol=0, atol=1e-15)


@pytest.mark.parametrize("b", [-1.0, 0.0, 1.0])
def test_the_sign_is_continuous_where_the_neuron_turns_to_u(b):
    near = np.array([[1.0, 1e-6, 0.0]])
    gap = sign_gradient(E1, near, b) - sign_gradient(E1, E1[None], b)
    assert np.abs(gap).max() < 2e-6  # slopes are below 1


def test_a_low_threshold_leaves_all_and_a_high_one_nothing():
    W = np.random.default_rng(1).standard_normal((4, 3))
    for gradient, whole in ((linear_gradient, 1.0), (sign_gradient, math.sqrt(2 / math.pi))):
        low, high = gradient(E1, W, -100.0), gradient(E1, W, 100.0)
        np.testing.assert_allclose(low, np.tile(whole * E1, (4, 1)), atol=1e-15)
        assert np.abs(high).max() < 1e-15
        both = gradient(E1, W, 0.3) + gradient(E1, -W, -0.3)
        np.testing.assert_allclose(both, low, atol=1e-15)  # one of w.x > b, -w.x > -b holds


@pytest.mark.parametrize("gradient", [linear_gradient, sign_gradient])
@pytest.mark.parametrize(
    ("u", "W", "words"),
    [
        (2 * E1, np.eye(3), "not orthonormal"),
        (E1, np.eye(4), r"W \(4, 4\): give"),
        (E1, np.diag([1.0, 0.0, 1.0]), "Row 1 of W is zero"),
    ],
)
def test_bad_input_is_named(gradient, u, W, words):
    with pytest.raises(ValueError, match=words):
        gradient(u, W)


@pytest.mark.parametrize("flip", [-0.1, 1.5])
def test_a_flip_is_a_probability(flip):
    with pytest.raises(ValueError, match=f"flip is {flip}: give a probability"):
        sign_gradient(np.array([1.0, 0.0]), np.array([[0.0, 2.0]]), flip=flip)
