"""What can be done in a given time, measured here and now: rows of a solve, passes of a network."""

from __future__ import annotations

import math
import time

import numpy as np
import torch

from gradfeat.maths.streams import stream
from gradfeat.models.gradient_features.feature_set import (
    LEAST_MASS,
    MEMBERS,
    first_neurons,
    null_norm,
)

#: Direct solves in all rows that a fit is taken to cost.
SOLVES = 2

#: Passes of mini-batch training at least and at most.
FEWEST_EPOCHS, MOST_EPOCHS = 10, 200
#: Products of a step in units of the first layer's: forward, two backward, and as much again for
#: the optimiser.
PRODUCTS = 6
#: Rows of a step.
BATCH = 200

#: Rows that are timed, and the fewest and most in which gradient features are found.
TIMED, FEWEST_ROWS, MOST_ROWS = 100, 500, 5000
#: Finding the features costs this much of their null level, which is timed.
COST = 1.5


#: Of the time of a comparison, for what the model loses where columns are shuffled.
SHUFFLING_SHARE = 0.1


def direct_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows that two direct solves with AGOP passes can take in about `seconds`.

    One Cholesky factorisation of 1,000 rows is timed; the rest scales by counting operations.
    Kernel ridge and RFM solve once in all rows, and search on a few thousand of them.

    Examples
    --------
    >>> direct_rows(10.0, 10, 1) > direct_rows(1.0, 10, 1)
    True
    """
    K = torch.eye(1000, dtype=torch.float64)
    torch.linalg.cholesky(K)
    start = time.perf_counter()
    torch.linalg.cholesky(K)
    rate = 1e9 / 3 / max(time.perf_counter() - start, 1e-4)
    per_pair = (60.0 + 4.0 * (columns + 1) * outputs + 4.0 * columns) / rate
    n = 500
    while SOLVES * ((1.1 * n) ** 3 / 3 / rate + (1.1 * n) ** 2 * per_pair) < seconds:
        n = int(1.1 * n)
    return n


def epochs(seconds: float, rows: int, columns: int, outputs: int, hidden: int) -> int:
    """Passes of mini-batch training that take about `seconds`.

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
    return int(np.clip(seconds / max(a_pass, 1e-9), FEWEST_EPOCHS, MOST_EPOCHS))


def gradient_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows in which a search and a fit find gradient features in about `seconds`.

    The level of null targets is timed on 100 rows; the rest scales by rows and outputs. A search
    finds features in at most as many rows, three times for one setting, and the fit once more.

    Examples
    --------
    >>> 500 <= gradient_rows(1.0, 10, 1) <= gradient_rows(1000.0, 10, 1) <= 5000
    True
    """
    draw = stream(0, "rows to time")
    X = torch.randn(TIMED, columns, generator=draw, dtype=torch.float64)
    W, b = first_neurons(
        math.ceil(MEMBERS / LEAST_MASS), columns, draw, weight_scale=columns**-0.5, bias_scale=1.0
    )
    start = time.perf_counter()
    null_norm(X, X[:, :1], W, b, p=LEAST_MASS)
    one_row = COST * (time.perf_counter() - start) / TIMED
    return min(MOST_ROWS, max(FEWEST_ROWS, int(seconds / (4 * outputs * one_row))))
