"""Gradient descent as a learner: optimality against closed forms, batches, weights, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from contracts import close, data
from gradfeat.maths.activations import Polynomial, ReLU, Tanh, TruncatedReLU
from gradfeat.maths.blocks import Block
from gradfeat.models.descent.gradient_descent import GradientDescent, batches
from gradfeat.models.descent.layers import Start
from gradfeat.models.descent.phases import Phase
from gradfeat.models.descent.trained import Batch
from gradfeat.models.head import RidgeHead
from gradfeat.models.losses import Logistic
from gradfeat.models.tangent_ridge import TangentRidge
from gradfeat.rows.rows import in_memory

START = Start(std_b=0.5)
BASE = GradientDescent(8, Tanh(), phases=(Phase(30, 0.02, momentum=0.5),), start=START)
LAM = 0.05
#: Steps until a quadratic with curvatures between 2 LAM and about 20 is at rest to 1e-9: momentum
#: .9 leaves a factor near sqrt(.9) a step.
LONG = (Phase(600, 0.05, decay_W=LAM, decay_a=LAM, momentum=0.9),)


def test_head_only_converges_to_the_ridge_head():
    """mean_w |y - F a|^2 + lambda |a|^2: the sum's penalty is lambda times the total weight."""
    one = data()
    net = replace(BASE, trains="head", phases=LONG).fit(in_memory(one.X, one.y, one.w))
    start: Any = replace(BASE, phases=()).fit(in_memory(one.X, one.y))
    head = RidgeHead(penalty=LAM * float(one.w.sum()), intercept=False)
    a, _, _ = head.fit(in_memory(start.features(one.X), one.y, one.w))
    close(net(one.X), start.features(one.X) @ a, 1e-8)


def test_linearisation_is_optimal_as_tangent_ridge_is():
    """The same conditions at lambda and lambda times the total weight, but for free biases.

    Two pairs of neurons, so that the directions without penalty are not flat.
    """
    one = data()
    y = one.y[:, :1]
    phases = (Phase(800, 0.1, decay_W=LAM, decay_a=LAM, momentum=0.9),)
    learner = replace(BASE, width=4, trains="linearisation", phases=phases)
    line: Any = learner.fit(in_memory(one.X, y, one.w))
    ridge = TangentRidge(4, Tanh(), START, LAM * float(one.w.sum()))
    moved: Any = ridge.fit(in_memory(one.X, y, one.w))
    penalised = stationarity(moved, one.X, y, one.w)
    free = stationarity(line, one.X, y, one.w)
    for name in ("W", "a"):
        close(free[name], -2 * LAM * (getattr(line, name) - getattr(line.start, name)), 1e-7)
        close(penalised[name], -2 * LAM * (getattr(moved, name) - getattr(moved.start, name)), 1e-7)
    assert float(free["b"].abs().max()) < 1e-7 * float(free["W"].abs().max())
    close(penalised["b"], -2 * LAM * (moved.b - moved.start.b), 1e-7)


def stationarity(f: Any, X: Tensor, y: Tensor, w: Tensor) -> dict[str, Tensor]:
    """Gradient of the mean squared error in the parameters of a linearised network."""
    theta = {name: getattr(f, name).clone().requires_grad_() for name in ("W", "b", "a")}
    error = (replace(f, **theta)(X) - y).square()[:, 0]
    found = torch.autograd.grad((w / w.sum() * error).sum(), [*theta.values()])
    return dict(zip(theta, found, strict=True))


def test_a_linear_activation_converges_to_least_squares():
    """f(x) = a^T (W x + b) can be any linear function with an intercept."""
    one = data()
    y = one.y[:, :1]
    learner = replace(
        BASE, activation=Polynomial((0.0, 1.0)), phases=(Phase(600, 0.05, momentum=0.9),)
    )
    X1 = torch.cat([one.X, torch.ones(len(one.X), 1)], 1).double()
    exact = X1 @ torch.linalg.lstsq(X1, y).solution
    # Linear convergence: 600 steps with a factor of about sqrt(.9) leave 1e-13 of slow terms.
    close(learner.fit(in_memory(one.X, y))(one.X), exact, 1e-6)


def test_the_path_has_one_predictor_a_step_and_begins_after_the_first():
    one = data()
    path = [f(one.X) for f in BASE.fit_path(in_memory(one.X, one.y))]
    assert len(path) == 30
    ten = replace(BASE, phases=(replace(BASE.phases[0], steps=10),))
    close(path[9], ten.fit(in_memory(one.X, one.y))(one.X), 1e-15)


@pytest.mark.parametrize("how", ["all", "head", "linearisation"])
def test_without_steps_the_start_is_returned(how):
    one = data()
    # The antisymmetric start is the zero function to rounding.
    f = replace(BASE, phases=(), trains=how).fit(in_memory(one.X, one.y))
    assert float(f(one.X).abs().max()) < 1e-14


def chosen(source, step: int, size: int | None) -> list[int]:
    """Which rows came, by their number in the first column."""
    return source(step, size).X[0, :, 0].long().tolist()


def numbered(n: int) -> Block:
    X = torch.arange(n).double()[:, None]
    return Block(X, 10 * X, 1 + X[:, 0])


def test_batches_bring_each_row_once_an_epoch():
    source = batches(numbered(10), seed=0)
    epochs = [[chosen(source, t, 4) for t in range(3)] for _ in range(3)]
    for epoch in epochs:
        assert [len(batch) for batch in epoch] == [4, 4, 2]
        assert sorted(i for batch in epoch for i in batch) == list(range(10))
    assert epochs[0] != epochs[1]
    assert epochs[0][0] != chosen(batches(numbered(10), seed=1), 0, 4)


def test_batches_carry_their_targets_and_normalised_weights():
    found: Batch = batches(numbered(10), seed=0)(1, 4)
    assert torch.equal(found.y, 10 * found.X)
    close(found.w, (1 + found.X) / (1 + found.X).sum(), 1e-15)
    assert {tuple(t.shape) for t in (found.X, found.y, found.w)} == {(1, 4, 1)}


def test_rows_without_weight_never_come():
    w = torch.ones(10).double()
    w[[2, 5]] = 0
    source = batches(replace(numbered(10), w=w), seed=0)
    came = [i for t in range(4) for i in chosen(source, t, 4)]
    assert sorted(came) == sorted(2 * [0, 1, 3, 4, 6, 7, 8, 9])
    assert chosen(source, 0, None) == [0, 1, 3, 4, 6, 7, 8, 9]


@pytest.mark.parametrize("size", [None, 40, 41])
def test_a_batch_of_all_rows_is_the_full_batch(size):
    one = data()
    phase = replace(BASE.phases[0], batch=size)
    f = replace(BASE, phases=(phase,)).fit(in_memory(one.X, one.y))
    assert torch.equal(f(one.X), BASE.fit(in_memory(one.X, one.y))(one.X))


def test_float32_follows_the_data():
    one = data()
    f: Any = BASE.fit(in_memory(one.X.float(), one.y.float()))
    assert {t.dtype for t in f.tensors().values()} == {torch.float32}
    # Thirty steps of rounding 6e-8 each.
    close(f(one.X.float()).double(), BASE.fit(in_memory(one.X, one.y))(one.X), 1e-4)


@pytest.mark.parametrize(
    "option",
    [
        {"width": 10},
        {"activation": ReLU()},
        {"loss": Logistic()},
        {"phases": (Phase(30, 0.02, momentum=0.5, batch=7),)},
        {"start": Start(std_b=0.6)},
        {"start": Start(std_b=0.5, std_W=1.0)},
        {"start": Start(std_b=0.5, std_a=1.0)},
        {"start": Start(std_b=0.5, antisymmetric=False)},
        {"trains": "head"},
        {"trains": "linearisation"},
    ],
    ids=str,
)
def test_every_option_changes_the_fit(option):
    one = data()
    y = one.y.sign()
    changed = replace(BASE, **option).fit(in_memory(one.X, y))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, y))(one.X)).abs().max()) > 1e-4


def test_seed_and_batches_change_the_fit():
    one = data()
    f, g = (BASE.fit(in_memory(one.X, one.y), seed=seed)(one.X) for seed in (0, 1))
    assert float((f - g).abs().max()) > 1e-4


def test_noise_needs_the_truncated_relu():
    one = data()
    learner = replace(BASE, phases=(Phase(1, 0.1, noise=0.1),))
    with pytest.raises(ValueError, match="noise before the activation is for TruncatedReLU"):
        learner.fit(in_memory(one.X, one.y))
    f: Any = replace(learner, activation=TruncatedReLU()).fit(in_memory(one.X, one.y))
    assert f.activation == TruncatedReLU()


def test_an_odd_width_is_refused():
    one = data()
    with pytest.raises(ValueError, match="width is 3: the antisymmetric start"):
        replace(BASE, width=3).fit(in_memory(one.X, one.y))
