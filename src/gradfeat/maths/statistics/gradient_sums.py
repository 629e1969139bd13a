"""Gradients as sums over rows: the step of a first layer, and average outer products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..activations import Activation
from ..blocks import Block, Statistic, accumulated, accumulator, check_accumulated
from ..linear_algebra import add_gram, mirrored
from .moments import RowMap, from_triangle, to_triangle


@dataclass
class GradientState:
    """Total weight and the gradients of the loss in W (transposed) and b, as sums over rows."""

    weight: Float[Tensor, ""]
    WT: Float[Tensor, "d m"]
    b: Float[Tensor, " m"]


@dataclass(frozen=True)
class FirstLayerGradient(Statistic[Block, GradientState, GradientState]):
    """G_j = sum_i w_i (a_j . r_i) sigma'(w_j . x_i + b_j) x_i, and without x_i for b_j.

    Minus one half of the gradient of sum_i w_i |f(x_i) - y_i|^2 where r_i = y_i - f(x_i). The
    gradient is summed transposed, (d, m): that product is the faster one of the two.
    """

    #: The first layer and the head.
    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, "m c"]
    activation: Activation  # sigma
    #: Puts the residual r in the place of y, chunk by chunk; left out: r = y (the printed theory).
    map: RowMap | None = None

    def init(self, block: Block) -> GradientState:
        m, d = self.W.shape
        return GradientState(*(accumulator(*s, like=block.X) for s in ((), (d, m), (m,))))

    def update(self, state: GradientState, block: Block) -> GradientState:
        a = self.a.to(block.X)
        WT = torch.cat([self.W, self.b[:, None]], dim=1).to(block.X).T
        sums = torch.zeros(WT.shape, dtype=torch.float64, device=WT.device)
        for chunk in block.chunks(4 * len(a) * a.element_size()):
            rows = chunk if self.map is None else self.map(chunk)
            X = _with_ones(rows.X)  # b is the weight of a column of ones, and so is its gradient
            pull = self.activation.derivative(X @ WT)
            r = rows.w[:, None] * rows.y
            X, pull = (X.mul_(r), pull) if r.shape[1] == 1 else (X, pull.mul_(r @ a.T))
            if X.dtype == sums.dtype:
                sums.addmm_(X.T, pull)
            else:
                sums.add_(X.T @ pull)
            state.weight.add_(rows.w.sum(dtype=torch.float64))
        if a.shape[1] == 1:  # a_j factors out of the sum over rows
            sums *= a[:, 0]
        state.WT.add_(sums[:-1])
        state.b.add_(sums[-1])
        return state

    def merge(self, one: GradientState, other: GradientState) -> GradientState:
        one.weight.add_(other.weight)
        one.WT.add_(other.WT)
        one.b.add_(other.b)
        return one

    def finish(self, state: GradientState) -> GradientState:
        return state

    def pack(self, state: GradientState) -> dict[str, Tensor]:
        return vars(state)

    def unpack(self, packed: Mapping[str, Tensor]) -> GradientState:
        m, d = self.W.shape
        return GradientState(*accumulated(packed, weight=(), WT=(d, m), b=(m,)))


def _with_ones(X: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
    """X with a column of ones after the last one: e = d + 1."""
    out = X.new_ones(len(X), X.shape[1] + 1)
    out[:, :-1] = X
    return out


@dataclass
class OuterState:
    """Total weight, sum of w_i J_i^T J_i (upper triangle), and sum of w_i J_i."""

    weight: Float[Tensor, ""]
    total: Float[Tensor, "d d"]
    mean: Float[Tensor, "c d"]


@dataclass(frozen=True)
class GradientOuterProducts(Statistic[Block, OuterState, Tensor]):
    """AGOP = sum_i w_i J_i^T J_i / sum_i w_i, J_i (c, d) the gradients at row i.

    Source: Rad24, the AGOP of "Neural feature ansatz".
    """

    gradient: Callable[[Tensor], Tensor]  # such as ``predictor.gradient``
    row_bytes: int  # scratch that it takes for one row
    centre: bool = False  # covariance of the gradients instead of their second moment

    def init(self, block: Block) -> OuterState:
        d = block.X.shape[1]
        c = self.gradient(block.X.new_zeros(1, d)).shape[1]
        return OuterState(*(accumulator(*s, like=block.X) for s in ((), (d, d), (c, d))))

    def update(self, state: OuterState, block: Block) -> OuterState:
        for rows in block.chunks(max(self.row_bytes, 4 * block.X[:1].nbytes)):
            J = self.gradient(rows.X)
            w = rows.w.to(J)
            scaled = J * w.sqrt()[:, None, None]
            add_gram(state.total, scaled.flatten(0, 1))
            state.mean.add_(torch.einsum("n,ncd->cd", w, J))
            state.weight.add_(rows.w.sum(dtype=torch.float64))
        return state

    def merge(self, one: OuterState, other: OuterState) -> OuterState:
        one.weight.add_(other.weight)
        one.total.add_(other.total)
        one.mean.add_(other.mean)
        return one

    def finish(self, state: OuterState) -> Float[Tensor, "d d"]:
        """The mean (d, d), less the outer product of the mean gradient where it is centred."""
        G = mirrored(state.total / state.weight)
        if self.centre:
            mean = state.mean / state.weight
            G = G - mean.T @ mean
        return G

    def pack(self, state: OuterState) -> dict[str, Tensor]:
        return vars(state) | {"total": to_triangle(state.total)}

    def unpack(self, packed: Mapping[str, Tensor]) -> OuterState:
        (c, d), total = packed["mean"].shape, from_triangle(packed["total"])
        check_accumulated(
            {**packed, "total": total}, {"weight": (), "total": (d, d), "mean": (c, d)}
        )
        return OuterState(packed["weight"].clone(), total, packed["mean"].clone())
