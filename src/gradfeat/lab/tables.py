"""Rows of a store as data frames, and the queries that fetch them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.lab.experiment import Experiment
from gradfeat.lab.outcomes import PackedArray, decode_metrics, unpack

if TYPE_CHECKING:
    import pandas as pd


_KEYS = "key IN (SELECT value FROM json_each(?))"
_ROW = "SELECT key, cell, seed, metrics FROM results WHERE status = 'done' AND"

STATUS_OF_KEYS = f"SELECT key, status FROM results WHERE {_KEYS}"
DONE_OF_KEYS = f"{_ROW} {_KEYS}"
#: The results of other texts of the trial, for a cell and seed.
_OTHERS = "FROM results WHERE experiment = ? AND version = ? AND cell = ? AND seed = ? AND key <> ?"
OTHER_TEXTS = f"SELECT key {_OTHERS}"
DROP_OTHER_TEXTS = f"DELETE {_OTHERS}"
DROP_THEIR_ARRAYS = f"DELETE FROM arrays WHERE key IN (SELECT key {_OTHERS})"
DONE_OF_EXPERIMENT = f"{_ROW} experiment = ? AND version = ?"
ARRAYS_OF_KEYS = f"SELECT key, name, dtype, shape, data FROM arrays WHERE {_KEYS}"
FAILED_OF_EXPERIMENT = """
    SELECT key, cell, seed, error, finished FROM results
    WHERE experiment = ? AND version = ? AND status = 'failed' ORDER BY id"""
STATUS = """
    SELECT experiment, version, sum(status = 'done'), sum(status = 'failed'), sum(seconds),
    max(finished) FROM results GROUP BY experiment, version
    UNION ALL SELECT experiment, version, 0, 0, 0.0, max(started) FROM runs
    WHERE NOT EXISTS (SELECT 1 FROM results WHERE results.experiment = runs.experiment
    AND results.version = runs.version) GROUP BY experiment, version ORDER BY 1, 2"""
LEASES = """
    SELECT experiment, version, run, count(*) FROM leases JOIN runs ON runs.id = leases.run
    GROUP BY run"""
PROVENANCE_OF_KEY = """
    SELECT facts, device, seconds, results.finished FROM results
    JOIN runs ON runs.id = results.run JOIN provenance ON provenance.id = runs.provenance
    WHERE key = ?"""

Row = tuple[Any, ...]


def in_order(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Return the rows in the order of the keys (their first element).

    Examples
    --------
    >>> in_order([("b", 1), ("a", 2)], ["a", "b", "c"])
    [('a', 2), ('b', 1)]
    """
    by_key = {row[0]: row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


def factors_of(experiment: Experiment | str, rows: Sequence[Row]) -> list[str]:
    """Return the factors in the order of the trial; of a mere name, as the first row has them."""
    match experiment:
        case Experiment():
            return list(experiment.factors)
        case _:
            return list(json.loads(rows[0][1])) if rows else []


def table_of(
    rows: Sequence[Row], arrays: Mapping[str, Mapping[str, np.ndarray]], factors: list[str]
) -> pd.DataFrame:
    """Return the table of rows (key, cell, seed, metrics) and the arrays of each key.

    Examples
    --------
    >>> table_of([("k", '{"n": 1}', 0, '{"loss": 0.5}')], {}, ["n"]).to_dict("records")
    [{'n': 1, 'seed': 0, 'loss': 0.5}]
    """
    records = [
        {**json.loads(cell), "seed": seed, **decode_metrics(metrics), **arrays.get(key, {})}
        for key, cell, seed, metrics in rows
    ]
    return _frame(records, [*factors, "seed"])


def _frame(records: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    import pandas as pd

    names = list(dict.fromkeys([*first, *(name for record in records for name in record)]))
    table = pd.DataFrame(records, columns=pd.Index(names))
    table.attrs["factors"] = [name for name in first if name != "seed"]
    return table


def by_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table ordered by its factors and the seed, rows numbered anew."""
    attrs = dict(table.attrs)
    table = table.sort_values([*attrs["factors"], "seed"], kind="stable", ignore_index=True)
    table.attrs.update(attrs)
    return table


def failures_of(rows: Sequence[Row], factors: list[str]) -> pd.DataFrame:
    """Return the table of rows (key, cell, seed, error, finished)."""
    records = [
        {**json.loads(cell), "seed": seed, "error": error, "finished": finished, "key": key}
        for key, cell, seed, error, finished in rows
    ]
    return _frame(records, [*factors, "seed", "error", "finished", "key"])


def unpacked(rows: Iterable[Row]) -> dict[str, dict[str, np.ndarray]]:
    """Return arrays by key and name, of rows (key, name, dtype, shape, data)."""
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for key, name, dtype, shape, data in rows:
        packed = PackedArray(name, dtype, tuple(json.loads(shape)), data)
        arrays.setdefault(key, {})[name] = unpack(packed)
    return arrays
