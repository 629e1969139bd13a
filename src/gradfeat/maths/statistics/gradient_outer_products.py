"""The average gradient outer product as a sum over rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic, accumulator, check_accumulated
from ..gram import add_gram, mirrored
from .moments import from_triangle, to_triangle


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
