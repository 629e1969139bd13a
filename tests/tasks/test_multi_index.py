"""Multi-index tasks: exact tensors against Monte Carlo, truth of the named targets, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from contracts_of_tasks import WAVE, Z, errors

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.limits import available_memory
from gradfeat.maths.links import FunctionLink
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.maths.streams import numpy_stream, stream
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.single_index import SingleIndex, he2_he4
from gradfeat.tasks.targets import (
    GatedProduct,
    SumOfSines,
    coordinate_product,
    he1,
    he1_he2,
    he2_hep,
    pure_hermite,
    sum_of_squares,
)

N = 200_000
CUBIC = MultiHermite.random(2, 3, numpy_stream(0, "cubic"))
#: Each with information exponent, E g^2, and kappa (None: infinite, H degenerate).
NAMED = {
    "he2_he4": (he2_hep(4), 2, 1.0, 1.0),
    "he2_he3": (he2_hep(3), 2, 1.0, 1.0),
    "he2_he6 of three": (he2_hep(6, 3), 2, 1.0, 1.0),
    "he3": (pure_hermite(3), 3, 1.0, None),
    "he5 of two": (pure_hermite(5, 2), 5, 1.0, None),
    "setting 1": (he1(), 1, 1.0, None),
    "setting 2": (he1_he2(), 1, 2.0, 1 / math.sqrt(2)),
    "squares": (sum_of_squares(4), 2, 1.0, 1 / math.sqrt(2)),
    "product": (coordinate_product(), 2, 1.0, 1 / math.sqrt(2)),
    "product of three": (coordinate_product(3), 3, 1.0, None),
    "gated product": (GatedProduct(), 2, 0.5, None),
    "sines": (SumOfSines(3, 1.2), 1, 1.0, None),
}
named = pytest.mark.parametrize(("g", "exponent", "square", "kappa"), NAMED.values(), ids=NAMED)


def standard_task(g, **changes):
    return MultiIndex(**{"d": g.r + 2, "g": g, "seed": 1} | changes)


@named
def test_named_targets(g, exponent, square, kappa):
    task = standard_task(g)
    assert task.information_exponent == exponent
    assert task.degenerate == (kappa is None)
    # Closed forms of a few operations.
    assert task.kappa == pytest.approx(math.inf if kappa is None else kappa, rel=1e-12)
    f = task.target(task.sample(N, stream(0, "squares")).X)
    assert errors(f.square(), square) < Z


@pytest.mark.parametrize("g", [row[0] for row in NAMED.values()], ids=NAMED)
def test_series_is_that_of_the_values(g):
    """E g(Z) p(Z) of every probe polynomial: none of the inputs of the closed form."""
    z = torch.randn(N, g.r, generator=stream(0, "z"), dtype=torch.float64)
    value = torch.from_numpy(g(z.numpy()))[:, None]
    # C_1, C_2 and along each axis C_3: E g He_k(Z).
    assert errors(value * z, torch.from_numpy(g.series.tensor(1))) < Z
    second = z[:, :, None] * z[:, None, :] - torch.eye(g.r)
    assert errors((value * second.flatten(1)), torch.from_numpy(g.series.tensor(2)).flatten()) < Z
    third = torch.stack([torch.from_numpy(g.series.tensor(3))[i, i, i] for i in range(g.r)])
    assert errors(value * (z**3 - 3 * z), third) < Z
    mixed = g.series.tensor(3)[(0, 1, 2) if g.r > 2 else (0,) * 3]
    if g.r > 2:
        assert errors(value * z[:, :3].prod(1, keepdim=True), float(mixed)) < Z


TASKS = {
    "cubic": MultiIndex(5, CUBIC, seed=2),
    "scaled": MultiIndex(4, CUBIC, scale=0.5),
    "projected": MultiIndex(4, FunctionLink.projected(WAVE, 2), scale=2.0, aligned=True),
    "gated": MultiIndex(6, GatedProduct(), seed=3),
}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_hessian_is_the_mean_of_second_derivatives(task):
    """E grad^2 f = E f(x)(x x^T / s^4 - I / s^2), by Stein's identity on samples of f alone."""
    X, s = task.sample(N, stream(0, "x")).X, task.scale
    f = task.target(X)
    stein = X[:, :, None] * X[:, None, :] / s**4 - torch.eye(task.d) / s**2
    assert errors(f * stein.flatten(1), task.hessian.flatten()) < Z
    assert errors(f * X / s**2, task.hermite_tensor(1)) < Z


def test_hessian_of_a_polynomial_differentiated_by_hand():
    """f = u^2 v + u v with u, v the coordinates in U: second derivatives, averaged."""
    g = MultiHermite.from_polynomial({(2, 1): 1.0, (1, 1): 1.0})
    task = MultiIndex(4, g, scale=1.5, seed=4)
    U, X = task.directions / 1.5, task.sample(N, stream(0, "hessians")).X
    u, v = (X @ U).T
    torch.testing.assert_close(task.target(X)[:, 0], u * u * v + u * v, rtol=0, atol=1e-11)
    core = torch.stack([2 * v, 2 * u + 1, 2 * u + 1, 0 * u], 1).reshape(-1, 2, 2)
    assert errors((U @ core @ U.T).flatten(1), task.hessian.flatten()) < Z


@pytest.mark.parametrize("k", range(4))
def test_tensors_of_inputs_are_those_of_the_core(k):
    task = MultiIndex(5, CUBIC, scale=0.5, seed=2)
    W = torch.randn(6, 5, generator=stream(0, "w"), dtype=torch.float64)
    full = task.hermite_tensor(k)
    assert full.shape == (5,) * k
    assert task.core_tensor(k).shape == (2,) * k
    for w in W:
        by_inputs = full
        for _ in range(k):
            by_inputs = by_inputs @ w
        by_core = CUBIC.contract(k, (w @ task.directions / 0.5).numpy()[None])[0]
        # Sums of 125 products of size up to 100.
        assert float(by_inputs) == pytest.approx(by_core, abs=1e-11)


def test_kappa_follows_its_definition():
    g = MultiHermite(((2, 0), (1, 1), (0, 2)), (0.3, 0.2, -0.7))
    task = MultiIndex(6, g, scale=0.7, seed=5)
    pseudo_inverse = torch.linalg.pinv(task.hessian, rtol=1e-9)
    wanted = float(torch.linalg.matrix_norm(pseudo_inverse, 2)) / math.sqrt(2)
    assert task.kappa == pytest.approx(wanted, rel=1e-10)
    assert torch.linalg.matrix_rank(task.hessian, rtol=1e-9) == 2


def test_rank_is_judged_against_the_size_of_g():
    """Quadrature leaves rounding in C_2 of an odd function: no direction is in it."""
    g = FunctionLink.projected(lambda z: z[:, 0] ** 3 - 3 * z[:, 0], 1)
    assert standard_task(g).degenerate
    assert standard_task(g).information_exponent == 3
    small = standard_task(1e-6 * sum_of_squares(2))
    assert not small.degenerate


def test_one_direction_is_the_single_index_task():
    one = MultiIndex(6, he2_hep(4), noise=0.3, seed=4)
    other = SingleIndex(6, he2_he4(), noise=0.3, seed=4)
    a, b = (task.sample(50, stream(0, "train")) for task in (one, other))
    assert torch.equal(a.X, b.X)
    # u by QR or by its norm, and two orders of summing three terms of size up to 100.
    torch.testing.assert_close(one.directions, other.directions, rtol=0, atol=1e-15)
    torch.testing.assert_close(a.y, b.y, rtol=0, atol=1e-11)


def test_noise_laws():
    sample, target = {}, None
    for law in ("gaussian", "sign"):
        task = MultiIndex(4, CUBIC, noise=0.5, noise_law=law)
        drawn = task.sample(50_000, stream(0, "noise"))
        target = task.target(drawn.X)
        sample[law] = drawn.y - target
        assert errors(sample[law]) < Z
        assert errors(sample[law].square(), 0.25) < Z or law == "sign"
    # y = f + noise is rounded at the size of f, up to some 100.
    torch.testing.assert_close(
        sample["sign"].abs(), torch.full_like(target, 0.5), rtol=0, atol=1e-13
    )
    assert torch.equal(sample["sign"] > 0, sample["gaussian"] > 0)


def test_inputs_have_the_scale_asked_for():
    X = MultiIndex(3, he2_hep(4), scale=0.5).sample(N, stream(0, "inputs")).X
    pairs = (X[:, :, None] * X[:, None, :]).flatten(1)
    assert errors(pairs, (torch.eye(3) / 4).flatten().double()) < Z


def test_targets_share_the_directions_of_their_seed():
    one, other = (MultiIndex(8, g, seed=3).directions for g in (he2_hep(4), pure_hermite(3)))
    assert torch.equal(one, other)
    aligned = MultiIndex(4, he2_hep(4, 2), aligned=True).directions
    assert torch.equal(aligned, torch.eye(4).double()[:, :2])


def test_a_rotated_frame_is_haar():
    """No sign and no axis is preferred."""
    first = torch.stack([MultiIndex(3, CUBIC, seed=s).directions.flatten() for s in range(400)])
    assert errors(first) < Z
    assert errors(first.square(), 1 / 3) < Z


def test_rad24_target():
    task = MultiIndex(6, GatedProduct(0.5), scale=0.5, aligned=True)
    X = task.sample(500, stream(0, "x")).X
    wanted = X[:, 0] * X[:, 1] * (X[:, 2] > 0)
    torch.testing.assert_close(task.target(X)[:, 0], wanted, rtol=1e-13, atol=1e-15)


def test_gated_product_has_the_coefficients_of_its_step():
    """By adaptive quadrature of the step, to degree 7."""
    step = HermiteSeries.from_function(lambda z: z > 0, 7, (0.0,)).coefficients
    series = GatedProduct(2.0).series
    exact = dict(zip(series.degrees, series.coefficients, strict=True))
    for k, c in enumerate(step):
        assert exact.get((1, 1, k), 0.0) == pytest.approx(4 * c, abs=1e-12)
    assert set(exact) <= {(1, 1, k) for k in range(8)}


@pytest.mark.parametrize("phase", [0.0, 0.7, np.pi / 4])
def test_sines_against_quadrature(phase):
    g = SumOfSines(2, 1.5, phase)
    found = MultiHermite.from_function(g, 2, 7)
    exact = dict(zip(g.series.degrees, g.series.coefficients, strict=True))
    # |f He_7| integrates to about sqrt(7!).
    for alpha, c in zip(found.degrees, found.coefficients, strict=True):
        assert c == pytest.approx(exact.get(alpha, 0.0), abs=1e-12)
    assert g.series.norm_squared() == pytest.approx(1, abs=1e-4)


def test_tasks_are_values():
    a, b = (MultiIndex(7, SumOfSines(2, 1.0), 0.1) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert repr(a) == repr(b)


@pytest.mark.parametrize(
    "change",
    [{"d": 9}, {"g": pure_hermite(3)}, {"noise": 0.2}, {"noise_law": "sign"}, {"scale": 2.0},
     {"aligned": True}, {"seed": 2}], ids=str
)  # fmt: skip
def test_each_option_changes_the_sample(change):
    settings = {"d": 8, "g": he2_hep(4), "noise": 0.1, "seed": 1}
    a, b = (MultiIndex(**s).sample(20, stream(0, "train")) for s in (settings, settings | change))
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"d": 0}, "d is 0: give 1 or more"),
        ({"d": 1}, "r is 2: give 1 to d = 1 directions"),
        ({"noise": -1.0}, "noise is -1.0: give"),
        ({"noise": math.nan}, "noise is nan: give"),
        ({"noise_law": "uniform"}, "noise_law is 'uniform': give one of 'gaussian', 'sign'"),
        ({"scale": 0.0}, "scale is 0.0: give"),
        ({"scale": math.inf}, "scale is inf: give"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        MultiIndex(**{"d": 4, "g": CUBIC} | change)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: he2_hep(2), "p is 2: give 3 or more"),
        (lambda: pure_hermite(0), "p is 0: give 1 or more"),
        (lambda: sum_of_squares(0), "r is 0: give 1 or more"),
        (lambda: coordinate_product(0), "r is 0: give 1 or more"),
        (lambda: SumOfSines(0, 1.0), "r is 0: give 1 or more"),
        (lambda: SumOfSines(2, 0.0), "frequency is 0.0: give"),
    ],
)
def test_named_targets_refuse(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_tensor_too_large_is_refused():
    d = 1000
    order = math.ceil(math.log(available_memory(), d)) + 1
    with pytest.raises(MemoryError, match=r"in 1000 inputs needs .* use core_tensor"):
        MultiIndex(d, CUBIC).hermite_tensor(order)


def test_a_function_of_another_shape_is_refused():
    g = FunctionLink(lambda z: z, CUBIC)
    with pytest.raises(ValueError, match="return one real number for each row"):
        MultiIndex(3, g).sample(5, stream(0, "x"))
    assert np.asarray(MultiIndex(3, CUBIC).target(torch.zeros(0, 3).double())).shape == (0, 1)
