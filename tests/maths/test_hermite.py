"""Hermite polynomials, quadrature and series against closed forms and NumPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e

from gradfeat.maths.hermite import (
    MAX_DEGREE,
    HermiteSeries,
    gauss_hermite,
    hermite,
    hermite_coefficients,
    orthonormal_hermite,
    ramp_coefficients,
    root_factorials,
)

#: Errors are measured in c_k sqrt(k!), the norm of degree k: quadrature accepts a panel at 1e-14
#: of the integral of |f He_k|, and sums about 50 panels.
SMOOTH = 1e-12
KINKED = 1e-10

coefficients = st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=8).map(tuple)


def error(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs((found - exact) * root_factorials(len(exact) - 1)).max())


def relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


def relu_by_double_factorials(k_max: int) -> np.ndarray:
    """c_0 = 1/sqrt(2 pi), c_1 = 1/2, c_{2j} = (-1)^{j-1} (2j-3)!! / (sqrt(2 pi) (2j)!)."""
    c = np.zeros(k_max + 1)
    c[0], c[1:2] = 1 / math.sqrt(2 * math.pi), 0.5
    for j in range(1, k_max // 2 + 1):
        odd = math.prod(range(1, 2 * j - 2, 2))
        c[2 * j] = (-1) ** (j - 1) * odd / (math.sqrt(2 * math.pi) * math.factorial(2 * j))
    return c


def step_at(t: float, k_max: int) -> np.ndarray:
    """c_k of 1{z > t}: 1 - Phi(t), then phi(t) He_{k-1}(t) / k! (NumPy's He)."""
    c = [math.erfc(t / math.sqrt(2)) / 2]
    density = math.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
    for k in range(1, k_max + 1):
        He = hermite_e.hermeval(t, [0] * (k - 1) + [1])
        c.append(density * float(He) / math.factorial(k))
    return np.array(c)


def test_recurrence_equals_numpy() -> None:
    z = np.linspace(-4, 4, 12).reshape(3, 4)
    expected = np.stack([hermite_e.hermeval(z, [0] * k + [1]) for k in range(16)], axis=-1)
    # Both are sums of about k terms of size sqrt(k!) e^{z^2/4}; rounding is 16 eps of that.
    scale = root_factorials(15) * np.exp(z[..., None] ** 2 / 4)
    assert np.abs((hermite(15, z) - expected) / scale).max() < 1e-14


@pytest.mark.parametrize("k_max", [0, 1, 2])
def test_lowest_degrees_have_their_own_shapes(k_max: int) -> None:
    expected = [1.0, 3.0, 8.0][: k_max + 1]
    assert hermite(k_max, 3.0).tolist() == expected
    assert hermite(k_max, np.full((2, 0), 3.0)).shape == (2, 0, k_max + 1)


def test_orthonormal_polynomials_are_scaled_ones() -> None:
    z = np.linspace(-3, 3, 7)
    # Two recurrences of 20 steps, each with rounding eps a step.
    np.testing.assert_allclose(
        orthonormal_hermite(20, z, 2.0) * root_factorials(20), 2 * hermite(20, z), rtol=1e-12
    )


def test_polynomials_are_orthogonal_under_the_quadrature() -> None:
    z, w = gauss_hermite(40)
    h = orthonormal_hermite(30, z)
    # Exact for degree 79; entries are sums of 40 terms of size one.
    np.testing.assert_allclose(h.T @ (w[:, None] * h), np.eye(31), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_quadrature_weights_sum_to_one(n: int) -> None:
    z, w = gauss_hermite(n)
    assert z.shape == w.shape == (n,)
    assert abs(w.sum() - 1) < 1e-14
    assert np.all(np.diff(z) > 0)


def test_quadrature_is_exact_below_degree_2n_and_not_at_it() -> None:
    z, w = gauss_hermite(5)
    moments = [math.prod(range(1, 2 * j, 2)) for j in range(6)]
    errors = [abs(float(w @ z ** (2 * j)) / moments[j] - 1) for j in range(6)]
    assert max(errors[:5]) < 1e-12
    assert errors[5] > 1e-2


@pytest.mark.parametrize("k_max", [0, 1, 2, 20, 60])
@pytest.mark.parametrize("breakpoints", [(0.0,), ()])
def test_relu_coefficients(k_max: int, breakpoints: tuple[float, ...]) -> None:
    found = hermite_coefficients(relu, k_max, breakpoints)
    assert error(found, relu_by_double_factorials(k_max)) < KINKED


def test_relu_unscaled_error_is_far_below_the_coefficients() -> None:
    found, exact = hermite_coefficients(relu, 20, (0.0,)), relu_by_double_factorials(20)
    assert np.abs(found[::2] / exact[::2] - 1).max() < 1e-10


@pytest.mark.parametrize("t", [0.0, 0.7, -1.3])
def test_step_coefficients(t: float) -> None:
    found = hermite_coefficients(lambda z: z > t, 20, (t,))
    assert error(found, step_at(t, 20)) < SMOOTH


@pytest.mark.parametrize("t", [0.0, 0.7, -1.3])
@pytest.mark.parametrize("k_max", [0, 1, 2, 20])
def test_ramp_closed_form_equals_quadrature(t: float, k_max: int) -> None:
    found = hermite_coefficients(lambda z: np.maximum(z - t, 0), k_max, (t,))
    assert error(found, ramp_coefficients(t, k_max)) < SMOOTH


def test_a_breakpoint_saves_evaluations() -> None:
    def calls(breakpoints: tuple[float, ...]) -> int:
        points = 0

        def step(z: np.ndarray) -> np.ndarray:
            nonlocal points
            points += len(z)
            return z > 0.7

        hermite_coefficients(step, 5, breakpoints)
        return points

    assert calls((0.7,)) < 0.8 * calls(())


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (np.exp, lambda k: math.exp(0.5) / math.factorial(k)),
        (np.sin, lambda k: math.exp(-0.5) * math.sin(k * math.pi / 2) / math.factorial(k)),
    ],
    ids=["exp", "sin"],
)
def test_smooth_functions(f: Callable, exact: Callable[[int], float]) -> None:
    found = hermite_coefficients(f, 20)
    assert error(found, np.array([exact(k) for k in range(21)])) < SMOOTH


def test_the_highest_degree_keeps_its_accuracy() -> None:
    found = hermite_coefficients(relu, MAX_DEGREE, (0.0,))
    assert error(found, ramp_coefficients(0.0, MAX_DEGREE)) < KINKED


def test_integrable_singularity_at_a_breakpoint() -> None:
    found = hermite_coefficients(lambda z: np.abs(z) ** -0.25, 0, (0.0,))[0]
    assert abs(found / (2**-0.125 * math.gamma(0.375) / math.sqrt(math.pi)) - 1) < SMOOTH


@settings(max_examples=25)
@given(p=st.lists(st.floats(-3, 3), min_size=1, max_size=7))
@example(p=[2.2250738585e-313])
@example(p=[1e-300, 3e-310])
@example(p=[1.0, 0.0])
def test_polynomial_coefficients(p: list[float]) -> None:
    found = hermite_coefficients(lambda z: np.polynomial.polynomial.polyval(z, p), 8)
    exact = np.zeros(9)
    series = hermite_e.poly2herme(p)  # NumPy leaves out zeros at the end
    exact[: len(series)] = series
    # |f He_8| integrates to about 1e3 sqrt(8!) at the largest coefficients.
    assert error(found, exact) < 1e-11


@settings(max_examples=25)
@given(c=coefficients)
def test_parseval(c: tuple[float, ...]) -> None:
    g = HermiteSeries(c)
    z, w = gauss_hermite(16)
    # Exact rule (degree 14 < 32); the terms reach c_7^2 7!, so rounding is relative to E g^2.
    assert g.norm_squared() == pytest.approx(float(w @ g(z) ** 2), rel=1e-11, abs=1e-300)


@settings(max_examples=25)
@given(c=coefficients)
def test_projection_returns_the_series(c: tuple[float, ...]) -> None:
    g = HermiteSeries(c)
    found = np.array(HermiteSeries.from_function(g, 7).coefficients)
    exact = np.zeros(8)
    exact[: len(c)] = c
    assert error(found, exact) <= SMOOTH * (1 + math.sqrt(g.norm_squared()))


@settings(max_examples=25)
@given(c=coefficients, e=coefficients, s=st.floats(-3, 3))
def test_sums_and_multiples_act_pointwise(
    c: tuple[float, ...], e: tuple[float, ...], s: float
) -> None:
    f, g = HermiteSeries(c), HermiteSeries(e)
    z = np.linspace(-2, 2, 5)
    # Values reach 2 sum_k |He_k(2)| < 1e3, hence 1e3 eps times a few.
    np.testing.assert_allclose((f + s * g)(z), f(z) + s * g(z), atol=1e-11)
    assert (s * g).coefficients == (g * s).coefficients


def test_parseval_of_a_kinked_function() -> None:
    # E relu^2 = 1/2; the tail beyond K is of order K^{-3/2} (c_k^2 k! ~ k^{-5/2} / 10).
    total = HermiteSeries.from_function(relu, 200, (0.0,)).norm_squared()
    assert 0.5 - 200**-1.5 < total < 0.5


@pytest.mark.parametrize("f", [np.tanh, np.sin])
def test_derivative_identity(f: Callable) -> None:
    slope = {np.tanh: lambda z: 1 - np.tanh(z) ** 2, np.sin: np.cos}[f]
    found = hermite_coefficients(slope, 14)
    by_series = np.array(HermiteSeries.from_function(f, 15).derivative().coefficients)
    assert error(found, by_series) < SMOOTH


def test_derivative_against_differences() -> None:
    g = HermiteSeries((1.0, -2.0, 0.5, 0.25))
    z, h = np.linspace(-2, 2, 9), 1e-5
    # Central differences of a cubic: truncation c_3 h^2, rounding eps / h.
    np.testing.assert_allclose(g.derivative()(z), (g(z + h) - g(z - h)) / (2 * h), atol=1e-9)
    assert HermiteSeries((3.0,)).derivative() == HermiteSeries((0.0,))


def test_information_exponent() -> None:
    assert HermiteSeries((5.0, 0.0, 0.0, 1.0)).information_exponent() == 3
    assert HermiteSeries((5.0, 0.0)).information_exponent() is None
    assert HermiteSeries((0.0,)).information_exponent() is None
    assert HermiteSeries.from_function(np.abs, 4, (0.0,)).information_exponent() == 2
    faint = HermiteSeries((0.0, 1e-6, 1.0))
    assert faint.information_exponent() == 1
    assert faint.information_exponent(tol=1e-4) == 2
    assert (1e9 * faint).information_exponent(tol=1e-4) == 2


def test_normalised_has_unit_norm() -> None:
    g = HermiteSeries((1.0, 0.0, 0.5, 0.2)).normalised()
    assert abs(g.norm_squared() - 1) < 1e-14
    assert g.coefficients[2] / g.coefficients[0] == pytest.approx(0.5, rel=1e-14)


def test_numpy_scalars_multiply_from_both_sides() -> None:
    g = HermiteSeries((1.0, 2.0))
    assert np.float64(2.0) * g == g * np.float64(2.0) == HermiteSeries((2.0, 4.0))


def test_series_are_values() -> None:
    assert len({HermiteSeries((1.0,)), HermiteSeries((1.0,)), HermiteSeries((2.0,))}) == 2
    with pytest.raises(AttributeError):
        HermiteSeries((1.0,)).coefficients = (2.0,)  # type: ignore[misc]


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda z: z[:1], r"shape \(1,\) of type float64 for points of shape"),
        (lambda z: z.sum(), r"shape \(\) of type float64"),
        (lambda z: z + 1j, "complex128"),
        (lambda z: np.where(z > 2, np.nan, z), r"not finite at z = 2\.0"),
        (lambda z: np.where(np.abs(z) < 1, np.inf, 0), "not finite at z = "),
        (lambda z: 1 / z, "does not settle"),
        (lambda z: NOISE.standard_normal(z.shape), "does not settle"),
    ],
    ids=["short", "scalar", "complex", "nan", "inf", "pole", "noise"],
)
def test_bad_functions_are_refused(f: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hermite_coefficients(f, 4)


@pytest.mark.parametrize("k_max", [-1, MAX_DEGREE + 1])
def test_degrees_out_of_range_are_refused(k_max: int) -> None:
    for compute in (hermite, orthonormal_hermite):
        with pytest.raises(ValueError, match=f"degree was {k_max}; give one from 0 to 300"):
            compute(k_max, 0.0)
    with pytest.raises(ValueError, match=f"degree was {k_max}"):
        hermite_coefficients(np.sin, k_max)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        gauss_hermite(0)
    with pytest.raises(ValueError, match="finite numbers only"):
        hermite_coefficients(relu, 2, (math.nan,))
    with pytest.raises(ValueError, match="at least one, all finite"):
        HermiteSeries(())
    with pytest.raises(ValueError, match="at least one, all finite"):
        HermiteSeries((1.0, math.inf))
    with pytest.raises(ValueError, match="degree was 301"):
        HermiteSeries((1.0,) * 302)
    with pytest.raises(ValueError, match="zero series"):
        HermiteSeries((0.0, 0.0)).normalised()


@pytest.mark.parametrize("edge", [-0.000625, 0.14060836436951973, 0.3])
def test_a_jump_beside_the_end_of_a_panel_is_found(edge):
    """No node of a panel or of its halves is beyond these edges."""
    found = hermite_coefficients(lambda z: (z > edge).astype(float), 0)[0]
    assert found == pytest.approx(math.erfc(edge / math.sqrt(2)) / 2, abs=1e-11)
