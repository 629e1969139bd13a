"""Norm and alignment of the first gradient, the teacher's moments, and the regimes of the step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from one_step_samples import SIGMAS, gradient, on_sphere, target, z_score

from gradfeat.maths.activations import CentredReLU, ReLU, Tanh
from gradfeat.theory.gradient_direction import (
    RESIDUALS,
    Residual,
    gradient_direction,
    limit_degree,
    output_scale,
)
from gradfeat.theory.teacher import Teacher

TALK = Teacher.single((0.0, 1.0, 0.5**0.5))


def draw(name, phi, psi, teacher, residual, seed, n=160) -> list:
    """|beta|^2, its squared component along b, E r^2, the mean of |G_j|^2/a_j^2 and beta.W0^T a."""
    rng = np.random.default_rng(seed)
    d, N = round(n * phi), round(n * phi / psi)
    sigma, b = SIGMAS[name], on_sphere(rng, 1, d)[0]
    W, a = on_sphere(rng, N, d), rng.standard_normal(N) / math.sqrt(N)
    X = rng.standard_normal((n, d))
    scale = {"y": 0.0, "y - f0": 1.0, "ba22": 1 / math.sqrt(N)}[residual]
    y = target(teacher.coefficients, X @ b) + float(teacher.noise) * rng.standard_normal(n)
    r = y - scale * sigma.values(X @ W.T) @ a
    beta, G = X.T @ r / n, gradient(sigma, X, W, a, r)
    along = -float(beta @ W.T @ a) / np.linalg.norm(W.T @ a)
    return [beta @ beta, (beta @ b) ** 2, np.mean(r**2), np.sum(G**2) / (a @ a), along]


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize(
    ("name", "phi", "psi", "teacher"),
    [
        ("centred relu", 0.5, 2 / 3, TALK),
        ("tanh", 1.5, 0.8, Teacher.single((0.3, 0.7, 0.2), 0.5)),
    ],
)
def test_gradient_is_that_of_simulated_networks(name, phi, psi, teacher, residual):
    n, act = 160, SIGMAS[name].activation
    draws = np.array([draw(name, phi, psi, teacher, residual, k, n) for k in range(30)])
    found = gradient_direction(phi, act, teacher, residual, n * phi / psi)
    slope, bend = act.hermite_coefficients(1)[1], act.derivative_second_moment()
    each = slope**2 * found.norm_squared + phi * found.residual_power * (bend - slope**2)
    expected = np.array(
        [
            found.norm_squared,
            (found.alignment**2) * found.norm_squared,
            found.residual_power,
            each,
            found.initial,
        ]
    )
    # |beta.b|^2 has a variance of order 1/n, and n phi degrees of freedom of d - 1: 3/n of bias.
    # b meets W0^T a by chance: of order 1/sqrt(n), but with a random sign.
    assert (z_score(draws[:, [0, 2, 3]], expected[[0, 2, 3]], 5 / n) < 4).all()
    assert z_score(draws[:, 1], expected[1], 15 / n) < 4
    assert z_score(draws[:, 4], expected[4], 5 / n) < 4


def test_the_talk_aligns_by_707_as_printed_and_by_643_in_truth():
    cases: tuple[tuple[Residual, float], ...] = (("y", 0.5**0.5), ("y - f0", 0.643))
    for residual, expected in cases:
        n = 300
        draws = np.array(
            [draw("centred relu", 0.5, 2 / 3, TALK, residual, k, n)[:2] for k in range(30)]
        )
        cosine = np.sqrt(draws[:, 1] / draws[:, 0])
        found = float(gradient_direction(0.5, CentredReLU(), TALK, residual).alignment)
        assert found == pytest.approx(expected, abs=5e-4)
        assert z_score(cosine, found, 3 / n) < 4


def test_ba22_lies_between_and_tends_to_the_printed_scale():
    scales: list[tuple[Residual, float]] = [
        ("y", 9), ("ba22", 1e12), ("ba22", 9), ("ba22", 1), ("y - f0", 9)
    ]  # fmt: skip
    norms = [float(gradient_direction(0.5, Tanh(), TALK, r, w).norm_squared) for r, w in scales]
    assert norms == sorted(norms)
    assert norms[1] == pytest.approx(norms[0], rel=1e-11)
    assert norms[3] == pytest.approx(norms[4], rel=1e-14)


def test_a_target_without_linear_part_has_no_alignment():
    found = gradient_direction([0.5, 2.0], CentredReLU(), Teacher.single((0.0, 0.0, 1.0)))
    np.testing.assert_array_equal(found.alignment, 0)
    np.testing.assert_allclose(found.norm_squared, [1.0, 4.0])
    assert np.isnan(gradient_direction(0.5, CentredReLU(), Teacher.single((0.0,))).alignment)


def test_moments_of_a_teacher_are_those_of_its_labels():
    teacher = Teacher.single((0.4, -0.8, 0.5, 0.3), noise=[0.0, 0.7])
    z, weight = np.polynomial.hermite_e.hermegauss(20)
    weight = weight / weight.sum()
    f = target(teacher.coefficients, z)
    assert teacher.target_power == pytest.approx(weight @ f**2, rel=1e-12)
    np.testing.assert_allclose(teacher.power, weight @ f**2 + np.array([0, 0.49]), rtol=1e-12)
    left = weight @ (f - (weight @ (f * z)) * z) ** 2
    np.testing.assert_allclose(teacher.beyond_linear, left + np.array([0, 0.49]), rtol=1e-12)
    he = np.polynomial.hermite_e.hermevander(z, 6)
    size = np.sqrt([math.factorial(k) for k in range(7)])
    np.testing.assert_allclose(teacher.components(6), weight @ (f[:, None] * he / size), atol=1e-12)
    assert teacher.components(1).tolist() == pytest.approx([0.4, 0.8])
    assert Teacher.single((2.0,)).linear == 0.0


@pytest.mark.parametrize("l_max", range(1, 8))
def test_degree_of_the_limit_counts_powers_inside_its_interval(l_max):
    left, right = (l_max - 1) / (2 * l_max), l_max / (2 * l_max + 2)
    inside = np.array([left + 1e-6, (left + right) / 2, right - 1e-6])
    np.testing.assert_array_equal(limit_degree(inside), l_max)
    assert np.isnan(limit_degree([left, right])).all()


def test_degree_below_0_and_from_a_half_on():
    np.testing.assert_array_equal(limit_degree([-2.0, -1e-6]), 0)
    assert np.isnan(limit_degree([0.0, 0.5, 0.7, math.nan])).all()
    assert limit_degree(np.full((2, 3), 0.1)).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0, Tanh(), TALK), "phi is 0.0: give d/n, finite and above 0"),
        ((math.inf, Tanh(), TALK), "phi is inf: give d/n, finite and above 0"),
        ((0.5, Tanh(), TALK, "f"), "give one of y, y - f0, ba22"),
        ((0.5, Tanh(), TALK, "ba22"), "give the width N"),
        ((0.5, Tanh(), TALK, "ba22", 0), "The width is 0: give N above 0"),
        ((0.5, Tanh(), TALK, "ba22", math.nan), "The width is nan: give N above 0"),
        ((0.5, ReLU(), TALK, "y - f0"), "mean 0.3989, so f_0 has a random mean"),
        ((0.5, ReLU(), TALK, "ba22", 100), "centre the activation"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        gradient_direction(*arguments)


def test_residual_y_takes_an_activation_with_a_mean():
    assert gradient_direction(0.5, ReLU(), TALK).norm_squared == 2.0
    assert output_scale("y", None) == 0


@pytest.mark.parametrize(
    ("coefficients", "noise", "words"),
    [((), 0.0, "at least one"), ((1.0, math.inf), 0.0, "all finite"),
     ((1.0,), -1.0, "noise is -1.0"), ((1.0,), [0.0, math.nan], "of 0 or more")],
)  # fmt: skip
def test_bad_teachers_are_named(coefficients, noise, words):
    with pytest.raises(ValueError, match=words):
        Teacher.single(coefficients, noise)
