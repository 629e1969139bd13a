"""Inputs with zero mean and covariance I."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from .blocks import Block, collect
from .statistics.moments import Moments, MomentState

#: Principal directions with less than this share of the mean variance count as constant.
NO_VARIANCE = 1e-6


def whitening(
    moments: MomentState, shrinkage: float | None = None
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Mean (d,) and symmetric (C + shrinkage tr(C)/d I)^{-1/2} (d, d) of inputs x, C = cov(x).

    `shrinkage` None is d/n, between 1e-3 and 1, for n rows.
    """
    e, V = torch.linalg.eigh(moments.xx / moments.weight)
    floor = _shrinkage(shrinkage, len(e), float(moments.count)) * e.clamp(min=0).mean()
    return moments.mean_x, (V * _rsqrt(e.clamp(min=0) + floor)) @ V.T


def _shrinkage(given: float | None, d: int, n: float) -> float:
    return min(1.0, max(1e-3, d / n)) if given is None else given


def _rsqrt(values: Tensor) -> Tensor:
    return torch.where(values > 0, values, 1.0).rsqrt()


class Whitening(ABC):
    """z = (x - mean) P with P symmetric."""

    mean: Float[Tensor, " d"]

    @abstractmethod
    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """W P, which takes vectors to whitened inputs, and first layers of those back."""

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Rows of inputs, with mean zero and covariance I but for the shrinkage."""
        return self.turned(X - self.mean)


@final
@dataclass(frozen=True, eq=False)
class WholeWhitening(Whitening):
    """With P (d, d) as it is."""

    mean: Float[Tensor, " d"]
    P: Float[Tensor, "d d"]

    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        return W @ self.P


@final
@dataclass(frozen=True, eq=False)
class ThinWhitening(Whitening):
    """P = V diag(scale) V^T + rest (I - V V^T): of k < d directions in which x varies."""

    mean: Float[Tensor, " d"]
    #: Orthonormal directions, and P along them.
    V: Float[Tensor, "d k"]
    scale: Float[Tensor, " k"]
    rest: Float[Tensor, ""]  # P in every direction orthogonal to them

    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        return self.rest * W + (W @ self.V * (self.scale - self.rest)) @ self.V.T


def whitening_of(rows: Block, shrinkage: float | None = None) -> Whitening:
    """:func:`whitening` of rows at hand; of fewer rows than columns at a cost of n^2 d, not d^3.

    In the float type of the rows, found in float64.
    """
    n, d = rows.X.shape
    if n >= d:
        found = whitening(collect(Moments(), [rows]), shrinkage)
        return WholeWhitening(*(t.to(rows.X) for t in found))
    p, count = rows.w.double() / rows.w.double().sum(), int((rows.w > 0).sum())
    X = rows.X.double()
    mean = p @ X
    _, s, Vh = torch.linalg.svd(p.sqrt()[:, None] * (X - mean), full_matrices=False)
    floor = _shrinkage(shrinkage, d, count) * s.square().sum() / d
    parts = (mean, Vh.T.contiguous(), _rsqrt(s.square() + floor), _rsqrt(floor))
    return ThinWhitening(*(t.to(rows.X) for t in parts))


@dataclass(frozen=True)
class PrincipalWhitening:
    """z = (x - mean) map in the q leading principal directions; covariance of z is I."""

    mean: Float[Tensor, " d"]  # of the inputs
    map: Float[Tensor, "d q"]  # eigenvectors of the covariance over the roots of their eigenvalues
    varying: int  # principal directions that vary at all; more than q where `most` cut them

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n q"]:
        return (X - self.mean) @ self.map


def principal_whitening(X: Float[Tensor, "n d"], most: int) -> PrincipalWhitening:
    """Whitening that leaves out directions without variance, and all but the `most` leading ones.

    Columns that follow from others (0/1 columns of all levels of a category) make the covariance
    singular; here their common direction is dropped instead of being blown up.

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
