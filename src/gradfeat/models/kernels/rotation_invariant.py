"""Kernels of x.z, |x|^2 and |z|^2, in blocks that stay in the cache, with exact small angles."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import methodcaller
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import unwritten
from ...maths.limits import slices
from ..base import BlockKernel

#: Squared half chords below this many rounding units of the spread of directions are zero.
ROUNDING = 4.0
#: Rows of at most this many columns are compared by their differences, which lose nothing.
FEW_COLUMNS = 4


@final
@dataclass(frozen=True, eq=False)
class Side:
    """What a kernel needs to know of each row at one layer, whatever it is paired with.

    `norm` (n,): Length of the row, the standard deviation of its pre-activations.
    `own` (n,): E sigma(norm Z)^2.
    `coefficients` (n, K): Hermite coefficients of sigma(norm .), K = 0 where there is a closed
        form.
    """

    norm: Tensor
    own: Tensor
    coefficients: Tensor

    def part(self, rows: slice) -> Side:
        return Side(self.norm[rows], self.own[rows], self.coefficients[rows])

    def column(self) -> Side:
        """The rows along the first axis of a matrix of pairs."""
        return Side(self.norm[:, None], self.own[:, None], self.coefficients[:, None])


@final
@dataclass(frozen=True, eq=False)
class Directions:
    """Rows split into length and direction; a zero row has the direction 0.

    `rows, unit` (n, D): The rows, and rows / |row| less a centre that all rows of a kernel matrix
        share.
    `sides`: One a layer.
    """

    rows: Float[Tensor, "n D"]
    unit: Float[Tensor, "n D"]
    spread: Float[Tensor, " n"]
    sides: tuple[Side, ...]

    def part(self, rows: slice) -> Directions:
        sides = map(methodcaller("part", rows), self.sides)
        return Directions(self.rows[rows], self.unit[rows], self.spread[rows], (*sides,))


def split(rows: Float[Tensor, "n D"]) -> tuple[Float[Tensor, " n"], Float[Tensor, "n D"]]:
    """Norms and unit vectors, without overflow or underflow of the squares."""
    tiny = torch.finfo(rows.dtype).tiny
    largest = rows.abs().amax(1, keepdim=True).clamp_(min=tiny)
    rows = rows / largest
    norm = rows.norm(dim=1, keepdim=True)
    return (norm * largest)[:, 0], rows / norm.clamp(min=tiny)


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """Inputs x (left) and z (right) at one layer, with h = sin^2(angle / 2); shapes broadcast."""

    left: Side
    right: Side
    h: Tensor

    @staticmethod
    def equal(side: Side) -> Pairs:
        return Pairs(side, side, torch.zeros_like(side.norm))

    @property
    def a(self) -> Tensor:
        return self.left.norm

    @property
    def b(self) -> Tensor:
        return self.right.norm

    def product(self) -> Tensor:
        """u = x.z = a b (1 - 2h)."""
        return torch.rsub(self.h, 1, alpha=2).mul_(self.b).mul_(self.a)

    def sine(self) -> Tensor:
        return self.half_sine().mul_(2)

    def half_sine(self) -> Tensor:
        """sqrt(h (1 - h)); h of at most 1 keeps h - h^2 from losing digits near 0."""
        return torch.addcmul(self.h, self.h, self.h, value=-1).sqrt_()


def half_angles(X: Directions, Z: Directions) -> Float[Tensor, "n m"]:
    """h = |x/|x| - z/|z||^2 / 4: differences of short rows, one product of long ones.

    Chords that rounding cannot tell from 0 or from the diameter are 0 or the diameter.
    """
    if X.unit.shape[1] <= FEW_COLUMNS:
        return _half_angles_of_few(X.unit, Z.unit)
    left, right = factors(X, Z)
    return (left @ right.T).clamp_(0, 1)


def factors(X: Directions, Z: Directions) -> tuple[Float[Tensor, "n D2"], Float[Tensor, "m D2"]]:
    """[-2 x, |x|^2, 1] and [z, 1, |z|^2] of unit vectors: their product is h before clamping."""
    eps = ROUNDING * torch.finfo(X.unit.dtype).eps
    up = 0.25 * (1 + 2 * eps)
    one, other = X.spread.new_ones(len(X.unit), 1), Z.spread.new_ones(len(Z.unit), 1)
    left = torch.cat([X.unit * (-2 * up), (X.spread * (up * (1 - 2 * eps)))[:, None], one], 1)
    return left, torch.cat([Z.unit, other, (Z.spread * up)[:, None]], 1)


def _half_angles_of_few(X: Float[Tensor, "n D"], Z: Float[Tensor, "m D"]) -> Float[Tensor, "n m"]:
    h = X.new_zeros(len(X), len(Z))
    for x, z in zip(X.T, Z.T, strict=True):
        h.add_((x[:, None] - z).square_())
    return h.mul_(0.25 * (1 + 2 * ROUNDING * torch.finfo(h.dtype).eps)).clamp_(0, 1)


#: Entries of a block: on a CPU within the cache and the work of one thread, large on a GPU.
CPU_BLOCK, GPU_BLOCK = 2**15, 2**24
#: Entries of a block of rows in gradients, which are matrix products.
WIDE = 2**20


@dataclass(frozen=True)
class RotationInvariantKernel(BlockKernel):
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

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """sum_j c_j (dk/du z~_j + 2 dk/dp x~_i) / scale."""
        x, z = self.directions(X, Z)
        d, c = X.shape[1], c.to(z.rows.dtype)
        J = X.new_empty(len(X), c.shape[1], d)
        weighted = [c[:, k : k + 1] * z.rows[:, :d] for k in range(c.shape[1])]
        for block in slices(len(X), max(1, WIDE // max(1, len(Z)))):
            part = x.part(block)
            left = [side.column() for side in part.sides]
            along, own = self.slopes(left, z.sides, half_angles(part, z))
            pulled = torch.stack([along @ w for w in weighted], 1)
            J[block] = pulled + 2 * (own @ c)[:, :, None] * part.rows[:, None, :d]
        return J.mul_(1 / self.scale(d))


def blocks(K: Tensor, axis: int) -> list[slice]:
    """Slices along an axis of K, whose squares are blocks."""
    return slices(K.shape[axis], math.isqrt(CPU_BLOCK if K.device.type == "cpu" else GPU_BLOCK))


def each(fill: Callable[[tuple[slice, slice]], None], parts: list[tuple[slice, slice]]) -> None:
    """Call `fill` on every part, as many at a time as torch has threads on a CPU."""
    workers = min(torch.get_num_threads(), len(parts) // 4)
    if workers < 2:
        for part in parts:
            fill(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, parts))
