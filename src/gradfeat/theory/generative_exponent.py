"""What functions T(y) of a label show of its direction: the generative exponent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ..maths.hermite import MAX_DEGREE, RealFunction, orthonormal_hermite
from ..maths.ranges import whole

#: Inputs beyond it have probability 1e-18; a grid of so many points finds the turns of g.
_REACH, _GRID = 9.0, 1_801
#: Slices of labels without noise end at g of so many points; with noise at so many, each shifted by
#: so many parts of the noise at least, and at so many places in all where g has few values.
_SLICES, _COARSE, _SHIFTS, _PLACES = 801, 181, 5, 801
_HALVINGS = 32

#: Strengths below it count as 0: rounding leaves less, and no transform of use has so little.
VISIBLE = 1e-6


def label_strengths(
    g: RealFunction, k_max: int = 4, *, noise: float = 0.0
) -> Float[np.ndarray, " k"]:
    """lambda_k^2 = E[zeta_k(Y)^2], zeta_k(y) = E[He_k(Z) | Y = y]/sqrt(k!), for k = 1, ..., k_max.

    Y = g(Z) + noise eps, Z and eps ~ N(0, 1). lambda_k^2 is the largest E[T(Y) He_k(Z)]^2/k! over
    functions T of the label with E T^2 = 1, which zeta_k itself attains.

    T is constant on some hundreds of slices of the labels, so what is returned is below lambda_k^2:
    by at most 0.1 % without noise and 0.5 % with noise of at least a twentieth of the standard
    deviation, for k <= 4 and polynomials of degree <= 6. Without noise the integrals over slices
    are exact, by int He_k phi = -He_{k-1} phi, and a lambda_k that is 0 comes out below 1e-7.

    `g`: any function with finitely many turns on |z| < 9, also one with jumps.
    Raises ValueError when k_max is below 1, g is not finite, or the noise is negative.
    Regime: exact up to the slices; one direction, Gaussian inputs.
    Source: Damian, Pillaud-Vivien, Lee & Bruna 2024, Definition 1 (zeta_k); the slices are those of
    Li 1991.

    >>> label_strengths(lambda z: z**2, 2).round(2).tolist()
    [0.0, 1.0]
    """
    whole(1, MAX_DEGREE, k_max=k_max)
    if not 0 <= noise < math.inf:
        raise ValueError(f"The noise is {noise}: give a standard deviation of 0 or more.")
    grid = np.linspace(-_REACH, _REACH, _GRID)
    if not np.isfinite(g(grid)).all():
        raise ValueError("The function is not finite on |z| < 9: give one that is.")
    if noise:
        edges = _edges(g, noise)
        z = (grid[1:] + grid[:-1]) / 2  # a jump at 0 is between them
        density = np.exp(-(z**2) / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
        weighted = density[:, None] * orthonormal_hermite(k_max, z)
        below = ndtr((edges[:, None] - g(z)) / noise) @ weighted
    else:
        turns = _turns(g, grid)
        edges = _edges(g, 0.0, [end for _, end, _ in turns[:-1]])
        below = _below(g, turns, edges, k_max)
    slices = np.diff(below, axis=0, prepend=0.0)
    # Slices of less probability hold rounding alone.
    kept = slices[slices[:, 0] > 1e-14]
    return np.square(kept[:, 1:]).T @ (1 / kept[:, 0])


def generative_exponent(g: RealFunction, k_max: int = 6) -> int | None:
    """The least k >= 1 with E[T(Y) He_k(Z)] != 0 for some T; None where none is up to k_max.

    Y = g(Z). Gaussian noise that is added does not change it, as its characteristic function has
    no zeros and divides out of E[exp(itY) He_k(Z)]. It is at most the information exponent, which
    is of T(y) = y alone. A polynomial has 1 unless it is even, and then 2: its largest labels come
    from two inputs z < z', and zeta_1 = 0 there asks that phi(z) - phi(z') is constant in y, so
    z = -z'. Labels of two values have no other transforms: there the two exponents are equal.

    Regime: exact; strengths below 1e-6 count as none.
    Source: Damian, Pillaud-Vivien, Lee & Bruna 2024, Definition 2; the remark on polynomials is
    derived here.

    >>> from gradfeat.maths.hermite import HermiteSeries
    >>> He3 = HermiteSeries((0, 0, 0, 1))
    >>> He3.information_exponent(), generative_exponent(He3)
    (3, 1)
    >>> generative_exponent(lambda z: z**2 * np.exp(-(z**2)))
    4
    """
    seen = np.flatnonzero(label_strengths(g, k_max) > VISIBLE)
    return int(seen[0]) + 1 if len(seen) else None


def _edges(g: RealFunction, noise: float, turns: Sequence[float] = ()) -> np.ndarray:
    """Upper ends of slices of the labels, ascending, the last one infinite.

    Densities jump at the labels of turns.
    """
    z = np.r_[np.linspace(-_REACH, _REACH, _COARSE if noise else _SLICES), turns]
    labels = np.unique(g(z))
    shifts = noise * np.linspace(-4, 4, max(_SHIFTS, _PLACES // len(labels)) if noise else 1)
    return np.r_[np.unique(labels[:, None] + shifts), np.inf]


def _turns(g: RealFunction, grid: np.ndarray) -> list[tuple[float, float, bool]]:
    """Intervals on which g does not turn, left to right, and whether it rises there."""
    steps = np.sign(np.diff(g(grid)))
    moves = np.flatnonzero(steps)
    if not len(moves):
        return [(-math.inf, math.inf, True)]
    at = moves[1:][steps[moves[1:]] != steps[moves[:-1]]]
    left, right, sign = grid[at - 1], grid[at + 1], steps[at - 1 + (steps[at - 1] == 0)]
    for _ in range(60):
        one, two = (2 * left + right) / 3, (left + 2 * right) / 3
        inner = sign * g(one) < sign * g(two)
        left, right = np.where(inner, one, left), np.where(inner, right, two)
    ends = [-math.inf, *((left + right) / 2).tolist(), math.inf]
    rising = [bool(steps[moves[0]] > 0) ^ bool(i % 2) for i in range(len(ends) - 1)]
    return list(zip(ends[:-1], ends[1:], rising, strict=True))


def _below(
    g: RealFunction, turns: list[tuple[float, float, bool]], edges: np.ndarray, k_max: int
) -> np.ndarray:
    """E[1{g(Z) <= edge} h_k(Z)] for k = 0, ..., k_max: (edges, k_max + 1)."""
    total = np.zeros((len(edges), k_max + 1))
    for left, right, rising in turns:
        low = np.full(len(edges), max(left, -_REACH))
        high = np.full(len(edges), min(right, _REACH))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            inside = (g(middle) <= edges) == rising
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        edge = (low + high) / 2
        total += _mass(edge, k_max) - _mass(left, k_max) if rising else (
            _mass(right, k_max) - _mass(edge, k_max)
        )  # fmt: skip
    return total


def _mass(z: np.ndarray | float, k_max: int) -> np.ndarray:
    """int_{-inf}^z h_k phi: Phi(z), and -h_{k-1}(z) phi(z)/sqrt(k) for k >= 1."""
    at = np.clip(np.asarray(z, float), -40.0, 40.0)
    density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    rest = -orthonormal_hermite(k_max - 1, at) / np.sqrt(np.arange(1.0, k_max + 1))
    return np.concatenate([ndtr(at)[..., None], density[..., None] * rest], axis=-1)
