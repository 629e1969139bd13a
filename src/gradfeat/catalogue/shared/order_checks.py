"""Checks that count seeds: which of two comes first, do ranks go together, is there no other."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.intervals import Limits, decided, over
from gradfeat.lab.rows import Where, by_seed, described, matching
from gradfeat.lab.verdicts import Check, Verdict, undecided, worst

if TYPE_CHECKING:
    import pandas as pd


def sign_p(values: NDArray[np.float64]) -> float:
    """Two-sided p of the sign test that positive and negative values are equally likely.

    Zeros are left out; nan where nothing else is there.

    >>> sign_p(np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.0]))
    0.0625
    """
    more, less = int((values > 0).sum()), int((values < 0).sum())
    n = more + less
    tail = sum(math.comb(n, k) for k in range(min(more, less) + 1))
    return min(1.0, 2 * tail / 2**n) if n else math.nan


def earlier(
    metric: str, where: Where | None, than_where: Where | None, than_metric: str | None = None
) -> Check:
    """Is the metric smaller in some cells than that in others, in more than half of the seeds?

    Rule: of seeds that both sides have, the share in which the first is strictly smaller, a tie
    counting as not; holds if its lower one-sided 95 % limit (Clopper-Pearson) is at least 1/2,
    fails if the upper one is below. Takes 5 seeds at least. The words have the p of the sign test,
    two-sided, ties left out. Only the order counts: a step that was never reached may be any number
    above the last.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(6), "a": 1.0, "b": [2.0] * 6})
    >>> earlier("a", None, None, than_metric="b")(table).words
    'a (all cells) < b (all cells) in 6 of 6 seeds [0.607, 1]; p = 0.031 of either first'
    """
    other = than_metric or metric

    def check(table: pd.DataFrame) -> Verdict:
        one, two = by_seed(table, metric, where), by_seed(table, other, than_where)
        gap = (two - one).dropna().to_numpy()
        label = f"{metric} ({described(where)}) < {other} ({described(than_where)})"
        return _share_above_half(gap, label)

    return check


def _share_above_half(gap: NDArray[np.float64], label: str) -> Verdict:
    """Verdict on Pr[gap > 0] >= 1/2."""
    n, wins = len(gap), int((gap > 0).sum())
    if n == 0:
        return undecided(f"{label}: no rows match")
    limits = share_limits(wins, n)
    words = f"{label} {_counted(wins, n, limits)}{_with_p(gap, 'either first')}"
    return Verdict(over(0.5)(limits), limits.estimate, limits.low, limits.high, words, n)


def share_limits(count: int, n: int) -> Limits:
    """Share count/n with limits that are one-sided at 95 % (Clopper-Pearson).

    >>> limits = share_limits(0, 20)
    >>> limits.estimate, limits.low, round(limits.high, 3)
    (0.0, 0.0, 0.139)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(count, n - count + 1, 0.05)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 0.95)) if count < n else 1.0
    return Limits(count / n, low, high)


def _counted(count: int, n: int, limits: Limits) -> str:
    return f"in {count} of {n} seeds [{limits.low:.3g}, {limits.high:.3g}]"


def never(metric: str, where: Where | None = None) -> Check:
    """Is the metric 0 in every matched cell of every seed?

    Rule: fails if it is another number in any seed, holds if it is 0 in all of 2 seeds or more. One
    seed is enough to contradict "in every seed", so no limit decides; the estimate is the share of
    seeds where it is not 0, with the interval of `earlier`. A nan is no 0: it leaves open what no
    other seed contradicts.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(20), "missed": [0.0] * 19 + [1.0]})
    >>> never("missed")(table).outcome, never("missed", {})(table.head(19)).outcome
    ('fails', 'holds')
    """

    def check(table: pd.DataFrame) -> Verdict:
        # Of sizes, so that values of opposite signs do not make a mean of 0.
        sizes = table.assign(**{metric: table[metric].abs()}) if metric in table else table
        values = by_seed(sizes, metric, where).to_numpy()
        n, unknown = len(values), int(np.isnan(values).sum())
        others = int((values != 0).sum()) - unknown
        if n < 2:
            return undecided(f"{metric}: {n or 'no'} seed, and at least 2 are needed", n)
        if unknown and not others:
            return undecided(f"{metric}: nan for {unknown} of {n} seeds", n)
        limits = share_limits(others, n)
        words = f"{metric} is not 0 {_counted(others, n, limits)}"
        outcome = "fails" if others else "holds"
        return Verdict(outcome, limits.estimate, limits.low, limits.high, words, n)

    return check


def earlier_along(metric: str, factor: str, where: Where | None = None) -> Check:
    """Does the metric grow with a factor? `earlier` for each two neighbouring values.

    The worst pair is shown.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 2] * 5, "seed": np.repeat(range(5), 2), "t": [3, 4] * 5})
    >>> earlier_along("t", "n")(table).outcome
    'holds'
    """

    def check(table: pd.DataFrame) -> Verdict:
        matching(table, {factor: []})
        rows = matching(table, where)
        levels = sorted(rows[factor].unique())
        pairs = itertools.pairwise(levels)
        steps = [earlier(metric, {factor: a}, {factor: b})(rows) for a, b in pairs]
        few = f"{len(levels)} value of {factor}, and at least 2 are needed"
        return worst(steps) if steps else undecided(few)

    return check


def ranked(
    metric: str, by: str, least: float, where: Where | None = None, falling: bool = False
) -> Check:
    """Do the ranks of a metric follow those of another column over the matched cells?

    Rule: one rank correlation (Spearman) a seed that has all cells, times -1 if `falling`; holds
    if the lower one-sided 95 % limit of their mean is at least `least`, as in `above`. The words
    have the p of the sign test against 0.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 2, 3] * 2, "seed": [0] * 3 + [1] * 3, "t": [3, 4, 9] * 2})
    >>> ranked("t", "n", 0.9)(table).outcome
    'holds'
    """

    def check(table: pd.DataFrame) -> Verdict:
        rows = matching(table, where)
        most = rows.groupby("seed").size().max() if len(rows) else 0
        parts = [part for _, part in rows.groupby("seed") if len(part) == most]
        sign = -1.0 if falling else 1.0
        values = np.array([sign * _correlation(part, metric, by) for part in parts])
        label = f"rank correlation of {metric} with {'falling ' if falling else ''}{by}"
        verdict = decided(values, "mean", label, f"bound {least:.4g}", over(least))
        return replace(verdict, words=verdict.words + _with_p(values, "none"))

    return check


def _correlation(rows: pd.DataFrame, metric: str, by: str) -> float:
    """Spearman's, ties at their mean rank; nan where one of them does not vary."""
    ranks = [rows[name].rank().to_numpy() for name in (metric, by)]
    if any(np.ptp(r) == 0 for r in ranks):
        return math.nan
    return float(np.corrcoef(ranks)[0, 1])


def _with_p(values: NDArray[np.float64], of: str) -> str:
    p = sign_p(values)
    return "" if math.isnan(p) else f"; p = {p:.2g} of {of}"
