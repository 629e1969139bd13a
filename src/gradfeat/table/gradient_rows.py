"""How many rows the gradient features of a table can be found in within a time."""

from __future__ import annotations

import math
import time

import torch

from gradfeat.maths.streams import stream
from gradfeat.models.gradient_features.feature_set import LEAST_MASS, first_neurons
from gradfeat.models.gradient_features.null import MEMBERS, null_norm

#: Rows that are timed, and the fewest and most that are allowed.
TIMED, FEWEST, MOST = 100, 500, 5000
#: Finding the features costs this much of their null level, which is timed.
COST = 1.5


def gradient_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows in which a search and a fit find gradient features in about `seconds`, here and now.

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
    return min(MOST, max(FEWEST, int(seconds / (4 * outputs * one_row))))
