"""Means over seeds, a row a cell, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import Refused
from gradfeat.errors import choices
from gradfeat.lab.intervals import limits_of
from gradfeat.lab.rows import factor_names, telling
from gradfeat.maths.interval_ends import interval_ends
from gradfeat.wording import MISSING, text_table

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are printed; `gradfeat export` gives all.
MOST_ROWS = 60
#: Metrics that are printed at most, unless they are named.
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

    >>> import pandas as pd
    >>> scalar_metrics(pd.DataFrame({"n": [1], "seed": [0], "loss": [0.5], "a": [np.zeros(2)]}))
    ['loss']
    """
    names = [str(name) for name in table.columns[len(factor_names(table)) + 1 :]]
    return [name for name in names if table[name].dtype != object]


def _named(asked: str, known: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in asked.split(",")))
    for name in names:
        if name not in known:
            raise Refused(f"--metrics has {name!r}, no number of it{choices(name, known)}")
    return names


def _parts(table: pd.DataFrame) -> tuple[list[str], list[pd.DataFrame]]:
    """Factors that vary, and the rows of each cell."""
    names = [name for name in factor_names(table) if len(set(table[name])) > 1]
    return names, [p for _, p in table.groupby(names, sort=False)] if names else [table]


def means(table: pd.DataFrame, asked: str | None) -> list[dict[str, Any]]:
    """The numbers of :func:`summarised` as records: all cells, and all metrics unless named."""
    known, (names, parts) = scalar_metrics(table), _parts(table)
    records = []
    for part in parts:
        record = {name: part[name].tolist()[0] for name in names} | {"seeds": len(part)}
        for name in known if asked is None else _named(asked, known):
            values = part[name].to_numpy(float)
            found = limits_of(values, "mean", SIDE)
            own = (float(np.mean(values)), found.low, found.high)
            record |= dict(zip((name, f"{name}_low", f"{name}_high"), own, strict=True))
        records.append(record)
    return records


def summarised(table: pd.DataFrame, asked: str | None, console: Console) -> Summary:
    """Return mean and 95 % interval over seeds of each metric, for each cell.

    The intervals are those of figures: Student's t, carried to the scale of the values.
    """
    known, (names, parts) = scalar_metrics(table), _parts(table)
    metrics = known[:MOST_METRICS] if asked is None else _named(asked, known)
    columns = telling(table, names)
    shown = _rows(parts[:MOST_ROWS], columns, metrics)
    while asked is None and len(metrics) > 1 and _width(shown, console) > console.width:
        metrics = metrics[:-1]
        shown = _rows(parts[:MOST_ROWS], columns, metrics)
    notes = _same(table, [name for name in factor_names(table) if name not in names])
    if said := ", ".join(name for name in names if name not in columns):
        notes.append(f"said by the settings that are shown (see show --about): {said}")
    return Summary(shown, notes + _left_out(table, metrics, len(parts)))


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _rows(parts: Sequence[pd.DataFrame], names: Sequence[str], metrics: Sequence[str]) -> Table:
    shown = text_table()
    ranges = {name: _range([part[name].to_numpy(float) for part in parts]) for name in metrics}
    for name in [*names, *metrics, "seeds"]:
        shown.add_column(Text(name), justify="left" if name in names else "right")
    for part in parts:
        cell = [_plain(part[name].iloc[0]) for name in names]
        numbers = [_mean(part[name].to_numpy(float), ranges[name]) for name in metrics]
        shown.add_row(*map(Text, [*cell, *numbers, str(len(part))]))
    return shown


def _plain(value: object) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case _:
            return str(value)


def _range(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    """The least and the largest of all values; nan where one is not known."""
    return float(np.min([part.min() for part in parts])), float(np.max([p.max() for p in parts]))


def _mean(values: np.ndarray, within: tuple[float, float]) -> str:
    limits = limits_of(values, "mean", SIDE)
    if not limits.lack:
        low, high = interval_ends(limits.estimate, limits.high - limits.estimate, *within)
        return f"{limits.estimate:.4g} [{low:.4g}, {high:.4g}]"
    lost = int((~np.isfinite(values)).sum())
    if lost == len(values):
        return MISSING
    return f"not finite in {lost}" if lost else f"{values.mean():.4g}"


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
