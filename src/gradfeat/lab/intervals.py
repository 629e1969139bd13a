"""Limits for the mean or the median over seeds, one-sided at 95 %."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Statistic = Literal["mean", "median"]

#: Below this, limits of a bootstrapped median are the extremes and cover too little.
FEWEST_FOR_MEDIAN = 5
RESAMPLES = 4999


@dataclass(frozen=True)
class Limits:
    """Estimate with one-sided limits: each lies beyond the truth with probability 1 - level."""

    estimate: float
    low: float
    high: float


def mean_limits(values: NDArray[np.float64], level: float = 0.95) -> Limits:
    """mean ± t_{level, n-1} · s / √n; a point where all values are equal.

    Parameters
    ----------
    values : array (n,)
        One value a seed, n >= 2, finite.
    level : float
        Of each side; both together hold with 2 level - 1.

    Source: Student's t; exact for normal values.

    Examples
    --------
    >>> limits = mean_limits(np.array([1.0, 2.0, 3.0]))
    >>> round(limits.low, 3), limits.estimate, round(limits.high, 3)
    (0.314, 2.0, 3.686)
    """
    from scipy.special import stdtrit

    if np.ptp(values) == 0:
        return Limits(*[float(values[0])] * 3)
    reach = float(stdtrit(len(values) - 1, level) * values.std(ddof=1) / len(values) ** 0.5)
    mean = float(values.mean())
    return Limits(mean, mean - reach, mean + reach)


def median_limits(values: NDArray[np.float64], level: float = 0.95) -> Limits:
    """Percentiles 1 - level and level of the medians of resampled seeds.

    Parameters
    ----------
    values : array (n,)
        One value a seed, n >= 5, finite.
    level : float
        Of each side.

    Source: Efron and Tibshirani (1993), section 13.3, the percentile interval. The resampling has
    a generator of its own with a fixed seed.

    Examples
    --------
    >>> limits = median_limits(np.arange(9.0))
    >>> limits.low < limits.estimate == 4.0 < limits.high
    True
    """
    generator = np.random.default_rng(0)
    drawn = values[generator.integers(len(values), size=(RESAMPLES, len(values)))]
    low, high = np.quantile(np.median(drawn, axis=1), [1 - level, level])
    return Limits(float(np.median(values)), float(low), float(high))


def limits_of(
    values: NDArray[np.float64], statistic: Statistic, level: float = 0.95
) -> Limits | str:
    """Return the limits of a statistic, or why there is not enough to say.

    Examples
    --------
    >>> limits_of(np.array([1.0]), "mean")
    '1 seed, and at least 2 are needed'
    """
    fewest = FEWEST_FOR_MEDIAN if statistic == "median" else 2
    if len(values) < fewest:
        plural = "" if len(values) == 1 else "s"
        return f"{len(values)} seed{plural}, and at least {fewest} are needed"
    if bad := int((~np.isfinite(values)).sum()):
        return f"not finite for {bad} of {len(values)} seeds"
    return (median_limits if statistic == "median" else mean_limits)(values, level)
