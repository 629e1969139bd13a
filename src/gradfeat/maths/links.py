"""Link functions g: R^r -> R of index models, with the Hermite series that theory needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, final

import numpy as np
from jaxtyping import Float

from .hermite import HermiteSeries
from .multi_hermite import MultiHermite
from .multi_indices import RealFunctionOfRows, merge, row_values


class Link(Protocol):
    """A function of r variables and its Hermite series.

    `MultiHermite` is one (any polynomial), `FunctionLink` makes one of any function, and a frozen
    dataclass with these three is one that prints and compares.
    """

    @property
    def r(self) -> int:
        """Number of variables."""
        ...

    @property
    def series(self) -> MultiHermite:
        """Its projection onto low degrees, under Z ~ N(0, I_r)."""
        ...

    def __call__(self, z: np.ndarray, /) -> np.ndarray: ...


@final
@dataclass(frozen=True)
class FunctionLink:
    """g = f, any function of r variables, with its Hermite series up to some degree.

    >>> g = FunctionLink.projected(lambda z: np.sin(z[:, 0] * z[:, 1]), r=2, k_max=4)
    >>> g.r, g.series.information_exponent()
    (2, 2)
    """

    f: RealFunctionOfRows  # maps a float64 array (p, r) to real, finite values (p,)
    #: The projection of f onto the degrees that matter; f itself is what is evaluated.
    series: MultiHermite

    @staticmethod
    def projected(
        f: RealFunctionOfRows, r: int, k_max: int = 6, n_nodes: int | None = None
    ) -> FunctionLink:
        """f with its projection onto degrees up to k_max, by product quadrature.

        Accurate for smooth f: `gradfeat.maths.multi_indices.project` says how accurate, how many
        nodes there are by default, and what is refused. For kinks and jumps give the series.
        """
        return FunctionLink(f, MultiHermite.from_function(f, r, k_max, n_nodes))

    @property
    def r(self) -> int:
        return self.series.r

    def __call__(self, z: Float[np.ndarray, "p r"]) -> Float[np.ndarray, " p"]:
        return row_values(self.f, z)


def sum_of_series(factors: Sequence[HermiteSeries]) -> MultiHermite:
    """g(z) = sum_i factors[i](z_i)."""
    r = len(factors)
    terms = merge(*(
        {(0,) * i + (k,) + (0,) * (r - i - 1): c}
        for i, factor in enumerate(factors)
        for k, c in enumerate(factor.coefficients) if c != 0
    ))  # fmt: skip
    return _of(terms, r)


def product_of_series(factors: Sequence[HermiteSeries], k_max: int) -> MultiHermite:
    """g(z) = prod_i factors[i](z_i), its terms with |alpha| <= k_max."""
    orders = product(*(range(min(len(f.coefficients), k_max + 1)) for f in factors))
    terms = {
        alpha: math.prod(f.coefficients[k] for f, k in zip(factors, alpha, strict=True))
        for alpha in orders if sum(alpha) <= k_max
    }  # fmt: skip
    return _of(merge({alpha: c for alpha, c in terms.items() if c != 0}), len(factors))


def _of(terms: dict[tuple[int, ...], float], r: int) -> MultiHermite:
    terms = terms or {(0,) * r: 0.0}
    return MultiHermite(tuple(terms), tuple(terms.values()))
