"""Statistics of blocks merge to the statistic of the whole."""

from __future__ import annotations

from dataclasses import astuple

import pytest
import torch

from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block, FirstLayerGradient, Moments, collect

G = torch.Generator().manual_seed(0)
X, y = torch.randn(50, 3, generator=G).double() + 1e3, torch.randn(50, 2, generator=G).double()
w = torch.rand(50, generator=G).double() + 0.1
W, b, a = (torch.randn(*s, generator=G).double() for s in ((6, 3), (6,), (6, 2)))
STATISTICS = [
    Moments(),
    Moments(map=lambda X: (X - 1e3).square()),
    FirstLayerGradient(W, b, a, ReLU().derivative, lambda _, y: y),
]


@pytest.mark.parametrize("pieces", [1, 3, 7])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_pieces_in_any_order_give_the_whole(statistic, pieces):
    whole = statistic.of(Block(X, y, w))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(pieces))
    rows = [Block(X[i], y[i], w[i]) for i in order.tensor_split(pieces)]
    for blocks in (rows, rows[::-1]):
        for one, other in zip(astuple(whole), astuple(collect(statistic, blocks)), strict=True):
            # Offset 1e3 leaves 1e-13 of the unit spread; sums of 50 such terms.
            torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-11)


def test_moments_are_the_weighted_covariances():
    m = collect(Moments(), [Block(X, y, w)])
    p = w / w.sum()
    Xc, yc = X - p @ X, y - p @ y
    torch.testing.assert_close(m.xy, Xc.T @ (w[:, None] * yc), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(m.xx, Xc.T @ (w[:, None] * Xc), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(m.yy, w @ yc.square(), rtol=1e-12, atol=1e-12)


def test_first_layer_gradient_is_minus_half_the_autograd_gradient():
    Z = X - 1e3
    V, v = W.clone().requires_grad_(True), b.clone().requires_grad_(True)
    (w[:, None] * (torch.relu(Z @ V.T + v) @ a - y).square()).sum().backward()

    def residual(X, y):
        return y - torch.relu(X @ W.T + b) @ a

    statistic = FirstLayerGradient(W, b, a, ReLU().derivative, residual)
    state = collect(statistic, [Block(Z, y, w)])
    assert V.grad is not None
    assert v.grad is not None
    torch.testing.assert_close(state.W, -V.grad / 2, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(state.b, -v.grad / 2, rtol=1e-12, atol=1e-12)


def test_no_rows_is_refused():
    with pytest.raises(ValueError, match="at least one block"):
        collect(Moments(), [])
