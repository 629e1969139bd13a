"""Activations: derivatives, coefficients and moments by two paths each; names and specs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfeat.maths import hermite
from gradfeat.maths.activations import (
    Activation,
    CentredReLU,
    Erf,
    Polynomial,
    ReLU,
    Sine,
    Tanh,
    TruncatedReLU,
    UserActivation,
    activation,
    activation_from_spec,
)

NAMED = {
    "relu": ReLU(),
    "centred_relu": CentredReLU(),
    "truncated_relu": TruncatedReLU(),
    "tanh": Tanh(),
    "erf": Erf(),
    "sine": Sine(),
}
SAVED = [*NAMED.values(), Polynomial((1.0, -2.0, 0.5, 0.25)), Polynomial((3.0,))]
LEAKY = UserActivation(lambda z: torch.where(z > 0.7, z, 0.1 * z), (0.7,))
EVERY = [*SAVED, UserActivation(torch.sin), LEAKY]
every = pytest.mark.parametrize("sigma", EVERY, ids=lambda s: s.name)


def on_array(sigma: Activation) -> hermite.RealFunction:
    return lambda z: sigma(torch.from_numpy(z)).numpy()


@every
def test_derivative_equals_autograd_away_from_kinks(sigma: Activation) -> None:
    z = torch.linspace(-3.05, 3.05, 62, dtype=torch.float64, requires_grad=True)
    assert all(abs(z.detach() - b).min() > 1e-3 for b in sigma.breakpoints)
    (expected,) = torch.autograd.grad((sigma(z) + 0 * z).sum(), z)
    # Two orders of the same few operations; slopes are at most about 10.
    torch.testing.assert_close(sigma.derivative(z.detach()), expected, rtol=1e-12, atol=1e-14)


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_shape_and_dtype_are_kept(sigma: Activation, dtype: torch.dtype) -> None:
    for shape in [(), (0,), (2, 3, 4)]:
        z = torch.full(shape, 0.3, dtype=dtype)
        for out in (sigma(z), sigma.derivative(z)):
            assert (out.shape, out.dtype) == (z.shape, dtype)


@every
def test_coefficients_equal_quadrature(sigma: Activation) -> None:
    found = sigma.hermite_coefficients(20)
    exact = hermite.hermite_coefficients(on_array(sigma), 20, sigma.breakpoints)
    # Quadrature is good to 1e-14 of E|sigma He_k| times some fifty panels.
    assert np.abs((found - exact) * hermite.root_factorials(20)).max() < 1e-12


@every
@pytest.mark.parametrize("k_max", [0, 1, 2, hermite.MAX_DEGREE])
def test_coefficients_have_one_entry_a_degree(sigma: Activation, k_max: int) -> None:
    c = sigma.hermite_coefficients(k_max)
    assert c.shape == (k_max + 1,)
    assert np.isfinite(c).all()
    # The first entries do not depend on where the list stops (quadrature reaches further out).
    np.testing.assert_allclose(c[:3], sigma.hermite_coefficients(4)[: k_max + 1][:3], atol=1e-13)


@every
def test_degrees_out_of_range_are_refused(sigma: Activation) -> None:
    for k_max in (-1, hermite.MAX_DEGREE + 1):
        with pytest.raises(ValueError, match=f"degree was {k_max}"):
            sigma.hermite_coefficients(k_max)


@every
def test_second_moment_equals_quadrature(sigma: Activation) -> None:
    square = lambda z: on_array(sigma)(z) ** 2  # noqa: E731
    exact = hermite.hermite_coefficients(square, 0, sigma.breakpoints)[0]
    assert sigma.second_moment() == pytest.approx(exact, rel=1e-12)


@every
def test_second_moment_bounds_the_series(sigma: Activation) -> None:
    total = hermite.HermiteSeries(tuple(sigma.hermite_coefficients(150))).norm_squared()
    # Kinks leave a tail of order 150^{-3/2}, LEAKY's jump of .63 one of order .4/(pi sqrt(600)).
    assert 0 <= sigma.second_moment() - total + 1e-12 < 0.02


@every
def test_derivative_identity(sigma: Activation) -> None:
    jumps = sigma is LEAKY  # a jump of sigma is a Dirac mass that sigma' does not carry
    slope = hermite.hermite_coefficients(
        lambda z: sigma.derivative(torch.from_numpy(z)).numpy(), 10, sigma.breakpoints
    )
    by_series = np.arange(1, 12) * sigma.hermite_coefficients(11)[1:]
    gap = np.abs((slope - by_series) * hermite.root_factorials(10)).max()
    assert gap > 0.1 if jumps else gap < 1e-12


def test_derivatives_vanish_at_kinks() -> None:
    z = torch.tensor([0.0, 1.0])
    assert ReLU().derivative(z).tolist() == [0.0, 1.0]
    assert CentredReLU().derivative(z).tolist() == [0.0, 1.0]
    assert TruncatedReLU().derivative(z).tolist() == [0.0, 0.0]


def test_values_at_chosen_points() -> None:
    z = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    assert ReLU()(z).tolist() == [0.0, 0.5, 2.0]
    assert TruncatedReLU()(z).tolist() == [0.0, 0.5, 1.0]
    assert Polynomial((1.0, 2.0, 4.0))(z).tolist() == [3.0, 3.0, 21.0]
    # libm and torch differ by an ulp or so.
    assert Tanh()(z).tolist() == pytest.approx([math.tanh(t) for t in z.tolist()], rel=1e-14)
    assert Erf()(z).tolist() == pytest.approx([math.erf(t) for t in z.tolist()], rel=1e-14)
    assert CentredReLU()(z)[0].item() == -1 / math.sqrt(2 * math.pi)


def test_centred_relu_is_centred_exactly() -> None:
    assert CentredReLU().hermite_coefficients(5)[0] == 0.0
    assert (
        CentredReLU().hermite_coefficients(5)[1:].tolist()
        == ReLU().hermite_coefficients(5)[1:].tolist()
    )


@settings(max_examples=30)
@given(p=st.lists(st.floats(-3, 3), min_size=1, max_size=7), k_max=st.integers(0, 9))
def test_polynomial_series_is_the_polynomial(p: list[float], k_max: int) -> None:
    c = Polynomial(tuple(p)).hermite_coefficients(max(k_max, len(p) - 1))
    z = np.linspace(-2, 2, 7)
    values = Polynomial(tuple(p))(torch.from_numpy(z)).numpy()
    # Basis change and sums of at most 7 terms below 1e4: 1e4 eps times a few.
    np.testing.assert_allclose(hermite.hermite(len(c) - 1, z) @ c, values, atol=1e-10)


def test_user_activation_takes_a_given_slope() -> None:
    given = UserActivation(torch.sin, (), lambda z: 7 * z)
    assert given.derivative(torch.tensor([2.0])).tolist() == [14.0]


def test_user_activation_differentiates_without_a_graph() -> None:
    with torch.no_grad():
        out = UserActivation(lambda z: z**3).derivative(torch.tensor([2.0]))
    assert out.tolist() == [12.0]
    assert not out.requires_grad
    assert UserActivation(torch.ones_like).derivative(torch.tensor([2.0])).tolist() == [0.0]


def test_user_activation_with_parameters_has_coefficients() -> None:
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    c = UserActivation(lambda z: scale * z).hermite_coefficients(1)
    np.testing.assert_allclose(c, [0.0, 2.0], atol=1e-13)


def test_user_breakpoints_are_used() -> None:
    points: list[int] = []

    def step(z: torch.Tensor) -> torch.Tensor:
        points.append(z.numel())
        return (z > 0.7).to(z.dtype)

    UserActivation(step).hermite_coefficients(3)
    without = sum(points)
    UserActivation(step, (0.7,)).hermite_coefficients(3)
    assert sum(points) - without < 0.8 * without


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda z: z.sum(), r"shape \(\) for torch.float64 of shape \(3,\)"),
        (lambda z: z.float(), "returned torch.float32"),
    ],
)
def test_user_functions_that_are_not_elementwise_are_refused(function, message: str) -> None:
    z = torch.zeros(3, dtype=torch.float64)
    for compute in (UserActivation(function), UserActivation(torch.sin, (), function).derivative):
        with pytest.raises(ValueError, match=message):
            compute(z)


@pytest.mark.parametrize("name", NAMED)
def test_names_resolve(name: str) -> None:
    assert activation(name) == NAMED[name]
    assert activation(name).name == name


def test_objects_resolve_to_themselves() -> None:
    assert activation(LEAKY) is LEAKY


@pytest.mark.parametrize("bad", ["rleu", "", "ReLU", "polynomial"])
def test_unknown_names_are_refused_with_the_allowed_ones(bad: str) -> None:
    with pytest.raises(ValueError, match="truncated_relu, tanh, erf, sine, or an"):
        activation(bad)


@pytest.mark.parametrize("sigma", SAVED, ids=lambda s: s.name)
def test_specs_survive_json(sigma: Activation) -> None:
    assert activation_from_spec(json.loads(json.dumps(sigma.spec()))) == sigma
    assert sigma.spec()["name"] == sigma.name


def test_user_activations_cannot_be_saved() -> None:
    with pytest.raises(ValueError, match="cannot be saved"):
        LEAKY.spec()


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"name": "user"},
        {"name": 3},
        {"name": "polynomial"},
        {"name": "polynomial", "coefficients": "12"},
        {"name": "polynomial", "coefficients": [1.0, "2"]},
        {"name": "polynomial", "coefficients": [True]},
    ],
    ids=str,
)
def test_damaged_specs_are_refused(bad: dict) -> None:
    with pytest.raises(ValueError, match="saved activation was"):
        activation_from_spec(bad)


def test_bad_parameters_are_refused() -> None:
    for coefficients in [(), (1.0, math.nan)]:
        with pytest.raises(ValueError, match="at least one, all finite"):
            Polynomial(coefficients)
    with pytest.raises(ValueError, match="finite numbers only"):
        UserActivation(torch.sin, (math.inf,))


def test_activations_are_values() -> None:
    assert len({ReLU(), ReLU(), CentredReLU(), Polynomial((1.0,)), Polynomial((1.0,))}) == 3
    assert repr(TruncatedReLU()) == "TruncatedReLU()"
    with pytest.raises(AttributeError):
        ReLU().breakpoints = ()  # type: ignore[misc]


@every
def test_values_are_those_of_the_tensor(sigma: Activation) -> None:
    z = np.linspace(-3, 3, 24).reshape(2, 3, 4)
    for array in (z, z[:, ::2], z.T, z[::-1]):  # strides of any kind
        found = sigma.values(array)
        assert found.shape == np.shape(array)
        assert found.dtype == np.float64
        # NumPy, SciPy and torch each round tanh and erf to the last place or the one before.
        wanted = sigma(torch.tensor(np.array(array))).numpy()
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(float).eps)


@every
def test_derivative_second_moment_is_that_of_a_fine_grid(sigma: Activation) -> None:
    z = np.linspace(-12, 12, 240_001)
    slope = sigma.derivative(torch.from_numpy(z)).numpy()
    mean = float(np.exp(-(z**2) / 2) @ slope**2) * 1e-4 / math.sqrt(2 * math.pi)
    # Each jump of the slope by 1 between nodes 1e-4 apart costs half of that times the density.
    assert sigma.derivative_second_moment() == pytest.approx(mean, abs=5e-5, rel=1e-9)


def test_derivative_second_moments_in_closed_form() -> None:
    assert ReLU().derivative_second_moment() == pytest.approx(0.5, rel=1e-13)
    # E (4/pi) exp(-2 Z^2) = 4/(pi sqrt 5); E (1 - 4 Z)^2 = 17.
    assert Erf().derivative_second_moment() == pytest.approx(4 / math.pi / 5**0.5, rel=1e-13)
    assert Polynomial((3.0, 1.0, -2.0)).derivative_second_moment() == pytest.approx(17, rel=1e-12)
