"""Many seeds to a mean with its interval: what a point with an error bar stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame


def summary(table: DataFrame, x: str, metric: str, by: Sequence[str] = ()) -> DataFrame:
    """mean +- t_{.975, n-1} sd / sqrt(n) of a metric over the seeds of each cell.

    Rows whose metric is nan (a failed cell, say) do not count.

    Parameters
    ----------
    table : DataFrame
        One row a cell and seed.
    x : str
        Column on the horizontal axis.
    metric : str
        Column that is averaged.
    by : sequence of str
        Columns that tell series apart.

    Returns
    -------
    DataFrame
        Columns `by`, `x`, ``mean``, ``low``, ``high`` and ``seeds`` (how many counted). Series
        in the order in which they come in `table`, `x` rising in each. With one seed ``low`` and
        ``high`` are nan.

    Raises
    ------
    ValueError
        When a column named is not in `table`.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> cells = DataFrame({"n": [10, 10, 20], "seed": [0, 1, 0], "accuracy": [0.8, 0.9, 0.95]})
    >>> found = summary(cells, "n", "accuracy").round(3)
    >>> found["mean"].tolist(), found["low"].tolist(), found["seeds"].tolist()
    ([0.85, 0.95], [0.215, nan], [2, 1])
    """
    from scipy.special import stdtrit

    _check_columns(table, [*by, x, metric])
    order = np.lexsort([table[x].to_numpy(), _places(table, by)])
    rows = table.iloc[order].dropna(subset=[metric])
    groups = rows.groupby([*by, x], sort=False, dropna=False)[metric]
    found = groups.agg(["mean", "std", "count"]).reset_index()
    seeds = found.pop("count").to_numpy()
    half = stdtrit(np.maximum(seeds - 1, 1), 0.975) * found.pop("std") / np.sqrt(seeds)
    return found.assign(low=found["mean"] - half, high=found["mean"] + half, seeds=seeds)


def _places(table: DataFrame, by: Sequence[str]) -> np.ndarray:
    """Position of each row's series in the order in which `table` names them."""
    if not by:
        return np.zeros(len(table))
    return table.groupby(list(by), sort=False, dropna=False).ngroup().to_numpy()


def _check_columns(table: DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in table.columns:
            there = ", ".join(map(str, table.columns))
            raise ValueError(f"The table has no column '{name}'; name one of these: {there}.")
