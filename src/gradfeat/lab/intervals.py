"""From one value a seed to a verdict: one-sided 95 % limits of a mean or median, rules on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.verdicts import UNDECIDED, Verdict, undecided

Statistic = Literal["mean", "median", "geometric mean"]

#: Below this, limits of a bootstrapped median are the extremes and cover too little.
FEWEST_FOR_MEDIAN = 5
RESAMPLES = 4999


@dataclass(frozen=True)
class Limits:
    """Estimate with one-sided limits: each lies beyond the truth with probability 1 - level.

    Where there is not enough to say, `lack` says why and the numbers are nan.
    """

    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    lack: str = ""


def mean_limits(values: NDArray[np.float64], level: float = 0.95) -> Limits:
    """mean ± t_{level, n-1} · s / √n of n >= 2 values; a point where all are equal.

    Each side has the `level`; both together hold with 2 level - 1.

    Source: Student's t; exact for normal values.

    >>> limits = mean_limits(np.array([1.0, 2.0, 3.0]))
    >>> round(limits.low, 3), limits.estimate, round(limits.high, 3)
    (0.314, 2.0, 3.686)
    """
    if np.ptp(values) == 0:
        return Limits(float(values[0]), float(values[0]), float(values[0]))
    reach = float(t_quantile(len(values) - 1, level) * values.std(ddof=1) / len(values) ** 0.5)
    mean = float(values.mean())
    return Limits(mean, mean - reach, mean + reach)


def normal_level(z: float) -> float:
    """Pr[Z <= z], Z standard normal: the level at which Student's t stands for z standard errors.

    >>> round(normal_level(1.959964), 6)
    0.975
    """
    return (1 + math.erf(z / math.sqrt(2))) / 2


def t_quantile(degrees: int, level: float) -> float:
    """t with Pr[T <= t] = level, T Student's t of so many degrees of freedom.

    Pr[|T| <= sqrt(degrees) tan a] = sin a sum_j c_j cos^{2j} a for even degrees, and
    (2/pi) (a + sin a cos a sum_j c_j cos^{2j} a) for odd ones; a by bisection. It stands for
    scipy's, the import of which takes longer than all else that claims need.

    Source: Abramowitz and Stegun 26.7.3 and 26.7.4.

    >>> round(t_quantile(2, 0.95), 6), round(t_quantile(1, 0.25), 6)
    (2.919986, -1.0)
    """
    odd, j = degrees % 2, np.arange(degrees // 2)
    ratios = (2.0 * j[1:] - 1 + odd) / (2.0 * j[1:] + odd)
    c = np.cumprod(np.r_[np.ones(min(1, len(j))), ratios])

    def inside(a: float) -> float:
        total = np.sin(a) * float(c @ np.cos(a) ** (2 * j))
        return 2 / np.pi * (a + np.cos(a) * total) if odd else total

    low, high = 0.0, np.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if inside(middle) < abs(2 * level - 1) else (low, middle)
    return float(np.copysign(degrees**0.5 * np.tan(middle), level - 0.5))


def median_limits(values: NDArray[np.float64], level: float = 0.95) -> Limits:
    """Percentiles 1 - level and level of the medians of resampled seeds, of n >= 5 values.

    Source: Efron and Tibshirani (1993), section 13.3, the percentile interval. The resampling has
    a generator of its own with a fixed seed.
    """
    generator = np.random.default_rng(0)
    drawn = values[generator.integers(len(values), size=(RESAMPLES, len(values)))]
    low, high = np.quantile(np.median(drawn, axis=1), [1 - level, level])
    return Limits(float(np.median(values)), float(low), float(high))


def limits_of(values: NDArray[np.float64], statistic: Statistic, level: float = 0.95) -> Limits:
    """The limits of a statistic, or what is lacking for them."""
    fewest = FEWEST_FOR_MEDIAN if statistic == "median" else 2
    if len(values) < fewest:
        plural = "" if len(values) == 1 else "s"
        return Limits(lack=f"{len(values)} seed{plural}, and at least {fewest} are needed")
    if bad := int((~np.isfinite(values)).sum()):
        return Limits(lack=f"not finite for {bad} of {len(values)} seeds")
    if statistic == "geometric mean":
        if bad := int((values <= 0).sum()):
            return Limits(lack=f"not positive for {bad} of {len(values)} seeds")
        logs = mean_limits(np.log(values), level)
        return Limits(*np.exp([logs.estimate, logs.low, logs.high]).tolist())
    return (median_limits if statistic == "median" else mean_limits)(values, level)


#: How far the deciding limit lies inside a bound (holds from 0 on), and the other one (fails
#: below 0).
Rule = Callable[[Limits], tuple[float, float]]


def decided(
    values: NDArray[np.float64], statistic: Statistic, label: str, bound: str, rule: Rule
) -> Verdict:
    """The verdict of a rule on the limits of one value a seed, with the numbers in words."""
    n = len(values)
    limits = limits_of(values, statistic)
    if limits.lack:
        return undecided(f"{label}: {limits.lack if n else 'no such cells in this run'}", n)
    numbers = f"{limits.estimate:.4g} [{limits.low:.4g}, {limits.high:.4g}]"
    return verdict(rule, limits, f"{statistic} {label} {numbers} over {n} seeds; {bound}", n)


def verdict(rule: Rule, limits: Limits, words: str, n: int) -> Verdict:
    """What a rule says of limits; its clearance is in lengths of the interval."""
    deciding, other = rule(limits)
    outcome = "holds" if deciding >= 0 else "fails" if other < 0 else UNDECIDED
    length = limits.high - limits.low
    clearance = deciding / length if length else np.copysign(np.inf, deciding)
    return Verdict(outcome, limits.estimate, limits.low, limits.high, words, n, float(clearance))


def over(bound: float) -> Rule:
    """Holds if the lower limit is at least the bound, fails if the upper one is below it."""
    return lambda limits: (limits.low - bound, limits.high - bound)


def under(bound: float) -> Rule:
    """Holds if the upper limit is at most the bound, fails if the lower one is above it."""
    return lambda limits: (bound - limits.high, bound - limits.low)


def between(low: float, high: float) -> Rule:
    """The worse of the verdicts on the two bounds."""

    def rule(limits: Limits) -> tuple[float, float]:
        (a, b), (c, d) = over(low)(limits), under(high)(limits)
        return min(a, c), min(b, d)

    return rule
