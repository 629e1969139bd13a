"""Kernels of p-norms that are no matrix product, and what they take a pass for each column for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.memory import slices
from ..base import Kernel, KernelRows, OwnTiles
from .radial import as_matrix, decay

# Products are with coefficients transposed: BLAS is several times faster on few rows than on few
# columns.

#: Entries of a tile: on a CPU such that a few of them stay in the cache, large on a GPU.
CPU_TILE, GPU_TILE = 2**18, 2**24
#: Entries of a result that passes for each column find in the cache.
IN_CACHE = 3 * 2**16


def power_distances(
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    p: float,
    out: Float[Tensor, "n m"] | None = None,
) -> Float[Tensor, "n m"]:
    """sum_k |x_ik - z_jk|^p, one column at a time within a tile.

    Equal rows are at distance 0; ``Z is X`` evaluates half of the tiles and gives an exactly
    symmetric matrix. `out` is memory for the result.
    """
    D = X.new_empty(len(X), len(Z)) if out is None else out
    columns = (X.T.contiguous(), Z.T.contiguous())
    for i, j in _tiles(X, Z):
        if X is Z and j.start > i.start:
            continue
        tile = D[i, j].zero_()
        for difference in _differences(columns[0][:, i], columns[1][:, j]):
            tile += _power_(difference.abs_(), p)
        if X is Z and i == j:
            tile.copy_((tile + tile.T).div_(2))
        elif X is Z:
            D[j, i] = tile.T
    return D


def power_pull(
    slopes: Float[Tensor, "n m"],
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    c: Float[Tensor, "m c"],
    p: float,
) -> Float[Tensor, "n c d"]:
    """sum_j s_ij c_j d/dx_i |x_i - z_j|_p^p, with derivative 0 where coordinates coincide."""
    J, given = X.new_zeros(X.shape[1], c.shape[1], len(X)), c.T.contiguous()
    for i, j in _tiles(X, Z):
        for k, pull in enumerate(_pulls(slopes[i, j], X[i], Z[j], p)):
            J[k, :, i].addmm_(given[:, j], pull.T)
    return J.permute(2, 1, 0)


def mirrored_pull_(
    J: Float[Tensor, "d c n"],
    pair: tuple[slice, slice],
    slopes: Float[Tensor, "a b"],
    X: Float[Tensor, "n d"],
    given: Float[Tensor, "c n"],
    p: float,
) -> None:
    """Add to J what rows `pair` of an expansion in X's own rows pull at each other.

    Off the diagonal each tile is evaluated once for both of its sides.
    """
    left, right = X[pair[0]], X[pair[1]]
    (own, of_left), (other, of_right) = ((J[:, :, rows], given[:, rows]) for rows in pair)
    for i, j in _tiles(left, right):
        for k, pull in enumerate(_pulls(slopes[i, j], left[i], right[j], p)):
            own[k, :, i].addmm_(of_right[:, j], pull.T)
            if pair[0] != pair[1]:
                other[k, :, j].addmm_(of_left[:, i], pull, alpha=-1)


def _pulls(slopes: Tensor, X: Tensor, Z: Tensor, p: float) -> Iterator[Tensor]:
    """p s |u|^{p-1} sign u of one column after the other, in one buffer."""
    slopes = slopes * p
    for u in _differences(X.T, Z.T):
        if p == 1:
            yield u.sign_().mul_(slopes)
        else:
            size = _power_(u.abs(), p - 1)
            yield torch.copysign(size.nan_to_num_(posinf=0.0) if p < 1 else size, u).mul_(slopes)


def _differences(x: Float[Tensor, "d a"], z: Float[Tensor, "d b"]) -> Iterator[Tensor]:
    """x_k - z_k for each column k, in one buffer that the caller may overwrite."""
    buffer = x.new_empty(x.shape[1], z.shape[1])
    for one, other in zip(x[:, :, None].unbind(), z.unbind(), strict=True):
        yield torch.sub(one, other, out=buffer)


def _power_(size: Tensor, p: float) -> Tensor:
    """size^p of numbers >= 0; may overwrite them. exp(p log) is several times faster than pow."""
    if p == 1:
        return size
    if p in (-0.5, 0.5, 2.0):
        return size.pow_(p)
    if p == 1.5:
        return size.mul_(size.sqrt())
    return size.log_().mul_(p).exp_()


def _tiles(X: Tensor, Z: Tensor) -> Iterator[tuple[slice, slice]]:
    entries = CPU_TILE if X.device.type == "cpu" else GPU_TILE
    height = max(1, min(len(X), math.isqrt(entries)))
    width = entries // height
    for i, j in itertools.product(range(0, len(X), height), range(0, len(Z), width)):
        yield slice(i, min(i + height, len(X))), slice(j, min(j + width, len(Z)))


def profile_(s: Tensor, e: float) -> Tensor:
    """exp(-s^e); overwrites s >= 0."""
    return decay(s if e == 1 else s.pow_(e), out=s)


def slope_from(s: Tensor, K: Tensor, e: float) -> Tensor:
    """d/ds exp(-s^e) = -e s^{e-1} K from K = exp(-s^e), 0 at a kink in s = 0; overwrites s."""
    if e == 1:
        return torch.neg(K, out=s)
    return s.pow_(e - 1).nan_to_num_(posinf=0.0).mul_(K).mul_(-e)


@final
@dataclass(frozen=True)
class Minkowski(Kernel):
    """p < 2: exp(-s^{q/p}) of s = |x - z|_p^p / bandwidth^p."""

    bandwidth: float
    p: float
    q: float

    @property
    def scratch(self) -> int:
        return 4

    @property
    def _scale(self) -> float:
        return self.bandwidth**-self.p

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self._values(X, Z, None)

    def _values(self, X: Tensor, Z: Tensor, out: Tensor | None) -> Tensor:
        s = power_distances(X, Z, self.p, out).mul_(self._scale)
        return profile_(s, self.q / self.p)

    def between(self, X: Tensor, Z: Tensor) -> KernelRows:
        """By so many rows at a time that one pass after the other finds them in the cache."""

        def values(rows: slice, room: Tensor | None) -> Tensor:
            few = X[rows]
            K = as_matrix(room, len(few), len(Z))
            if K is None or K.device.type != "cpu":
                return self._values(few, Z, K)
            for part in slices(len(few), max(1, IN_CACHE // len(Z))):
                K[part] = self._values(few[part], Z, K[part])
            return K

        return values

    def rounded(self, X: Tensor) -> tuple[Kernel, Tensor]:
        return self, X

    def diagonal(self, X: Tensor) -> Tensor:
        return X.new_ones(len(X))

    def _slopes(self, X: Tensor, Z: Tensor, K: Tensor) -> Tensor:
        """dk/ds; distances are needed where it is not -K."""
        if self.p == self.q:
            return -K
        s = power_distances(X, Z, self.p).mul_(self._scale)
        return slope_from(s, K, self.q / self.p)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        s, e = power_distances(X, Z, self.p).mul_(self._scale), self.q / self.p
        slopes = slope_from(s, profile_(s.clone(), e), e)
        return power_pull(slopes, X, Z, c, self.p).mul_(self._scale)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        J, given = X.new_zeros(X.shape[1], c.shape[1], len(X)), c.T.contiguous()
        for i, rows in enumerate(tiles.rows):
            for j, columns in enumerate(tiles.rows[i:], i):
                slopes = self._slopes(X[rows], X[columns], tiles(i, j))
                mirrored_pull_(J, (rows, columns), slopes, X, given, self.p)
        return J.permute(2, 1, 0).mul_(self._scale)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "GeneralisedLaplace", **asdict(self)}
