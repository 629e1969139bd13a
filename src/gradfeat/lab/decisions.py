"""From one value a seed to a verdict: the limits of a mean or median, and a rule on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.intervals import Limits, Statistic, limits_of
from gradfeat.lab.verdicts import SEVERITY, UNDECIDED, Outcome, Verdict, undecided

Rule = Callable[[Limits], Outcome]


def decided(
    values: NDArray[np.float64],
    statistic: Statistic,
    label: str,
    bound: str,
    rule: Rule,
) -> Verdict:
    """The verdict of a rule on the limits of one value a seed, with the numbers in words."""
    n = len(values)
    limits = limits_of(values, statistic) if n else "no rows match"
    match limits:
        case str():
            return undecided(f"{label}: {limits}", n)
        case _:
            numbers = f"{limits.estimate:.4g} [{limits.low:.4g}, {limits.high:.4g}]"
            words = f"{statistic} {label} {numbers} over {n} seeds; {bound}"
            return Verdict(rule(limits), limits.estimate, limits.low, limits.high, words, n)


def over(bound: float) -> Rule:
    """Holds if the lower limit is at least the bound, fails if the upper one is below it."""

    def rule(limits: Limits) -> Outcome:
        if limits.low >= bound:
            return "holds"
        return "fails" if limits.high < bound else UNDECIDED

    return rule


def under(bound: float) -> Rule:
    """Holds if the upper limit is at most the bound, fails if the lower one is above it."""

    def rule(limits: Limits) -> Outcome:
        if limits.high <= bound:
            return "holds"
        return "fails" if limits.low > bound else UNDECIDED

    return rule


def between(low: float, high: float) -> Rule:
    """The worse of the verdicts on the two bounds."""

    def rule(limits: Limits) -> Outcome:
        sides = {over(low)(limits), under(high)(limits)}
        return next(outcome for outcome in SEVERITY if outcome in sides)

    return rule
