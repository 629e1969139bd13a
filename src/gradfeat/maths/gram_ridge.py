"""Ridge regression from second moments: every penalty from one spectrum, no row needed again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from .cholesky import cholesky_
from .ridge import penalty_grid
from .statistics.moments import MomentState, raw


@dataclass(frozen=True, eq=False)
class GramRidge:
    """min_a,b sum_i w_i |y_i - b - a.F_i|^2 + lambda |a|^2 over lambda, from F^T F = V e V^T.

    a(lambda) = V (e + lambda)^{-1} V^T F^T y with F and y centred (or not: no intercept). Digits:
    rounding of the sums moves a by eps max(e) / lambda, relatively; predictions by the root of it.

    Attributes
    ----------
    V, e : Tensor (m, k), (k,)
        Spectrum of the Gram matrix, without what is rounding.
    projected : Tensor (k, c)
        V^T F^T y.
    means, offset : Tensor (m,), (c,)
        Means of F and y: the intercept is offset - means . a.
    spread : Tensor (c,)
        Sum of w y^2, centred.
    rows, weight : float
        Number of rows, and their total weight.
    intercept : bool
        Whether F and y were centred.
    """

    V: Float[Tensor, "m k"]
    e: Float[Tensor, " k"]
    projected: Float[Tensor, "k c"]
    means: Float[Tensor, " m"]
    offset: Float[Tensor, " c"]
    spread: Float[Tensor, " c"]
    rows: float
    weight: float
    intercept: bool

    def coefficients(self, lam: float) -> Float[Tensor, "m c"]:
        return self.V @ (self.projected / (self.e + lam)[:, None])

    def grid(self) -> list[float]:
        """Penalties to choose from: those of :class:`RidgePath`."""
        return penalty_grid(self.e)

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

    Examples
    --------
    >>> from gradfeat.maths.blocks import Block, collect
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> F = torch.arange(4.0).double()[:, None]
    >>> path = gram_ridge(collect(Moments(), [Block(F, 2 * F, torch.ones(4).double())]))
    >>> round(float(path.coefficients(1e-9)), 6)
    2.0
    """
    m = m if intercept else raw(m)
    e, V = torch.linalg.eigh(m.xx)
    # What centring leaves of a constant column is rounding of its square.
    size = float((m.weight * m.mean_x.square()).max()) if len(e) else 0.0
    floor = len(e) * torch.finfo(e.dtype).eps * max(float(e[-1]) if len(e) else 0.0, size)
    e, V = e[e > floor], V[:, e > floor]
    return GramRidge(
        V,
        e,
        V.T @ m.xy,
        m.mean_x,
        m.mean_y,
        m.yy,
        float(m.count),
        float(m.weight),
        intercept,
    )


def solve_gram(m: MomentState, lam: float, *, intercept: bool) -> Float[Tensor, "m c"]:
    """a at one positive penalty, by Cholesky: a tenth of the work of the spectrum.

    Examples
    --------
    >>> from gradfeat.maths.blocks import Block, collect
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> F = torch.arange(4.0).double()[:, None]
    >>> m = collect(Moments(), [Block(F, 2 * F, torch.ones(4).double())])
    >>> round(float(solve_gram(m, 5.0, intercept=True)), 6)
    1.0
    """
    m = m if intercept else raw(m)
    A = m.xx.clone()
    A.diagonal().add_(lam)
    solve = cholesky_(A)
    if solve is None:
        return gram_ridge(m, intercept=True).coefficients(lam)
    return solve(m.xy)
