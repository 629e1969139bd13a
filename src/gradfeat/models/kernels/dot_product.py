"""Kernels that are power series in the inner product."""

# Apart: a family of kernels a file.
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from torch import Tensor

from .radial import check_bandwidth
from .rotation_invariant import Pairs, RotationInvariantKernel, Side


@final
@dataclass(frozen=True)
class DotProduct(RotationInvariantKernel):
    """k(x, z) = sum_k coefficients[k] u^k, u = x.z / bandwidth^2.

    `coefficients`: At least one, none negative: then k is positive semi-definite.
    `bandwidth`: Positive; None is sqrt(d), so that u = x.z / d.

    Source: Schoenberg 1942.

    >>> float(DotProduct((1.0, 2.0, 1.0))(torch.ones(1, 1), 2 * torch.ones(1, 1)))
    9.0
    """

    coefficients: tuple[float, ...]
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        good = [math.isfinite(a) and a >= 0 for a in self.coefficients]
        if not (good and all(good)):
            raise ValueError(
                f"coefficients are {self.coefficients}: give at least one, all finite and none "
                "negative."
            )
        check_bandwidth(self.bandwidth)

    def scale(self, d: int) -> float:
        return math.sqrt(d) if self.bandwidth is None else self.bandwidth

    @property
    def shift(self) -> float:
        return 0.0

    def sides(self, norm: Tensor) -> tuple[Side, ...]:
        return (Side(norm, norm, norm.new_empty(len(norm), 0)),)

    def values_(self, left: Sequence[Side], right: Sequence[Side], h: Tensor) -> Tensor:
        return _horner(self.coefficients, Pairs(left[0], right[0], h).product())

    def slopes(
        self, left: Sequence[Side], right: Sequence[Side], h: Tensor
    ) -> tuple[Tensor, Tensor]:
        """sum_k k coefficients[k] u^(k-1), and nothing in p."""
        powers = tuple(k * a for k, a in enumerate(self.coefficients))[1:] or (0.0,)
        return _horner(powers, Pairs(left[0], right[0], h).product()), torch.zeros_like(h)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "DotProduct", **asdict(self)}


def polynomial(degree: int, offset: float = 1.0, bandwidth: float | None = None) -> DotProduct:
    """(x.z / bandwidth^2 + offset)^degree."""
    if degree < 0:
        raise ValueError(f"degree is {degree}: give 0 or more.")
    terms = range(degree + 1)
    return DotProduct(
        tuple(math.comb(degree, k) * offset ** (degree - k) for k in terms), bandwidth
    )


def _horner(coefficients: Sequence[float], u: Tensor) -> Tensor:
    total = torch.full_like(u, coefficients[-1])
    for a in reversed(coefficients[:-1]):
        total.mul_(u).add_(a)
    return total
