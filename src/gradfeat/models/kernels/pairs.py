"""Pairs of inputs by their norms and angle, computed without losing small angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

#: Squared half chords below this many rounding units of the spread of directions are zero.
ROUNDING = 4.0
#: Rows of at most this many columns are compared by their differences, which lose nothing.
FEW_COLUMNS = 4


@final
@dataclass(frozen=True, eq=False)
class Side:
    """What a kernel needs to know of each row at one layer, whatever it is paired with.

    Attributes
    ----------
    norm : Tensor (n,)
        Length of the row, the standard deviation of its pre-activations.
    own : Tensor (n,)
        E sigma(norm Z)^2.
    coefficients : Tensor (n, K)
        Hermite coefficients of sigma(norm .), K = 0 where there is a closed form.
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

    Attributes
    ----------
    rows, unit : Tensor (n, D)
        The rows, and rows / |row| less a centre that all rows of a kernel matrix share.
    spread : Tensor (n,)
        |unit|^2.
    sides : tuple of Side
        One a layer.
    """

    rows: Float[Tensor, "n D"]
    unit: Float[Tensor, "n D"]
    spread: Float[Tensor, " n"]
    sides: tuple[Side, ...]

    def part(self, rows: slice) -> Directions:
        sides = tuple(side.part(rows) for side in self.sides)
        return Directions(self.rows[rows], self.unit[rows], self.spread[rows], sides)


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
        """|x|."""
        return self.left.norm

    @property
    def b(self) -> Tensor:
        """|z|."""
        return self.right.norm

    def product(self) -> Tensor:
        """u = x.z = a b (1 - 2h)."""
        return torch.rsub(self.h, 1, alpha=2).mul_(self.b).mul_(self.a)

    def sine(self) -> Tensor:
        """Sine of the angle, 2 sqrt(h (1 - h))."""
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
