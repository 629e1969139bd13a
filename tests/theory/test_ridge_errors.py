"""Errors of random-feature ridge: against simulation, finite differences and invariances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_step_samples import SIGMAS, on_sphere, target, z_score
from test_feature_resolvent import by_quadrature

from gradfeat.maths.activations import CentredReLU, Polynomial, ReLU, Tanh
from gradfeat.theory.ridge_errors import learned_shares, moments, random_feature_errors
from gradfeat.theory.teacher import Teacher

COEFFICIENTS, NOISE = (0.0, 1.0, 0.5, 0.3), 0.5
ranges = st.floats(0.1, 10)


def parts(errors) -> np.ndarray:
    return np.array([errors.training_loss, errors.training_error, errors.test_error])


def simulated(name, n, phi, psi, penalties, seed, targets, coefficients=COEFFICIENTS):
    """Loss, training and test error of one draw of features, averaged over targets: (lam, 3).

    Every column has its own direction and noise, so that one factorisation serves them all.
    """
    rng, sigma = np.random.default_rng(seed), SIGMAS[name].values
    d, N = round(n * phi), round(n * phi / psi)
    W, B = on_sphere(rng, N, d), on_sphere(rng, targets, d).T
    X, new = rng.standard_normal((2, n, d))
    Y = target(coefficients, X @ B) + NOISE * rng.standard_normal((n, targets))
    F, wanted = sigma(X @ W.T), target(coefficients, new @ B)
    if n >= N:
        e, V = np.linalg.eigh(F.T @ F)
        T, FV = V.T @ (F.T @ Y), F @ V
    else:
        e, U = np.linalg.eigh(F @ F.T)
        V, T = F.T @ U, U.T @ Y
        FV = F @ V
    test, found = sigma(new @ W.T) @ V, []
    for lam in penalties:
        C = T / (np.maximum(e, 0.0) + n * lam)[:, None]
        size = np.square(C) if n >= N else np.square(C) * e[:, None]
        error = np.square(Y - FV @ C).mean()
        missed = np.square(wanted - test @ C).mean() + NOISE**2
        found.append([error + lam * size.sum() / targets, error, missed])
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "phi", "psi", "lam"),
    [
        ("relu", 0.8, 1.6, 0.1),
        ("centred relu", 0.5, 2 / 3, 0.01),
        ("tanh", 1.5, 1.5, 0.05),
        ("erf", 0.5, 0.3, 0.1),
        ("wave", 0.4, 0.5, 0.02),
    ],
)
def test_errors_are_those_of_simulated_ridge(name, phi, psi, lam):
    n, teacher = 400, Teacher.single(COEFFICIENTS, NOISE)
    found = parts(random_feature_errors(phi, psi, lam, SIGMAS[name].activation, teacher))
    draws = np.array([simulated(name, n, phi, psi, [lam], k, 100)[0] for k in range(6)])
    # Six draws of 100 targets: 2 % of spread. Corrections are of relative order 1/n: 4/n is
    # allowed beside four standard errors.
    assert (z_score(draws, found, 4 / n) < 4).all()
    assert np.abs(draws.mean(0) / found - 1).max() < 0.08


#: Rows, inputs, neurons and penalty where features of degree 2 are learned, not noise.
FEW_INPUTS = [(300, 30, 300, 0.01), (400, 40, 200, 0.05), (400, 80, 400, 0.01)]


@pytest.mark.parametrize(("n", "d", "N", "lam"), FEW_INPUTS)
def test_few_inputs_beside_rows_learn_functions_of_degree_two(n, d, N, lam):
    sigma, bent = SIGMAS["centred relu"].activation, (0.0, 1.0, 0.7)
    shape, teacher = (n, d / n, d / N), Teacher.single(bent, NOISE)
    draws = [simulated("centred relu", *shape, [lam], k, 30, bent)[0] for k in range(30)]
    found = parts(random_feature_errors(d / n, d / N, lam, sigma, teacher, n=n))
    # 5 %: lengths of rows vary by (2/d)^{1/2}.
    assert (z_score(np.array(draws), found, 0.05) < 3).all()
    limit = parts(random_feature_errors(d / n, d / N, lam, sigma, teacher))
    assert limit[2] > 1.08 * np.mean(draws, 0)[2]


def test_two_thousand_inputs_are_the_limit():
    setting = (0.5, 0.7, 0.03, CentredReLU(), Teacher.single(COEFFICIENTS, NOISE))
    near, limit = (
        parts(random_feature_errors(*setting, n=4000)),
        parts(random_feature_errors(*setting)),
    )
    np.testing.assert_allclose(near, limit, rtol=2e-3)
    far = parts(random_feature_errors(*setting, n=1e12))
    np.testing.assert_allclose(far, limit, rtol=1e-9)


@pytest.mark.slow
def test_errors_over_activations_shapes_and_penalties():
    """Four activations at 18 points (phi, psi, lambda), 20 draws of 250 targets each.

    Run with `-s` it reports the largest deviations.
    """
    penalties = np.array([0.01, 0.05, 0.5])
    shapes = [(0.5, 2 / 3), (0.5, 0.5), (0.8, 0.4), (1.5, 1.5), (0.3, 0.9), (0.6, 1.5)]
    teacher = Teacher.single(COEFFICIENTS, NOISE)
    worst_z, worst = 0.0, 0.0
    for name, (phi, psi) in itertools.product(("relu", "centred relu", "tanh", "erf"), shapes):
        found = parts(
            random_feature_errors(phi, psi, penalties, SIGMAS[name].activation, teacher)
        ).T
        draws = np.array([simulated(name, 1000, phi, psi, penalties, k, 250) for k in range(20)])
        worst_z = max(worst_z, float(z_score(draws, found).max()))
        worst = max(worst, float(np.abs(draws.mean(0) / found - 1).max()))
    print(f"worst z {worst_z:.2f}, worst relative difference {worst:.4f}")  # noqa: T201
    assert worst_z < 4
    assert worst < 0.02


@pytest.mark.parametrize(("phi", "psi", "lam"), [(0.5, 2 / 3, 0.01), (2.0, 0.7, 0.1)])
def test_errors_equal_the_printed_form_over_the_marchenko_pastur_law(phi, psi, lam):
    activation, teacher, h = CentredReLU(), Teacher.single(COEFFICIENTS, NOISE), 1e-4
    _, linear, rest = moments(activation)

    def st_at(penalty: float) -> np.ndarray:
        return psi / phi * np.array(by_quadrature(phi, psi, penalty, linear, rest)[:2])

    s, t = st_at(lam)
    ds, dt = (st_at(lam * (1 + h)) - st_at(lam * (1 - h))) / (2 * h * lam)
    more = 2 * 0.25 + 6 * 0.09 + NOISE**2  # c_*^2 - c_{*1}^2 + sigma_e^2
    found = random_feature_errors(phi, psi, lam, activation, teacher)
    assert found.training_loss == pytest.approx(lam * (t + more * s), rel=1e-9)
    # Central differences: h^2 of the value, and rounding 1e-12/h.
    assert found.test_error == pytest.approx(-(dt + more * ds) / s**2, rel=1e-6)
    assert found.training_error == pytest.approx(-(lam**2) * (dt + more * ds), rel=1e-6)


@given(phi=ranges, psi=ranges, lam=st.floats(0.01, 10), noise=st.floats(0, 3), c=ranges)
@settings(max_examples=10)
def test_scale_noise_and_order_of_the_errors(phi, psi, lam, noise, c):
    def at(scale: float, spread: float) -> np.ndarray:
        teacher = Teacher.single(tuple(scale * k for k in COEFFICIENTS), spread)
        return parts(random_feature_errors(phi, psi, lam, Tanh(), teacher))

    base = at(1, noise)
    np.testing.assert_allclose(at(c, c * noise), c**2 * base, rtol=1e-12)
    assert (at(1, noise + 0.1) > base).all()
    assert base[1] < base[0] < float(Teacher.single(COEFFICIENTS, noise).power)
    assert base[2] > noise**2


def test_generalised_cross_validation_joins_training_and_test_error():
    found = random_feature_errors(0.5, 0.7, 0.03, Tanh(), Teacher.single(COEFFICIENTS, NOISE))
    _, linear, rest = moments(Tanh())
    s = 1.4 * by_quadrature(0.5, 0.7, 0.03, linear, rest)[0]
    assert found.test_error == pytest.approx(found.training_error / (0.03 * s) ** 2, rel=1e-10)


def test_double_descent_peaks_where_rows_and_neurons_are_as_many():
    psi = 0.5 / np.linspace(0.3, 3.0, 271)  # N/n from 0.3 to 3
    teacher = Teacher.single((0.0, 1.0), 0.5)
    test = random_feature_errors(0.5, psi, 1e-8, CentredReLU(), teacher).test_error
    assert 0.5 / psi[np.argmax(test)] == pytest.approx(1.0, abs=0.01)
    assert test.max() > 20 * test[[0, -1]].max()


def test_many_linear_neurons_are_ridge_regression_on_x():
    # psi -> 0 and sigma(z) = z: w = W0^T a costs lambda |a|^2 = lambda psi |w|^2.
    phi, psi, shift, noise = 0.5, 1e-7, 0.2, 0.6
    X = np.random.default_rng(0).standard_normal((400, 200))
    e = np.linalg.eigvalsh(X.T @ X / 400)
    risk = np.mean((shift / (e + shift)) ** 2)
    risk += noise**2 * (1 + phi * np.mean(e / (e + shift) ** 2))
    teacher = Teacher.single((0.0, 1.0), noise)
    found = random_feature_errors(phi, psi, shift / psi, Polynomial((0.0, 1.0)), teacher)
    # Averages over one spectrum of 200 eigenvalues: a few 1/200.
    assert found.test_error == pytest.approx(risk, rel=0.01)


def test_a_mean_of_the_activation_takes_the_mean_of_the_target():
    with_mean, without = Teacher.single((5.0, 1.0), 0.5), Teacher.single((0.0, 1.0), 0.5)
    centred = parts(random_feature_errors(0.5, 0.7, 0.1, CentredReLU(), without))
    for teacher in (with_mean, without):
        relu = parts(random_feature_errors(0.5, 0.7, 0.1, ReLU(), teacher))
        np.testing.assert_allclose(relu, centred, rtol=1e-9)
    lost = random_feature_errors(0.5, 0.7, 0.1, CentredReLU(), with_mean)
    assert lost.test_error > 25


def test_moments_add_up():
    for sigma in SIGMAS.values():
        z = np.linspace(-12, 12, 240_001)
        weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * 1e-4
        f = sigma.values(z)
        mean, slope = weight @ f, weight @ (f * z)
        expected = [mean, slope**2, weight @ f**2 - mean**2 - slope**2]
        # The trapezoidal rule with steps of 1e-4 meets the kink at a node.
        np.testing.assert_allclose(moments(sigma.activation), expected, atol=1e-8)


def test_arguments_broadcast_and_equal_single_calls():
    phi, lam = np.array([[0.5], [1.0]]), np.array([0.01, 0.1, 1.0])
    noise = np.array([0.0, 1.0])[:, None, None]
    found = random_feature_errors(phi, 0.6, lam, Tanh(), Teacher.single(COEFFICIENTS, noise))
    assert found.test_error.shape == found.training_loss.shape == (2, 2, 3)
    for i, j, k in np.ndindex(2, 2, 3):
        teacher = Teacher.single(COEFFICIENTS, noise[i, 0, 0])
        one = parts(random_feature_errors(phi[j, 0], 0.6, lam[k], Tanh(), teacher))
        np.testing.assert_allclose(parts(found)[:, i, j, k], one, rtol=1e-12)


def test_differences_are_gains():
    low, high = (
        random_feature_errors(0.5, 0.6, lam, Tanh(), Teacher.single((0.0, 1.0))) for lam in (1, 2)
    )
    np.testing.assert_allclose(parts(high - low), parts(high) - parts(low))


def test_bad_numbers_are_named():
    teacher = Teacher.single((0.0, 1.0))
    with pytest.raises(ValueError, match="phi is -1"):
        random_feature_errors(-1, 0.5, 0.1, Tanh(), teacher)
    with pytest.raises(ValueError, match="The penalty is 0"):
        random_feature_errors(1, 0.5, 0, Tanh(), teacher)
    with pytest.raises(ValueError, match="constant activation has no features"):
        random_feature_errors(1, 0.5, 0.1, Polynomial((1.0,)), teacher)


def test_shares_of_the_target_that_are_learned_are_simulated_ones():
    n, d, N, lam, sigma = 200, 100, 150, 0.01, CentredReLU()
    rng, found = np.random.default_rng(0), []
    for _ in range(12):
        W = rng.standard_normal((N, d))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        X, T = rng.standard_normal((2, n, d))
        F, G = (np.maximum(x @ W.T, 0) - 1 / np.sqrt(2 * np.pi) for x in (X, T))
        solved = np.linalg.solve(F.T @ F + n * lam * np.eye(N), F.T)
        # Every direction is one more target: its linear and its quadratic part alone.
        parts = [(X, T), (X**2 - 1, T**2 - 1)]
        found.append([np.mean((G @ solved @ y) * new) / np.mean(new**2) for y, new in parts])
    linear, quadratic = learned_shares(d / n, d / N, lam, sigma, n)
    draws = np.array(found)
    error = draws.std(0, ddof=1) / np.sqrt(len(draws))
    # Of order 1/n beside the leading term, which is .64 and .015.
    assert (np.abs(draws.mean(0) - [linear, quadratic]) < 4 * error + [0.01, 0.003]).all()
    assert 0.005 < quadratic < 0.03
