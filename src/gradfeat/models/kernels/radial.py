"""Radial kernels: a profile of the squared distance, and its slope."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..base import Kernel, KernelRows, OwnTiles


def check_bandwidth(bandwidth: float | None) -> None:
    if bandwidth is not None and not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth is {bandwidth}: give a positive number.")


#: Squared distances up to this many rounding units of |x|^2 are noise of the matrix product.
ROUNDING = 8.0
#: Numbers that vector instructions of a CPU take at once, at most.
LANES = 32


def squared_distances(
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    out: Float[Tensor, "n m"] | None = None,
    unit: float = 1.0,
) -> Float[Tensor, "n m"]:
    """|x_i - z_j|^2 / unit^2, by :func:`distance_factors`.

    ``Z is X`` gives an exactly symmetric matrix with a zero diagonal. `out` is memory for the
    result.
    """
    left, right = distance_factors(X, Z, unit)
    D = torch.mm(left, right.T, out=out).clamp_(min=0)
    return torch.div(D + D.T, 2, out=out).fill_diagonal_(0.0) if X is Z else D


def distance_factors(
    X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], unit: float
) -> tuple[Float[Tensor, "n k"], Float[Tensor, "m k"]]:
    """(-2 x, 1, |x|^2) and (z, |z|^2, 1), whose products are |x - z|^2: in this unit, centred.

    Nothing is left to do for each pair but to cut off what is below 0. As both sides are centred
    digits do not cancel. Distances that rounding cannot tell from zero are below it, so that equal
    rows are at distance 0 wherever they stand.
    """
    centre = Z.mean(0)
    x, z = (X - centre).div_(unit), (Z - centre).div_(unit)
    own, other = x.square().sum(1, keepdim=True), z.square().sum(1, keepdim=True)
    own.mul_(1 - ROUNDING * torch.finfo(X.dtype).eps)
    left = torch.cat([-2 * x, torch.ones_like(own), own], 1)
    return left, torch.cat([z, other, torch.ones_like(other)], 1)


def as_matrix(room: Tensor | None, n: int, m: int) -> Float[Tensor, "n m"] | None:
    """The beginning of such memory, if any, as a matrix."""
    return None if room is None else room[: n * m].view(n, m)


def decay(t: Tensor, rate: float = 1.0, out: Tensor | None = None) -> Tensor:
    """exp(-rate t); `out`, which may be t, is memory that it may use.

    As a power of 2: on a CPU `torch.exp` takes three times as long, where it underflows ten times.
    Lanes are filled: torch rounds what is left of them in another way, so that a value would depend
    on where it stands.
    """
    E = torch.mul(t, -rate / math.log(2.0), out=out)
    missing = -E.numel() % LANES
    if not missing:
        return E.exp2_()
    filled = torch.cat([E.flatten(), E.new_zeros(missing)]).exp2_()
    return filled[: E.numel()].view(E.shape)


#: (X_i, X_j, k(X_i, X_j), memory for the result) -> dk/ds at these pairs.
Slopes = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def tile_gradient(
    slopes: Slopes, X: Float[Tensor, "n d"], c: Float[Tensor, "n c"], tiles: OwnTiles
) -> Float[Tensor, "n c d"]:
    """G_i = 2 sum_j s_ij c_j (x_i - x_j) for symmetric slopes s_ij, each evaluated once.

    With W = [c, c x] the sums over j are one product s W of 1 + d columns an output; a tile of s
    serves its own rows and, transposed, those of its mirror image.
    """
    k, d = c.shape[1], X.shape[1]
    centred = X - X.mean(0)
    W = torch.cat([c, (c[:, :, None] * centred[:, None, :]).flatten(1)], 1).T.contiguous()
    room = X.new_empty(max(rows.stop - rows.start for rows in tiles.rows) ** 2)
    parts, out = [X[rows] for rows in tiles.rows], torch.zeros_like(W)
    for i, rows in enumerate(tiles.rows):
        for j in range(i, len(tiles.rows)):
            columns = tiles.rows[j]
            K = tiles(i, j)
            s = slopes(parts[i], parts[j], K, room[: K.numel()].view(K.shape))
            out[:, rows].addmm_(W[:, columns], s.T)
            if j > i:
                out[:, columns].addmm_(W[:, rows], s)
    total, pulled = out[:k].T, out[k:].view(k, d, -1).permute(2, 0, 1)
    return 2 * (total[:, :, None] * centred[:, None, :] - pulled)


@dataclass(frozen=True)
class RadialKernel(Kernel):
    """k(x, z) = profile(|x - z|^2 / bandwidth^2).

    `bandwidth`: Length scale in the units of the inputs, positive.
    """

    bandwidth: float

    @abstractmethod
    def profile_(self, s: Tensor) -> Tensor:
        """k as a function of s = |x - z|^2 / bandwidth^2; may overwrite s."""

    @abstractmethod
    def slope_(self, s: Tensor) -> Tensor:
        """dk/ds, zero where s = 0 and k has a kink there; may overwrite s."""

    @abstractmethod
    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        """dk/ds from s and K = k(s) already at hand; may overwrite s."""

    @property
    def scratch(self) -> int:
        """Distances and what a profile or slope makes of them."""
        return 4

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self.profile_(squared_distances(X, Z, unit=self.bandwidth))

    def between(self, X: Tensor, Z: Tensor) -> KernelRows:
        left, right = distance_factors(X, Z, self.bandwidth)

        def values(rows: slice, room: Tensor | None) -> Tensor:
            few = left[rows]
            out = as_matrix(room, len(few), len(Z))
            return self.profile_(torch.mm(few, right.T, out=out).clamp_(min=0))

        return values

    def rounded(self, X: Tensor) -> tuple[Kernel, Tensor]:
        return self, X

    def diagonal(self, X: Tensor) -> Tensor:
        """k(x, x) = profile(0)."""
        return self.profile_(X.new_zeros(len(X)))

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        """Each slope once, for both of its points, from the kernel's value at hand."""

        def slopes(left: Tensor, right: Tensor, K: Tensor, out: Tensor) -> Tensor:
            return self.slope_from(squared_distances(left, right, out, self.bandwidth), K)

        return tile_gradient(slopes, X, c, tiles).mul_(1.0 / self.bandwidth**2)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """2 / bandwidth^2 sum_j c_j k'(s_ij) (x_i - z_j)."""
        slope = self.slope_(squared_distances(X, Z, unit=self.bandwidth))
        return self.expansion_gradient(slope, X, Z, c)

    def expansion_gradient(
        self,
        slope: Float[Tensor, "n m"],
        X: Float[Tensor, "n d"],
        Z: Float[Tensor, "m d"],
        c: Float[Tensor, "m c"],
    ) -> Float[Tensor, "n c d"]:
        """The gradient when the slopes dk/ds are known: one product with [c, c * z] an output."""
        centre = Z.mean(0)
        X, Z = X - centre, Z - centre
        total = slope @ c
        pulled = torch.stack([slope @ (c[:, k : k + 1] * Z) for k in range(c.shape[1])], dim=1)
        return (total[:, :, None] * X[:, None, :] - pulled) * (2.0 / self.bandwidth**2)

    def spec(self) -> Mapping[str, Any]:
        return {"name": type(self).__name__, **asdict(self)}


@dataclass(frozen=True)
class Laplace(RadialKernel):
    """k(x, z) = exp(-|x - z| / bandwidth).

    >>> round(float(Laplace(2.0)(torch.zeros(1, 1), torch.ones(1, 1))), 4)
    0.6065
    """

    def profile_(self, s: Tensor) -> Tensor:
        return decay(s.sqrt_(), out=s)

    def slope_(self, s: Tensor) -> Tensor:
        """-exp(-r) / (2 r), r = sqrt s."""
        return self.slope_from(s, decay(s.sqrt()))

    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        return s.rsqrt_().nan_to_num_(posinf=0.0).mul_(K).mul_(-0.5)


@dataclass(frozen=True)
class Gaussian(RadialKernel):
    """k(x, z) = exp(-|x - z|^2 / (2 bandwidth^2)).

    >>> round(float(Gaussian(1.0)(torch.zeros(1, 1), torch.ones(1, 1))), 4)
    0.6065
    """

    def profile_(self, s: Tensor) -> Tensor:
        return decay(s, 0.5, out=s)

    def slope_(self, s: Tensor) -> Tensor:
        return decay(s, 0.5, out=s).mul_(-0.5)

    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        return torch.mul(K, -0.5, out=s)


@dataclass(frozen=True)
class Matern(RadialKernel):
    """Matern kernel with smoothness nu = 1/2, 3/2 or 5/2 (t = sqrt(2 nu) |x - z| / bandwidth).

    exp(-t) for nu = 1/2 (Laplace); (1 + t) exp(-t) for 3/2; (1 + t + t^2/3) exp(-t) for 5/2.

    Raises ValueError for any other nu.

    Source: Rasmussen & Williams 2006, eq. 4.17.

    >>> round(float(Matern(1.0, 1.5)(torch.zeros(1, 1), torch.ones(1, 1))), 4)
    0.4834
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu is {self.nu}: allowed are 0.5, 1.5 and 2.5.")

    def profile_(self, s: Tensor) -> Tensor:
        r, rate = s.sqrt_(), (2 * self.nu) ** 0.5
        K = decay(r, rate)
        if self.nu == 0.5:
            return K
        if self.nu == 1.5:
            return K.addcmul_(r, K, value=rate)
        return torch.addcmul(K, torch.addcmul(r, r, r, value=rate / 3), K, value=rate)

    def slope_(self, s: Tensor) -> Tensor:
        """-exp(-t)/(2 t), -3/2 exp(-t), -5/6 (1 + t) exp(-t)."""
        t = s.mul_(2 * self.nu).sqrt_()
        K = decay(t)
        if self.nu == 0.5:
            return K.mul_(t.mul_(-2).reciprocal_().nan_to_num_(0.0, 0.0, 0.0))
        if self.nu == 1.5:
            return K.mul_(-1.5)
        return t.add_(1).mul_(K).mul_(-5.0 / 6.0)

    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        """From s alone: K does not help here."""
        del K
        return self.slope_(s)
