"""Ends of an interval about a mean, on the scale on which its values live."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def interval_ends(
    mean: ArrayLike, half: ArrayLike, least: float, most: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """g^-1(g(mean) -+ half |g'(mean)|): the delta method, with g chosen by the range of the values.

    g is the logit where all values lie in [0, 1], the logarithm where all are positive, and the
    identity elsewhere. So the interval of a proportion stays within [0, 1], and that of a positive
    quantity above 0, as a logarithmic axis needs; both are mean -+ half to first order.

    `mean, half` (k,): Half the width of the interval is on the scale of the values; nan: unknown.
    `least, most`: The smallest and the largest value that was averaged.

    Source: Casella and Berger (2002), section 5.5.4.

    >>> low, high = interval_ends([0.9], [0.2], least=0.6, most=1.0)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.494], [0.988])
    """
    mean, half = np.asarray(mean, dtype=float), np.asarray(half, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if least >= 0 and most <= 1:
            odds, ratio = mean / (1 - mean), np.exp(half / (mean * (1 - mean)))
            low, high = odds / (odds + ratio), 1 / (1 + 1 / (odds * ratio))
        elif least > 0:
            low, high = mean * np.exp(-half / mean), mean * np.exp(half / mean)
        else:
            low, high = mean - half, mean + half
    same = half == 0
    return np.where(same, mean, low), np.where(same, mean, high)
