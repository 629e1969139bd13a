"""Ridge regression: one factorisation gives the fit, leave-one-out and GCV at every penalty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .limits import BLOCK_BYTES, rows_per_block
from .linear_algebra import cholesky_

#: Singular values up to this many rounding units of the features' norm are rounding.
ROUNDING = 8.0


@dataclass(frozen=True)
class RidgePath:
    """The whole ridge path over lambda, from the spectrum of a (weighted, centred) Gram matrix.

    With S = sqrt(weights), U e U^T the spectrum of the Gram matrix and r = S (y - offset),
    the smoother at lambda is H = U diag(e / (e + lambda)) U^T, and the residual of row i when
    it is left out is r_i (1 - H) / (S_i (1 - h_i)) exactly.
    """

    #: Left singular vectors and eigenvalues of the Gram matrix.
    U: Float[Tensor, "n k"]
    e: Float[Tensor, " k"]
    S: Float[Tensor, " n"]  # square roots of the row weights
    residual: Float[Tensor, "n c"]  # S * (y - offset)
    offset: Float[Tensor, " c"]  # weighted mean of y
    #: Leverage that the intercept alone gives a row (zero where it is held fixed).
    leverage: Float[Tensor, " n"]
    #: Right singular vectors of S * (F - mean F) in the problem of features; None in that of a
    #: kernel.
    V: Float[Tensor, "m k"] | None

    @cached_property
    def _projected(self) -> Float[Tensor, "k c"]:
        return self.U.T @ self.residual

    def _errors(self, lam: float) -> Float[Tensor, "n c"]:
        gain = self.e / (self.e + lam)
        return self.residual - self.U @ (gain[:, None] * self._projected)

    def _leverages(self, lams: list[float]) -> Float[Tensor, "l n"]:
        """Diagonals of the smoothers at all penalties: one pass over the squares of U."""
        gains = torch.stack([self.e / (self.e + lam) for lam in lams], dim=1)
        step = rows_per_block(self.U.shape[1] * self.U.element_size(), BLOCK_BYTES)
        parts = [U.square() @ gains for U in self.U.split(step)]
        return (torch.cat(parts) + self.leverage[:, None]).T

    def _loo(self, lam: float, h: Tensor) -> float:
        total = self.S.square().sum()
        return float((self._errors(lam) / (1 - h)[:, None]).square().sum() / total)

    def _gcv(self, lam: float, h: Tensor) -> float:
        mean = self._errors(lam).square().sum() / self.S.square().sum()
        return float(mean / (1 - h.mean()) ** 2)

    def coefficients(self, lam: float) -> Float[Tensor, "k c"]:
        """Solution at `lam`: a (m, c) for features, dual coefficients (n, c) for a kernel."""
        if self.V is None:
            dual = self.U @ (self._projected / (self.e + lam)[:, None])
            return self.S[:, None] * dual
        return self.V @ ((self.e.sqrt() / (self.e + lam))[:, None] * self._projected)

    def loo_predictions(self, lam: float) -> Float[Tensor, "n c"]:
        """What the fit without row i predicts at row i."""
        h = self._leverages([lam])[0]
        truth = self.offset + self.residual / self.S[:, None]
        return truth - self._errors(lam) / (self.S * (1 - h))[:, None]

    def loo(self, lam: float) -> float:
        """Weighted mean squared leave-one-out error, summed over outputs."""
        return self._loo(lam, self._leverages([lam])[0])

    def gcv(self, lam: float) -> float:
        """Generalised cross-validation: mean squared residual / (1 - tr H / n)^2."""
        return self._gcv(lam, self._leverages([lam])[0])

    def best(self, lams: list[float], by: Literal["loo", "gcv"] = "loo") -> float:
        """The penalty of `lams` with the least criterion (the larger one of equals)."""
        score = self._loo if by == "loo" else self._gcv
        largest_first = sorted(lams, reverse=True)
        scores = [*map(score, largest_first, self._leverages(largest_first))]
        return largest_first[scores.index(min(scores))]

    def grid(self) -> list[float]:
        return penalty_grid(self.e if self.V is None else told_apart(self.e))


#: Share of the largest eigenvalue below which sums over rows do not tell features from rounding.
TOLD_APART = 1e-12


def told_apart(e: Float[Tensor, " k"]) -> Float[Tensor, " l"]:
    """The eigenvalues of features that set penalties: the same from rows and from their sums.

    Of a column that others add up to, rows leave an eigenvalue and sums over them none, or the
    other way round: a mean over all of them made penalties of 17 columns those of 18.
    """
    return e[e > TOLD_APART * e.max()] if len(e) else e


def penalty_grid(e: Float[Tensor, " k"]) -> list[float]:
    """25 penalties, log-spaced from 1e-10 to 1e4 times the mean of the eigenvalues e."""
    scale = float(e.mean()) if len(e) and float(e.max()) > 0 else 1.0
    return [scale * float(x) for x in torch.logspace(-10, 4, 25, dtype=torch.float64)]


def _spectrum(G: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of a PSD matrix without the part that is rounding."""
    e, Q = torch.linalg.eigh(G)
    keep = e > len(e) * torch.finfo(e.dtype).eps * e[-1].clamp(min=0)
    return e[keep], Q[:, keep]


def _singular(A: Tensor, size: float) -> tuple[Tensor, Tensor, Tensor]:
    """U, s, V of A = U diag(s) V^T without the part that is rounding.

    `size` is the norm of what A was before it was centred: columns that do not vary leave rounding
    of that size behind.
    """
    Q, R = torch.linalg.qr(A if len(A) > A.shape[1] else A.T)
    U, s, Vh = torch.linalg.svd(R)
    eps = torch.finfo(A.dtype).eps
    keep = s > eps * max(max(A.shape) * float(s[0]) if len(s) else 0.0, ROUNDING * size)
    left, right = Q @ U[:, keep], Vh.T[:, keep]
    return (left, s[keep], right) if len(A) > A.shape[1] else (right, s[keep], left)


def _scaled(y: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    w = y.new_ones(len(y)) if weights is None else weights
    return w, w.sqrt()


def ridge_path(
    F: Float[Tensor, "n m"],
    y: Float[Tensor, "n c"],
    weights: Float[Tensor, " n"] | None = None,
    *,
    intercept: bool = True,
) -> tuple[RidgePath, Float[Tensor, " m"]]:
    """Path of min_a,b sum_i w_i |y_i - b - a.F_i|^2 + lambda |a|^2, and the weighted means of F.

    The intercept b = offset - means @ a is not penalised (0 where there is none). One singular
    value decomposition, by QR first: the spectrum of a Gram matrix would cost half of it, and lose
    the small singular values that small penalties need.

    Source: Golub, Heath & Wahba 1979 (GCV); the leave-one-out identity is the PRESS statistic.

    >>> F = torch.tensor([[0.0], [1.0], [2.0]]).double()
    >>> path, mean = ridge_path(F, 2 * F)
    >>> round(float(path.coefficients(1e-9)), 6)
    2.0
    """
    w, S = _scaled(y, weights)
    share = w / w.sum() if intercept else torch.zeros_like(w)
    means, offset = share @ F, share @ y
    U, s, V = _singular(S[:, None] * (F - means), float((S[:, None] * F).norm()))
    residual = S[:, None] * (y - offset)
    return RidgePath(U, s.square(), S, residual, offset, share, V), means


def kernel_ridge_path(
    K: Float[Tensor, "n n"], y: Float[Tensor, "n c"], weights: Float[Tensor, " n"] | None = None
) -> RidgePath:
    """Path of (K + lambda W^{-1}) c = y - offset, offset = weighted mean of y, held fixed.

    Leave-one-out holds the offset at the mean of all rows (a difference of order 1/n).
    """
    w, S = _scaled(y, weights)
    offset = (w / w.sum()) @ y
    residual = S[:, None] * (y - offset)
    e, U = _spectrum(S[:, None] * K * S)
    return RidgePath(U, e, S, residual, offset, torch.zeros_like(S), None)


def solve_kernel_ridge(
    K: Float[Tensor, "n n"],
    y: Float[Tensor, "n c"],
    lam: float,
    weights: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, "n c"]:
    """Dual coefficients c of (K + lambda W^{-1}) c = y, by Cholesky. **Overwrites K.**

    A float32 matrix that is not numerically positive definite is solved in float64; the penalty
    is never changed.
    """
    diagonal = K.diagonal().double()
    K.diagonal().add_(lam if weights is None else lam / weights)
    solve = cholesky_(K)
    if solve is not None:
        return solve(y)
    if K.dtype == torch.float64:
        raise np.linalg.LinAlgError(
            f"the kernel matrix plus alpha = {lam:g} is not positive definite in float64: "
            "raise alpha, or remove duplicated rows."
        )
    lower = K.double().tril(-1)
    whole = (lower + lower.T).diagonal_scatter(diagonal)
    wide = None if weights is None else weights.double()
    return solve_kernel_ridge(whole, y.double(), lam, wide).to(y.dtype)
