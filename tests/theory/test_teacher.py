"""Targets of several directions: what one step sees of them, and laws of the head."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.maths.activations import CentredReLU, Tanh
from gradfeat.maths.hermite import gauss_hermite
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.gradient_direction import gradient_direction
from gradfeat.theory.head_law import HeadLaw
from gradfeat.theory.one_step_errors import limit_errors
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.ridge_errors import RidgeErrors
from gradfeat.theory.teacher import Teacher

SETTING = (0.5, 2 / 3, 0.03, CentredReLU())
TARGET = polynomial("0.3 + x1 - 0.5*x2 + x1*x2/2 + He2(x3)/3 + He2(x1)*x3/4")


def parts(errors: RidgeErrors) -> np.ndarray:
    return np.array([errors.training_loss, errors.training_error, errors.test_error])


def turned(g: MultiHermite, Q: np.ndarray) -> MultiHermite:
    return MultiHermite.from_function(lambda z: g(z @ Q.T), g.r, g.degree, g.degree + 2)


def normal_rows(r: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = gauss_hermite(8)
    grid = np.stack(np.meshgrid(*[x] * r, indexing="ij"), -1).reshape(-1, r)
    return grid, np.prod(np.stack(np.meshgrid(*[w] * r, indexing="ij"), -1), -1).ravel()


def test_moments_are_averages_over_inputs():
    teacher, (z, w) = Teacher(TARGET, 0.5), normal_rows(3)
    f = TARGET(z)
    C1 = (w * f) @ z
    along = z @ C1 / np.linalg.norm(C1)
    assert teacher.mean == pytest.approx(w @ f)
    assert teacher.linear == pytest.approx(np.linalg.norm(C1))
    assert float(teacher.power) == pytest.approx(w @ f**2 + 0.25)
    he = np.polynomial.hermite_e.hermevander(along, 3) / [math.factorial(k) for k in range(4)]
    np.testing.assert_allclose(teacher.coefficients, (w * f) @ he, atol=1e-12)


def test_what_is_known_given_u_is_an_average_over_the_rest():
    teacher, rho, (z, w) = Teacher(TARGET), 0.6, normal_rows(3)
    u, chat = np.array([-1.2, 0.4]), teacher.along
    means, slopes, bent, squares = teacher.given(u, rho)
    for place, value in enumerate(u):
        rows = rho * value * chat + z - (1 - math.sqrt(1 - rho**2)) * np.outer(z @ chat, chat)
        f = TARGET(rows)
        assert means[place] == pytest.approx(w @ f)
        np.testing.assert_allclose(slopes[place], w @ TARGET.gradient(rows), atol=1e-12)
        for i in range(3):
            curved = w @ TARGET.derivative(i).gradient(rows)
            np.testing.assert_allclose(bent[place][i], curved, atol=1e-12)
        assert squares[place] == pytest.approx(w @ f**2)
        part = teacher.given(u, rho, polynomial("x1*x2 + x3 + 2"))
        g = rows[:, 0] * rows[:, 1] + rows[:, 2] + 2
        assert [one[place] for one in (part[0], part[3])] == pytest.approx([w @ g, w @ (g * f)])


def test_errors_do_not_depend_on_the_axes_of_the_target():
    Q = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    for found in (
        lambda t: finite_step_errors(*SETTING, t, eta=8.0, n=1000, residual="y - f0"),
        lambda t: limit_errors(*SETTING, t, degree=2, intercept=True),
    ):
        one, other = (parts(found(Teacher(g, 0.2))) for g in (TARGET, turned(TARGET, Q)))
        np.testing.assert_allclose(one, other, rtol=1e-8)
    one, other = (  # averages over 4,096 rows, drawn along other axes across C_1
        parts(reused_sample_errors(*SETTING, Teacher(g, 0.2), eta=3.0, n=900, rows="gaussian"))
        for g in (TARGET, turned(TARGET, Q))
    )
    np.testing.assert_allclose(one, other, rtol=1e-2)


def test_a_target_of_one_direction_is_the_same_along_any():
    g = polynomial("He3((x1 - 2*x2)/sqrt(5))/3 + (2*x2 - x1)/sqrt(5)")
    one = Teacher.single((0.0, 1.0, 0.0, -1 / 3))
    found, expected = (
        parts(finite_step_errors(*SETTING, t, eta=9.0, n=900)) for t in (Teacher(g), one)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_limit_sees_the_part_along_c1_and_counts_the_rest_as_noise():
    teacher = Teacher(TARGET, 0.4)
    rest = float(teacher.power) - float(np.square(teacher.components(3)).sum())
    alike = Teacher.single(teacher.coefficients, math.sqrt(rest))
    for degree in (0, 1, 2):
        found, expected = (
            parts(limit_errors(*SETTING, t, degree=degree)) for t in (teacher, alike)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert gradient_direction(0.5, Tanh(), teacher).alignment == pytest.approx(
        float(gradient_direction(0.5, Tanh(), alike).alignment)
    )


def test_at_finite_steps_a_product_with_u_is_not_noise():
    product, noise = Teacher(polynomial("x1 + x1*x2")), Teacher.single((0.0, 1.0), 1.0)
    found, as_noise = (
        parts(finite_step_errors(*SETTING, t, eta=20.0, n=1000)) for t in (product, noise)
    )
    assert abs(found[2] / as_noise[2] - 1) > 0.002  # slopes of the features depend on u
    small, alike = (
        parts(finite_step_errors(*SETTING, t, eta=0.0, n=1e12)) for t in (product, noise)
    )
    np.testing.assert_allclose(small, alike, rtol=1e-9)
    small = parts(finite_step_errors(*SETTING, product, eta=0.0, n=1000))
    tiny = parts(finite_step_errors(*SETTING, product, eta=1e-3, n=1000))
    np.testing.assert_allclose(tiny, small, rtol=1e-5)  # the product has all of its power


def test_laws_of_the_head_by_values_and_by_moments():
    assert HeadLaw.of_moments((0, 1, 0, 3, 0, 15, 0, 105)).values == pytest.approx(
        gauss_hermite(4)[0].tolist()
    )
    near = HeadLaw.of_moments((0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395, 0, 135135))
    teacher = Teacher(TARGET)
    one, other = (
        parts(finite_step_errors(*SETTING, teacher, eta=4.0, n=1000, head=head))
        for head in (HeadLaw.named("gaussian"), near)
    )
    np.testing.assert_allclose(one, other, rtol=1e-3)  # moments beyond the 14th at kinks
    sign, gaussian = (
        parts(finite_step_errors(*SETTING, teacher, eta=15.0, n=1000, head=HeadLaw.named(name)))
        for name in ("sign", "gaussian")
    )
    assert np.abs(sign / gaussian - 1).max() > 1e-3


def test_signs_add_no_more_columns_than_they_have_values():
    teacher, sign = Teacher.single((0.0, 1.0, 0.7, 0.4)), HeadLaw.named("sign")
    losses = [
        float(limit_errors(0.5, 2 / 3, 0.03, Tanh(), teacher, degree=k, head=sign).training_loss)
        for k in (1, 3)
    ]
    assert losses[0] == losses[1]  # h^3 = h
    gaussian = limit_errors(0.5, 2 / 3, 0.03, Tanh(), teacher, degree=3).training_loss
    assert float(gaussian) < losses[1] - 1e-3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HeadLaw((0.0, 2.0), (0.5, 0.5)), "sum 1 and E h"),
        (lambda: HeadLaw((-1.0, 1.0), (1.5, -0.5)), "masses of 0 or more"),
        (lambda: HeadLaw((1.0,), (0.5, 0.5)), "mass and E h"),
        (lambda: HeadLaw.of_moments((0, 1, 0, 0.5, 0, 1)), "No law has the moments"),
        (lambda: Teacher(TARGET, -1.0), "standard deviations of 0 or more"),
        (
            lambda: Teacher(MultiHermite.random(8, 4, np.random.default_rng(0))).given(
                np.zeros(1), 0.5
            ),
            "at most 300",
        ),
    ],
)
def test_what_no_law_or_target_has_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_function_is_its_part_of_low_degree_and_noise():
    whole = Teacher.of_function(lambda z: np.sin(z[:, 0] + z[:, 1]), 2, 3, noise=0.3)
    assert float(whole.power) == pytest.approx((1 - math.exp(-4)) / 2 + 0.09)
    assert whole.linear == pytest.approx(math.sqrt(2) * math.exp(-1))


@pytest.mark.parametrize("edge", [0.0, 0.3, 1.0])
def test_a_step_function_has_its_own_coefficients(edge):
    step = Teacher.of_function(lambda z: (z[:, 0] > edge).astype(float), 1, 2)
    density = math.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    tail = math.erfc(edge / math.sqrt(2)) / 2
    assert step.coefficients == pytest.approx((tail, density, edge * density / 2), abs=1e-9)
    assert float(step.power) == pytest.approx(tail)


def test_a_jump_in_several_directions_is_refused():
    with pytest.raises(ValueError, match="of 2 directions has Hermite coefficients that differ"):
        Teacher.of_function(lambda z: np.sign(z[:, 0] * z[:, 1]), 2, 3)
