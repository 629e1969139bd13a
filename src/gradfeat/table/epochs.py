"""How many passes over the rows a network can be trained for in a given time."""

from __future__ import annotations

import time

import numpy as np

#: Passes at least and at most.
FEWEST, MOST = 10, 200
#: Products of a step in units of the first layer's: forward, two backward, and as much again for
#: the optimiser.
PRODUCTS = 6
#: Rows of a step.
BATCH = 200


def epochs(seconds: float, rows: int, columns: int, outputs: int, hidden: int) -> int:
    """Passes of mini-batch training that take about `seconds`, here and now.

    The first layer's product with the rows of one step is timed.

    Examples
    --------
    >>> 10 <= epochs(1.0, 1000, 10, 1, 64) <= 200
    True
    """
    X = np.ones((BATCH, columns))
    W = np.ones((columns, hidden))
    start, steps = time.perf_counter(), 3
    for _ in range(steps):
        np.matmul(X, W)
    product = (time.perf_counter() - start) / steps
    a_pass = PRODUCTS * product * (1 + outputs / columns) * max(1.0, rows / BATCH)
    return int(np.clip(seconds / max(a_pass, 1e-9), FEWEST, MOST))
