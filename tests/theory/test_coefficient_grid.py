"""Every theory of one step over targets with and without c_{*0}, ..., c_{*3}, sigmas with c_0, c_2.

A coefficient that no test ever switches on may have any sign, factor or power.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from one_step_samples import SIGMAS, Sigma, gradient, on_sphere, ridge, target, z_score
from scipy.special import ndtri

from gradfeat.maths.activations import Polynomial, UserActivation
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.gradient_direction import gradient_direction, own_power
from gradfeat.theory.one_step_errors import column_errors, limit_errors
from gradfeat.theory.one_step_spectrum import feature_spectrum, first_layer_outlier
from gradfeat.theory.predicted_errors import predict_error
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.ridge_errors import RidgeErrors, random_feature_errors
from gradfeat.theory.teacher import Teacher

PHI, PSI, LAM, NOISE, ALPHA = 0.5, 2 / 3, 0.05, 0.5, 0.2
#: c_{*0}, ..., c_{*3}, each there or not.
TEACHERS = [
    Teacher.single((0.8 * c0, 1.0 * c1, 0.5 * c2, 0.25 * c3), NOISE)
    for c0, c1, c2, c3 in itertools.product((0, 1), repeat=4)
]
RAISED = Sigma(
    UserActivation(lambda z: torch.tanh(z) + 0.4), lambda z: np.tanh(z) + 0.4, SIGMAS["tanh"].slope
)
#: c_0 and c_2 there or not: neither, c_0, c_2, both.
GRID = {
    "tanh": SIGMAS["tanh"],
    "raised tanh": RAISED,
    "wave": SIGMAS["wave"],
    "relu": SIGMAS["relu"],
}
CENTRED = ("tanh", "wave")
THIN = [Teacher.single(c, NOISE) for c in ((0.8, 1.0), (0.8, -1.0, 0.5, 0.25), (0.8,))]


def parts(errors: RidgeErrors) -> np.ndarray:
    return np.array([errors.training_loss, errors.training_error, errors.test_error])


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """N(0, 1) at n strata of equal mass, in random order: averages vary less than of free draws."""
    return rng.permutation(ndtri((np.arange(n) + rng.random(n)) / n))


@dataclasses.dataclass(frozen=True)
class Draw:
    """First weights, head and direction; rows of the gradient, of the head and new ones."""

    W: np.ndarray
    a: np.ndarray
    b: np.ndarray
    X: tuple[np.ndarray, np.ndarray, np.ndarray]
    noise: tuple[np.ndarray, np.ndarray]

    @staticmethod
    def of(n: int, seed: int, phi: float = PHI, psi: float = PSI) -> Draw:
        rng = np.random.default_rng(seed)
        d, N = round(n * phi), round(n * phi / psi)
        W, b = on_sphere(rng, N, d), on_sphere(rng, 1, d)[0]
        X = [x + np.outer(normal(rng, n) - x @ b, b) for x in rng.standard_normal((3, n, d))]
        a, noise = normal(rng, N) / math.sqrt(N), (normal(rng, n), normal(rng, n))
        return Draw(W, a, b, (X[0], X[1], X[2]), noise)

    def labels(self, teacher: Teacher, place: int) -> np.ndarray:
        clean = target(teacher.coefficients, self.X[place] @ self.b)
        return clean + NOISE * self.noise[place] if place < 2 else clean

    def step(self, sigma: Sigma, teacher: Teacher) -> np.ndarray:
        return gradient(sigma, self.X[0], self.W, self.a, self.labels(teacher, 0))

    def errors(self, sigma: Sigma, V: np.ndarray, teacher: Teacher) -> np.ndarray:
        """Loss, training and test error of ridge on sigma(X V^T), for the sample's own E y^2."""
        y, wanted, power = self.labels(teacher, 1), self.labels(teacher, 2), float(teacher.power)
        F, new = (sigma.values(x @ V.T) for x in self.X[1:])
        found = ridge(F, y[:, None], LAM, new, wanted[:, None])[:, 0]
        found[2] += NOISE**2
        scale = power / np.array([np.mean(y**2), np.mean(y**2), np.mean(wanted**2) + NOISE**2])
        return found * scale

    def after(self, sigma: Sigma, teacher: Teacher, alpha: float) -> np.ndarray:
        """The mean over a step and its mirror image, the step of -a."""
        G, eta = self.step(sigma, teacher), len(self.X[0]) ** alpha
        return np.mean(
            [self.errors(sigma, self.W + sign * eta * G, teacher) for sign in (1, -1)], axis=0
        )


def test_limits_of_targets_with_a_mean():
    # lambda b^T G^{-1} b with the column c_1^2 |beta| u + 4 c_2^2 c_{*0}, worked out by hand.
    sigma = SIGMAS["centred relu"].activation
    for coefficients, loss, test in (((0.0, 1.0), 0.0839, 0.482), ((0.5, 1.0), 0.138, 0.842),
                                     ((1.0, 1.0), 0.311, 2.01)):  # fmt: skip
        found = limit_errors(0.5, 2 / 3, 0.01, sigma, Teacher.single(coefficients), degree=[0, 1])
        gains = parts(found)[:, 0] - parts(found)[:, 1]
        assert gains[0] == pytest.approx(loss, abs=5e-4)
        assert gains[2] == pytest.approx(test, rel=3e-3)
    told = predict_error(
        0.5, 2 / 3, sigma, Teacher.single((1.0, 1.0)), n=1000, alpha=0.2, penalty=0.01
    )
    share = 1 - told.errors.test_error / told.random_features.test_error
    assert share == pytest.approx(0.57, abs=0.01)
    assert "a constant, which finds the target's mean" in told.regime


@pytest.mark.parametrize("name", CENTRED)
def test_the_side_of_the_target_does_not_matter(name):
    # b and -b are one model: odd coefficients change their sign.
    one, other = (
        Teacher.single((0.8, 1.0, 0.5, 0.25), NOISE),
        Teacher.single((0.8, -1.0, 0.5, -0.25), NOISE),
    )
    setting = (PHI, PSI, LAM, GRID[name].activation)
    for found, mirrored in (
        [limit_errors(*setting, t, degree=[1, 2, 3]) for t in (one, other)],
        [finite_step_errors(*setting, t, eta=5.0, n=600) for t in (one, other)],
        [reused_sample_errors(*setting, t, eta=2.0, n=600) for t in (one, other)],
        [column_errors(*setting, t, powers=(0, 1, 2)) for t in (one, other)],
    ):
        np.testing.assert_allclose(parts(found), parts(mirrored), rtol=1e-9)


def test_an_activation_without_a_slope_finds_the_mean_alone():
    square = Polynomial((-1.0, 0.0, 1.0))  # c_1 = 0, c_2 = 1
    for mean in (0.0, 0.7):
        teacher = Teacher.single((mean, 1.0, 0.3), NOISE)
        found = limit_errors(PHI, PSI, LAM, square, teacher, degree=[0, 1, 2])
        carried = random_feature_errors(
            PHI, PSI, LAM, Polynomial((0.0, 0.0, 1.0)), Teacher.single((mean, 1.0, 0.3), NOISE)
        )
        np.testing.assert_allclose(parts(found)[:, 1], parts(carried), rtol=1e-9)
        np.testing.assert_allclose(parts(found)[:, 2], parts(carried), rtol=1e-9)
        told = predict_error(PHI, PSI, square, teacher, n=1000, alpha=0.2)
        assert ("no more of the target than its mean" in told.regime) == (mean > 0)


@pytest.mark.parametrize("name", GRID)
def test_gradients_hold_their_neurons_as_simulated(name):
    # G_j/a_j against w_j, its squared norm, and its component along b.
    n, sigma = 300, GRID[name]
    for teacher in (TEACHERS[-1], THIN[1]):
        draws = []
        for seed in range(12):
            one = Draw.of(n, seed)
            rows = one.step(sigma, teacher) / one.a[:, None]
            own = (rows * one.W).sum(1)
            draws.append([own.mean(), np.square(rows).sum(1).mean(), (rows @ one.b).mean()])
        beta = gradient_direction(PHI, sigma.activation, teacher)
        slope = float(sigma.activation.hermite_coefficients(1)[1])
        square = (
            slope**2 * beta.norm_squared + beta.stretch**2 + own_power(PHI, beta, sigma.activation)
        )
        expected = np.array([beta.stretch, square, slope * teacher.linear])
        # Sums of labels with heavy tails: 3 % of order 10/n.
        assert (z_score(np.array(draws), expected, 0.03) < 4).all()


def simulated(name: str, teachers: list[Teacher], n: int, draws: int) -> np.ndarray:
    """Errors without and after a step: (draws, teachers, 2, 3)."""
    sigma = GRID[name]
    return np.array(
        [
            [[one.errors(sigma, one.W, t), one.after(sigma, t, ALPHA)] for t in teachers]
            for one in (Draw.of(n, seed) for seed in range(draws))
        ]
    )


def predicted(name: str, teachers: list[Teacher], n: int) -> np.ndarray:
    sigma = GRID[name].activation
    setting = [(PHI, PSI, LAM, sigma, t) for t in teachers]
    return np.array(
        [
            [
                parts(random_feature_errors(*s, n=n)),
                parts(finite_step_errors(*s, eta=n**ALPHA, n=n)),
            ]
            for s in setting
        ]
    )


@pytest.mark.parametrize("name", GRID)
def test_errors_before_and_after_a_step_are_simulated_ones(name):
    found = simulated(name, THIN, n=200, draws=16)
    # Of order 1/n, which heavy-tailed labels multiply: here 6 %, at 600 rows 2 %.
    assert z_score(found, predicted(name, THIN, 200), 0.06).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", GRID)
def test_errors_over_all_coefficients_at_600_rows(name):
    found, expected = simulated(name, TEACHERS, n=600, draws=24), predicted(name, TEACHERS, 600)
    away = found.mean(0) / expected - 1
    error = found.std(0, ddof=1) / math.sqrt(len(found)) / expected
    print(name, "worst", np.abs(away).max().round(3), "s.e.", error.max().round(3))  # noqa: T201
    assert z_score(found, expected, 0.02).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coefficients", "seen"), [((0.0, 1.0), 0.0590), ((0.5, 1.0), 0.103), ((1.0, 1.0), 0.257)]
)
def test_gains_of_targets_with_a_mean_at_1000_rows(coefficients, seen):
    sigma, teacher, n = SIGMAS["centred relu"], Teacher.single(coefficients), 1000
    gains = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        W, b = on_sphere(rng, 750, 500), on_sphere(rng, 1, 500)[0]
        X0, X = rng.standard_normal((2, n, 500))
        y0, y = (target(coefficients, x @ b) for x in (X0, X))
        G = gradient(sigma, X0, W, rng.standard_normal(750) / math.sqrt(750), y0)
        losses = [
            ridge(sigma.values(X @ V.T), y[:, None], 0.01, np.zeros((1, 750)), np.zeros((1, 1)))
            for V in (W, W + n**0.2 * G, W - n**0.2 * G)
        ]
        gains.append(losses[0][0] - (losses[1][0] + losses[2][0]) / 2)
    plain, stepped = (
        parts(errors)[0]
        for errors in (
            random_feature_errors(0.5, 2 / 3, 0.01, sigma.activation, teacher, n=n),
            finite_step_errors(0.5, 2 / 3, 0.01, sigma.activation, teacher, eta=n**0.2, n=n),
        )
    )
    print(coefficients, np.mean(gains), np.std(gains) / 30**0.5, plain - stepped)  # noqa: T201
    assert z_score(np.array(gains), plain - stepped) < 3
    # Another simulation, of unknown size: known to three digits and to its own 2 %.
    assert plain - stepped == pytest.approx(seen, rel=0.03)


def paired(name: str, teacher: Teacher) -> object:
    """A case of the test below; slow unless it is of a quarter of all.

    The quarter has any three of the six coefficients there or not in each of the eight ways.
    """
    c0, c1, c2, c3 = (c != 0 for c in (*teacher.coefficients, 0.0, 0.0, 0.0)[:4])
    own_mean, own_square = name in ("raised tanh", "relu"), name in ("wave", "relu")
    slow = (c0 + c1 + c2 + own_mean) % 2 or (c1 + c2 + c3 + own_square) % 2
    return pytest.param(
        name, teacher, marks=[pytest.mark.slow] * bool(slow), id=f"{name} {teacher.coefficients}"
    )


EACH = [paired(name, teacher) for name in GRID for teacher in TEACHERS]


@pytest.mark.parametrize(("name", "teacher"), EACH)
def test_finite_steps_of_huge_networks_are_on_the_stairs(name, teacher):
    sigma, n = GRID[name].activation, 1e16
    for alpha, degree in ((0.2, 1), (0.3, 2)):
        for residual in ("y", "y - f0") if name in CENTRED else ("y",):
            huge = finite_step_errors(
                PHI, PSI, LAM, sigma, teacher, eta=n**alpha, n=n, residual=residual
            )
            limit = limit_errors(PHI, PSI, LAM, sigma, teacher, degree=degree, residual=residual)
            # The next power of eta a, and the last spike's inverse square: small powers of n.
            np.testing.assert_allclose(parts(huge), parts(limit), rtol=1e-2)


def outliers(name: str, teacher: Teacher) -> np.ndarray:
    """Largest value of F/sqrt(n), cos^2 of its left vector with 1 and u, and that of W: draws."""
    sigma, n, phi, psi, found = GRID[name], 800, 0.25, 1.0, []
    for seed in range(6):
        one = Draw.of(n, seed, phi, psi)
        G = one.step(sigma, teacher)
        F = sigma.values(one.X[1] @ (one.W + n**0.3 * G).T)
        e, V = np.linalg.eigh(F.T @ F / n)
        left = F @ V[:, -1] / np.linalg.norm(F @ V[:, -1])
        u = one.X[1] @ (one.X[0].T @ one.labels(teacher, 0))
        met = [left.sum() ** 2 / n, (left @ u) ** 2 / (u @ u)]
        first = np.linalg.norm(one.W + 4.0 * G, 2)
        found.append([math.sqrt(e[-1]), *met, first])
    return np.array(found)


@pytest.mark.parametrize("name", CENTRED)
@pytest.mark.parametrize("teacher", [THIN[0], TEACHERS[-1], TEACHERS[4]], ids=str)
def test_first_outlier_of_features_and_weights_is_a_simulated_one(name, teacher):
    sigma = GRID[name].activation
    spectrum = feature_spectrum(0.25, 1.0, sigma, teacher, eta=800**0.3, n=800)
    first = first_layer_outlier(0.25, 1.0, sigma, teacher, eta=4.0)
    expected = np.array([spectrum.outliers[0], *spectrum.overlaps[0, :2], float(first)])
    # The own rows of 800 labels add phi E r^2 eta^2/N of noise and |beta| is known to 5 % a draw.
    draws = outliers(name, teacher)
    # A vector without 1 in it meets it by chance: 1/n.
    chance = np.abs(draws.mean(0) - expected) < 2 / 800
    assert (chance | (z_score(draws, expected, 0.05) < 4)).all()


def reused(name: str, teacher: Teacher, residual: str, seed: int, n: int = 500) -> np.ndarray:
    """Errors of a network on its gradient's rows after a step n^.1."""
    sigma, one, signs = GRID[name], Draw.of(n, seed), [1]
    r = one.labels(teacher, 0)
    if residual == "y - f0":
        r = r - sigma.values(one.X[0] @ one.W.T) @ one.a
    else:
        signs = [1, -1]
    G = gradient(sigma, one.X[0], one.W, one.a, r)
    same = dataclasses.replace(one, X=(one.X[0], one.X[0], one.X[2]), noise=(one.noise[0],) * 2)
    return np.mean(
        [same.errors(sigma, one.W + sign * n**0.1 * G, teacher) for sign in signs], axis=0
    )


@pytest.mark.parametrize("residual", ["y", "y - f0"])
@pytest.mark.parametrize("name", ["wave", "relu"])
def test_errors_on_the_gradients_own_rows_are_simulated_ones(name, residual):
    if residual != "y" and name not in CENTRED:
        return
    for teacher in (THIN[0], Teacher.single((0.8, -1.0, 0.3), NOISE)):
        draws = np.array([reused(name, teacher, residual, seed) for seed in range(4)])
        found = reused_sample_errors(
            PHI, PSI, LAM, GRID[name].activation, teacher, eta=500**0.1, n=500,
            residual=residual,
        )  # fmt: skip
        assert (z_score(draws, parts(found), 0.03) < 4).all()


@pytest.mark.parametrize("name", GRID)
def test_unpenalised_columns_gain_what_simulated_ones_do(name):
    sigma, n, powers = GRID[name], 300, (1, 2)
    for teacher in (THIN[1], TEACHERS[-1]):
        gains = []
        for seed in range(12):
            one = Draw.of(n, seed)
            y = one.labels(teacher, 1)
            beta = one.X[0].T @ one.labels(teacher, 0)
            u = one.X[1] @ beta / np.linalg.norm(beta)
            F = sigma.values(one.X[1] @ one.W.T)
            Q = LAM * np.linalg.inv(F @ F.T / n + LAM * np.eye(n)) / n
            U = np.stack([u**k for k in powers], axis=1)
            b = U.T @ Q @ y
            gains.append([y @ Q @ y, b @ np.linalg.solve(U.T @ Q @ U, b)])
        plain, beside = (
            column_errors(PHI, PSI, LAM, sigma.activation, teacher, powers=p).training_loss
            for p in ((), powers)
        )
        draws = np.array(gains)
        left = draws[:, :1] - np.array([[0.0, 1.0]]) * draws[:, 1:]
        assert (z_score(left, np.array([plain, beside]), 0.06) < 4).all()
