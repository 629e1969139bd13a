"""Kernels of the inner products x.z, |x|^2, |z|^2, in blocks that stay in the cache."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...maths.memory import unwritten
from ..base import Kernel, OwnTiles, block_gradient
from .pairs import FEW_COLUMNS, Directions, Side, factors, half_angles, split

#: Entries of a block: on a CPU within the cache and the work of one thread, large on a GPU.
CPU_BLOCK, GPU_BLOCK = 2**15, 2**24
#: Entries of a block of rows in gradients, which are matrix products.
WIDE = 2**20


@dataclass(frozen=True)
class RotationInvariantKernel(Kernel):
    """k(x, z) = function of u = x~.z~, p = |x~|^2, q = |z~|^2, where x~ = [x / scale, shift]."""

    @abstractmethod
    def scale(self, d: int) -> float:
        """What inputs of d columns are divided by."""

    @property
    @abstractmethod
    def shift(self) -> float:
        """The last coordinate of x~; 0 for none."""

    @abstractmethod
    def sides(self, norm: Tensor) -> tuple[Side, ...]:
        """What is needed of rows of these norms, layer by layer."""

    @abstractmethod
    def values_(self, left: Sequence[Side], right: Sequence[Side], h: Tensor) -> Tensor:
        """k of these pairs; may overwrite h = sin^2(angle / 2)."""

    @abstractmethod
    def slopes(
        self, left: Sequence[Side], right: Sequence[Side], h: Tensor
    ) -> tuple[Tensor, Tensor]:
        """dk/du and dk/dp, zero where k has a kink."""

    @abstractmethod
    def spec(self) -> Mapping[str, Any]:
        """Name and parameters, as `kernel_from_spec` takes them."""

    @property
    def scratch(self) -> int:
        """The result, and the passes of a block where all of it is one block."""
        return 12

    def scaled(self, X: Tensor) -> Tensor:
        """The rows x~; in double precision where they are short, for angles near 0 and pi."""
        few = X.shape[1] + (self.shift != 0) <= FEW_COLUMNS
        rows = (X.double() if few else X) / self.scale(X.shape[1])
        if self.shift == 0:
            return rows
        return torch.cat([rows, rows.new_full((len(X), 1), self.shift)], 1)

    def directions(self, X: Tensor, Z: Tensor) -> tuple[Directions, Directions]:
        """Both sets of rows, their unit vectors less the mean one of Z."""
        rows = self.scaled(Z)
        norm, unit = split(rows)
        centre = unit.mean(0) if unit.shape[1] > FEW_COLUMNS else unit.new_zeros(())

        def centred(rows: Tensor, norm: Tensor, unit: Tensor) -> Directions:
            unit = unit - centre
            return Directions(rows, unit, unit.square().sum(1), self.sides(norm))

        z = centred(rows, norm, unit)
        return (z if X is Z else centred(other := self.scaled(X), *split(other))), z

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        x, z = self.directions(X, Z)
        few = x.unit.shape[1] <= FEW_COLUMNS
        left, right = factors(x, z)
        K = unwritten(len(X), len(Z), X)

        def fill(block: tuple[slice, slice]) -> None:
            rows, columns = block
            one, other = x.part(rows), z.part(columns)
            h = half_angles(one, other) if few else (left[rows] @ right[columns].T).clamp_(0, 1)
            k = self.values_([side.column() for side in one.sides], other.sides, h)
            K[rows, columns] = k
            if X is Z:
                K[columns, rows] = k.T if rows != columns else k.add(k.T).div_(2)

        pairs = itertools.product(blocks(K, 0), blocks(K, 1))
        each(fill, [(i, j) for i, j in pairs if X is not Z or j.start <= i.start])
        if X is Z:
            K.diagonal().copy_(self._own(x.sides))
        return K

    def _own(self, sides: Sequence[Side]) -> Tensor:
        return self.values_(sides, sides, torch.zeros_like(sides[0].norm))

    def diagonal(self, X: Tensor) -> Tensor:
        """k(x, x): the angle is 0."""
        return self._own(self.sides(split(self.scaled(X))[0])).to(X.dtype)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        """The tiles do not help: row blocks, computed anew."""
        del tiles
        return block_gradient(self, X, X, c)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """sum_j c_j (dk/du z~_j + 2 dk/dp x~_i) / scale."""
        x, z = self.directions(X, Z)
        d, c = X.shape[1], c.to(z.rows.dtype)
        J = X.new_empty(len(X), c.shape[1], d)
        weighted = [c[:, k : k + 1] * z.rows[:, :d] for k in range(c.shape[1])]
        for block in wide_blocks(X, len(Z)):
            part = x.part(block)
            left = [side.column() for side in part.sides]
            along, own = self.slopes(left, z.sides, half_angles(part, z))
            pulled = torch.stack([along @ w for w in weighted], 1)
            J[block] = pulled + 2 * (own @ c)[:, :, None] * part.rows[:, None, :d]
        return J.mul_(1 / self.scale(d))


def wide_blocks(X: Tensor, columns: int) -> list[slice]:
    """Slices of the rows of X, each with this many columns a moderate matrix."""
    return _slices(len(X), max(1, WIDE // max(1, columns)))


def blocks(K: Tensor, axis: int) -> list[slice]:
    """Slices along an axis of K, whose squares are blocks."""
    return _slices(K.shape[axis], math.isqrt(CPU_BLOCK if K.device.type == "cpu" else GPU_BLOCK))


def each(fill: Callable[[tuple[slice, slice]], None], parts: list[tuple[slice, slice]]) -> None:
    """Call `fill` on every part, as many at a time as torch has threads on a CPU."""
    workers = min(torch.get_num_threads(), len(parts) // 4)
    if workers < 2:
        for part in parts:
            fill(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, parts))


def _slices(n: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def check_bandwidth(bandwidth: float | None) -> None:
    """Raise ValueError unless it is None or positive and finite."""
    if bandwidth is not None and not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth is {bandwidth}: give a positive number.")
