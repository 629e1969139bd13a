"""The second gradient in the limit against networks, and what it sees on reused rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from gradfeat.maths.activations import Erf, Polynomial, ReLU, Tanh
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.theory.second_step import second_gradient, step_outliers

HE3 = HermiteSeries((0, 0, 0, 6**-0.5))
MIXED = HermiteSeries((0.2, 0.5, 0.4))


def simulated(g, activation, phi, eta, noise, rows, d=300, m=30, seeds=10):
    """Means and standard errors over seeds of G_2.u, G_2.w and |G_2|^2."""
    slope = activation.derivative_values
    found = []
    for seed in range(seeds):
        draw = np.random.default_rng(seed)
        n = round(d / phi)

        def sample(draw=draw, n=n):
            X = draw.standard_normal((n, d))
            return X, g(X[:, 0]) + noise * draw.standard_normal(n)

        X, y = sample()
        W = draw.standard_normal((m, d))
        W[:, 0] -= W[:, 0].mean()  # w.u = 0 on average: the limit's w.u = 0 without its noise
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        W1 = W + eta * (y[:, None] * slope(X @ W.T)).T @ X / n
        if rows == "fresh":
            X, y = sample()
        G = (y[:, None] * slope(X @ W1.T)).T @ X / n
        found.append([G[:, 0].mean(), (G * W).sum(1).mean(), np.square(G).sum(1).mean()])
    return np.mean(found, 0), np.std(found, 0, ddof=1) / seeds**0.5


@pytest.mark.parametrize(
    ("g", "activation", "phi", "eta", "noise"),
    [(HE3, Tanh(), 0.25, 2.0, 0.0), (MIXED, Erf(), 0.5, -1.0, 0.5), (MIXED, ReLU(), 0.3, 1.5, 0.0)],
)
@pytest.mark.parametrize("rows", ["reused", "fresh"])
def test_networks_have_the_gradient_of_the_limit(g, activation, phi, eta, noise, rows):
    limit = second_gradient(g, activation, phi, eta, noise=noise, rows=rows)
    mean, error = simulated(g, activation, phi, eta, noise, rows)
    predicted = np.array([limit.signal, limit.own, limit.norm_squared])
    # Four standard errors, and d^{-1} of the length for what the limit leaves out.
    assert (np.abs(mean - predicted) < 4 * error + 2 * limit.norm_squared**0.5 / 300).all()


def _erf_mean(A, spread):
    wide = 1 + 2 * spread**2
    return 2 / math.sqrt(math.pi * wide) * np.exp(-(A**2) / wide)


@pytest.mark.parametrize(
    ("g", "activation", "mean", "phi", "eta"),
    [
        (HE3, Erf(), _erf_mean, 0.25, 20.0),
        (HE3, Erf(), _erf_mean, 4.0, -300.0),
        (MIXED, ReLU(), lambda A, spread: ndtr(A / spread), 0.01, 1.0),
        (HE3, ReLU(), lambda A, spread: ndtr(A / spread), 1.0, 3.0),
    ],
)
@pytest.mark.parametrize("rows", ["reused", "fresh"])
def test_steps_of_any_size_and_kinks_are_integrated(g, activation, mean, phi, eta, rows):
    """E sigma'(A + B xi) in closed form, and midpoints of s and z."""
    s, z = np.ix_(np.arange(-7.995, 8, 0.01), np.arange(-7.9875, 8, 0.015))
    weights = np.exp(-(s**2 + z**2) / 2)
    weights /= weights.sum()
    y = g(s)
    c = y * activation.derivative_values(z)
    m, q, power = ((weights * c * part).sum() for part in (s, z, c))
    A = (1 + eta * q) * z + eta * (m * s + (rows == "reused") * phi * c)
    r = weights * y * mean(A, abs(eta) * math.sqrt(phi * power))
    found = second_gradient(g, activation, phi, eta, rows=rows)
    expected = [(r * s).sum(), (r * z).sum()]
    # Midpoints miss a kink's share of a cell: 1e-4 of the length.
    error = 5e-4 * found.norm_squared**0.5
    assert [found.signal, found.own] == pytest.approx(expected, abs=error)


def _jumping(z):
    return np.where(z > 1, 2.0, -1.0) + (z < -0.3)


@pytest.mark.parametrize("rows", ["reused", "fresh"])
def test_labels_that_jump_are_integrated(rows):
    """Midpoints whose cells end at the jumps."""
    s, z = np.ix_(np.arange(-7.995, 8, 0.01), np.arange(-7.9875, 8, 0.015))
    weights = np.exp(-(s**2 + z**2) / 2)
    weights /= weights.sum()
    y, phi, eta = _jumping(s), 0.2, 4.0
    c = y * (z > 0)
    m, q, power = ((weights * c * part).sum() for part in (s, z, c))
    A = (1 + eta * q) * z + eta * (m * s + (rows == "reused") * phi * c)
    r = weights * y * ndtr(A / (eta * math.sqrt(phi * power)))
    found = second_gradient(_jumping, ReLU(), phi, eta, rows=rows)
    assert [found.signal, found.own] == pytest.approx([(r * s).sum(), (r * z).sum()], rel=1e-3)


def test_odd_targets_are_seen_on_reused_rows_alone():
    for activation in (Tanh(), Erf()):
        assert abs(second_gradient(HE3, activation, 0.25, 2.0).overlap) > 0.3
        assert abs(second_gradient(HE3, activation, 0.25, 2.0, rows="fresh").overlap) < 1e-12


def test_targets_without_a_transform_are_not_seen():
    hidden = lambda z: z**2 * np.exp(-(z**2)) - 3**-1.5  # noqa: E731
    even = HermiteSeries((0, 0, 0, 0, 24**-0.5))
    for g in (hidden, even):
        assert abs(second_gradient(g, Tanh(), 0.25, 2.0).overlap) < 1e-12


def test_a_first_step_of_nothing_leaves_the_first_gradient():
    """At eta = 0 both are the first gradient, with overlap c_1 c_*1/sqrt(D)."""
    for rows in ("reused", "fresh"):
        found = second_gradient(HermiteSeries((0, 1)), Polynomial((0, 1)), 0.5, 0.0, rows=rows)
        assert found.overlap == pytest.approx(1 / math.sqrt(1 + 0.5))


def test_small_steps_reuse_the_cube_of_the_label():
    """To lowest order E[r s] = (eta phi)^2 E[sigma'^2 sigma''']/2 E[y^3 s] for an odd target."""
    phi, eta = 0.25, 0.02
    z = np.linspace(-9, 9, 4_001)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    first = 1 - np.tanh(z) ** 2
    third = -2 * first * (1 - 3 * np.tanh(z) ** 2)
    lowest = (eta * phi) ** 2 / 2 * (weights @ (first**2 * third)) * (weights @ (HE3(z) ** 3 * z))
    assert second_gradient(HE3, Tanh(), phi, eta).signal == pytest.approx(lowest, rel=0.05)


def test_outliers_are_counted_by_both_exponents():
    assert [step_outliers(a, a) for a in (0.1, 0.3, 0.35, 0.39)] == [1, 2, 3, 4]
    assert step_outliers(0.4, 0.05) == step_outliers(0.05, 0.4) == 1
    assert (step_outliers(0.45, 0.28), step_outliers(0.26, 0.45)) == (6, 2)
    assert np.isnan([step_outliers(0.25, 0.25), step_outliers(0.0, 0.0)]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: second_gradient(HE3, Tanh(), 0.0, 1.0), "phi is 0.0"),
        (lambda: second_gradient(HE3, Tanh(), 0.5, math.inf), "eta is inf"),
        (lambda: second_gradient(HE3, Tanh(), 0.5, 1.0, noise=-1.0), "noise is -1.0"),
        (lambda: second_gradient(HE3, Tanh(), 0.5, 1.0, rows="old"), "rows are 'old'"),
        (lambda: second_gradient(lambda z: 0 * z, Tanh(), 0.5, 1.0), "not flat"),
        (lambda: second_gradient(lambda z: z * np.nan, Tanh(), 0.5, 1.0), "not finite"),
        (lambda: step_outliers(0.5, 0.1), "exponents of the steps are 0.5"),
    ],
)
def test_outside_the_regime_a_sentence_says_so(call, words):
    with pytest.raises(ValueError, match=words):
        call()
