"""Multi-indices alpha in N^r, and coefficients of products of Hermite polynomials by alpha."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.polynomial import hermite_e

from .hermite import check_degree, gauss_hermite, orthonormal_hermite, root_factorials

#: alpha = (alpha_1, ..., alpha_r): the degree in each coordinate.
MultiDegree = tuple[int, ...]

#: A function of r real variables, called with a float64 array (p, r) and returning (p,).
RealFunctionOfRows = Callable[[np.ndarray], np.ndarray]

#: Points at which a product quadrature may evaluate a function, and most nodes an axis by default.
MAX_POINTS, _MOST_NODES = 1_000_000, 64


def multi_indices(r: int, k: int) -> list[MultiDegree]:
    """Every alpha in N^r with |alpha| = k, in descending lexicographic order."""
    chosen = itertools.combinations_with_replacement(range(r), k)
    return [tuple(axes.count(i) for i in range(r)) for axes in chosen]


def monomial_terms(alpha: MultiDegree, coefficient: float) -> dict[MultiDegree, float]:
    """Hermite coefficients of coefficient * z^alpha, with the zeros left out.

    z^a = sum_j a! / (2^j j! (a - 2j)!) He_{a-2j}(z) in each coordinate.

    >>> monomial_terms((2, 1), 3.0)
    {(0, 1): 3.0, (2, 1): 3.0}
    """
    return _outer([hermite_e.poly2herme(_unit(a)) for a in alpha], coefficient)


def product_terms(
    alpha: MultiDegree, beta: MultiDegree, coefficient: float
) -> dict[MultiDegree, float]:
    """Hermite coefficients of coefficient * He_alpha He_beta, with the zeros left out.

    >>> product_terms((1, 0), (1, 1), 2.0)
    {(0, 1): 2.0, (2, 1): 2.0}
    """
    return _outer(list(map(_product, alpha, beta)), coefficient)


@cache
def _product(a: int, b: int) -> np.ndarray:
    return hermite_e.hermemul(_unit(a), _unit(b))


def _unit(k: int) -> list[float]:
    return [0.0] * k + [1.0]


def _outer(axes: list[np.ndarray], coefficient: float) -> dict[MultiDegree, float]:
    """coefficient times the product over the axes, where it is not 0."""
    kept = ([(k, c) for k, c in enumerate(axis.tolist()) if c] for axis in axes)
    picks = (tuple(zip(*pick, strict=True)) for pick in itertools.product(*kept))
    return {k: c for k, factors in picks if (c := float(coefficient * math.prod(factors))) != 0}


def project(
    f: RealFunctionOfRows, r: int, k_max: int, n_nodes: int | None = None
) -> dict[MultiDegree, float]:
    """c_alpha = E[f(Z) prod_i He_{alpha_i}(Z_i)] / alpha! for |alpha| <= k_max, Z ~ N(0, I_r).

    Product Gauss-Hermite quadrature: exact to rounding where f is a polynomial of degree at most
    2 n_nodes - 1 - k_max in each coordinate; geometric convergence in n_nodes where f is entire,
    slow (about n_nodes^{-1/2} and worse) across kinks and jumps.
    """
    n = _nodes(check_variables(r), check_degree(k_max), n_nodes)
    z, w = gauss_hermite(n)
    grid = np.stack(np.meshgrid(*[z] * r, indexing="ij"), axis=-1)
    c = row_values(f, grid.reshape(-1, r)).reshape((n,) * r)
    basis = w[:, None] * orthonormal_hermite(k_max, z) / root_factorials(k_max)
    for _ in range(r):  # each pass contracts the first axis and appends its degrees
        c = np.tensordot(c, basis, axes=(0, 0))
    return {alpha: float(c[alpha]) for k in range(k_max + 1) for alpha in multi_indices(r, k)}


def check_variables(r: int) -> int:
    """`r` itself, or ValueError where it is below 1."""
    if r < 1:
        raise ValueError(f"A function of {r} variables was asked for; give at least 1.")
    return r


def merge(*terms: Mapping[MultiDegree, float]) -> dict[MultiDegree, float]:
    """Coefficients of a sum, by degree, then in the order of `multi_indices`."""
    total: dict[MultiDegree, float] = {}
    for alpha, c in itertools.chain.from_iterable(one.items() for one in terms):
        total[alpha] = total.get(alpha, 0.0) + c
    return {a: total[a] for a in sorted(total, key=lambda a: (sum(a), [-i for i in a]))}


def row_values(f: RealFunctionOfRows, z: np.ndarray) -> np.ndarray:
    """f(z) of the rows z (p, r), or ValueError unless real, finite and one value a row."""
    values = np.asarray(f(z))
    if values.shape != z.shape[:1] or values.dtype.kind not in "biuf":
        raise ValueError(
            f"The function returned shape {values.shape} of type {values.dtype} for points of"
            f" shape {z.shape}; return one real number for each row."
        )
    if not np.isfinite(values).all():
        worst = z[~np.isfinite(values)][0].round(4).tolist()
        raise ValueError(f"The function is not finite at z = {worst}; return finite values.")
    return values


def default_nodes(r: int, k_max: int) -> int:
    """Nodes an axis where none are asked for."""
    return max(min(_MOST_NODES, int(MAX_POINTS ** (1 / r) + 1e-9)), k_max + 1)


def _nodes(r: int, k_max: int, n_nodes: int | None) -> int:
    """Nodes an axis, refused below k_max + 1 and where the grid has more than `MAX_POINTS`."""
    n = default_nodes(r, k_max) if n_nodes is None else n_nodes
    if n <= k_max:
        raise ValueError(
            f"A rule of {n} nodes was asked for at degree {k_max}; give at least {k_max + 1}."
        )
    if n**r > MAX_POINTS:
        raise ValueError(
            f"A product rule of {n} nodes in {r} variables has {n**r:.3g} points and"
            f" {MAX_POINTS} are allowed; give fewer nodes, a lower degree, or the exact polynomial."
        )
    return n
