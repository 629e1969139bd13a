"""Ridge regression from second moments: every penalty from one spectrum, no row needed again.

Only leave-one-out errors take the rows once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from .blocks import Block, Statistic, accumulated, accumulator
from .linear_algebra import cholesky_
from .ridge import penalty_grid, told_apart
from .statistics.moments import MomentState, RowMap, raw


@dataclass(frozen=True, eq=False)
class GramRidge:
    """min_a,b sum_i w_i |y_i - b - a.F_i|^2 + lambda |a|^2 over lambda, from F^T F = V e V^T.

    a(lambda) = V (e + lambda)^{-1} V^T F^T y with F and y centred (or not: no intercept). Digits:
    rounding of the sums moves a by eps max(e) / lambda, relatively; predictions by the root of it.
    """

    #: Spectrum of the Gram matrix, without what is rounding.
    V: Float[Tensor, "m k"]
    e: Float[Tensor, " k"]
    projected: Float[Tensor, "k c"]  # V^T F^T y
    #: Of F and y, weighted: the intercept is offset - means . a.
    means: Float[Tensor, " m"]
    offset: Float[Tensor, " c"]
    spread: Float[Tensor, " c"]  # sum of w y^2, centred
    #: Number of rows, and their total weight.
    rows: float
    weight: float
    intercept: bool  # whether F and y were centred

    def coefficients(self, lam: float) -> Float[Tensor, "m c"]:
        return self.V @ (self.projected / (self.e + lam)[:, None])

    def grid(self) -> list[float]:
        """Penalties to choose from: those of :class:`RidgePath`."""
        return penalty_grid(told_apart(self.e))

    def gcv(self, lam: float) -> float:
        """Generalised cross-validation: mean squared residual / (1 - tr H / n)^2."""
        e, g = self.e[:, None], self.projected
        left = self.spread - (g.square() * (e + 2 * lam) / (e + lam).square()).sum(0)
        mean = left.clamp(min=0).sum() / self.weight
        trace = float((self.e / (self.e + lam)).sum()) + self.intercept
        return float(mean / (1 - trace / self.rows) ** 2)

    def best(self) -> float:
        """The penalty of least GCV (the larger one of equals)."""
        return min(sorted(self.grid(), reverse=True), key=self.gcv)


def gram_ridge(m: MomentState, *, intercept: bool = True) -> GramRidge:
    """The ridge path of finished moments of features and targets.

    Source: Golub, Heath & Wahba 1979 (GCV).
    """
    m = m if intercept else raw(m)
    e, V = torch.linalg.eigh(m.xx)
    # What centring leaves of a constant column is rounding of its square.
    size = float((m.weight * m.mean_x.square()).max()) if len(e) else 0.0
    floor = len(e) * torch.finfo(e.dtype).eps * max(float(e[-1]) if len(e) else 0.0, size)
    e, V = e[e > floor], V[:, e > floor]
    return GramRidge(
        V, e, V.T @ m.xy, m.mean_x, m.mean_y, m.yy, float(m.count), float(m.weight), intercept
    )


def solve_gram(m: MomentState, lam: float, *, intercept: bool) -> Float[Tensor, "m c"]:
    """a at one positive penalty, by Cholesky: a tenth of the work of the spectrum."""
    m = m if intercept else raw(m)
    A = m.xx.clone()
    A.diagonal().add_(lam)
    solve = cholesky_(A)
    if solve is None:
        return gram_ridge(m, intercept=True).coefficients(lam)
    return solve(m.xy)


@dataclass(frozen=True)
class LeaveOneOut(Statistic[Block, list[Tensor], Tensor]):
    """sum_i w_i |y_i - f_{-i}(x_i)|^2 / sum_i w_i at each penalty, f_{-i} fitted without row i.

    y_i - f_{-i}(x_i) = (y_i - f(x_i)) / (1 - h_i), with h_i = w_i sum_k z_ik^2 / (e_k + lambda)
    (and w_i / sum w for the intercept), z_i = V^T (F_i - mean): one pass over the rows after the
    one that summed the moments, and one product with V a row whatever the number of penalties.

    Source: the PRESS statistic; Golub, Heath & Wahba 1979.
    """

    path: GramRidge  # fitted to the same rows
    lams: tuple[float, ...]  # penalties
    map: RowMap | None = None  # from rows to features F and targets y, as of the moments
    row_bytes: int = 0  # scratch that a mapped row takes; 0: that of a row as it comes

    def init(self, block: Block) -> list[Tensor]:
        return [accumulator(like=block.X), accumulator(len(self.lams), like=block.X)]

    def update(self, state: list[Tensor], block: Block) -> list[Tensor]:
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
        return state[1] / state[0]

    def pack(self, state: list[Tensor]) -> dict[str, Tensor]:
        return {"weight": state[0], "errors": state[1]}

    def unpack(self, packed: Mapping[str, Tensor]) -> list[Tensor]:
        return accumulated(packed, weight=(), errors=(len(self.lams),))
