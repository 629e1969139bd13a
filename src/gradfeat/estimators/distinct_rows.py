"""A training table as a weighted set of distinct rows, in an order of its own.

Merging equal rows and sorting by content makes a fit independent of the order of the rows, and
makes integer weights the same thing as repeated rows, also where rows are split for validation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..maths.row_hash import column_hash


def row_hashes(
    table: NDArray[np.float64], seed: int, h: NDArray[np.uint64] | None = None
) -> NDArray[np.uint64]:
    """64-bit hash of each row's values; `h` is that of further columns before.

    Examples
    --------
    >>> h = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]), seed=0)
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    h = np.full(len(table), np.uint64(seed), dtype=np.uint64) if h is None else h
    for column in table.T:
        h = column_hash(column, h)
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
    if not (w > 0).all():
        keep = w > 0
        X, y, w = X[keep], y[keep], w[keep]
    if len(X) == 0:
        return X, y, w
    X, y, w = _merged(X, y, w, seed)
    order = _by_content(X, y, seed)
    order = order[spread(y[order], seed)]
    return X[order], y[order], w[order]


def _merged(
    X: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Equal rows once, in any order; where there are none, what came in."""
    h = row_hashes(y, seed, row_hashes(X, seed))
    order = np.argsort(h)
    same = np.flatnonzero(h[order[1:]] == h[order[:-1]])
    if len(same) == 0:
        return X, y, w
    order = np.lexsort((*y.T, *X.T, h))
    new = np.ones(len(X), dtype=bool)
    new[1:] = (X[order[1:]] != X[order[:-1]]).any(1) | (y[order[1:]] != y[order[:-1]]).any(1)
    rows = order[new]
    return X[rows], y[rows], np.add.reduceat(w[order], np.flatnonzero(new))


def _by_content(X: NDArray[np.float64], y: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    """Rows in the order of their hashes, as far as that shows: among rows of equal targets."""
    along = np.lexsort(y.T[::-1])
    same = (y[along[1:]] == y[along[:-1]]).all(1)
    tied = np.append(same, False) | np.insert(same, 0, False)
    few = along[tied]
    h = np.full(len(few), np.uint64(seed))
    for column in (*X[few].T, *y[few].T):
        h = row_hashes(ranks(column[:, None]), seed, h)
    along[tied] = few[np.argsort(h, kind="stable")]
    return along
