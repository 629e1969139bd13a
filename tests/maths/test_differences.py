"""Central differences against derivatives, and how functions with jumps are told apart."""

from __future__ import annotations

import torch

from gradfeat.maths.gradients import central_gradient, has_jumps

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)).double()
STEPS = torch.full((3,), 1e-3).double()


def f(X):
    return torch.stack([X[:, 0] ** 2 * X[:, 1], X[:, 2].sin()], 1)


def test_derivatives_of_all_outputs_in_any_batches():
    zero = 0 * X[:, 0]
    first = torch.stack([2 * X[:, 0] * X[:, 1], X[:, 0] ** 2, zero], 1)
    exact = torch.stack([first, torch.stack([zero, zero, X[:, 2].cos()], 1)], 1)
    for batch in (1, 5, 6, 13, 10_000):
        J = central_gradient(f, X, STEPS, batch)
        torch.testing.assert_close(J, exact, rtol=0, atol=2e-7)  # step^2/6 times f'''


def test_a_column_without_step_is_not_moved():
    seen = []
    J = central_gradient(lambda X: (seen.append(X[:, 1]), X)[1], X, STEPS * torch.eye(3)[0], 100)
    assert (J[:, :, 1:] == 0).all()
    assert set(torch.cat(seen).tolist()) == set(X[:, 1].tolist())


def test_a_step_near_the_rounding_of_large_values_keeps_a_linear_slope():
    """Steps of a few roundings of 1e9 (1.2e-7): the distance as rounded divides."""
    large = X + 1e9
    J = central_gradient(lambda X: 3 * (X - 1e9), large, torch.full((3,), 5e-7).double(), 100)
    torch.testing.assert_close(J, 3 * torch.eye(3).double().expand(40, 3, 3), rtol=1e-12, atol=0)


def test_jumps_are_found_where_few_or_many_steps_meet_them():
    rare, often = (lambda X: (X > 0.1234).double()), (lambda X: (X * 100).round())
    assert has_jumps(rare, X, STEPS, 100)
    assert has_jumps(often, X, STEPS, 100)


def test_kinks_unused_columns_rounded_slopes_and_constants_are_no_jumps():
    for smooth in (
        torch.relu,
        lambda X: X[:, :1],
        lambda X: X.sin().float().double(),
        torch.ones_like,
    ):
        assert not has_jumps(smooth, X, STEPS, 100)
