"""Rows of W0 from N(0, I/d), and a head with an intercept: what they change in theory's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from one_step_samples import SIGMAS, dual, gradient, on_sphere, target, z_score

from gradfeat.maths.step_names import ROW_LAWS, RowLaw
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.one_step_errors import column_errors, limit_errors
from gradfeat.theory.one_step_spectrum import feature_spectrum
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.ridge_errors import RidgeErrors, feature_limit, random_feature_errors
from gradfeat.theory.teacher import Teacher

PHI, PSI, LAM = 0.5, 2 / 3, 0.01
TALK = Teacher.single((0.0, 1.0, 0.5**0.5))
RELU = SIGMAS["centred relu"].activation


def parts(errors: RidgeErrors) -> np.ndarray:
    return np.array([errors.training_loss, errors.training_error, errors.test_error])


def first_layer(rng: np.random.Generator, N: int, d: int, rows: RowLaw) -> np.ndarray:
    return on_sphere(rng, N, d) if rows == "sphere" else rng.standard_normal((N, d)) / d**0.5


def test_with_an_intercept_the_four_thirds_of_two_columns_are_two():
    traces = feature_limit(PHI, PSI, RELU).traces(LAM)
    found = limit_errors(PHI, PSI, LAM, RELU, TALK, degree=[1, 2], intercept=True)
    squared = 2.0  # |beta|^2 at phi = 1/2 for E y^2 = 2 and c_{*1} = 1
    second = LAM * traces.s * 0.5 / squared**2
    gain = found.training_loss[0] - found.training_loss[1]
    assert gain == pytest.approx(float(2 * second), rel=1e-9)
    printed = limit_errors(PHI, PSI, LAM, RELU, TALK, degree=[1, 2], printed=True)
    gain = printed.training_loss[0] - printed.training_loss[1]
    assert gain == pytest.approx(float(4 / 3 * second), rel=1e-9)
    beside = column_errors(PHI, PSI, LAM, RELU, TALK, powers=(0, 1, 2))
    np.testing.assert_allclose(parts(found)[:, 1], parts(beside), rtol=1e-9)


@pytest.mark.parametrize("rows", ROW_LAWS)
def test_weight_of_the_constant_is_a_simulated_one(rows):
    n, d, N, sigma = 300, 150, 225, SIGMAS["wave"]
    weights = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X, W = rng.standard_normal((n, d)), first_layer(rng, N, d, rows)
        weights.append(dual(sigma.values(X @ W.T), LAM).sum() / n / LAM)
    expected = {law: float(feature_limit(PHI, PSI, sigma.activation, law).traces(LAM).s0)
                for law in ROW_LAWS}  # fmt: skip
    assert z_score(np.array(weights), expected[rows], 0.03) < 4
    other = expected["sphere" if rows == "gaussian" else "gaussian"]
    assert z_score(np.array(weights), other, 0.03) > 6


CASES = [(rows, intercept) for rows in ROW_LAWS for intercept in (False, True)]


@pytest.mark.parametrize(("rows", "intercept"), CASES)
def test_losses_after_a_step_are_simulated_ones(rows, intercept):
    # Training loss without and with a step n^.3, over two targets: with and without a mean.
    n, d, N, sigma, lam = 200, 100, 150, SIGMAS["wave"], 0.05
    teachers, found = (Teacher.single((0.0, 1.0, 0.5)), Teacher.single((0.6, 1.0, 0.5))), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X0, X = rng.standard_normal((2, n, d))
        W, a = first_layer(rng, N, d, rows), rng.standard_normal(N) / N**0.5
        losses = []
        for teacher in teachers:
            y0, y = (target(teacher.coefficients, x[:, 0]) for x in (X0, X))
            scale = float(teacher.power) / np.mean(y**2)
            G = gradient(sigma, X0, W, a, y0)
            for etas in ((0.0,), (n**0.3, -(n**0.3))):
                left = [loss(sigma.values(X @ (W + eta * G).T), y, lam, intercept) for eta in etas]
                losses.append(scale * np.mean(left))
        found.append(losses)
    expected = np.array([
        finite_step_errors(PHI, PSI, lam, sigma.activation, teacher, eta=[0.0, n**0.3], n=n,
                           rows=rows, intercept=intercept).training_loss
        for teacher in teachers
    ]).ravel()  # fmt: skip
    assert (z_score(np.array(found), expected, 0.05) < 4).all()


def loss(F: np.ndarray, y: np.ndarray, lam: float, intercept: bool) -> float:
    """min (1/n)|y - F a - b|^2 + lam |a|^2, b = 0 without an intercept."""
    R, one = dual(F, lam), np.ones(len(y))
    b = one @ R @ y / (one @ R @ one) if intercept else 0.0
    return float((y - b) @ R @ (y - b)) / len(y)


@pytest.mark.parametrize(("rows", "intercept"), CASES)
def test_finite_steps_of_huge_networks_are_on_the_stairs(rows, intercept):
    sigma, teacher, n = SIGMAS["wave"].activation, Teacher.single((0.8, 1.0, 0.5)), 1e16
    start = {"rows": rows, "intercept": intercept}
    for alpha, degree in ((0.2, 1), (0.3, 2)):
        huge = finite_step_errors(PHI, PSI, LAM, sigma, teacher, eta=n**alpha, n=n, **start)
        limit = limit_errors(PHI, PSI, LAM, sigma, teacher, degree=degree, **start)
        np.testing.assert_allclose(parts(huge), parts(limit), rtol=1e-2)
    plain = random_feature_errors(PHI, PSI, LAM, sigma, teacher, **start)
    tiny = finite_step_errors(PHI, PSI, LAM, sigma, teacher, eta=1e-6, n=1e6, **start)
    np.testing.assert_allclose(parts(tiny), parts(plain), rtol=1e-4)


def test_lengths_of_rows_do_not_matter_to_odd_activations():
    tanh = SIGMAS["tanh"].activation
    teacher = Teacher.single((0.8, 1.0, 0.5), 0.5)
    for one in (
        lambda **start: finite_step_errors(PHI, PSI, LAM, tanh, teacher, eta=1e-3, n=600, **start),
        lambda **start: limit_errors(PHI, PSI, LAM, tanh, teacher, degree=[0, 1, 2], **start),
    ):
        np.testing.assert_allclose(parts(one(rows="gaussian")), parts(one()), rtol=1e-6)
        assert (parts(one(intercept=True)) < parts(one()) - 1e-3).all()


@pytest.mark.parametrize(("rows", "intercept"), CASES)
def test_reused_rows_without_a_step_are_random_features(rows, intercept):
    sigma, teacher = SIGMAS["wave"].activation, Teacher.single((0.8, 1.0, 0.5), 0.3)
    start = {"rows": rows, "intercept": intercept}
    tiny = reused_sample_errors(PHI, PSI, LAM, sigma, teacher, eta=1e-8, n=400, **start)
    plain = random_feature_errors(PHI, PSI, LAM, sigma, teacher, n=400, **start)
    # Of degree 2, half a percent here, the drawn rows have moments to some percent.
    np.testing.assert_allclose(parts(tiny), parts(plain), rtol=3e-4)


@pytest.mark.slow  # .5 s each
@pytest.mark.parametrize(("rows", "intercept"), CASES)
def test_reused_rows_with_a_step_are_simulated_ones(rows, intercept):
    n, d, N, sigma, eta = 400, 200, 300, SIGMAS["wave"], 1.8
    teacher = Teacher.single((0.8, 1.0, 0.5), 0.5)
    losses = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, W = rng.standard_normal((n, d)), first_layer(rng, N, d, rows)
        y = target(teacher.coefficients, X[:, 0]) + 0.5 * rng.standard_normal(n)
        a = rng.standard_normal(N) / N**0.5
        G = gradient(sigma, X, W, a, y)
        F = sigma.values(X @ (W + eta * G).T)
        losses.append(loss(F, y, LAM, intercept) * float(teacher.power) / np.mean(y**2))
    said = reused_sample_errors(
        d / n,
        d / N,
        LAM,
        sigma.activation,
        teacher,
        eta=eta,
        n=n,
        rows=rows,
        intercept=intercept,
    )
    assert z_score(np.array(losses), float(said.training_loss), 0.02) < 4


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROW_LAWS)
def test_the_largest_value_of_features_with_a_mean_is_a_simulated_one(rows):
    n, d, N, sigma, eta = 500, 100, 200, SIGMAS["wave"], 4.0
    teacher = Teacher.single((0.0, 1.0, 0.7))
    values = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, new = rng.standard_normal((2, n, d))
        W, a = first_layer(rng, N, d, rows), rng.standard_normal(N) / N**0.5
        G = gradient(sigma, X, W, a, target(teacher.coefficients, X[:, 0]))
        values.append(np.linalg.norm(sigma.values(new @ (W + eta * G).T), 2) / n**0.5)
    found = feature_spectrum(d / n, d / N, sigma.activation, teacher, eta=eta, n=n, rows=rows)
    assert z_score(np.array(values), found.outliers[0], 0.02) < 4
