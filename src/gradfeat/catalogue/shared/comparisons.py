"""Checks of claims that several experiments ask: comparisons with predictions, two cells with p,
and counts of seeds: which of two comes first, do ranks go together, is there no other.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gradfeat.drawing.types import DataFrame
from gradfeat.lab.agreement import Theory, agrees, prediction
from gradfeat.lab.claims import stepwise
from gradfeat.lab.intervals import Limits, Rule, decided, over, under, verdict
from gradfeat.lab.rows import Where, by_seed, described, factor_names, matching, varying
from gradfeat.lab.verdicts import Check, Verdict, undecided, worst

#: Standard errors with the level of the limits of `within`, one-sided at 95 %.
AS_WITHIN = 1.6448536


def near(metric: str, theory: Theory, share: float, where: Where | None = None) -> Check:
    """Is the mean of the metric within a share of what theory predicts, in every matched cell?

    Rule: in each cell the 90 % interval of mean/prediction lies within 1 - share and 1 + share, as
    in `within`. The worst cell is shown.
    """
    return agrees(metric, theory, where, AS_WITHIN, margin=share, by="share")


def nearer(metric: str, theory: Theory, other: Theory, where: Where | None = None) -> Check:
    """Is the mean of the metric nearer to one prediction than to another, in every matched cell?

    Rule: `above` 1/2 for (x - other)/(theory - other), which is 0 at the other and 1 at the one.
    """

    def check(table: DataFrame) -> Verdict:
        factors, names = factor_names(table), varying(table)
        verdicts = []
        for _, part in matching(table, where).groupby(factors, sort=False):
            cell = {name: part[name].iloc[0] for name in factors}
            one, two = prediction(theory, metric, cell), prediction(other, metric, cell)
            way = (by_seed(part, metric, None).to_numpy() - two) / (one - two)
            named = described({name: cell[name] for name in names})
            label = f"way of {metric} from {two:.4g} to {one:.4g} ({named})"
            verdicts.append(decided(way, "mean", label, "bound 0.5", over(0.5)))
        return worst(verdicts)

    return check


def differs(
    metric: str, more: Where, less: Where, rule: Rule, bound: str, times: float = 1.0
) -> Check:
    """The metric in some cells less `times` that in others, paired by seed, by a rule.

    Rule: as given, on limits that are one-sided at 95 %. The words have the p of a paired t
    test of no difference, two-sided, where there are values for one.
    """

    def check(table: DataFrame) -> Verdict:
        one, other = by_seed(table, metric, more), by_seed(table, metric, less)
        gap = (one - times * other).dropna().to_numpy()
        factor = "" if times == 1 else f"{times:g} x "
        label = f"{metric} ({described(more)}) - {factor}{metric} ({described(less)})"
        verdict = decided(gap, "mean", label, bound, rule)
        p = _p_of_none(gap)
        if np.isnan(p):
            return verdict
        return replace(verdict, words=f"{verdict.words}; p = {p:.2g} of none")

    return check


def _p_of_none(gap: np.ndarray) -> float:
    """Two-sided p of a t test of mean 0; nan of fewer than two values, or of equal ones."""
    from scipy.special import stdtr

    if len(gap) < 2 or np.ptp(gap) == 0:
        return float("nan")
    t = abs(gap.mean()) / (gap.std(ddof=1) / len(gap) ** 0.5)
    return 2 * float(stdtr(len(gap) - 1, -t))


def sign_p(values: NDArray[np.float64]) -> float:
    """Two-sided p of the sign test that positive and negative values are equally likely.

    Zeros are left out; nan where nothing else is there.
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
    """
    other = than_metric or metric

    def check(table: DataFrame) -> Verdict:
        one, two = by_seed(table, metric, where), by_seed(table, other, than_where)
        gap = (two - one).dropna().to_numpy()
        label = f"{metric} ({described(where)}) < {other} ({described(than_where)})"
        return _share_above_half(gap, label)

    return check


def _share_above_half(gap: NDArray[np.float64], label: str) -> Verdict:
    """Verdict on Pr[gap > 0] >= 1/2."""
    n, wins = len(gap), int((gap > 0).sum())
    if n == 0:
        return undecided(f"{label}: no such cells in this run")
    limits = share_limits(wins, n)
    words = f"{label} {_counted(wins, n, limits)}{_with_p(gap, 'either first')}"
    return verdict(over(0.5), limits, words, n)


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
    """

    def check(table: DataFrame) -> Verdict:
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
    """
    return stepwise(factor, lambda a, b: earlier(metric, {factor: a}, {factor: b}), where)


def ranked(
    metric: str, by: str, least: float, where: Where | None = None, falling: bool = False
) -> Check:
    """Do the ranks of a metric follow those of another column over the matched cells?

    Rule: one rank correlation (Spearman) a seed that has all cells; holds if their mean is at least
    `least`, as in `above`, or at most -`least` if `falling`, as in `below`. The words have the p of
    the sign test against 0.
    """

    def check(table: DataFrame) -> Verdict:
        rows = matching(table, where)
        most = rows.groupby("seed").size().max() if len(rows) else 0
        parts = [part for _, part in rows.groupby("seed") if len(part) == most]
        values = np.array([_correlation(part, metric, by) for part in parts])
        bound, rule = (-least, under(-least)) if falling else (least, over(least))
        label = f"rank correlation of {metric} with {by}"
        verdict = decided(values, "mean", label, f"bound {bound:.4g}", rule)
        return replace(verdict, words=verdict.words + _with_p(values, "none"))

    return check


def _correlation(rows: DataFrame, metric: str, by: str) -> float:
    """Spearman's, ties at their mean rank; nan where one of them does not vary."""
    ranks = [rows[name].rank().to_numpy() for name in (metric, by)]
    if any(np.ptp(r) == 0 for r in ranks):
        return math.nan
    return float(np.corrcoef(ranks)[0, 1])


def _with_p(values: NDArray[np.float64], of: str) -> str:
    p = sign_p(values)
    return "" if math.isnan(p) else f"; p = {p:.2g} of {of}"
