"""A length scale for kernels from the data."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.radial import squared_distances

#: Rows whose pairwise distances are looked at.
ROWS = 500


def median_distance(X: Tensor) -> float:
    """Median distance between two rows (of the first 500); one when all rows are equal.

    Examples
    --------
    >>> round(median_distance(torch.tensor([[0.0], [3.0]])), 4)
    3.0
    """
    X = X[:ROWS]
    upper = torch.triu_indices(len(X), len(X), 1)
    squares = squared_distances(X, X)[upper[0], upper[1]]
    positive = squares[squares > 0]
    return float(positive.median().sqrt()) if len(positive) else 1.0
