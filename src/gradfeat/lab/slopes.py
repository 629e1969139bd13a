"""Is a metric a power of a factor, with the exponent that theory says?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.intervals import between, decided
from gradfeat.lab.rows import Where, described, matching
from gradfeat.lab.verdicts import Check, Verdict

if TYPE_CHECKING:
    import pandas as pd


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


def slope(
    metric: str,
    factor: str,
    low: float,
    high: float,
    where: Where | None = None,
) -> Check:
    """Does log metric grow along log factor with a slope between `low` and `high`?

    Rule: one least-squares slope a seed; holds if its 90 % interval over seeds, whose limits are
    one-sided at 95 %, lies inside the bounds, fails if a limit contradicts the nearer one.

    Examples
    --------
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
