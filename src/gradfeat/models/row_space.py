"""Rows fewer than their columns, in coordinates of the space that they span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..maths.subspaces import row_basis
from ..rows.rows import Rows, of_block
from .two_layer import TwoLayer


@final
@dataclass(frozen=True, eq=False)
class RowSpace:
    """Coordinates z = V^T x of rows X = Z V^T, V (d, n) orthonormal, where n < d.

    A first layer that is made of gradients of a net lies in the span of the rows, so that all of
    it happens in n coordinates: the same net, at a cost that follows the rank. Of other rows (more
    than columns, or streamed) the coordinates are the inputs.

    `rows`: In these coordinates. `V` (d, n) or None: None: the inputs.

    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.tensor([[3.0, 4.0]])
    >>> space = RowSpace.of(in_memory(X, X[:, :1]))
    >>> space.rows.held.X.abs().tolist(), space.inward(X).abs().tolist()
    ([[5.0]], [[5.0]])
    """

    rows: Rows
    V: Float[Tensor, "d n"] | None = None

    @classmethod
    def of(cls, rows: Rows) -> RowSpace:
        held = rows.held
        V = None if held is None else row_basis(held.X)
        if held is None or V is None:
            return cls(rows)
        return cls(of_block(Block(held.X @ V, held.y, held.w)), V)

    @property
    def columns(self) -> int:
        """d, of the rows as they came."""
        return (self.rows.template.X if self.V is None else self.V.T).shape[1]

    def inward(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m n"]:
        """Vectors in these coordinates, without what is orthogonal to all rows."""
        return W if self.V is None else W @ self.V

    def net_inward(self, net: TwoLayer) -> TwoLayer:
        return replace(net, W=self.inward(net.W), beta=self.inward(net.beta.T).T)

    def net_outward(self, net: TwoLayer) -> TwoLayer:
        """A net of the coordinates as a function of the inputs."""
        if self.V is None:
            return net
        return replace(net, W=net.W @ self.V.T, beta=self.V @ net.beta)
