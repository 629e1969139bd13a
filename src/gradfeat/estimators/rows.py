"""A training table as a weighted set of distinct rows, in an order of its own.

Merging equal rows and sorting by content makes a fit independent of the order of the rows, and
makes integer weights the same thing as repeated rows, also where rows are split for validation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def _mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64 (Steele, Lea & Flood 2014)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_hashes(table: NDArray[np.float64], seed: int) -> NDArray[np.uint64]:
    """64-bit hash of each row's values.

    Examples
    --------
    >>> h = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]), seed=0)
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    h = np.full(len(table), np.uint64(seed), dtype=np.uint64)
    for column in table.T:
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)
        h = _mix(h * _MULTIPLIER + bits)
    return h


def ranks(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank of each entry among the distinct values of its column: free of shift and scale.

    Examples
    --------
    >>> ranks(np.array([[5.0], [-1.0], [5.0]])).ravel().tolist()
    [1.0, 0.0, 1.0]
    """
    columns = [np.unique(column, return_inverse=True)[1] for column in table.T]
    return np.column_stack(columns).astype(np.float64)


def spread(y: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    """An order of rows in which every run of neighbours is a fair sample of the targets.

    The row of rank p along the targets (the first column, ties by the next) stands where
    p (sqrt 5 - 1) / 2 + seed sqrt 2 has its fractional part among all: consecutive rows are evenly
    spread over the ranks, extremes included, so that held-out rows judge heavy tails as the
    training rows have them.

    Source: Niederreiter 1992, chapter 3 (one-dimensional low-discrepancy sequences).

    Examples
    --------
    >>> spread(np.array([[30.0], [10.0], [20.0], [40.0]]), 0).tolist()
    [1, 0, 2, 3]
    """
    along = np.lexsort(y.T[::-1])
    place = (np.arange(len(y)) * ((5**0.5 - 1) / 2) + seed * 2**0.5) % 1.0
    return along[np.argsort(place, kind="stable")]


def distinct_rows(
    X: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Distinct rows (x, y) of positive weight, weights of equal rows summed, :func:`spread` out.

    Rows of equal targets are in hash order, to which values contribute by their ranks: units and
    origins change no order.

    Parameters
    ----------
    X, y, w : arrays (n, d), (n, c), (n,)
        Inputs, targets, non-negative weights.
    seed : int
        Varies the order (and with it every later split).

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.zeros((3, 1))
    >>> [a.ravel().tolist() for a in distinct_rows(X, y, np.array([1.0, 0.0, 2.0]), 0)]
    [[1.0], [0.0], [3.0]]
    """
    keep = w > 0
    X, y, w = X[keep], y[keep], w[keep]
    if len(X) == 0:
        return X, y, w
    order = np.argsort(row_hashes(ranks(np.hstack([X, y])), seed), kind="stable")
    X, y, w = X[order], y[order], w[order]
    new = np.ones(len(X), dtype=bool)
    new[1:] = (X[1:] != X[:-1]).any(1) | (y[1:] != y[:-1]).any(1)
    X, y, w = X[new], y[new], np.add.reduceat(w, np.flatnonzero(new))
    order = spread(y, seed)
    return X[order], y[order], w[order]
