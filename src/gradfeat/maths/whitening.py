"""Inputs with zero mean and covariance I."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from .statistics.moments import MomentState

#: Principal directions with less than this share of the mean variance count as constant.
NO_VARIANCE = 1e-6


def whitening(
    moments: MomentState, shrinkage: float | None = None
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Mean (d,) and symmetric (C + shrinkage tr(C)/d I)^{-1/2} (d, d) of inputs x, C = cov(x).

    `shrinkage` None is d/n, between 1e-3 and 1, for n rows.

    Examples
    --------
    >>> from gradfeat.maths.blocks import Block, collect
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> X = torch.tensor([[2.0], [-2.0]])
    >>> whitening(collect(Moments(), [Block(X, X, torch.ones(2))]), 0.0)[1].tolist()
    [[0.5]]
    """
    e, V = torch.linalg.eigh(moments.xx / moments.weight)
    share = min(1.0, max(1e-3, len(e) / float(moments.count))) if shrinkage is None else shrinkage
    floor = share * e.clamp(min=0).mean()
    scale = torch.where(e + floor > 0, e.clamp(min=0) + floor, 1.0).rsqrt()
    return moments.mean_x, (V * scale) @ V.T


@dataclass(frozen=True)
class PrincipalWhitening:
    """z = (x - mean) map in the q leading principal directions; covariance of z is I.

    Attributes
    ----------
    mean : Tensor (d,)
        Of the inputs.
    map : Tensor (d, q)
        Eigenvectors of the covariance over the roots of their eigenvalues.
    varying : int
        Principal directions that vary at all; more than q where `most` cut them.
    """

    mean: Float[Tensor, " d"]
    map: Float[Tensor, "d q"]
    varying: int

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n q"]:
        return (X - self.mean) @ self.map


def principal_whitening(X: Float[Tensor, "n d"], most: int) -> PrincipalWhitening:
    """Whitening that leaves out directions without variance, and all but the `most` leading ones.

    Columns that follow from others (0/1 columns of all levels of a category) make the covariance
    singular; here their common direction is dropped instead of being blown up.

    Examples
    --------
    >>> x = torch.tensor([[3.0], [-1.0], [1.0], [5.0]])
    >>> fit = principal_whitening(torch.cat([x, 2 * x], dim=1), most=2)
    >>> fit.varying, [round(abs(float(z)), 4) for z in fit(torch.cat([x, 2 * x], dim=1)).var(0)]
    (1, [1.3333])
    """
    mean = X.mean(0)
    e, V = torch.linalg.eigh((X - mean).T @ (X - mean) / len(X))
    e, V = e.flip(0), V.flip(1)
    varying = int((e > NO_VARIANCE * e.mean()).sum())
    q = min(varying, most)
    return PrincipalWhitening(mean, V[:, :q] / e[:q].sqrt(), varying)
