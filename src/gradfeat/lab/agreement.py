"""Does simulation agree with theory?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradfeat.errors import ExperimentError, choices
from gradfeat.lab.intervals import between, limits_of, normal_level, verdict
from gradfeat.lab.rows import Where, by_seed, described, factor_names, matching, varying
from gradfeat.lab.verdicts import Check, Verdict, undecided, worst

if TYPE_CHECKING:
    import pandas as pd

#: Rounding of values that do not vary over seeds, relative to the predicted one.
ROUNDING = 1e-9

#: A difference from theory, a share of it, or a factor either way.
Nearness = Literal["difference", "share", "factor"]
Theory = Callable[..., Mapping[str, float]] | str


def prediction(theory: Theory, metric: str, row: Mapping[str, Any]) -> float:
    """What theory says of a metric at a row, given the factors that it names."""
    match theory:
        case str():
            return float(row[theory])
        case _:
            names = inspect.signature(theory).parameters
            takes_all = any(p.kind is p.VAR_KEYWORD for p in names.values())
            own = {name: row[name] for name in row if takes_all or name in names}
            said = theory(**own)
            if metric not in said:
                raise ExperimentError(f"theory says nothing of {metric!r}{choices(metric, said)}")
            return float(said[metric])


def agrees(
    metric: str,
    theory: Theory,
    where: Where | None = None,
    z: float = 3.0,
    *,
    margin: float,
    by: Nearness = "difference",
) -> Check:
    """Is the mean of the metric what theory predicts, in every matched cell?

    Rule: in each cell the interval of mean - prediction, with Student's t at the level of ±`z`
    normal standard errors, holds if it lies within ±margin, fails if it lies outside, and is
    undecided between: that nothing contradicts is no agreement. The worst cell is shown, the
    nearest to its bound among equals, in lengths of its interval.

    `theory`: ``theory(**factors it names) -> {metric: float}``, or the column of the predictions.
    `z`: Standard errors; 3 is wrong in 0.3 % of true cells.
    `margin`: How near is near enough, from theory or the source, in units of the metric.
    `by`: "share" asks mean/prediction to lie within 1 ± margin; "factor" asks the geometric mean of
        metric/prediction to lie between 1/margin and margin.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1, 1], "seed": range(3), "loss": [0.9, 1.0, 1.1]})
    >>> agrees("loss", lambda n: {"loss": 1.01 / n}, margin=0.6)(table).outcome
    'not enough evidence'
    >>> agrees("loss", lambda n: {"loss": 0.9 / n}, z=1, margin=2, by="factor")(table).words
    'geometric mean loss / theory (0.9) 1.107 [1.026, 1.196] over 3 seeds at n=1; bounds 0.5 to 2'
    """

    def check(table: pd.DataFrame) -> Verdict:
        level = normal_level(z)
        rows = matching(table, where)
        factors = factor_names(table)
        parts = [rows] if not factors else [part for _, part in rows.groupby(factors, sort=False)]
        named = varying(table)
        verdicts = [
            _cell(part, metric, theory, level, margin, by, named) for part in parts if len(part)
        ]
        return worst(verdicts)

    return check


def _cell(
    part: pd.DataFrame,
    metric: str,
    theory: Theory,
    level: float,
    margin: float,
    by: Nearness,
    named: list[str],
) -> Verdict:
    values = by_seed(part, metric, None).to_numpy()
    row = {str(name): part[name].iloc[0] for name in part.columns}
    predicted = prediction(theory, metric, row)
    cell = described({name: row[name] for name in named})
    if not np.isfinite(predicted):
        return undecided(f"theory says {predicted} of {metric} at {cell}", len(values))
    apart = values - predicted if by == "difference" else values / predicted
    statistic = "geometric mean" if by == "factor" else "mean"
    limits = limits_of(apart, statistic, level)
    if limits.lack:
        return undecided(f"{metric} at {cell}: {limits.lack}", len(values))
    sign, plus, scale = ("-", "+", max(1.0, abs(predicted))) if by == "difference" else ("/", "", 1)
    words = (
        f"{statistic} {metric} {sign} theory ({predicted:.4g}) {limits.estimate:{plus}.4g} "
        f"[{limits.low:.4g}, {limits.high:.4g}] over {len(values)} seeds at {cell}; "
    )
    low, high, bounds = _bounds(margin, by)
    rule = between(low - ROUNDING * scale, high + ROUNDING * scale)
    return verdict(rule, limits, words + bounds, len(values))


def _bounds(margin: float, by: Nearness) -> tuple[float, float, str]:
    if by == "difference":
        return -margin, margin, f"bound {margin:.4g}"
    low, high = (1 - margin, 1 + margin) if by == "share" else (1 / margin, margin)
    return low, high, f"bounds {low:.4g} to {high:.4g}"
