"""Means over seeds, a row a cell, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import Refused
from gradfeat.experiments.errors import choices
from gradfeat.experiments.intervals import Limits, limits_of
from gradfeat.experiments.rows import factor_names

#: Rows that are printed; `gradfeat export` gives all.
MOST_ROWS = 60
#: Metrics that are printed unless they are named.
MOST_METRICS = 3
#: Each side of a two-sided 95 % interval.
SIDE = 0.975


@dataclass(frozen=True)
class Summary:
    """The table, and what it leaves out in words."""

    table: Table
    notes: list[str]


def scalar_metrics(table: pd.DataFrame) -> list[str]:
    """Return the metrics that are numbers, not arrays.

    Examples
    --------
    >>> scalar_metrics(pd.DataFrame({"n": [1], "seed": [0], "loss": [0.5], "a": [np.zeros(2)]}))
    ['loss']
    """
    names = [str(name) for name in table.columns[len(factor_names(table)) + 1 :]]
    return [name for name in names if table[name].dtype != object]


def chosen_metrics(table: pd.DataFrame, asked: str | None) -> list[str]:
    """Return the metrics named, comma-separated; the first few where none is.

    Raises
    ------
    Refused
        Of a name that is none.
    """
    known = scalar_metrics(table)
    if asked is None:
        return known[:MOST_METRICS]
    names = list(dict.fromkeys(name.strip() for name in asked.split(",")))
    for name in names:
        if name not in known:
            raise Refused(f"--metrics has {name!r}, no number of it{choices(name, known)}")
    return names


def summarised(table: pd.DataFrame, asked: str | None) -> Summary:
    """Return mean and 95 % t interval over seeds of each metric, for each cell.

    Raises
    ------
    Refused
        Where `asked` names something that is no metric.
    """
    metrics, factors = chosen_metrics(table, asked), factor_names(table)
    names = [name for name in factors if len(set(table[name])) > 1]
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in [*names, *metrics, "seeds"]:
        shown.add_column(Text(name), justify="left" if name in names else "right")
    parts = [p for _, p in table.groupby(names, sort=False)] if names else [table]
    for part in parts[:MOST_ROWS]:
        cell = [_plain(part[name].iloc[0]) for name in names]
        numbers = [_mean(part[name].to_numpy(float)) for name in metrics]
        shown.add_row(*map(Text, [*cell, *numbers, str(len(part))]))
    notes = _same(table, [name for name in factors if name not in names])
    return Summary(shown, notes + _left_out(table, metrics, len(parts)))


def _plain(value: object) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case _:
            return str(value)


def _mean(values: np.ndarray) -> str:
    limits = limits_of(values, "mean", SIDE)
    match limits:
        case Limits():
            return f"{limits.estimate:.4g} [{limits.low:.4g}, {limits.high:.4g}]"
        case _:
            finite = values[np.isfinite(values)]
            lost = len(values) - len(finite)
            return f"{finite.mean():.4g}" if not lost and len(finite) else f"nan in {lost}"


def _same(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    same = ", ".join(f"{name}={_plain(table[name].iloc[0])}" for name in names)
    return [f"the same in all cells: {same}"] if same else []


def _left_out(table: pd.DataFrame, metrics: Sequence[str], cells: int) -> list[str]:
    notes = []
    if more := [name for name in scalar_metrics(table) if name not in metrics]:
        notes.append(f"more numbers, to choose with --metrics: {', '.join(more)}")
    if cells > MOST_ROWS:
        notes.append(f"{cells - MOST_ROWS:,} more rows: gradfeat export writes all")
    return notes
