"""Checks that compare: with a share of a prediction, with two predictions, two cells with p."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.catalogue.shared.curves import relative
from gradfeat.lab.agreement import Theory, agrees, prediction
from gradfeat.lab.intervals import Rule, between, decided, over
from gradfeat.lab.rows import Where, by_seed, described, factor_names, matching
from gradfeat.lab.verdicts import Check, Verdict, worst

if TYPE_CHECKING:
    import pandas as pd


def near(metric: str, theory: Theory, share: float, where: Where | None = None) -> Check:
    """Is the mean of the metric within a share of what theory predicts, in every matched cell?

    Rule: in each cell the 90 % interval of mean/prediction lies within 1 - share and 1 + share, as
    in `within`. The worst cell is shown.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1, 1], "seed": range(3), "loss": [0.99, 1.0, 1.02]})
    >>> near("loss", lambda n: {"loss": 1 / n}, 0.05)(table).outcome
    'holds'
    """

    def judged(values: np.ndarray, cell: Mapping[str, Any]) -> Verdict:
        label, bounds = f"{metric} / theory ({described(cell)})", (1 - share, 1 + share)
        ratio = values / prediction(theory, metric, cell)
        return decided(
            ratio, "mean", label, "bounds {:g} to {:g}".format(*bounds), between(*bounds)
        )

    return _cellwise(metric, where, judged)


def ratio_agrees(
    metric: str, theory: Callable[..., Mapping[str, float]], where: Where | None, margin: float
) -> Check:
    """Does metric/theory agree with 1 within the margin, at 2 standard errors, in each cell?"""
    check = agrees(metric, lambda: {metric: 1.0}, where, 2.0, margin=margin)

    def checked(table: pd.DataFrame) -> Verdict:
        return worst([]) if table.empty else check(relative(table, theory, [metric]))

    return checked


def nearer(metric: str, theory: Theory, other: Theory, where: Where | None = None) -> Check:
    """Is the mean of the metric nearer to one prediction than to another, in every matched cell?

    Rule: `above` 1/2 for (x - other)/(theory - other), which is 0 at the other and 1 at the one.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1, 1], "seed": range(3), "loss": [0.9, 1.0, 1.1]})
    >>> nearer("loss", lambda n: {"loss": 1 / n}, lambda n: {"loss": 2.0 * n})(table).outcome
    'holds'
    """

    def judged(values: np.ndarray, cell: Mapping[str, Any]) -> Verdict:
        one, two = prediction(theory, metric, cell), prediction(other, metric, cell)
        label = f"way of {metric} from {two:.4g} to {one:.4g} ({described(cell)})"
        return decided((values - two) / (one - two), "mean", label, "bound 0.5", over(0.5))

    return _cellwise(metric, where, judged)


def _cellwise(
    metric: str, where: Where | None, judged: Callable[[np.ndarray, Mapping[str, Any]], Verdict]
) -> Check:
    """The worst verdict over the matched cells, from one value a seed in each."""

    def check(table: pd.DataFrame) -> Verdict:
        factors = factor_names(table)
        verdicts = []
        for _, part in matching(table, where).groupby(factors, sort=False):
            cell = {name: part[name].iloc[0] for name in factors}
            verdicts.append(judged(by_seed(part, metric, None).to_numpy(), cell))
        return worst(verdicts)

    return check


def differs(
    metric: str, more: Where, less: Where, rule: Rule, bound: str, times: float = 1.0
) -> Check:
    """The metric in some cells less `times` that in others, paired by seed, by a rule.

    Rule: as given, on limits that are one-sided at 95 %. The words have the p of a paired t
    test of no difference, two-sided, where there are values for one.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"m": [1, 1, 2, 2], "seed": [0, 1] * 2, "a": [1.0, 1.1, 2.0, 2.2]})
    >>> differs("a", {"m": 2}, {"m": 1}, over(0.5), "bound 0.5")(table).words
    'mean a (m=2) - a (m=1) 1.05 [0.7343, 1.366] over 2 seeds; bound 0.5; p = 0.03 of none'
    """

    def check(table: pd.DataFrame) -> Verdict:
        one, other = by_seed(table, metric, more), by_seed(table, metric, less)
        gap = (one - times * other).dropna().to_numpy()
        factor = "" if times == 1 else f"{times:g} x "
        label = f"{metric} ({described(more)}) - {factor}{metric} ({described(less)})"
        verdict = decided(gap, "mean", label, bound, rule)
        p = _p_of_none(gap)
        return (
            verdict
            if np.isnan(p)
            else replace(verdict, words=f"{verdict.words}; p = {p:.2g} of none")
        )

    return check


def _p_of_none(gap: np.ndarray) -> float:
    """Two-sided p of a t test of mean 0; nan of fewer than two values, or of equal ones."""
    from scipy.special import stdtr

    if len(gap) < 2 or np.ptp(gap) == 0:
        return float("nan")
    t = abs(gap.mean()) / (gap.std(ddof=1) / len(gap) ** 0.5)
    return 2 * float(stdtr(len(gap) - 1, -t))
