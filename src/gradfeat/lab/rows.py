"""Rows of a table that a check is about, reduced to one value a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.errors import ExperimentError, choices
from gradfeat.lab.cells import several

if TYPE_CHECKING:
    import pandas as pd

Where = Mapping[str, Any]


def factor_names(table: pd.DataFrame) -> list[str]:
    """The factors of a table: its columns before "seed"."""
    return list(table.columns[: list(table.columns).index("seed")])


def telling(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Those of the factors that the ones before them do not say.

    >>> import pandas as pd
    >>> telling(pd.DataFrame({"d": [200, 12, 12], "n": [1, 1, 2], "k": [5, 3, 3]}), ["d", "n", "k"])
    ['d', 'n']
    """
    kept, cells = [], 1
    for name in names:
        if (found := len(table[[*kept, name]].drop_duplicates())) > cells:
            kept, cells = [*kept, name], found
    return kept


def matching(table: pd.DataFrame, where: Where | None) -> pd.DataFrame:
    """The rows whose factors have the values of `where`."""
    factors = factor_names(table)
    for name, values in (where or {}).items():
        if name not in factors:
            raise ExperimentError(f"{name!r} is no setting{choices(name, factors)}")
        chosen = [values] if np.ndim(values) == 0 else list(values)
        table = table.loc[table[name].isin(chosen)]
    return table


def by_seed(table: pd.DataFrame, metric: str, where: Where | None) -> pd.Series:
    """The mean over the matched cells for each seed that has all of them.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 2, 1], "seed": [0, 0, 1], "loss": [1.0, 3.0, 5.0]})
    >>> by_seed(table, "loss", None).to_dict()
    {0: 2.0}
    """
    import pandas as pd

    rows = matching(table, where)
    if rows.empty:
        return pd.Series(dtype=float)
    if metric not in table.columns:
        metrics = table.columns[len(factor_names(table)) + 1 :]
        raise ExperimentError(f"{metric!r} is no metric{choices(metric, map(str, metrics))}")
    cells = _cells(rows)
    values = {seed: part[metric].to_numpy(float) for seed, part in rows.groupby("seed")}
    return pd.Series(
        {seed: float(np.mean(own)) for seed, own in values.items() if len(own) == cells},
        dtype=float,
    )


def of_cells(table: pd.DataFrame, where: Where | None) -> str:
    """What a mean over the matched cells is said to be over; "" where there is one.

    >>> import pandas as pd
    >>> of_cells(pd.DataFrame({"n": [1, 2, 1], "seed": [0, 0, 1]}), None)
    ' over 2 cells'
    """
    cells = _cells(matching(table, where))
    return f" over {cells} cells" if cells > 1 else ""


def _cells(rows: pd.DataFrame) -> int:
    factors = factor_names(rows)
    return rows.groupby(factors).ngroups if factors else 1


def varying(table: pd.DataFrame) -> list[str]:
    """The factors with several values, all where none has."""
    return several({name: table[name] for name in factor_names(table)})


def described(where: Where | None) -> str:
    """The cells of `where` in words."""
    return ", ".join(f"{name}={value}" for name, value in (where or {}).items()) or "all cells"
