"""Checks of claims, each with its statistical rule.

A check takes the table of an experiment and returns a :class:`Verdict`. It reduces
the rows to one value a seed (the mean over the matched cells, of seeds that have every one of
them), since seeds are independent and cells of one seed need not be. Nothing is decided from one
seed, from rows that are missing, or from values that are not finite.

In ``where`` a factor has one value or a list of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.agreement import agrees
from gradfeat.lab.cells import Value
from gradfeat.lab.intervals import Rule, Statistic, between, decided, over, under
from gradfeat.lab.rows import Where, by_seed, described, matching, of_cells
from gradfeat.lab.verdicts import Check, Claim, Verdict, undecided, worst

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Check",
    "Claim",
    "Verdict",
    "above",
    "agrees",
    "below",
    "each",
    "every",
    "greater",
    "ordered",
    "ratio",
    "slope",
    "within",
]


def _of_metric(
    metric: str, where: Where | None, statistic: Statistic, bound: str, rule: Rule
) -> Check:
    """Check one metric in the matched cells by a rule."""

    def check(table: pd.DataFrame) -> Verdict:
        values = by_seed(table, metric, where).to_numpy()
        return decided(values, statistic, f"{metric}{of_cells(table, where)}", bound, rule)

    return check


def above(
    metric: str, bound: float, where: Where | None = None, statistic: Statistic = "mean"
) -> Check:
    """Is the metric at least `bound`?

    Rule: holds if the lower one-sided 95 % limit over seeds is at least the bound, fails if the
    upper one is below it. At the bound itself each happens with probability 5 %. Limits are
    Student's t for the mean, bootstrap percentiles for the median.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(3), "accuracy": [0.98, 0.99, 0.985]})
    >>> above("accuracy", 0.9)(table).words
    'mean accuracy 0.985 [0.9766, 0.9934] over 3 seeds; bound 0.9'
    """
    return _of_metric(metric, where, statistic, f"bound {bound:.4g}", over(bound))


def below(
    metric: str, bound: float, where: Where | None = None, statistic: Statistic = "mean"
) -> Check:
    """Is the metric at most `bound`?

    Rule: as `above`, with the sides exchanged.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(3), "loss": [0.0, 0.0, 0.0]})
    >>> below("loss", 0.0)(table).outcome
    'holds'
    """
    return _of_metric(metric, where, statistic, f"bound {bound:.4g}", under(bound))


def within(
    metric: str, low: float, high: float, where: Where | None = None, statistic: Statistic = "mean"
) -> Check:
    """Does the metric lie between `low` and `high`?

    Rule: holds if the 90 % interval, whose limits are one-sided at 95 %, lies inside (two one-sided
    tests); fails if one of its limits contradicts the nearer bound, as in `above` and `below`.

    Source: Schuirmann, J. Pharmacokin. Biopharm. 15 (1987), 657, for the test of equivalence.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(3), "accuracy": [0.501, 0.499, 0.5]})
    >>> within("accuracy", 0.48, 0.52)(table).outcome
    'holds'
    """
    return _of_metric(
        metric, where, statistic, f"bounds {low:.4g} to {high:.4g}", between(low, high)
    )


def greater(
    metric: str,
    where: Where | None,
    than_where: Where | None,
    margin: float = 0.0,
    than_metric: str | None = None,
    statistic: Statistic = "mean",
) -> Check:
    """Does the metric in some cells exceed that in others by at least `margin`?

    Rule: as `above`, for the differences of seeds that both sides have (paired by seed).

    `metric, where`: The greater side.
    `than_where, than_metric`: The smaller side; `than_metric` is `metric` where left out.
    `statistic`: Of the differences.

    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"m": ["net", "net", "rf", "rf"], "seed": [0, 1, 0, 1], "acc": [1.0, 0.99, 0.8, 0.79]}
    ... )
    >>> greater("acc", {"m": "net"}, {"m": "rf"}, margin=0.1)(table).outcome
    'holds'
    """
    other = than_metric or metric

    def check(table: pd.DataFrame) -> Verdict:
        more, less = by_seed(table, metric, where), by_seed(table, other, than_where)
        difference = np.array(
            [more[seed] - less[seed] for seed in more.index if seed in less.index]
        )
        label = _sides(table, " - ", (metric, where), (other, than_where))
        return decided(difference, statistic, label, f"bound {margin:.4g}", over(margin))

    return check


def _sides(table: pd.DataFrame, sign: str, *sides: tuple[str, Where | None]) -> str:
    """Two metrics, each with its cells; what both are about is said once."""
    cells = [described(where) + of_cells(table, where) for _, where in sides]
    if cells[0] == cells[1]:
        both = cells[0].removeprefix("all cells").strip()
        return sign.join(metric for metric, _ in sides) + (f" ({both})" if both else "")
    return sign.join(f"{sides[i][0]} ({cells[i]})" for i in range(2))


def ratio(
    metric: str,
    where: Where | None,
    than_where: Where | None,
    low: float = 0.0,
    high: float = math.inf,
    than_metric: str | None = None,
) -> Check:
    """Is the metric in some cells between `low` and `high` times that in others?

    Rule: as `within`, for the geometric mean of the ratios of seeds that both sides have: Student's
    t of their logarithms. `where, than_where, than_metric`: as in `greater`.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"t": [1, 9] * 2, "seed": [0, 0, 1, 1], "loss": [4, 1, 4.2, 1]})
    >>> ratio("loss", {"t": 1}, {"t": 9}, 3)(table).words
    'geometric mean loss (t=1) / loss (t=9) 4.099 [3.514, 4.781] over 2 seeds; bound 3'
    """
    other = than_metric or metric
    ends = [f"{end:.4g}" for end in (low, high) if end not in (0, math.inf)]
    bounds = f"bound{'s' * (len(ends) > 1)} {' to '.join(ends)}"

    def check(table: pd.DataFrame) -> Verdict:
        paired = (by_seed(table, metric, where) / by_seed(table, other, than_where)).dropna()
        label = _sides(table, " / ", (metric, where), (other, than_where))
        return decided(paired.to_numpy(float), "geometric mean", label, bounds, between(low, high))

    return check


def ordered(
    metric: str,
    factor: str,
    where: Where | None = None,
    increasing: bool = True,
    margin: float = 0.0,
) -> Check:
    """Does the metric increase (or decrease) along a factor, by at least `margin` each step?

    Rule: `greater` for each two neighbouring values of the factor, paired by seed; the worst step
    is shown.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1, 2, 2], "seed": [0, 1] * 2, "a": [0.1, 0.2, 0.5, 0.6]})
    >>> ordered("a", "n")(table).outcome
    'holds'
    """

    def step(less: Value, more: Value) -> Check:
        return greater(metric, {factor: more}, {factor: less}, margin)

    return stepwise(factor, step, where, increasing)


def stepwise(
    factor: str,
    step: Callable[[Value, Value], Check],
    where: Where | None = None,
    increasing: bool = True,
) -> Check:
    """Does a check hold of each two neighbouring values of a factor? The worst step is shown."""

    def check(table: pd.DataFrame) -> Verdict:
        matching(table, {factor: []})
        rows = matching(table, where)
        levels = sorted(rows[factor].unique(), reverse=not increasing)
        steps = [step(*pair)(rows) for pair in itertools.pairwise(levels)]
        few = f"{len(levels)} value of {factor}, and at least 2 are needed"
        return worst(steps) if steps else undecided(few)

    return check


def every(*checks: Check) -> Check:
    """Do all the checks hold?

    Rule: the worst verdict is shown, the nearest to its bound among equals (in lengths of its
    interval). All must hold, so "holds" needs no correction for their number; "fails" comes from
    any, and with many checks at their bounds it comes more often than from one.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"seed": range(3), "a": [1.0, 1.1, 1.2]})
    >>> every(above("a", 0), below("a", 1))(table).outcome
    'not enough evidence'
    """

    def check(table: pd.DataFrame) -> Verdict:
        return worst([check(table) for check in checks])

    return check


def each(factors: str, check: Check, where: Where | None = None) -> Check:
    """Does the check hold at each value of a factor, or of several, among the matched rows?

    Rule: as `every`. `factors`: Their names, with a blank between.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1, 2, 2], "seed": [0, 1] * 2, "a": [1.0, 1.1, 0.0, 0.1]})
    >>> each("n", above("a", 0.5))(table).words
    'mean a 0.05 [-0.2657, 0.3657] over 2 seeds; bound 0.5 at n=2'
    """
    names = factors.split()

    def checked(table: pd.DataFrame) -> Verdict:
        matching(table, {name: [] for name in names})
        parts = [part for _, part in matching(table, where).groupby(names, sort=False)]
        cells = [described({name: part[name].iloc[0] for name in names}) for part in parts]
        verdicts = zip(cells, map(check, parts), strict=True)
        return worst([replace(v, words=f"{v.words} at {at}") for at, v in verdicts])

    return checked


def slopes_by_seed(
    table: pd.DataFrame, metric: str, factor: str, where: Where | None = None
) -> pd.Series:
    """Least-squares slope of log metric against log factor, for each seed with all values of it.

    A metric that is not positive somewhere makes the slope of its seed nan.
    """
    import pandas as pd

    matching(table, {factor: []})
    rows = matching(table, where)
    levels = len({*rows[factor]})
    found = {
        seed: _slope(part[factor].to_numpy(float), part[metric].to_numpy(float))
        for seed, part in rows.groupby("seed")
        if len({*part[factor]}) == levels
    }
    return pd.Series(found, dtype=float)


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    if len({*x}) < 2 or min(x.min(), y.min()) <= 0 or not np.isfinite(y).all():
        return math.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def slope(metric: str, factor: str, low: float, high: float, where: Where | None = None) -> Check:
    """Does log metric grow along log factor with a slope between `low` and `high`?

    Rule: one least-squares slope a seed; holds if its 90 % interval over seeds, whose limits are
    one-sided at 95 %, lies inside the bounds, fails if a limit contradicts the nearer one.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 4] * 2, "seed": [0, 0, 1, 1], "s": [1.0, 2.0, 3.0, 6.1]})
    >>> slope("s", "n", 0.4, 0.6)(table).outcome
    'holds'
    """

    def check(table: pd.DataFrame) -> Verdict:
        values = slopes_by_seed(table, metric, factor, where).to_numpy()
        label = f"slope of log {metric} on log {factor} ({described(where)})"
        bounds = f"bounds {low:g} to {high:g}"
        return decided(values, "mean", label, bounds, between(low, high))

    return check
