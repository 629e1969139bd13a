"""The trained head of a two-layer net: ridge on its features, penalty by LOO, GCV or validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.ridge import RidgePath, ridge_path
from ..maths.streams import stream
from .base import unit_weights

#: How a penalty is chosen.
Select = Literal["loo", "gcv", "validation"]


@dataclass(frozen=True)
class RidgeHead:
    """argmin_a,b sum_i w_i |y_i - b - a.F_i|^2 + penalty |a|^2.

    Parameters
    ----------
    penalty : float, optional
        None chooses it from 25 log-spaced values.
    select : {"loo", "gcv", "validation"}
        How it is chosen: leave-one-out, generalised cross-validation, or a fifth of the rows
        held out (then refitted on all).
    intercept : bool
        False fixes b = 0.
    mean : bool
        Whether `penalty` is that of the mean over rows: it is multiplied by sum_i w_i.

    Examples
    --------
    >>> F = torch.arange(4.0).double()[:, None]
    >>> a, b, penalty = RidgeHead(penalty=1e-9).fit(F, 2 * F + 1)
    >>> round(float(a), 6), round(float(b), 6)
    (2.0, 1.0)
    """

    penalty: float | None = None
    select: Select = "loo"
    intercept: bool = True
    mean: bool = False

    def given(self, weight: float) -> float | None:
        """The penalty that was given, for rows of this total weight; None: it is to be chosen.

        Examples
        --------
        >>> RidgeHead(0.5).given(10.0), RidgeHead(0.5, mean=True).given(10.0)
        (0.5, 5.0)
        """
        return self.penalty * weight if self.penalty is not None and self.mean else self.penalty

    def fit(
        self,
        F: Float[Tensor, "n m"],
        y: Float[Tensor, "n c"],
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> tuple[Float[Tensor, "m c"], Float[Tensor, " c"], float]:
        """Coefficients, intercepts and the penalty used."""
        path, means, lam = self.path(F, y, weights, seed)
        a = path.coefficients(lam)
        return a, path.offset - means @ a, lam

    def path(
        self,
        F: Float[Tensor, "n m"],
        y: Float[Tensor, "n c"],
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> tuple[RidgePath, Float[Tensor, " m"], float]:
        """The ridge path of all rows, the feature means, and the penalty used."""
        path, means = ridge_path(F, y, weights, intercept=self.intercept)
        lam = self.given(float(unit_weights(F, weights).sum()))
        if lam is None and self.select == "validation" and len(F) >= 5:
            lam = self._by_validation(F, y, unit_weights(F, weights), path.grid(), seed)
        elif lam is None:
            lam = path.best(path.grid(), "gcv" if self.select == "gcv" else "loo")
        return path, means, lam

    def _by_validation(
        self, F: Tensor, y: Tensor, w: Tensor, lams: list[float], seed: int
    ) -> float:
        order = torch.randperm(len(F), generator=stream(seed, "head validation"))
        held, kept = order[: len(F) // 5], order[len(F) // 5 :]
        path, means = ridge_path(F[kept], y[kept], w[kept], intercept=self.intercept)

        def loss(lam: float) -> float:
            a = path.coefficients(lam)
            error = y[held] - path.offset - (F[held] - means) @ a
            return float((w[held, None] * error.square()).sum())

        return min(sorted(lams, reverse=True), key=loss)
