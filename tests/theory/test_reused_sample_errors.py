"""Errors on reused rows: networks, the head's problem in the limit, and the way to the limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from one_step_samples import SIGMAS, Sigma, on_sphere, target

from gradfeat.theory.gradient_direction import Residual, gradient_direction
from gradfeat.theory.one_step_errors import limit_errors
from gradfeat.theory.reused_features import ReusedFeatures
from gradfeat.theory.reused_rows import ReusedRows
from gradfeat.theory.reused_sample_errors import reused_limit_errors, reused_sample_errors
from gradfeat.theory.ridge_errors import random_feature_errors
from gradfeat.theory.teacher import Teacher

PHI, PSI, LAM, N_ROWS, DRAWS = 0.5, 2 / 3, 0.05, 500, 12


def drawn(
    sigma: Sigma, teacher: Teacher, residual: Residual, seed: int, alpha: float
) -> list[float]:
    """Training loss, training error, test error of one network on its own rows.

    At infinite alpha: F_0 and one huge column, (P + mu) r a^T, which is x.beta a^T on new rows.
    """
    rng, n = np.random.default_rng(seed), N_ROWS
    d, N = round(n * PHI), round(n * PHI / PSI)
    W, b, a = on_sphere(rng, N, d), on_sphere(rng, 1, d)[0], rng.standard_normal(N) / math.sqrt(N)
    X, new = rng.standard_normal((n, d)), rng.standard_normal((2 * n, d))
    noise = float(np.asarray(teacher.noise))
    y, wanted = (
        target(teacher.coefficients, x @ b) + noise * rng.standard_normal(len(x)) for x in (X, new)
    )
    r = y - sigma.values(X @ W.T) @ a if residual == "y - f0" else y
    beta = X.T @ r / n
    if math.isinf(alpha):
        slope = float(sigma.activation.hermite_coefficients(1)[1])
        mu = PHI * (sigma.activation.derivative_second_moment() / slope**2 - 1)
        F = sigma.values(X @ W.T) + 1e4 * np.outer(X @ beta + mu * r, a)
        later = sigma.values(new @ W.T) + 1e4 * np.outer(new @ beta, a)
    else:
        G = ((sigma.slope(X @ W.T) * r[:, None]) * a).T @ X / n
        F, later = (sigma.values(x @ (W + n**alpha * G).T) for x in (X, new))
    head = np.linalg.solve(F.T @ F / n + LAM * np.eye(N), F.T @ y / n)
    left = np.mean((y - F @ head) ** 2)
    return [left + LAM * head @ head, left, np.mean((wanted - later @ head) ** 2)]


@pytest.mark.parametrize("residual", ["y", "y - f0"])
@pytest.mark.parametrize(
    ("name", "teacher", "alpha", "bias"),
    [
        # Four standard errors, and a bias of order 1/n and eta^2/N.
        ("centred relu", Teacher.single((0.0, 1.0), 1.0), math.inf, 0.03),
        ("tanh", Teacher.single((0.0, 1.0, 0.5), 0.3), math.inf, 0.03),
        ("centred relu", Teacher.single((0.0, 1.0), 1.0), 0.1, 0.03),
        ("wave", Teacher.single((0.3, 1.0, 0.5), 0.3), 0.3, 0.03),
        ("centred relu", Teacher.single((0.0, 1.0, 0.7)), 0.32, 0.03),
    ],
)
def test_errors_are_those_of_simulated_networks(name, teacher, alpha, bias, residual):
    sigma = SIGMAS[name]
    found = np.array([drawn(sigma, teacher, residual, seed, alpha) for seed in range(DRAWS)])
    setting = (PHI, PSI, LAM, sigma.activation, teacher)
    predicted = (
        reused_limit_errors(*setting, degree=1, residual=residual)
        if math.isinf(alpha)
        else reused_sample_errors(*setting, eta=N_ROWS**alpha, n=N_ROWS, residual=residual)
    )
    expected = [predicted.training_loss, predicted.training_error, predicted.test_error]
    error = found.std(0, ddof=1) / math.sqrt(DRAWS)
    assert (np.abs(found.mean(0) - expected) < 4 * error + bias * np.array(expected)).all()


def test_a_vanishing_step_is_random_features_and_own_rows_gain_more_than_fresh_ones():
    sigma, teacher = SIGMAS["centred relu"].activation, Teacher.single((0.0, 1.0), 1.0)
    plain = random_feature_errors(PHI, PSI, LAM, sigma, teacher, n=500)
    none = reused_sample_errors(PHI, PSI, LAM, sigma, teacher, eta=1e-8, n=500)
    for part in ("training_loss", "training_error", "test_error"):
        assert getattr(none, part) == pytest.approx(getattr(plain, part), rel=1e-4)
    own = reused_limit_errors(PHI, PSI, LAM, sigma, teacher, degree=1)
    fresh = limit_errors(PHI, PSI, LAM, sigma, teacher, degree=1)
    assert own.training_loss < 0.6 * fresh.training_loss


@pytest.mark.parametrize(("degree", "alpha"), [(1, 0.125), (2, 0.29)])
def test_many_rows_come_to_the_limit(degree, alpha):
    """Its distance falls as the columns of higher powers do."""
    teacher, sigma = Teacher.single((0.3, 1.0, 0.7), 0.3), SIGMAS["wave"].activation
    limit = reused_limit_errors(PHI, PSI, LAM, sigma, teacher, degree=degree, residual="y - f0")
    far, near = (
        float(
            reused_sample_errors(
                PHI, PSI, LAM, sigma, teacher, eta=n**alpha, n=n, residual="y - f0"
            ).test_error
            / limit.test_error
        )
        for n in (1e4, 1e12)
    )
    assert abs(near - 1) < 0.01 < abs(far - 1)


@pytest.mark.parametrize("teacher", [(0.0, 1.0), (0.3, 1.0, 0.7)])
def test_columns_of_the_limit_are_averages_of_derivatives(teacher):
    """E[delta^k sigma^(k)(z)]/k!, sigma'' by differences in place of integration by parts."""
    sigma, step = SIGMAS["wave"].activation, 1e-4
    own = Teacher.single(teacher, 0.3)
    direction = gradient_direction(PHI, sigma, own, "y", 1.0)
    rows = ReusedRows.drawn(PHI, sigma, own, direction)
    z, mass = np.polynomial.hermite_e.hermegauss(80)
    slope = sigma.derivative_values(z)
    bent = (sigma.derivative_values(z + step) - sigma.derivative_values(z - step)) / (2 * step)
    found = ReusedFeatures.limit(rows, sigma, [1, 2])
    for columns, label in ((found.own, rows.residual), (found.fresh, 0 * rows.residual)):
        delta = np.outer(rows.lead * rows.u, np.ones(len(z))) + rows.stretch * z
        delta += PHI * np.outer(label, slope)
        first, second = delta * slope, (delta**2 + rows.power) * bent / 2
        wanted = np.stack([first, second], 2).transpose(0, 2, 1) @ mass / math.sqrt(2 * math.pi)
        np.testing.assert_allclose(columns, wanted, atol=1e-6)


def test_a_limit_without_a_formula_is_refused():
    teacher = Teacher.single((0.0, 1.0))
    for name, degree in (("tanh", 3), ("centred relu", 2)):
        with pytest.raises(ValueError, match="without kinks"):
            reused_limit_errors(PHI, PSI, LAM, SIGMAS[name].activation, teacher, degree=degree)
