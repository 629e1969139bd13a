"""Bulk edge, outliers and overlaps after one step: against simulated features and weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from one_step_samples import SIGMAS, gradient, on_sphere, target, z_score

from gradfeat.maths.activations import CentredReLU, Polynomial, ReLU, Tanh
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.maths.step_names import RESIDUALS
from gradfeat.theory.feature_resolvent import FeatureLimit
from gradfeat.theory.gradient_direction import gradient_direction
from gradfeat.theory.one_step_spectrum import (
    K_MAX,
    FeatureSpectrum,
    feature_spectrum,
    first_layer_outlier,
    step_spikes,
)
from gradfeat.theory.ridge_errors import moments
from gradfeat.theory.teacher import Teacher

TALK, NOISY = Teacher.single((0.0, 1.0, 0.5**0.5)), Teacher.single((0.0, 1.0), 1.0)
#: Sizes at which theory separates two spikes.
N_ROWS, D, WIDTH = 4000, 800, 400


def simulated(name, residual, eta, seed, n=N_ROWS, d=D, width=WIDTH):
    """Four largest values of F/sqrt(n), and cos^2 of their vectors with 1, u, He_2, He_3, |x|^2."""
    rng, sigma = np.random.default_rng(seed), SIGMAS[name]
    W, b = on_sphere(rng, width, d), on_sphere(rng, 1, d)[0]
    a, (X0, X) = rng.standard_normal(width) / math.sqrt(width), rng.standard_normal((2, n, d))
    scale = {"y": 0.0, "y - f0": 1.0}[residual]
    r = target(TALK.coefficients, X0 @ b) - scale * sigma.values(X0 @ W.T) @ a
    F = sigma.values(X @ (W + eta * gradient(sigma, X0, W, a, r)).T)
    e, V = np.linalg.eigh(F.T @ F / n)
    values = np.sqrt(e[:-5:-1])
    left = F @ V[:, :-5:-1] / math.sqrt(n) / values
    beta = X0.T @ r
    u, norm = X @ beta / np.linalg.norm(beta), (np.square(X).sum(1) - d) / math.sqrt(2 * d)
    P = np.stack([u**0, u, (u**2 - 1) / math.sqrt(2), (u**3 - 3 * u) / math.sqrt(6), norm])
    return values, np.square(P @ left / math.sqrt(n)).T


def predicted(name, residual, eta) -> FeatureSpectrum:
    sigma, phi, psi = SIGMAS[name].activation, D / N_ROWS, D / WIDTH
    return feature_spectrum(phi, psi, sigma, TALK, eta=eta, n=N_ROWS, residual=residual)


@pytest.mark.parametrize(
    ("name", "residual", "alpha", "count"),
    [
        ("centred relu", "y", 0.3, 2),
        ("centred relu", "y - f0", 0.2, 1),
        ("tanh", "y", 0.3, 1),
    ],
)
def test_outliers_and_overlaps_are_simulated_ones(name, residual, alpha, count):
    found = predicted(name, residual, N_ROWS**alpha)
    values, overlaps = simulated(name, residual, N_ROWS**alpha, 0)
    assert found.separated() == len(found.outliers) == count
    # |a| and |beta| of one draw are known to 1/sqrt(2 N) = 3.5 % each, sum a_j^4 to 20 %: the
    # first value to 12 %, the second (the root of that sum) to 15 %.
    np.testing.assert_allclose(values[:count], found.outliers, rtol=0.15)
    np.testing.assert_allclose(
        overlaps[:count], found.overlaps[:, [0, 1, 2, 3, K_MAX + 1]], atol=0.06
    )
    # What is left is the bulk: its largest value is near the edge, and meets no power of u.
    assert values[count] == pytest.approx(float(found.limit.typical_largest(N_ROWS)), rel=0.03)
    assert overlaps[count:, :3].max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("centred relu", 2), ("wave", 2), ("tanh", 1)])
def test_outliers_of_twenty_draws(name, count):
    eta = N_ROWS**0.3
    found = predicted(name, "y", eta)
    draws = np.array([simulated(name, "y", eta, k)[0] for k in range(20)])
    # Beyond sampling 10/N: the mean of roots of fluctuating sizes.
    assert (z_score(draws[:, :count], found.outliers, 0.06) < 4).all()
    assert (draws[:, :count] > 1.1 * found.edge).all()
    assert (draws[:, count] < 1.06 * found.edge).all()
    assert draws[:, count].mean() == pytest.approx(found.edge, rel=0.02)


def test_an_odd_activation_has_no_second_outlier_at_any_step():
    for eta in (1.0, 10.0, 60.0):
        found = feature_spectrum(0.2, 2.0, Tanh(), TALK, eta=eta, n=4000)
        overlaps = found.overlaps
        assert np.abs(overlaps[:, [0, 2, 4, 11]]).max(initial=0) < 1e-8
    assert len(feature_spectrum(0.2, 2.0, Tanh(), TALK, eta=0.1, n=4000).outliers) == 0


@pytest.mark.parametrize("name", ["centred relu", "tanh"])
def test_no_step_leaves_the_bulk_of_random_features(name):
    sigma = SIGMAS[name].activation
    found = feature_spectrum(0.5, 2 / 3, sigma, TALK, eta=0.0, n=3000)
    _, linear, rest = moments(sigma)
    limit = FeatureLimit(0.5, 2 / 3, linear, rest)
    # c~_2(1)^2/d of the rows' norms is a spike of its own, out of c_{>1}^2 by 1/d.
    assert found.edge == pytest.approx(float(limit.largest_singular_value()), rel=1e-3)
    assert found.separated() == 0


def test_outliers_grow_and_leave_the_bulk_in_order():
    spectra = [
        feature_spectrum(0.2, 2.0, CentredReLU(), TALK, eta=eta, n=4000)
        for eta in (0.0, 1.0, 3.0, 6.0, 12.0, 24.0)
    ]
    counts = [s.separated() for s in spectra]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 2
    first = [s.outliers[0] / s.edge for s in spectra if s.separated()]
    assert first == sorted(first)
    for s in spectra:
        assert (np.diff(s.outliers) < 0).all()
        assert (s.outliers > s.edge).all()
        assert (s.overlaps >= 0).all()
        assert (s.overlaps.sum(1) <= 1 + 1e-9).all()
    last = spectra[-1]
    assert last.separated(margin=100.0) == 0
    assert last.separated(margin=0.0) == len(last.outliers)


@pytest.mark.parametrize("name", ["centred relu", "tanh", "wave"])
def test_spikes_are_those_of_simulated_weights(name):
    # E[sigma(w.x) he_k(u)] = E[sigma(|w| Z) he_k(Z)] cos(w, beta)^k holds for every neuron.
    n, d, N, eta, sigma = 600, 300, 900, 6.0, SIGMAS[name]
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    he = np.stack([z**0, z, (z**2 - 1) / math.sqrt(2)])
    draws = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        W, b = on_sphere(rng, N, d), on_sphere(rng, 1, d)[0]
        a, X0 = rng.standard_normal(N) / math.sqrt(N), rng.standard_normal((n, d))
        y0 = target(TALK.coefficients, X0 @ b)
        V, beta = W + eta * gradient(sigma, X0, W, a, y0), X0.T @ y0
        size = np.linalg.norm(V, axis=1)
        cosine = V @ beta / np.linalg.norm(beta) / size
        c = sigma.values(size[:, None] * z) * weight / weight.sum() @ he.T
        v = c * cosine[:, None] ** np.arange(3)
        draws.append([*np.square(v).sum(0), (v[:, 0] * v[:, 2]).sum()])
    direction = gradient_direction(0.5, sigma.activation, TALK)
    found = step_spikes(sigma.activation, direction, eta, phi=0.5, psi=1 / 3, n=n)
    # w_j's own cosine adds c_k^2 N/d^k; w_j.G_j adds order 1/sqrt(d) of either sign.
    c = sigma.activation.hermite_coefficients(2) * np.array([1, 1, math.sqrt(2)])
    plain = np.array([0, c[1] ** 2 * N / d, 3 * c[2] ** 2 * N / d**2, 0])
    expected = np.array([*np.diag(found.gram)[:3], found.gram[0, 2]])
    error = np.std(draws, axis=0, ddof=1) / math.sqrt(6)
    away = np.abs(np.mean(draws, axis=0) - plain - expected)
    assert (away < 4 * error + 0.15 * expected + 1e-9).all()


@pytest.mark.parametrize("name", ["centred relu", "wave", "tanh"])
def test_small_steps_add_the_printed_columns(name):
    sigma, n, phi, psi = SIGMAS[name].activation, 1e8, 0.5, 0.4
    eta = n**0.25
    beta = gradient_direction(phi, sigma, TALK)
    found = step_spikes(sigma, beta, eta, phi=phi, psi=psi, n=n)
    c, N, size = sigma.hermite_coefficients(3), n * phi / psi, float(beta.norm_squared)
    for k, odd in ((1, 1), (2, 3), (3, 15)):
        printed = (c[1] ** k * c[k]) ** 2 * (eta**2 * size) ** k * odd / N ** (k - 1)
        # The next order is eta^2/N = 1e-4 of it; He_k = sqrt(k!) he_k.
        value = found.gram[k, k] / math.factorial(k)
        assert value == pytest.approx(printed, rel=0.01, abs=1e-12)
    _, linear, rest = moments(sigma)
    np.testing.assert_allclose([found.linear, found.nonlinear], [linear, rest], rtol=0.01)
    assert found.gram[11, 11] == pytest.approx((2 * c[2] ** 2) / psi, rel=0.01, abs=1e-12)


def test_spikes_broadcast():
    beta = gradient_direction(0.5, CentredReLU(), TALK)
    eta, n = np.array([0.0, 1.0, 5.0]), np.array([[500.0], [1000.0]])
    found = step_spikes(CentredReLU(), beta, eta, phi=0.5, psi=0.6, n=n)
    assert found.gram.shape == (2, 3, K_MAX + 2, K_MAX + 2)
    assert found.turned.shape == (2, 3, K_MAX + 2)
    one = step_spikes(CentredReLU(), beta, 5.0, phi=0.5, psi=0.6, n=1000.0)
    np.testing.assert_allclose(found.gram[1, 2], one.gram, rtol=1e-12)
    np.testing.assert_allclose(found.nonlinear[1, 2], one.nonlinear, rtol=1e-12)


def largest_of_first_layer(residual, eta, seed, n) -> list[float]:
    rng, sigma, d, N = np.random.default_rng(seed), SIGMAS["centred relu"], n // 2, n
    W, b, a = on_sphere(rng, N, d), on_sphere(rng, 1, d)[0], rng.standard_normal(N) / math.sqrt(N)
    X = rng.standard_normal((n, d))
    scale = {"y": 0.0, "y - f0": 1.0, "ba22": 1 / math.sqrt(N)}[residual]
    y = target(NOISY.coefficients, X @ b) + rng.standard_normal(n)
    V = W + eta * gradient(sigma, X, W, a, y - scale * sigma.values(X @ W.T) @ a)
    return [*np.sqrt(np.linalg.eigvalsh(V.T @ V)[-2:]), np.square(a @ V).sum() / (a @ a) - 1]


@pytest.mark.parametrize("residual", RESIDUALS)
def test_outlier_of_the_first_layer_is_a_simulated_one(residual):
    draws = np.array([largest_of_first_layer(residual, 4.0, k, 240) for k in range(50)])
    found = float(
        first_layer_outlier(0.5, 0.5, CentredReLU(), NOISY, eta=4.0, residual=residual, width=240)
    )
    # 50 draws; the gradient's own rows add eta^2 phi E r^2/N of noise to every singular value,
    # about 1 % of the largest.
    assert z_score(draws[:, 1], found, 0.02) < 3
    # tau^2 of the row a^T W, from value^2 tau^2 = (1 + tau^2)(N/d + tau^2).
    half = (found**2 - 3) / 2
    assert z_score(draws[:, 2], half + math.sqrt(half**2 - 2), 0.02) < 3
    assert draws[:, 0].mean() == pytest.approx(1 + math.sqrt(2), rel=0.06)


def test_first_layer_leaves_the_bulk_at_its_threshold():
    eta = 2 * 2**0.25 / math.sqrt(2.0)
    below, above, far = first_layer_outlier(
        0.5, 0.5, CentredReLU(), NOISY, eta=[0.999 * eta, 1.001 * eta, 50 * eta]
    )
    assert np.isnan(below)
    assert above == pytest.approx(1 + math.sqrt(2), rel=1e-5)  # continuous: at the edge
    assert far == pytest.approx(50 * 2**0.25, rel=0.01)
    value = first_layer_outlier([[0.5], [1.0]], 0.5, Tanh(), NOISY, eta=[2.0, 4.0, 8.0])
    assert value.shape == (2, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eta": -1.0}, "give finite numbers of 0 or more"),
        ({"eta": math.nan}, "The step size is"),
        ({"n": -3.0}, "n -3.0: give d/n, d/N and rows, finite and above 0"),
        ({"phi": 0.0}, "phi is 0.0"),
        ({"residual": "f"}, "give one of y, y - f0, ba22"),
        ({"activation": ReLU(), "residual": "y - f0"}, "centre the activation"),
    ],
)
def test_bad_numbers_are_named(change, words):
    arguments = {"phi": 0.5, "psi": 0.5, "activation": Tanh(), "teacher": TALK}
    with pytest.raises(ValueError, match=words):
        feature_spectrum(**(arguments | {"eta": 1.0, "n": 1000.0} | change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"psi": 0.0}, "psi 0.0 and n 900"),
        ({"psi": np.inf}, "psi inf"),
        ({"n": np.nan}, "n nan"),
        ({"teacher": Teacher.single((0.0,))}, "y is always 0"),
    ],
)
def test_a_spectrum_of_nothing_is_refused(change, words):
    cell = {"phi": 0.5, "psi": 0.5, "teacher": Teacher.single((0.0, 1.0)), "n": 900}
    with pytest.raises(ValueError, match=words):
        feature_spectrum(activation=CentredReLU(), eta=2.0, **(cell | change))


def test_a_slope_that_is_mostly_linear_has_no_outliers_after_a_large_step():
    """In NumPy at n = 1,000, d = 300, N = 150, eta = n^.2 the largest value is 14 % above 1.353."""
    bent, target = Polynomial((-0.5, 0.3, 0.5)), Teacher(polynomial("x1/2 + He2(x1)"), 0.3)
    setting = (0.3, 2.0, bent, target)
    found = feature_spectrum(*setting, eta=1000**0.2, n=1000)
    assert np.isnan(found.outliers).all()
    assert np.isfinite(found.edge)
    assert found.separated() == 0
    assert len(feature_spectrum(*setting, eta=0.1, n=1000).outliers) == 0
    etas = [1.0, 1000**0.2]
    assert np.isnan(first_layer_outlier(*setting, eta=etas, width=150)).all()
    assert np.isfinite(first_layer_outlier(*setting, eta=etas)[1])
    mild = (0.3, 2.0, Polynomial((-0.2, 0.5, 0.2)), target)
    assert np.isfinite(feature_spectrum(*mild, eta=1000**0.2, n=1000).outliers).all()
