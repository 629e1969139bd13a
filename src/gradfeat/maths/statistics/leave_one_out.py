"""Leave-one-out errors of ridge regression at many penalties, as sums over rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic, accumulator
from ..gram_ridge import GramRidge
from .moments import RowMap


@dataclass(frozen=True)
class LeaveOneOut(Statistic[Block, list[Tensor], Tensor]):
    """sum_i w_i |y_i - f_{-i}(x_i)|^2 / sum_i w_i at each penalty, f_{-i} fitted without row i.

    y_i - f_{-i}(x_i) = (y_i - f(x_i)) / (1 - h_i), with h_i = w_i sum_k z_ik^2 / (e_k + lambda)
    (and w_i / sum w for the intercept), z_i = V^T (F_i - mean): one pass over the rows after the
    one that summed the moments, and one product with V a row whatever the number of penalties.

    Attributes
    ----------
    path : GramRidge
        Fitted to the same rows.
    lams : tuple of float
        Penalties.
    map : callable (Block) -> Block, optional
        From rows to features F and targets y, as of the moments.
    row_bytes : int
        Scratch that a mapped row takes; 0: that of a row as it comes.

    Source: the PRESS statistic; Golub, Heath & Wahba 1979.

    Examples
    --------
    >>> from gradfeat.maths.blocks import collect
    >>> from gradfeat.maths.gram_ridge import gram_ridge
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> F = torch.arange(4.0).double()[:, None]
    >>> rows = [Block(F, F.square(), torch.ones(4).double())]
    >>> path = gram_ridge(collect(Moments(), rows))
    >>> round(float(collect(LeaveOneOut(path, (1e-9,)), rows)), 3)
    6.576
    """

    path: GramRidge
    lams: tuple[float, ...]
    map: RowMap | None = None
    row_bytes: int = 0

    def init(self, block: Block) -> list[Tensor]:
        """Weight, and one sum a penalty."""
        return [accumulator(like=block.X), accumulator(len(self.lams), like=block.X)]

    def update(self, state: list[Tensor], block: Block) -> list[Tensor]:
        """Add rows, chunk by chunk."""
        path = self.path
        V, means, offset = (t.to(block.X) for t in (path.V, path.means, path.offset))
        gains = 1 / (path.e[:, None] + path.e.new_tensor(self.lams))  # (k, l)
        heads = (gains[:, :, None] * path.projected[:, None]).flatten(1).to(block.X)
        own = 4 * block.X[:1].nbytes
        for chunk in block.chunks(max(self.row_bytes, own) + 16 * heads.shape[1]):
            rows = chunk if self.map is None else self.map(chunk)
            state[1].add_(self._sums(rows, V, means, offset, gains.to(V), heads, path))
            state[0].add_(rows.w.sum(dtype=torch.float64))
        return state

    def _sums(
        self,
        rows: Block,
        V: Tensor,
        means: Tensor,
        offset: Tensor,
        gains: Tensor,
        heads: Tensor,
        path: GramRidge,
    ) -> Float[Tensor, " l"]:
        Z = (rows.X - means) @ V
        said = (Z @ heads).view(len(Z), len(self.lams), -1)
        h = rows.w[:, None] * (Z.square() @ gains)
        if path.intercept:
            h = h + rows.w[:, None] / path.weight
        error = ((rows.y - offset)[:, None] - said) / (1 - h)[:, :, None]
        return torch.einsum("n,nlc->l", rows.w.double(), error.double().square())

    def merge(self, one: list[Tensor], other: list[Tensor]) -> list[Tensor]:
        return [a.add_(b) for a, b in zip(one, other, strict=True)]

    def finish(self, state: list[Tensor]) -> Float[Tensor, " l"]:
        """Means (l,), summed over outputs."""
        return state[1] / state[0]

    def pack(self, state: list[Tensor]) -> dict[str, Tensor]:
        return {"weight": state[0], "errors": state[1]}

    def unpack(self, packed: Mapping[str, Tensor]) -> list[Tensor]:
        return [packed["weight"].clone(), packed["errors"].clone()]
