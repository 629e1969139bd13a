"""One-dimensional tasks: normalisation, smoothness, irrelevant inputs, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.one_dimensional import OneDimensional
from gradfeat.tasks.targets import TruncatedPower, heaviside

N = 100_000
powers = pytest.mark.parametrize("s", [0, 0.5, 1, 2, 3])


@powers
def test_functions_have_mean_zero_and_variance_one(s):
    task = OneDimensional(TruncatedPower(s))
    f = task.target(task.sample(N, stream(0, "f")).X)
    assert errors(f) < Z
    # The step's square is 1 everywhere, to the rounding of its two constants.
    assert errors(f.square(), 1.0) < Z or s == 0
    assert s != 0 or float((f.abs() - 1).abs().max()) < 1e-14


@pytest.mark.parametrize("s", [1, 2, 3])
def test_derivative_s_is_the_first_to_jump(s):
    """Differences of order s over h^s: constant on either side; one order less tends to none."""
    g = TruncatedPower(s)

    def jump(order, h):
        steps = np.arange(order + 1) * h
        right, left = np.diff(g(steps + h), order), np.diff(g(-steps[::-1] - h), order)
        return float((right - left)[0]) / h**order

    height = g(np.array([1.0])) - g(np.array([-1.0]))
    # The s-th derivative of x^s is s!; differences of order <= 3 round by 8 eps / h^3.
    assert jump(s, 1e-3) == pytest.approx(math.factorial(s) * float(height[0]), rel=1e-5)
    assert abs(jump(s - 1, 1e-3)) < 0.03 * abs(jump(s, 1e-3))


def test_smoothness_is_the_decay_of_the_error_of_polynomials():
    """Best approximation by degree p in L2 falls like p^-(s + 1/2): the Sobolev order."""
    nodes, weights = np.polynomial.legendre.leggauss(80)  # exact to degree 159 on each side of 0
    x, w = np.r_[nodes - 1, nodes + 1] / 2, np.r_[weights, weights] / 2
    for s in (0, 1, 2):
        g = TruncatedPower(s)
        c = np.polynomial.legendre.legvander(x, 128).T @ (w * g(x))
        energy = c**2 * (np.arange(129) + 0.5)
        total = float(w @ g(x) ** 2)
        low, high = (total - energy[: p + 1].sum() for p in (32, 128))
        slope = math.log(low / high) / math.log(4) / 2
        # The next order of the expansion is 1/p, at p = 32.
        assert slope == pytest.approx(g.sobolev_order, rel=0.05)


def test_inputs_are_uniform():
    X = OneDimensional(heaviside(), d=3).sample(N, stream(0, "x")).X
    assert float(X.abs().max()) <= 1
    assert errors(X) < Z
    assert errors(X.square(), 1 / 3) < Z
    assert errors(X.pow(4), 1 / 5) < Z


def test_irrelevant_inputs_are_irrelevant():
    task = OneDimensional(TruncatedPower(1), d=4)
    X = task.sample(50, stream(0, "x")).X
    assert torch.equal(task.target(X), OneDimensional(TruncatedPower(1)).target(X[:, :1]))


def test_any_function_will_do():
    task = OneDimensional(np.sin)
    X = task.sample(10, stream(0, "x")).X
    assert torch.equal(task.target(X), torch.from_numpy(np.sin(X.numpy())))


def test_noise_has_the_standard_deviation_asked_for_and_leaves_inputs_alone():
    quiet, loud = (OneDimensional(np.sin, 2, s).sample(N, stream(0, "t")) for s in (0.0, 0.5))
    assert torch.equal(quiet.X, loud.X)
    assert errors(loud.y - quiet.y) < Z
    assert errors((loud.y - quiet.y).square(), 0.25) < Z


def test_each_option_changes_the_sample():
    one = OneDimensional(heaviside(), 2, 0.1)
    others = [OneDimensional(np.sin, 2, 0.1), OneDimensional(heaviside(), 3, 0.1),
              OneDimensional(heaviside(), 2, 0.2)]  # fmt: skip
    for other in others:
        a, b = (task.sample(20, stream(0, "train")).y for task in (one, other))
        assert not torch.equal(a, b)
    assert TruncatedPower(1) != TruncatedPower(2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TruncatedPower(-1), "s is -1: give a finite number of 0 or more"),
        (lambda: TruncatedPower(math.inf), "s is inf: give"),
        (lambda: OneDimensional(np.sin, 0), "d is 0: give 1 or more"),
        (lambda: OneDimensional(np.sin, noise=-1.0), "noise is -1.0: give"),
    ],
)
def test_refuses(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_refuses_a_function_that_is_not_elementwise():
    task = OneDimensional(np.sum)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="return one real number for each row"):
        task.sample(3, stream(0, "x"))
