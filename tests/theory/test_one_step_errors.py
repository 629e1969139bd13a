"""The staircase of the limit: known values, the printed forms, and plain linear algebra."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e
from one_step_samples import SIGMAS, dual, on_sphere, target, z_score
from test_feature_resolvent import by_quadrature

from gradfeat.maths.activations import CentredReLU, Erf, ReLU, Tanh
from gradfeat.maths.feature_ridge import feature_ridge
from gradfeat.theory.column_gain import step_columns
from gradfeat.theory.gradient_direction import gradient_direction
from gradfeat.theory.one_step_errors import column_errors, limit_errors
from gradfeat.theory.ridge_errors import moments, random_feature_errors
from gradfeat.theory.teacher import Teacher

PHI, PSI, LAM = 0.5, 2 / 3, 0.01
SETTING_1, SETTING_2 = Teacher.single((0.0, 1.0), 1.0), Teacher.single((0.0, 1.0, 0.5**0.5))
CUBIC = Teacher.single((0.0, 1.0, 0.5, 0.3), 0.5)
SIGMA = CentredReLU()
LINEAR, POWER = 0.25, 0.5 - 1 / (2 * math.pi)


def parts(errors) -> np.ndarray:
    return np.array([errors.training_loss, errors.training_error, errors.test_error])


def gains(errors_of, teacher, *, lam=LAM, **more) -> np.ndarray:
    plain = random_feature_errors(PHI, PSI, lam, SIGMA, teacher)
    return parts(plain - errors_of(PHI, PSI, lam, SIGMA, teacher, **more))


@functools.cache
def weights(lam: float) -> tuple[float, float]:
    """s and t by quadrature."""
    m1, m2, _ = by_quadrature(PHI, PSI, lam, LINEAR, POWER - LINEAR)
    return PSI / PHI * m1, PSI / PHI * m2


def powers_gain(rho: float, lam: float, coefficients: tuple[float, ...], powers) -> float:
    """lambda b^T G^{-1} b as printed, from z^k = sum_r zeta_kr He_r."""
    s, t = weights(lam)
    size = max(*powers, len(coefficients) - 1) + 1
    c = np.r_[coefficients, np.zeros(size - len(coefficients))]
    zeta = np.zeros((len(powers), size))
    for row, k in enumerate(powers):
        zeta[row, : k + 1] = hermite_e.poly2herme([0.0] * k + [1.0])
    v = np.array([t if r == 1 else s * math.factorial(r) for r in range(size)])
    b = zeta @ (v * c * rho ** np.arange(size))
    return lam * float(b @ np.linalg.solve((zeta * v) @ zeta.T, b))


def test_known_values_of_the_talk():
    loss, _, test = gains(limit_errors, SETTING_2, degree=[1, 2], printed=True)
    np.testing.assert_allclose(loss, [0.0629, 0.1216], atol=5e-5)
    np.testing.assert_allclose(test, [0.361, 0.744], atol=5e-4)
    loss = gains(limit_errors, CUBIC, degree=[1, 2, 3], lam=0.05, printed=True)[0]
    np.testing.assert_allclose(loss[:2], [0.1038, 0.1399], atol=5e-5)
    loss = [gains(column_errors, CUBIC, powers=range(1, k + 1), lam=0.05)[0] for k in (1, 2, 3)]
    np.testing.assert_allclose(loss, [0.1038, 0.1399, 0.1672], atol=5e-5)


@pytest.mark.parametrize("lam", [0.01, 0.3])
@pytest.mark.parametrize("teacher", [SETTING_1, SETTING_2, CUBIC])
def test_first_two_steps_equal_the_printed_forms(teacher, lam):
    h, power = 1e-4, float(teacher.power)
    c1, c2 = teacher.components(2)[1:] / [1, math.sqrt(2)]
    s, t = weights(lam)
    slopes = np.subtract(weights(lam * (1 + h)), weights(lam * (1 - h))) / (2 * h * lam)
    B, A = -slopes / s**2
    D = c1**2 + PHI * power
    loss, _, test = gains(limit_errors, teacher, degree=[1, 2], lam=lam, printed=True)
    first, second = lam * c1**4 * t / D, 4 * lam * c1**4 * c2**2 * s / (3 * D**2)
    np.testing.assert_allclose(loss, [first, first + second], rtol=1e-8)
    first, second = A * c1**4 / D, 4 * B * c1**4 * c2**2 / (3 * D**2)
    # Slopes by central differences.
    np.testing.assert_allclose(test, [first, first + second], rtol=1e-6)


def test_first_two_steps_of_the_true_gradient_equal_their_closed_forms():
    for teacher, lam in itertools.product((SETTING_2, CUBIC), (0.01, 0.3)):
        c1, c2 = teacher.components(2)[1:] / [1, math.sqrt(2)]
        s, t = weights(lam)
        rest = POWER - LINEAR
        kept = t * (1 + rest * s) / (1 + LINEAR * t + rest * s)
        D = c1**2 + PHI * float(teacher.power)
        D_eff = D + LINEAR + PHI * POWER
        second = 4 * lam * c1**4 * c2**2 * s / (3 * D_eff**2)
        column = lam * c1**4 * t**2 / (t * (D + PHI * POWER) + LINEAR * kept)
        network = lam * c1**4 * t / D_eff
        for first, errors_of, more in (
            (column, column_errors, ({"powers": [1]}, {"powers": [2, 1]})),
            (network, limit_errors, [{"degree": k, "printed": True} for k in (1, 2)]),
        ):
            found = [gains(errors_of, teacher, residual="y - f0", lam=lam, **m)[0] for m in more]
            np.testing.assert_allclose(found, [first, first + second], rtol=1e-8)


@pytest.mark.parametrize("powers", [[1], [2], [3, 1], [0, 1, 2], [1, 2, 3, 4, 5], [6, 2]])
def test_columns_of_any_powers_equal_the_printed_form(powers):
    rho = 1 / math.sqrt(1 + PHI * float(CUBIC.power))
    found = gains(column_errors, CUBIC, powers=powers, lam=0.05)[0]
    expected = powers_gain(rho, 0.05, tuple(CUBIC.coefficients), powers)
    assert found == pytest.approx(expected, rel=1e-8)


def columns_beside_features(seed, n, lam, teacher, degree, draws) -> np.ndarray:
    """cos(beta, b), and gains of 1, ..., l columns in loss and test error: (draws, 1 + 2 l)."""
    rng, sigma, noise = np.random.default_rng(seed), SIGMAS["centred relu"], float(teacher.noise)
    d, N = round(n * PHI), round(n * PHI / PSI)
    W, B = on_sphere(rng, N, d), on_sphere(rng, draws, d).T
    X0, X, new = rng.standard_normal((3, n, d))
    F, later = sigma.values(X @ W.T), sigma.values(new @ W.T)
    first, Y = (target(teacher.coefficients, x @ B) for x in (X0, X))
    beta = X0.T @ (first + noise * rng.standard_normal((n, draws)))
    beta /= np.linalg.norm(beta, axis=0)
    Y += noise * rng.standard_normal((n, draws))
    U, V = ((x @ beta)[..., None] ** np.arange(1, degree + 1) for x in (X, new))
    Q, wanted, rows = dual(F, lam), target(teacher.coefficients, new @ B), []
    plain = later @ (F.T @ (Q @ Y)) / (n * lam)
    for k in range(draws):
        QU, found = Q @ U[:, k], [float(beta[:, k] @ B[:, k])]
        for size in range(1, degree + 1):
            b = QU[:, :size].T @ Y[:, k]
            c = np.linalg.solve(U[:, k, :size].T @ QU[:, :size], b)
            f = plain[:, k] + V[:, k, :size] @ c - later @ (F.T @ (QU[:, :size] @ c)) / (n * lam)
            lost = np.square(wanted[:, k] - plain[:, k]) - np.square(wanted[:, k] - f)
            found += [b @ c / n, lost.mean()]
        rows.append(found)
    return np.array(rows)


@pytest.mark.parametrize(("teacher", "lam", "degree"), [(SETTING_2, 0.01, 2), (CUBIC, 0.05, 3)])
def test_gains_are_those_of_ridge_beside_simulated_columns(teacher, lam, degree):
    n = 400
    draws = np.concatenate(
        [columns_beside_features(k, n, lam, teacher, degree, 30) for k in range(3)]
    )
    for size in range(1, degree + 1):
        powers = range(1, size + 1)
        loss, _, test = gains(column_errors, teacher, powers=powers, lam=lam)
        # Labels with heavy tails move rho, and a high power of it has a mean above its limit: the
        # form is taken at the alignment of each draw.
        at_rho = [powers_gain(r, lam, tuple(teacher.coefficients), powers) for r in draws[:, 0]]
        # Each column also fits a share 1/n of what is left (times 1 to 3 for its powers).
        away = draws[:, 2 * size - 1] - np.array(at_rho)
        slack = 10 * size * float(teacher.power) * lam * weights(lam)[0] / n
        assert abs(away.mean()) < 4 * away.std() / math.sqrt(len(away)) + slack
        assert abs(draws[:, 2 * size].mean() / test - 1) < 0.2
        assert abs(draws[:, 2 * size - 1].mean() / loss - 1) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize(("teacher", "lam", "degree"), [(SETTING_2, 0.01, 2), (CUBIC, 0.05, 3)])
def test_gains_at_2000_rows(teacher, lam, degree):
    n = 2000
    draws = np.array(
        [columns_beside_features(k, n, lam, teacher, degree, 50)[:, 1:].mean(0) for k in range(12)]
    )
    expected = [
        gains(column_errors, teacher, powers=range(1, k + 1), lam=lam)[[0, 2]]
        for k in range(1, degree + 1)
    ]
    # Of order 1/n: 20 (2 degree - 1)/n stands for the heavy tails of powers.
    assert (z_score(draws, np.concatenate(expected), 20 * (2 * degree - 1) / n) < 4).all()


def test_library_ridge_beside_columns_agrees_with_the_elimination():
    found = columns_beside_features(3, 200, 0.05, SETTING_2, 1, 1)[0]
    rng = np.random.default_rng(3)
    W, b = on_sphere(rng, 150, 100), on_sphere(rng, 1, 100).T
    X0, X, _ = rng.standard_normal((3, 200, 100))
    F = torch.from_numpy(SIGMAS["centred relu"].values(X @ W.T))
    beta = X0.T @ target(SETTING_2.coefficients, X0 @ b)
    u = torch.from_numpy(X @ (beta / np.linalg.norm(beta)))
    y = torch.from_numpy(target(SETTING_2.coefficients, X @ b))
    losses = [fit.loss.item() for fit in feature_ridge(F, 0.05).fit_nested(u, y)]
    # Noise of 0 is drawn too, after X: the numbers before it are the same.
    assert losses[0] - losses[1] == pytest.approx(found[1], rel=1e-9)


def true_gradient_gains(seed, n, draws) -> np.ndarray:
    """Loss gained by a spike u a^T on the features, and by a column u beside them: (draws, 2).

    An infinite spike takes the component along a from the head and leaves it the column.
    """
    rng, sigma = np.random.default_rng(seed), SIGMAS["centred relu"]
    d, N = round(n * PHI), round(n * PHI / PSI)
    W = on_sphere(rng, N, d)
    X0, X = rng.standard_normal((2, n, d))
    F0, F = sigma.values(X0 @ W.T), sigma.values(X @ W.T)
    Q, found = dual(F, LAM), []
    for _ in range(draws):
        b, a = on_sphere(rng, 1, d)[0], rng.standard_normal(N) / math.sqrt(N)
        y0, y = (target(SETTING_2.coefficients, x @ b) for x in (X0, X))
        u = X @ (X0.T @ (y0 - F0 @ a)) / n
        head = F @ a / np.linalg.norm(a)
        h = Q @ head
        less = Q + np.outer(h, h) / (n * LAM - head @ h)
        found.append([y @ Q @ y - y @ less @ y, 0.0])
        found[-1][0] += (u @ less @ y) ** 2 / (u @ less @ u)
        found[-1][1] += (u @ Q @ y) ** 2 / (u @ Q @ u)
    return np.array(found) / n


def test_a_huge_spike_is_a_column_that_takes_a_direction_of_the_head():
    rng, n, N, d = np.random.default_rng(5), 200, 150, 100
    W, X0, X = on_sphere(rng, N, d), *rng.standard_normal((2, n, d))
    F0, F = (SIGMAS["centred relu"].values(x @ W.T) for x in (X0, X))
    b, a = on_sphere(rng, 1, d)[0], rng.standard_normal(N) / math.sqrt(N)
    y0, y = (target(SETTING_2.coefficients, x @ b) for x in (X0, X))
    u = X @ (X0.T @ (y0 - F0 @ a)) / n
    plain = y @ dual(F, LAM) @ y
    spiked = y @ dual(F + 1e4 * np.outer(u, a), LAM) @ y
    # The same draw by elimination; a spike of 1e4 is infinite to 1e-6.
    h = dual(F, LAM) @ (F @ a)
    less = dual(F, LAM) + np.outer(h, h) / (n * LAM * a @ a - a @ F.T @ h)
    gone = (u @ less @ y) ** 2 / (u @ less @ u)
    assert plain - spiked == pytest.approx(plain - y @ less @ y + gone, rel=1e-4)


def test_true_gradient_is_told_from_a_column_beside_the_features():
    n = 400
    draws = np.concatenate([true_gradient_gains(k, n, 25) for k in range(3)])
    network = gains(limit_errors, SETTING_2, degree=1, residual="y - f0")[0]
    column = gains(column_errors, SETTING_2, powers=[1], residual="y - f0")[0]
    assert network == pytest.approx(0.0520, abs=5e-5)
    assert column == pytest.approx(0.0544, abs=5e-5)
    # The head's lost direction costs about q/n = 5/n of the loss besides.
    assert z_score(draws, np.array([network, column]), 10 / n).max() < 4
    gap = draws[:, 1] - draws[:, 0]
    assert (gap >= 0).all()  # what the network can do the wider model can
    error = gap.std() / math.sqrt(len(gap))
    assert gap.mean() > 4 * error
    direction = LAM * weights(LAM)[0] * float(SETTING_2.power) / n
    assert abs(gap.mean() - (column - network)) < 4 * error + 2 * direction


def test_slopes_of_the_loss_are_the_errors():
    h, lam = 1e-4, 0.02
    for errors_of, more in (
        (limit_errors, {"degree": [0, 1, 2, 4]}),
        (column_errors, {"powers": [1, 3]}),
        (column_errors, {"powers": [1, 2, 3]}),
    ):
        for residual in ("y", "y - f0"):
            at = [
                errors_of(PHI, PSI, p, SIGMA, CUBIC, residual=residual, **more)
                for p in (lam, lam * (1 + h), lam * (1 - h))
            ]
            slope = (at[1].training_loss / (1 + h) - at[2].training_loss / (1 - h)) / (2 * h)
            np.testing.assert_allclose(at[0].training_error, -slope, rtol=1e-6)
            s = weights(lam)[0]
            np.testing.assert_allclose(at[0].test_error, -slope / (lam * s) ** 2, rtol=1e-6)


def test_degree_counts_only_powers_that_the_activation_has():
    odd = limit_errors(PHI, PSI, LAM, Tanh(), CUBIC, degree=[0, 1, 2, 3, 4])
    loss = odd.training_loss
    assert loss[1] == loss[2]
    assert loss[3] == loss[4]
    assert loss[0] > loss[1] > loss[3]
    plain = random_feature_errors(PHI, PSI, LAM, Tanh(), CUBIC)
    assert loss[0] == pytest.approx(plain.training_loss, rel=1e-12)
    columns = column_errors(PHI, PSI, LAM, Tanh(), CUBIC, powers=[1, 3])
    np.testing.assert_allclose(parts(odd)[:, 3], parts(columns), rtol=1e-9)
    for sigma, powers in ((Erf(), [1, 3, 5]), (ReLU(), [0, 1, 2, 4])):
        beta = gradient_direction(PHI, sigma, CUBIC)
        added = np.abs(step_columns(sigma, beta, 0.0, 5, 6)).max(0)
        assert np.flatnonzero(added).tolist() == powers


def test_a_mean_of_the_activation_adds_the_constant():
    teacher = Teacher.single((0.7, 1.0, 0.5), 0.3)
    shifted = limit_errors(PHI, PSI, LAM, ReLU(), teacher, degree=[0, 2])
    columns = column_errors(PHI, PSI, LAM, SIGMA, teacher, powers=[0, 1, 2])
    constant = column_errors(PHI, PSI, LAM, SIGMA, teacher, powers=[0])
    plain = random_feature_errors(PHI, PSI, LAM, ReLU(), teacher)
    np.testing.assert_allclose(parts(shifted)[:, 1], parts(columns), rtol=1e-9)
    np.testing.assert_allclose(parts(shifted)[:, 0], parts(constant), rtol=1e-9)
    np.testing.assert_allclose(parts(shifted)[:, 0], parts(plain), rtol=1e-9)


def test_columns_beside_features_with_a_mean_have_the_constant():
    teacher = Teacher.single((0.7, 1.0, 0.5), 0.3)
    plain = random_feature_errors(PHI, PSI, LAM, ReLU(), teacher)
    found = column_errors(PHI, PSI, LAM, ReLU(), teacher, powers=[])
    np.testing.assert_allclose(parts(found), parts(plain), rtol=1e-9)
    limit = limit_errors(PHI, PSI, LAM, ReLU(), teacher, degree=1, printed=True)
    found = column_errors(PHI, PSI, LAM, ReLU(), teacher, powers=[1])
    np.testing.assert_allclose(parts(found), parts(limit), rtol=1e-9)


def test_ba22_has_the_limit_of_the_printed_residual():
    found = [
        parts(limit_errors(PHI, PSI, LAM, SIGMA, CUBIC, degree=2, residual=r))
        for r in ("ba22", "y", "y - f0")
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[2] > found[1]).all()


def test_unknown_degrees_are_nan_and_arguments_broadcast():
    degree, lam = np.array([0, 1, np.nan, 13, 2.0]), np.array([[0.01], [0.1]])
    found = limit_errors(PHI, PSI, lam, SIGMA, CUBIC, degree=degree)
    assert found.test_error.shape == (2, 5)
    unknown = np.broadcast_to([False, False, True, True, False], (3, 2, 5))
    np.testing.assert_array_equal(np.isnan(parts(found)), unknown)
    for i, j in itertools.product(range(2), (0, 1, 4)):
        one = limit_errors(PHI, PSI, lam[i, 0], SIGMA, CUBIC, degree=degree[j])
        np.testing.assert_allclose(parts(found)[:, i, j], parts(one), rtol=1e-12)
    noise = Teacher.single((0.0, 1.0, 0.5), np.array([0.0, 1.0]))
    columns = column_errors([[0.5], [1.0], [2.0]], PSI, LAM, SIGMA, noise, powers=[1, 2])
    assert columns.training_loss.shape == (3, 2)
    one = column_errors(1.0, PSI, LAM, SIGMA, Teacher.single((0.0, 1.0, 0.5), 1.0), powers=[1, 2])
    np.testing.assert_allclose(parts(columns)[:, 1, 1], parts(one), rtol=1e-12)


@given(lam=st.floats(0.01, 5), phi=st.floats(0.1, 5), psi=st.floats(0.1, 5), c=st.floats(0.1, 10))
@settings(max_examples=10)
def test_losses_fall_along_the_staircase_and_scale_with_the_target(lam, phi, psi, c):
    small = limit_errors(phi, psi, lam, SIGMA, CUBIC, degree=[0, 1, 2, 4])
    assert (np.diff(small.training_loss) <= 0).all()
    assert (np.diff(small.test_error) <= 0).all()
    big = Teacher.single(tuple(c * k for k in CUBIC.coefficients), c * 0.5)
    large = limit_errors(phi, psi, lam, SIGMA, big, degree=[0, 1, 2, 4])
    np.testing.assert_allclose(parts(large), c**2 * parts(small), rtol=1e-9)


def test_both_settings_gain_the_same_from_the_first_column():
    one, two = (gains(limit_errors, t, degree=[1, 2]) for t in (SETTING_1, SETTING_2))
    np.testing.assert_allclose(one[:, 0], two[:, 0], rtol=1e-12)
    np.testing.assert_allclose(one[:, 1], one[:, 0], rtol=1e-9)  # no degree 2 to find
    assert (two[:, 1] > 1.5 * two[:, 0]).all()


@pytest.mark.parametrize("degree", [-1, 1.5, [1, 2, -3]])
def test_bad_degrees_are_named(degree):
    with pytest.raises(ValueError, match="give whole numbers of 0 or more"):
        limit_errors(PHI, PSI, LAM, SIGMA, CUBIC, degree=degree)


@pytest.mark.parametrize("powers", [[1, 1], [-1], [13], [0.5]])
def test_bad_powers_are_named(powers):
    with pytest.raises(ValueError, match="give different ones, 0 to 12"):
        column_errors(PHI, PSI, LAM, SIGMA, CUBIC, powers=powers)


def test_a_mean_and_the_true_residual_are_refused():
    assert moments(ReLU())[0] > 0
    for call in (
        lambda: limit_errors(PHI, PSI, LAM, ReLU(), CUBIC, degree=1, residual="y - f0"),
        lambda: column_errors(PHI, PSI, LAM, ReLU(), CUBIC, powers=[1], residual="y - f0"),
    ):
        with pytest.raises(ValueError, match="centre the activation"):
            call()
