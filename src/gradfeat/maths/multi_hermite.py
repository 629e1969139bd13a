"""Hermite series of several variables: products of He_k, for Z ~ N(0, I_r)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .hermite import HermiteSeries, check_degree, hermite, root_factorials
from .limits import refuse_beyond
from .multi_indices import (
    MultiDegree,
    RealFunctionOfRows,
    check_variables,
    merge,
    monomial_terms,
    multi_indices,
    product_terms,
    project,
)

#: Highest order of a tensor (NumPy 1 has 32 axes) and of a contraction (k! is finite).
MAX_TENSOR_ORDER, MAX_ORDER = 31, 170


@final
@dataclass(frozen=True)
class MultiHermite:
    """g(z) = sum_alpha c_alpha prod_i He_{alpha_i}(z_i), z in R^r, Z ~ N(0, I_r).

    Source: Damian22, section 2 (the tensors C_k and g = sum_k C_k(He_k(z)) / k!).

    >>> g = MultiHermite(((1, 1), (2, 0)), (1.0, 0.5))
    >>> float(g(np.array([3.0, 2.0]))), g.norm_squared(), g.information_exponent()
    (10.0, 1.5, 2)
    >>> g.tensor(2).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """

    #: The multi-indices alpha: at least one, all different, all of the same length r >= 1, each of
    #: |alpha| at most `gradfeat.maths.hermite.MAX_DEGREE`.
    degrees: tuple[MultiDegree, ...]
    coefficients: tuple[float, ...]  # c_alpha, one for each, all finite

    # NumPy scalars and arrays leave products to this class.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        if len(self.degrees) != len(self.coefficients) or not self.degrees:
            raise ValueError(
                f"There are {len(self.degrees)} multi-indices and {len(self.coefficients)}"
                " coefficients; give at least one, and as many of the one as of the other."
            )
        if not np.isfinite(self.coefficients).all():
            raise ValueError(f"Coefficients were {self.coefficients}; give finite numbers only.")
        if not _are_multi_indices(self.degrees):
            raise ValueError(
                f"Multi-indices were {self.degrees}; give different ones of the same length, at"
                " least 1, of integers of at least 0."
            )
        check_degree(max(map(sum, self.degrees)))

    @staticmethod
    def from_series(series: HermiteSeries) -> MultiHermite:
        """g(z) = series(z_1), the case r = 1."""
        return _of({(k,): c for k, c in enumerate(series.coefficients)})

    @staticmethod
    def from_polynomial(monomials: Mapping[MultiDegree, float]) -> MultiHermite:
        """g(z) = sum_alpha a_alpha z^alpha, exact: `monomials` maps alpha to a_alpha.

        >>> MultiHermite.from_polynomial({(2, 1): 1.0})
        MultiHermite(degrees=((0, 1), (2, 1)), coefficients=(1.0, 1.0))
        """
        given = MultiHermite(tuple(monomials), tuple(map(float, monomials.values())))
        parts = [monomial_terms(alpha, c) for alpha, c in given._terms()]
        return _of(merge(*parts)) if any(parts) else given.part(0)

    @staticmethod
    def from_function(
        f: RealFunctionOfRows, r: int, k_max: int, n_nodes: int | None = None
    ) -> MultiHermite:
        """The projection of f onto |alpha| <= k_max by product quadrature.

        See `gradfeat.maths.multi_indices.project` for its accuracy, the default of `n_nodes` and
        what is refused.

        >>> MultiHermite.from_function(lambda z: np.sin(z[:, 0]), 2, 1).information_exponent()
        1
        """
        return _of(project(f, r, k_max, n_nodes))

    @staticmethod
    def random(r: int, degree: int, rng: np.random.Generator, lowest: int = 0) -> MultiHermite:
        """Independent Gaussian c_alpha sqrt(alpha!), lowest <= |alpha| <= degree, with E g^2 = 1.

        Those of degree k have variance 1 / #{alpha: |alpha| = k} before g is normalised: every
        degree has the same expected share of E g^2, and the law is invariant to rotations of z.
        """
        if not 0 <= lowest <= degree:
            raise ValueError(
                f"The lowest degree was {lowest} and the highest {degree}; give 0 <= lowest <="
                " degree."
            )
        terms: dict[MultiDegree, float] = {}
        for k in range(lowest, check_degree(degree) + 1):
            alphas = multi_indices(check_variables(r), k)
            drawn = rng.standard_normal(len(alphas)) / math.sqrt(len(alphas))
            terms |= dict(zip(alphas, (drawn / _norms_of(alphas)).tolist(), strict=True))
        return _of(terms).normalised()

    @property
    def r(self) -> int:
        return len(self.degrees[0])

    @property
    def degree(self) -> int:
        """Highest |alpha| with a non-zero coefficient; 0 for the zero function."""
        return max((sum(alpha) for alpha, c in self._terms() if c != 0), default=0)

    @property
    def series(self) -> MultiHermite:
        """g itself: it is its own Hermite series (see `gradfeat.maths.links.Link`)."""
        return self

    def __call__(self, z: Float[np.ndarray, "*shape r"]) -> Float[np.ndarray, "*shape"]:
        highest = max(map(max, self.degrees))
        return self._sum_of_products(hermite(highest, self._points(z)))

    def gradient(self, z: Float[np.ndarray, "*shape r"]) -> Float[np.ndarray, "*shape r"]:
        """grad g, by He_k' = k He_{k-1}."""
        z = self._points(z)
        return np.stack([self.derivative(i)(z) for i in range(self.r)], axis=-1)

    def derivative(self, i: int) -> MultiHermite:
        """dg/dz_i = sum_alpha alpha_i c_alpha He_{alpha - e_i}."""
        lowered = {
            (*alpha[:i], alpha[i] - 1, *alpha[i + 1 :]): alpha[i] * c
            for alpha, c in self._terms()
            if alpha[i] > 0
        }
        return _of(lowered or self._zero())

    def tensor(self, k: int) -> Float[np.ndarray, ...]:
        """C_k = E grad^k g(Z) (r, ..., r), symmetric: alpha! c_alpha at axes (i_1, ..., i_k).

        alpha_i counts the axes equal to i. C_0 = E g as a 0-d array, C_1 = E grad g,
        C_2 = E grad^2 g; beyond the degree of g it is zero.

        Source: Damian22, section 2.
        """
        if not 0 <= k <= MAX_TENSOR_ORDER:
            raise ValueError(
                f"A tensor of order {k} was asked for; give 0 to {MAX_TENSOR_ORDER}, or contract"
                " it with vectors instead."
            )
        shape = (self.r,) * k
        needed = 8 * (k + 4) * self.r**k
        refuse_beyond(needed, None, f"a tensor of order {k} in {self.r} axes", "contract it")
        flat = np.zeros(self.r**k)
        for alpha, c in self._of_degree(k):
            axes = np.repeat(np.arange(self.r), alpha)
            flat[_position(axes, shape)] = c * math.prod(map(math.factorial, alpha))
        if k == 0:
            return flat.reshape(())
        ascending = np.sort(np.indices(shape).reshape(k, -1), axis=0)
        return flat[_position(ascending, shape)].reshape(shape)

    def contract(self, k: int, w: Float[np.ndarray, "n r"]) -> Float[np.ndarray, " n"]:
        """C_k(w, ..., w) = k! sum_{|alpha| = k} c_alpha w^alpha for each row w.

        No tensor is formed: one pass over the terms of degree k.

        >>> MultiHermite(((1, 1),), (1.0,)).contract(2, np.array([[3.0, 2.0]])).tolist()
        [12.0]
        """
        if not 0 <= k <= MAX_ORDER:
            raise ValueError(f"A contraction of order {k} was asked for; give 0 to {MAX_ORDER}.")
        powers = self._points(w)[..., None] ** np.arange(k + 1)
        return float(math.factorial(k)) * self.part(k)._sum_of_products(powers)

    def contract_to_vector(self, k: int, w: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n r"]:
        """C_k(w, ..., w, .) with k - 1 copies of each row w: the vector that is left, k >= 1."""
        if k < 1:
            raise ValueError(f"A vector left by a tensor of order {k} was asked for; give k >= 1.")
        w = self._points(w)
        return np.stack([self.derivative(i).contract(k - 1, w) for i in range(self.r)], axis=-1)

    def part(self, k: int) -> MultiHermite:
        """The terms with |alpha| = k: the projection of g onto degree k."""
        return _of(dict(self._of_degree(k)) or self._zero())

    def __add__(self, other: MultiHermite) -> MultiHermite:
        if self.r != other.r:
            raise ValueError(
                f"Functions of {self.r} and {other.r} variables were added; give equal numbers."
            )
        return _of(merge(dict(self._terms()), dict(other._terms())))

    def __mul__(self, scalar: float) -> MultiHermite:
        return MultiHermite(self.degrees, tuple(float(scalar * c) for c in self.coefficients))

    __rmul__ = __mul__

    def times(self, other: MultiHermite) -> MultiHermite:
        """The product of two functions, without terms that vanish.

        He_a He_b = sum_k k! C(a, k) C(b, k) He_{a+b-2k} in each variable.

        >>> z = MultiHermite(((1,),), (1.0,))
        >>> z.times(z)
        MultiHermite(degrees=((0,), (2,)), coefficients=(1.0, 1.0))
        """
        if self.r != other.r:
            raise ValueError(
                f"Functions of {self.r} and {other.r} variables met: give equal numbers."
            )
        pairs = itertools.product(self._terms(), other._terms())
        total = merge(*(product_terms(a, b, c * k) for (a, c), (b, k) in pairs))
        return _of({alpha: c for alpha, c in total.items() if c != 0} or self._zero())

    def norm_squared(self) -> float:
        """E g(Z)^2 = sum_alpha c_alpha^2 alpha! (Parseval)."""
        return float(np.square(self._norms()).sum())

    def normalised(self) -> MultiHermite:
        """g / sqrt(E g^2)."""
        norm = math.sqrt(self.norm_squared())
        if norm == 0:
            raise ValueError("A zero function cannot be normalised; give a non-zero coefficient.")
        return self * (1 / norm)

    def information_exponent(self, tol: float = 1e-9) -> int | None:
        """Lowest k >= 1 with E part(k)^2 > tol^2 E g^2; None where g is constant to within tol."""
        squares = np.zeros(max(map(sum, self.degrees)) + 1)
        np.add.at(squares, list(map(sum, self.degrees)), np.square(self._norms()))
        present = np.flatnonzero(squares[1:] > tol**2 * squares.sum())
        return int(present[0]) + 1 if len(present) else None

    def _terms(self) -> zip[tuple[MultiDegree, float]]:
        return zip(self.degrees, self.coefficients, strict=True)

    def _of_degree(self, k: int) -> list[tuple[MultiDegree, float]]:
        return [(alpha, c) for alpha, c in self._terms() if sum(alpha) == k]

    def _zero(self) -> dict[MultiDegree, float]:
        return {(0,) * self.r: 0.0}

    def _norms(self) -> np.ndarray:
        """|c_alpha| sqrt(alpha!): the L2 norm of each term."""
        return np.abs(self.coefficients) * _norms_of(self.degrees)

    def _points(self, z: np.ndarray) -> np.ndarray:
        if z.ndim == 0 or z.shape[-1] != self.r:
            raise ValueError(
                f"Points had shape {z.shape}; give {self.r} coordinates in the last axis."
            )
        return np.asarray(z, dtype=np.float64)

    def _sum_of_products(self, table: np.ndarray) -> np.ndarray:
        """sum_alpha c_alpha prod_i table[..., i, alpha_i], a term at a time."""
        total = np.zeros(table.shape[:-2])
        for alpha, c in self._terms():
            factors = [table[..., i, a] for i, a in enumerate(alpha) if a > 0]
            total += c * math.prod(factors)
        return total


def _of(terms: Mapping[MultiDegree, float]) -> MultiHermite:
    return MultiHermite(tuple(terms), tuple(float(c) for c in terms.values()))


def _are_multi_indices(degrees: tuple[MultiDegree, ...]) -> bool:
    lengths = set(map(len, degrees))
    proper = all(a >= 0 for alpha in degrees for a in alpha)
    return len(lengths) == 1 and 0 not in lengths and proper and len(set(degrees)) == len(degrees)


def _norms_of(degrees: list[MultiDegree] | tuple[MultiDegree, ...]) -> np.ndarray:
    """sqrt(alpha!) for each alpha."""
    alphas = np.array(degrees)
    return np.prod(root_factorials(int(alphas.max()))[alphas], axis=-1)


def _position(axes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat position of the entries at `axes` (k, ...) in an array of that shape."""
    return np.asarray(np.ravel_multi_index(tuple(axes), shape) if len(shape) else 0)
