"""Sums of powers of coordinate differences, |x - z|_p^p, and their gradients, tile by tile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

#: Entries of a tile: on a CPU such that a few of them stay in the cache, large on a GPU.
CPU_TILE, GPU_TILE = 2**18, 2**24


def power_distances(
    X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], p: float
) -> Float[Tensor, "n m"]:
    """sum_k |x_ik - z_jk|^p, one column at a time within a tile.

    Equal rows are at distance 0; ``Z is X`` evaluates half of the tiles and gives an exactly
    symmetric matrix.

    Examples
    --------
    >>> power_distances(torch.tensor([[0.0, 1.0]]), torch.tensor([[3.0, -1.0]]), 1.0).tolist()
    [[5.0]]
    """
    D, columns = X.new_empty(len(X), len(Z)), (X.T.contiguous(), Z.T.contiguous())
    for i, j in _tiles(X, Z):
        if X is Z and j.start > i.start:
            continue
        tile = _tile_distances(columns[0][:, i], columns[1][:, j], p)
        D[i, j] = (tile + tile.T).div_(2) if X is Z and i == j else tile
        if X is Z and i != j:
            D[j, i] = tile.T
    return D


def _tile_distances(x: Float[Tensor, "d a"], z: Float[Tensor, "d b"], p: float) -> Tensor:
    total = x.new_zeros(x.shape[1], z.shape[1])
    for difference in _differences(x, z):
        total += _power_(difference.abs_(), p)
    return total


def power_pull(
    slopes: Float[Tensor, "n m"],
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    c: Float[Tensor, "m c"],
    p: float,
) -> Float[Tensor, "n c d"]:
    """sum_j s_ij c_j d/dx_i |x_i - z_j|_p^p, with derivative 0 where coordinates coincide.

    Examples
    --------
    >>> one = torch.ones(1, 1)
    >>> power_pull(one, 3 * one, one, 5 * one, 2.0).tolist()
    [[[20.0]]]
    """
    J = X.new_zeros(X.shape[1], len(X), c.shape[1])
    for i, j in _tiles(X, Z):
        for k, pull in enumerate(_pulls(slopes[i, j], X[i], Z[j], p)):
            J[k, i].addmm_(pull, c[j])
    return J.permute(1, 2, 0)


def mirrored_pull_(
    J: Float[Tensor, "d n c"],
    pair: tuple[slice, slice],
    slopes: Float[Tensor, "a b"],
    X: Float[Tensor, "n d"],
    c: Float[Tensor, "n c"],
    p: float,
) -> None:
    """Add to J what rows `pair` of an expansion in X's own rows pull at each other.

    Off the diagonal each tile is evaluated once for both of its sides.
    """
    left, right = X[pair[0]], X[pair[1]]
    own, other = (J[:, rows] for rows in pair)
    for i, j in _tiles(left, right):
        for k, pull in enumerate(_pulls(slopes[i, j], left[i], right[j], p)):
            own[k, i].addmm_(pull, c[pair[1]][j])
            if pair[0] != pair[1]:
                other[k, j].addmm_(pull.T, c[pair[0]][i], alpha=-1)


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
    side = math.isqrt(CPU_TILE if X.device.type == "cpu" else GPU_TILE)
    return itertools.product(_slices(len(X), side), _slices(len(Z), side))


def _slices(n: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]
