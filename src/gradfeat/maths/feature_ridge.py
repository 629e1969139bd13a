"""Ridge on features at one penalty, alone and beside columns that are not penalised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .linear_algebra import Solve, cholesky_, smaller_gram


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A minimiser of (1/n) |y - F a - U b|^2 + lam |a|^2, with what it leaves of the targets."""

    #: Coefficients of the features, and of the columns without penalty (l = 0 where there are
    #: none).
    a: Float[Tensor, "m c"]
    b: Float[Tensor, "l c"]
    #: The minimum, ridge term included, and the mean squared error alone.
    loss: Float[Tensor, " c"]
    error: Float[Tensor, " c"]


@dataclass(frozen=True, eq=False)
class FeatureRidge:
    """One factorisation of the smaller Gram matrix plus n lam, for any targets and columns.

    Made by :func:`feature_ridge`. It holds F itself: F must not change while it is in use.
    """

    F: Float[Tensor, "n m"]
    lam: float
    solve: Solve

    def fit(self, y: Float[Tensor, "n c"]) -> RidgeFit:
        """argmin_a (1/n) |y - F a|^2 + lam |a|^2 for each column of y."""
        a, rest = self._solved(y)
        return self._found(a, a.new_zeros(0, y.shape[1]), rest)

    def fit_nested(self, U: Float[Tensor, "n l"], y: Float[Tensor, "n c"]) -> list[RidgeFit]:
        """The fits beside no column, the first, the first two, ..., all l columns of U.

        With R v what the ridge fit leaves of v, b = (U^T R U)^{-1} U^T R y, and a is the ridge fit
        of y - U b. One solve with the factor serves all of them.

        >>> X = torch.linspace(-1, 1, 9).double()[:, None]
        >>> fits = feature_ridge(X, 1.0).fit_nested(X ** torch.tensor([2, 1]), X + 2 * X**2)
        >>> [round(float(fit.error), 6) for fit in fits]
        [1.436779, 0.207612, 0.0]
        """
        a, rest = self._solved(torch.cat([y, U], dim=1))
        c = y.shape[1]
        fits = [self._found(a[:, :c], a.new_zeros(0, c), rest[:, :c])]
        for k in range(1, U.shape[1] + 1):
            new = slice(c, c + k)
            b = _without_penalty(U[:, :k].mT @ rest[:, new], U[:, :k].mT @ rest[:, :c])
            fits.append(self._found(a[:, :c] - a[:, new] @ b, b, rest[:, :c] - rest[:, new] @ b))
        return fits

    def _solved(self, y: Tensor) -> tuple[Tensor, Tensor]:
        n, m = self.F.shape
        if m <= n:
            a = self.solve(self.F.mT @ y)
            return a, torch.addmm(y, self.F, a, alpha=-1)
        dual = self.solve(y)
        return self.F.mT @ dual, n * self.lam * dual

    def _found(self, a: Tensor, b: Tensor, rest: Tensor) -> RidgeFit:
        error = rest.square().mean(0)
        return RidgeFit(a, b, error + self.lam * a.square().sum(0), error)


def _without_penalty(A: Tensor, B: Tensor) -> Tensor:
    """A^{-1} B of the small system of the columns, scaled to a unit diagonal."""
    scale = A.diagonal().clamp(min=0).rsqrt()
    L, failed = torch.linalg.cholesky_ex(scale[:, None] * A * scale)
    eps = torch.finfo(A.dtype).eps
    if failed or bool(L.diagonal().square().min() < len(A) * eps):
        raise np.linalg.LinAlgError(
            f"column {len(A)} of those without penalty is a combination of the ones before it and "
            "of features that lam = 0 does not penalise either: leave it out, or raise lam."
        )
    return scale[:, None] * torch.cholesky_solve(scale[:, None] * B, L)


def feature_ridge(F: Float[Tensor, "n m"], lam: float) -> FeatureRidge:
    """Factor F^T F + n lam I where m <= n, else F F^T + n lam I, by Cholesky.

    Memory beyond F: one matrix of min(n, m)^2 numbers. The penalty is never changed.
    """
    if not lam >= 0:
        raise ValueError(f"lam is {lam}: give a penalty of 0 or more.")
    A = smaller_gram(F)
    A.diagonal().add_(len(F) * lam)
    finite = bool(A.diagonal().isfinite().all())  # not every LAPACK says where it met nan
    solve = cholesky_(A) if finite else None
    if solve is None:
        raise np.linalg.LinAlgError(
            f"the Gram matrix of the {len(F)} x {F.shape[1]} features plus n lam is not positive "
            f"definite in {F.dtype} at lam = {lam:g}: raise lam, and see that the squares of "
            "the features are finite."
        )
    return FeatureRidge(F, lam, solve)


def ridge_fit(F: Float[Tensor, "n m"], y: Float[Tensor, "n c"], lam: float) -> RidgeFit:
    """argmin_a (1/n) |y - F a|^2 + lam |a|^2 for each column of y, by Cholesky.

    Errors are those of :func:`feature_ridge`, which also serves several calls on the same F.
    """
    return feature_ridge(F, lam).fit(y)
