"""The staircase of rotation-invariant kernels: which degrees n = d^kappa rows are enough for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..maths.hermite import HermiteSeries, root_factorials
from ..maths.multi_hermite import MultiHermite

#: Relative distance of n from a power of d that is taken for rounding.
_EDGE = 1e-9


def degree_shares(g: MultiHermite) -> tuple[float, ...]:
    """E (part of degree k)^2 for k = 0, ..., degree of g: its shares of E g^2.

    >>> degree_shares(MultiHermite(((1, 1), (0, 0)), (2.0, 1.0)))
    (1.0, 0.0, 4.0)
    """
    return tuple(g.part(k).norm_squared() for k in range(g.degree + 1))


def series_shares(g: HermiteSeries) -> tuple[float, ...]:
    """c_k^2 k!: the shares of a function of one direction.

    >>> [round(s, 12) for s in series_shares(HermiteSeries((1.0, 0.0, 2.0)))]
    [1.0, 0.0, 8.0]
    """
    norms = root_factorials(len(g.coefficients) - 1)
    squares = np.square(np.multiply(g.coefficients, norms))
    return tuple(squares.tolist())


def degree_learned(d: int, n: ArrayLike) -> np.ndarray:
    """l = floor(log n / log d): the highest degree that n rows in d inputs are enough for.

    `d`: inputs, at least 2; `n`: rows, at least 1.
    Regime: d^{l+delta} <= n <= d^{l+1-delta}, d large; where n is a power of d, nan and a warning.
    Raises ValueError when d is below 2 or n below 1.
    Source: Ghorbani et al. 2021, Theorem 4.

    >>> degree_learned(10, [30, 300, 3000]).tolist()
    [1.0, 2.0, 3.0]
    """
    n = np.asarray(n, dtype=np.float64)
    if d < 2 or not (n >= 1).all():
        raise ValueError(f"d is {d} and n at least {n.min()}: give d >= 2 and n >= 1.")
    kappa = np.log(n) / np.log(d)
    edge = np.abs(n / float(d) ** np.round(kappa) - 1) < _EDGE
    if edge.any():
        warnings.warn(
            f"The staircase jumps where n is a power of d = {d}, so it is nan at n ="
            f" {n[edge].tolist()}: give n between two powers.",
            RuntimeWarning,
            stacklevel=2,
        )
    return np.where(edge, np.nan, np.floor(kappa))


def staircase_risk(shares: Sequence[float], d: int, n: ArrayLike) -> np.ndarray:
    """sum_{k > l} share_k, l = floor(log n / log d): what a kernel leaves of E f*^2 at n rows.

    Kernel ridge or any method on a fixed rotation-invariant kernel whose every degree up to l is
    non-zero. For He_2/2 + He_p/sqrt(2 p!): 1 below d^2, 1/2 between d^2 and d^p, 0 above. (The
    ReLU tangent kernel without bias has no odd degree from 3 on and never learns those.)

    `shares`: of degree 0, 1, ...: `series_shares`, `degree_shares`; `d`: inputs, at least 2; `n`:
    rows, at least 1.
    Regime: as `degree_learned`; at finite d the steps are smooth, see
    `gradfeat.theory.kernel_curve`.
    Raises ValueError as `degree_learned`, or where a share is negative.
    Source: Ghorbani et al. 2021, Theorem 4.

    >>> staircase_risk((0.0, 0.0, 0.5, 0.0, 0.5), 10, [30, 300, 3000, 30000]).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    if not np.min(shares) >= 0:
        raise ValueError(f"The shares were {tuple(shares)}: give squares, 0 or more.")
    left = np.append(np.cumsum(np.asarray(shares, float)[::-1])[::-1], 0.0)
    learned = degree_learned(d, n)
    step = np.minimum(np.nan_to_num(learned) + 1, len(shares)).astype(int)
    return np.where(np.isnan(learned), np.nan, left[step])
