"""What fixed features and statistical queries cannot do on sparse-coding inputs."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb


def fixed_feature_bound(D: int, k: int, p_o: float, N: ArrayLike, B: ArrayLike) -> np.ndarray:
    """Hinge loss of a linear head on fixed features >= p_o (1 - sqrt(2 N) B / 2^k).

    For every map to N features in [-1, 1] that does not depend on the task there is a hard
    instance (a choice of A) on which every head of norm at most B has at least this loss.

    Regime: k odd, 3 < k <= D/16; outside it nan and a warning.

    Parameters
    ----------
    D, k : int
        Number of patterns, and of those that decide the label.
    p_o : float
        Weight of the part with uniform patterns and parity labels.
    N : array_like
        Number of features.
    B : array_like
        Largest norm |a|_2 of the head, broadcast against `N`.

    Returns
    -------
    ndarray
        The bound; zero or less says nothing about a loss.

    Raises
    ------
    ValueError
        When p_o is outside (0, 1], N is below 1 or B is negative.

    Source: Shi22, Theorem 2.

    Examples
    --------
    >>> float(fixed_feature_bound(D=500, k=11, p_o=0.5, N=512, B=16.0))
    0.375
    """
    N, B = np.broadcast_arrays(np.asarray(N, float), np.asarray(B, float))
    if not 0 < p_o <= 1 or (N < 1).any() or (B < 0).any():
        raise ValueError(
            f"p_o is {p_o}, N is at least {N.min()} and B at least {B.min()}: give 0 < p_o <= 1, "
            "N >= 1 and B >= 0."
        )
    if k % 2 == 0 or not 3 < k <= D / 16:
        warnings.warn(
            f"The bound is proved for odd k with 3 < k <= D/16; k is {k} and D is {D}, so it is "
            f"nan: give an odd k of 5 or more and D of at least {16 * k}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return np.full(N.shape, np.nan)
    return np.asarray(p_o * (1 - np.sqrt(2 * N) * B / 2**k))


def query_bound(D: int, k: int) -> tuple[float, float]:
    """(1/2 - C(D,k)^{-3}, C(D,k)^{1/3}/2): an error, and the cost of going below it.

    Without structure (all patterns uniform) a statistical-query learner that reaches an error
    below the first number needs at least the second many queries, or a tolerance tau with 1/tau
    at least that.

    Parameters
    ----------
    D, k : int
        Number of patterns, and of those that decide the label, 1 <= k <= D.

    Returns
    -------
    tuple of float
        Error (1/2 to rounding for large C(D, k)) and cost.

    Raises
    ------
    ValueError
        When k is not in 1 to D.

    Source: Shi22, Theorem 3.

    Examples
    --------
    >>> query_bound(D=4, k=1)[0]
    0.484375
    >>> round(query_bound(D=100, k=5)[1], 2)
    211.13
    """
    if not 1 <= k <= D:
        raise ValueError(f"k is {k} and D is {D}: give 1 <= k <= D.")
    subsets = float(comb(D, k))
    return 0.5 - math.pow(subsets, -3), math.pow(subsets, 1 / 3) / 2
