"""The Laplace kernel with any exponent, of any norm between l_0+ and l_2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor

from ..base import Kernel, OwnTiles
from .minkowski import mirrored_pull_, power_distances, power_pull
from .radial import RadialKernel
from .rotation_invariant import check_bandwidth


@final
@dataclass(frozen=True)
class GeneralisedLaplace(Kernel):
    """k(x, z) = exp(-(|x - z|_p / bandwidth)^q), |u|_p^p = sum_k |u_k|^p.

    q = 1 and p = 2 is the Laplace kernel, q = p = 2 a Gaussian exp(-|u|^2 / bandwidth^2), q = p a
    product of kernels of one coordinate each. For p = 2 distances are one matrix product; for
    other p their cost is that of a pass over d differences for each pair of rows.

    Parameters
    ----------
    bandwidth : float
        Length scale in the units of the inputs, positive.
    p, q : float
        Norm and exponent, 0 < q <= p <= 2: then k is positive definite.

    Raises
    ------
    ValueError
        For a value that is not allowed.

    Source: Schoenberg 1938 (|u|_p^q is negative definite); Beaglehole et al. 2025 (xRFM).

    Examples
    --------
    >>> k = GeneralisedLaplace(2.0, p=1.0)
    >>> round(float(k(torch.zeros(1, 2), torch.ones(1, 2))), 4)
    0.3679
    """

    bandwidth: float
    p: float = 2.0
    q: float = 1.0

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)
        if not 0 < self.q <= self.p <= 2:
            raise ValueError(
                f"q is {self.q} and p is {self.p}: give 0 < q <= p <= 2, beyond which the kernel "
                "is not positive definite."
            )

    @cached_property
    def _road(self) -> Kernel:
        if self.p == 2:
            return _Euclidean(self.bandwidth, self.q)
        return _Minkowski(self.bandwidth, self.p, self.q)

    @property
    def scratch(self) -> int:
        """Distances and what is made of them."""
        return self._road.scratch

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self._road(X, Z)

    def diagonal(self, X: Tensor) -> Tensor:
        """1."""
        return self._road.diagonal(X)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """-q / L^q sum_j c_j k_ij |u|_p^{q-p} |u_k|^{p-1} sign u_k, u = x_i - z_j; 0 at kinks."""
        return self._road.gradient(X, Z, c)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        """Each slope once, for both of its points."""
        return self._road.own_gradient(X, c, tiles)

    def spec(self) -> Mapping[str, Any]:
        """Name and parameters."""
        return {"name": "GeneralisedLaplace", **asdict(self)}


def profile_(s: Tensor, e: float) -> Tensor:
    """exp(-s^e); overwrites s >= 0.

    Examples
    --------
    >>> profile_(torch.zeros(1), 0.5).tolist()
    [1.0]
    """
    return (s if e == 1 else s.pow_(e)).neg_().exp_()


def slope_from(s: Tensor, K: Tensor, e: float) -> Tensor:
    """d/ds exp(-s^e) = -e s^{e-1} K from K = exp(-s^e), 0 at a kink in s = 0; overwrites s.

    Examples
    --------
    >>> slope_from(torch.tensor([0.0, 4.0]), torch.tensor([1.0, 0.5]), 0.5).tolist()
    [-0.0, -0.125]
    """
    if e == 1:
        return torch.neg(K, out=s)
    return s.pow_(e - 1).nan_to_num_(posinf=0.0).mul_(K).mul_(-e)


@final
@dataclass(frozen=True)
class _Euclidean(RadialKernel):
    """p = 2: exp(-s^{q/2}) of squared distances s."""

    q: float

    def profile_(self, s: Tensor) -> Tensor:
        return profile_(s, self.q / 2)

    def slope_(self, s: Tensor) -> Tensor:
        return slope_from(s, profile_(s.clone(), self.q / 2), self.q / 2)

    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        return slope_from(s, K, self.q / 2)


@final
@dataclass(frozen=True)
class _Minkowski(Kernel):
    """p < 2: exp(-s^{q/p}) of s = |x - z|_p^p / bandwidth^p."""

    bandwidth: float
    p: float
    q: float

    @property
    def scratch(self) -> int:
        return 4

    def _scaled(self, X: Tensor, Z: Tensor) -> Tensor:
        return power_distances(X, Z, self.p).mul_(self.bandwidth**-self.p)

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return profile_(self._scaled(X, Z), self.q / self.p)

    def diagonal(self, X: Tensor) -> Tensor:
        return X.new_ones(len(X))

    def _slopes(self, X: Tensor, Z: Tensor, K: Tensor) -> Tensor:
        """dk/ds; distances are needed where it is not -K."""
        return -K if self.p == self.q else slope_from(self._scaled(X, Z), K, self.q / self.p)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        s, e = self._scaled(X, Z), self.q / self.p
        slopes = slope_from(s, profile_(s.clone(), e), e)
        return power_pull(slopes, X, Z, c, self.p).mul_(self.bandwidth**-self.p)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        J = X.new_zeros(X.shape[1], len(X), c.shape[1])
        for i, rows in enumerate(tiles.rows):
            for j, columns in enumerate(tiles.rows[i:], i):
                slopes = self._slopes(X[rows], X[columns], tiles(i, j))
                mirrored_pull_(J, (rows, columns), slopes, X, c, self.p)
        return J.permute(1, 2, 0).mul_(self.bandwidth**-self.p)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "GeneralisedLaplace", **asdict(self)}
