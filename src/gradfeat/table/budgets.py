"""What can be done in a given time, measured here and now: rows of a solve, passes of a network."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gradfeat.maths.limits import one_thread
from gradfeat.maths.streams import stream
from gradfeat.models.gradient_features.feature_set import (
    LEAST_MASS,
    MEMBERS,
    first_neurons,
    null_norm,
)

Floats = NDArray[np.float64]

#: Passes of mini-batch training; few values, so that the noise of a timing rarely changes them.
EPOCHS = (10, 14, 20, 28, 40, 56, 80, 112, 160, 200)
#: A timing is the least of so many.
TIMES = 5
#: Trees of boosting: at first so many are timed.
TREES = (10, 20, 40, 80, 160, 300)
#: Rows that this is timed on, and about so many fits to all rows of a search and without one.
TREE_ROWS, TREE_FITS = (1000, 4000), (5, 2)
#: Products of a step in units of the first layer's: forward, two backward, and as much again for
#: the optimiser.
PRODUCTS = 6
#: Rows of a step.
BATCH = 200

#: More rows than there are.
EVERY = 10**12
#: Rows that are timed, and the fewest and most in which gradient features are found.
TIMED, FEWEST_ROWS, MOST_ROWS = 100, 500, 5000
#: Finding the features costs this much of their null level, which is timed.
COST = 1.5


def direct_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows that a direct solve with AGOP passes can take in about `seconds`.

    Cholesky factorisations of 1,000 rows are timed, of which the quickest counts; the rest scales
    by counting operations. Kernel ridge and RFM solve once in all rows, by iterations that end when
    a factorisation would have where these are many; a metric is learnt from half of them at most.
    """
    K = torch.eye(1000, dtype=torch.float64)
    taken = min(
        _timed(lambda: torch.linalg.cholesky(K), time.perf_counter, 1) for _ in range(TIMES)
    )
    rate = 1e9 / 3 / max(taken, 1e-4)
    per_pair = (60.0 + 4.0 * (columns + 1) * outputs + 4.0 * columns) / rate
    n = 500
    while (1.1 * n) ** 3 / 3 / rate + (1.1 * n) ** 2 * per_pair < seconds:
        n = int(1.1 * n)
    return n


def epochs(seconds: float, rows: int, columns: int, outputs: int, hidden: int) -> int:
    """Passes of mini-batch training that take about `seconds` of one thread.

    The first layer's product with the rows of one step is timed in processor seconds of one
    thread, the quickest of a few times: other work on the machine does not change the network.
    """
    X = np.ones((BATCH, columns))
    W = np.ones((columns, hidden))
    with one_thread():
        product = min(_timed(lambda: np.matmul(X, W), time.thread_time) for _ in range(TIMES))
    a_pass = PRODUCTS * product * (1 + outputs / columns) * max(1.0, rows / BATCH)
    return _at_most(seconds / max(a_pass, 1e-9), EPOCHS)


def _timed(work: Callable[[], object], clock: Callable[[], float], repeats: int = 3) -> float:
    """Seconds of a clock that some work takes once."""
    start = clock()
    for _ in range(repeats):
        work()
    return (clock() - start) / repeats


def _at_most(value: float, allowed: Sequence[int]) -> int:
    """The largest of the allowed numbers up to a value; the least where there is none."""
    return max((one for one in allowed if one <= value), default=allowed[0])


def rows_within(seconds: float, operations: float, width: int) -> int:
    """Rows for which a fit of so many `operations` a row takes about `seconds`, here and now.

    A product of some rows in `width` columns with themselves is timed.
    """
    F = np.ones((BATCH, min(width, 2000)))
    taken = min(_timed(lambda: F.T @ F, time.perf_counter, 1) for _ in range(TIMES))
    rate = 2 * F.size * F.shape[1] / max(taken, 1e-7)
    return max(FEWEST_ROWS, int(min(seconds * rate / operations, EVERY)))


def boosting_size(
    seconds: float, columns: int, rows: int, fit: Callable[[Floats, int], object]
) -> tuple[int, bool]:
    """Trees of boosting, and whether there is time to choose its rate, within about `seconds`.

    `fit` takes random rows X and a number of trees; it is timed at two sizes, for a line.

    >>> boosting_size(60.0, 4, 100, lambda X, trees: None)
    (300, True)
    """
    sizes = sorted({min(rows, size) for size in TREE_ROWS})
    taken = np.array([_trees_timed(fit, stream_numbers(size, columns)) for size in sizes])
    rate = (taken[-1] - taken[0]) / max(1, sizes[-1] - sizes[0])  # noisy: at least a quarter
    rate = np.maximum(rate, taken[-1] / 4 / sizes[-1])
    base, tree = (taken[-1] + (rows - sizes[-1]) * rate).tolist()
    chosen = TREE_FITS[0] * (base + tree * TREES[2]) <= seconds
    return _at_most((seconds / TREE_FITS[not chosen] - base) / max(tree, 1e-9), TREES), chosen


def _trees_timed(fit: Callable[[Floats, int], object], X: Floats) -> tuple[float, float]:
    """Seconds of one tree, and of each further one."""
    base = _timed(lambda: fit(X, 1), time.perf_counter, 1)
    more = _timed(lambda: fit(X, 1 + TREES[0]), time.perf_counter, 1)
    return base, max(0.0, more - base) / TREES[0]


def stream_numbers(rows: int, columns: int) -> Floats:
    """Normal numbers of their own stream."""
    draw = stream(0, "rows to time")
    return torch.randn(rows, columns, generator=draw, dtype=torch.float64).numpy()


def gradient_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows in which a search and a fit find gradient features in about `seconds`.

    The level of null targets is timed on 100 rows; the rest scales by rows and outputs. A search
    finds features in at most as many rows, three times for one setting, and the fit once more.
    """
    draw = stream(0, "rows to time")
    X = torch.randn(TIMED, columns, generator=draw, dtype=torch.float64)
    W, b = first_neurons(
        math.ceil(MEMBERS / LEAST_MASS), columns, draw, weight_scale=columns**-0.5, bias_scale=1.0
    )
    start = time.perf_counter()
    null_norm(X, X[:, :1], W, b, p=LEAST_MASS)
    one_row = COST * (time.perf_counter() - start) / TIMED
    return int(min(MOST_ROWS, max(FEWEST_ROWS, seconds / (4 * outputs * one_row))))
