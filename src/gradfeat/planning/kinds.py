"""What a kind of pass computes, holds and sends: its statistic, and formulas of its sizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from ..maths.blocks import Statistic

#: Bytes of a float64.
WIDE = 8


@dataclass(frozen=True)
class Shape:
    """d columns, c outputs, m features (or centres); whether inputs are whitened on the way."""

    d: int
    c: int
    m: int
    whitened: bool = False

    def capped(self, side: int) -> Shape:
        """The same with no side above `side`: to be tried out.

        Examples
        --------
        >>> Shape(10_000, 1, 50).capped(2048)
        Shape(d=2048, c=1, m=50, whitened=False)
        """
        return replace(self, d=min(self.d, side), c=min(self.c, side), m=min(self.m, side))


class Kind(ABC):
    """One kind of pass. Sizes are bytes, of float64."""

    @abstractmethod
    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Multiplications and additions a row; `full` where Gram matrices have both halves."""

    @abstractmethod
    def packed(self, s: Shape) -> int:
        """A state as it is sent and kept: of symmetric matrices one triangle."""

    @abstractmethod
    def held(self, s: Shape) -> int:
        """A state in memory."""

    @abstractmethod
    def sent(self, s: Shape) -> int:
        """The statistic itself, as every worker gets it."""

    @abstractmethod
    def touched(self, s: Shape) -> int:
        """Numbers a row that go through memory beside the products (for rates that are given)."""

    @abstractmethod
    def statistic(self, s: Shape) -> Statistic[Any, Any]:
        """A statistic of the kind with random numbers, to measure it."""


def triangle(m: int) -> int:
    """Numbers of one half of a symmetric matrix.

    Examples
    --------
    >>> triangle(3)
    6
    """
    return m * (m + 1) // 2


def moment_bytes(m: int, c: int, *, packed: bool) -> int:
    """Count, weight, means, second moments: 2 + m + 2 c + m c + m^2 numbers, or one triangle.

    Examples
    --------
    >>> moment_bytes(2, 1, packed=True), moment_bytes(2, 1, packed=False)
    (88, 96)
    """
    return WIDE * (2 + m + 2 * c + m * c + (triangle(m) if packed else m * m))
