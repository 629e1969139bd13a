"""OPT between its bounds: against a generic solver, and against members with any biases."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from gradfeat.maths.box_ball import project
from gradfeat.models.induced.network import SignedDirections, grid_neurons
from gradfeat.models.induced.opt import opt_bounds, shared_out, steepest, steepest_bias
from gradfeat.models.losses import Hinge, Logistic, Squared

LOSSES = [Squared(), Logistic(), Hinge()]
B_B = 1.5
DIRECTIONS = SignedDirections(torch.eye(4).double()[:, [0, 1, 1]], torch.tensor([1, 1, -1]))


def data(loss, n=150, seed=0):
    """Targets of a bump along x_0 and a slope along x_1, in four dimensions."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 4, generator=g).double()
    y = 2 * torch.relu(X[:, 0] - 0.37) - X[:, 1] + 0.3 * torch.randn(n, generator=g).double()
    return X, y if loss == Squared() else torch.where(y > 0, 1.0, -1.0).double()


def member(r, g):
    """Random w, b of the class: any of the directions up to sign, b anywhere in its range."""
    at = torch.randint(3, (r,), generator=g)
    sides = 2.0 * torch.randint(2, (r,), generator=g) - 1
    b = torch.rand(r, generator=g).double() * B_B * DIRECTIONS.signs[at]
    return sides[:, None] * DIRECTIONS.D.T[at], b


@pytest.mark.parametrize(
    ("loss", "B_a1", "B_a2"),
    [
        (Squared(), 0.3, math.inf),
        (Squared(), 0.5, 0.8),
        (Squared(), math.inf, 1.0),
        (Logistic(), 0.5, 0.8),
        (Hinge(), 0.3, math.inf),
    ],
    ids=repr,
)
def test_no_member_with_any_biases_is_below_the_lower_bound(loss, B_a1, B_a2):
    X, y = data(loss, n=100)
    r, g = 8, torch.Generator().manual_seed(1)
    opt = opt_bounds(X, y, DIRECTIONS, loss, r=r, B_a1=B_a1, B_a2=B_a2, B_b=B_B, biases=4)
    assert opt.lower <= opt.hull <= opt.upper + 1e-3 * float(loss(0 * y, y).mean())
    for _ in range(12):
        W, b = member(r, g)
        # A convex fit of the head, roughly: a few projected gradient steps.
        F = torch.relu(X @ W.T - b)
        a = torch.zeros(r).double()
        step = 1 / (2 * torch.linalg.matrix_norm(F, 2) ** 2 / len(F))
        for _ in range(30):
            a = project(a - step * F.T @ loss.slope(F @ a, y) / len(F), B_a1, B_a2)
        assert opt.lower <= float(loss(F @ a, y).mean())


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_upper_bound_is_the_loss_of_a_member(loss):
    X, y = data(loss)
    opt = opt_bounds(X, y, DIRECTIONS, loss, r=6, B_a1=0.5, B_a2=0.9, B_b=B_B, biases=6)
    net = opt.network
    assert float(loss(net(X)[:, 0], y).mean()) == pytest.approx(opt.upper, rel=1e-9)
    assert len(net.b) == 6
    assert float(net.a.abs().max()) <= 0.5
    assert float(net.a.norm()) <= 0.9 * (1 + 1e-12)
    cosines = net.W @ DIRECTIONS.D
    signs = torch.where(cosines.abs() > 0.999, DIRECTIONS.signs.double(), torch.nan)
    assert bool(((-net.b[:, None] * signs >= 0).any(1)).all())
    assert float(net.b.abs().max()) <= B_B


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_bounds_close_on_opt_where_neurons_are_many(loss):
    X, y = data(loss)
    opt = opt_bounds(X, y, DIRECTIONS, loss, r=200, B_a1=0.01, B_b=B_B, tolerance=1e-4)
    scale = float(loss(0 * y, y).mean())
    # Fit and dual leave 1e-4 each; the rounding of r shares to whole neurons the rest.
    assert opt.upper - opt.lower < 5e-3 * scale
    assert opt.upper < 0.9 * scale


def test_two_neurons_against_a_search_over_everything():
    """OPT with r = 2 by a generic solver over a and b, from every choice of directions."""
    X, y = data(Squared(), n=80)
    B_a1 = 0.8
    opt = opt_bounds(X, y, DIRECTIONS, Squared(), r=2, B_a1=B_a1, B_b=B_B, biases=24)
    choices = [
        (s * D, sign) for D, sign in zip(DIRECTIONS.D.T, (1, 1, -1), strict=True) for s in (1, -1)
    ]
    best = math.inf
    for one, sign in choices:
        for other, other_sign in choices:
            z = torch.stack([X @ one, X @ other], 1).numpy()

            def value(x, z=z):
                return float(np.mean((np.maximum(z - x[2:], 0) @ x[:2] - y.numpy()) ** 2))

            ranges = [tuple(sorted((0.0, s * B_B))) for s in (sign, other_sign)]
            limits = [(-B_a1, B_a1)] * 2 + ranges
            for start in ([0.5, -0.5], [-0.5, -0.5], [0.5, 0.5]):
                x = np.r_[start, [np.mean(pair) for pair in ranges]]
                best = min(best, minimize(value, x, bounds=limits).fun)
    assert opt.lower <= best
    # The grid of biases and the sharing out of two neurons cost a little; 5 % is ours.
    assert best - 1e-6 <= opt.upper <= 1.05 * best


@pytest.mark.parametrize("seed", range(5))
def test_the_steepest_bias_is_the_best_of_a_fine_grid(seed):
    g = torch.Generator().manual_seed(seed)
    z, c = torch.randn(2, 30, generator=g).double()
    b, size = steepest_bias(z, c, -1.5, 0.0)
    fine = torch.linspace(-1.5, 0, 4001).double()
    sizes = (torch.relu(z[:, None] - fine) * c[:, None]).sum(0).abs()
    assert float(sizes.max()) <= size + 1e-12
    # Between two points the sum changes by at most sum |c| times half the spacing.
    assert size <= float(sizes.max()) + float(c.abs().sum()) * 1.5 / 8000
    assert size == pytest.approx(abs(float(torch.relu(z - b) @ c)), rel=1e-12)


def test_a_finer_grid_is_never_steeper_than_the_exact_search():
    X, y = data(Squared())
    c = y / len(y)
    _, _, sizes = steepest(DIRECTIONS, X, B_B, c)
    W, b = grid_neurons(DIRECTIONS, X, biases=200, B_b=B_B)
    on_grid = (torch.relu(X @ W.T - b).T @ c).abs()
    assert float(on_grid.max()) <= float(sizes.max()) * (1 + 1e-12)


def test_shares_are_whole_and_sum_to_r():
    sizes = torch.rand(7, generator=torch.Generator().manual_seed(0))
    for r in (1, 5, 100):
        places = shared_out(sizes, r)
        assert int(places.sum()) == r
        assert float((places - r * sizes / sizes.sum()).abs().max()) < 1
    assert shared_out(torch.zeros(3), 3).tolist() == [1, 1, 1]


def test_weights_count_rows():
    X, y = data(Squared())
    w = torch.randint(0, 3, (len(X),), generator=torch.Generator().manual_seed(2))
    keys = {"r": 4, "B_a1": 0.5, "B_b": B_B, "tolerance": 1e-6}
    one = opt_bounds(X, y, DIRECTIONS, Squared(), weights=w.double(), **keys)
    many = opt_bounds(
        X.repeat_interleave(w, 0), y.repeat_interleave(w), DIRECTIONS, Squared(), **keys
    )
    assert one.upper == pytest.approx(many.upper, rel=1e-5)
    assert one.lower == pytest.approx(many.lower, rel=1e-4)


def test_what_has_no_opt_is_refused():
    X, y = data(Squared())
    for change in ({"r": 0}, {"B_a1": math.inf}, {"B_b": math.inf}):
        with pytest.raises(ValueError, match="a finite bound of a and a finite B_b"):
            opt_bounds(X, y, DIRECTIONS, Squared(), **({"r": 2, "B_a1": 1.0, "B_b": 1.0} | change))


def test_rows_that_void_the_bounds_are_refused():
    X, y = data(Squared())
    ask = {"r": 2, "B_a1": 1.0, "B_b": 1.0}
    w = torch.ones(len(y)).double()
    w[0] = -1
    with pytest.raises(ValueError, match="negative"):
        opt_bounds(X, y, DIRECTIONS, Squared(), **ask, weights=w)
    with pytest.raises(ValueError, match="not finite"):
        opt_bounds(X * math.nan, y, DIRECTIONS, Squared(), **ask)
    with pytest.raises(ValueError, match=r"give \(n, 4\) and \(n,\)"):
        opt_bounds(X[:, :3], y, DIRECTIONS, Squared(), **ask)
