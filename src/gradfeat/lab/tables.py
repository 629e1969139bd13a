"""Results as data frames: the queries of a store that fetch them, and files that hold them.

Arrays become nested lists in Parquet and JSON, and are left out of CSV. JSON knows no numbers that
are not finite: these are null there.
"""

from __future__ import annotations

import contextlib
import io
import json
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradfeat.errors import ExperimentError, StoreError, choices
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.outcomes import PackedArray, decode_metrics, unpack
from gradfeat.maths.files import refused, replace_file
from gradfeat.maths.unpacking import FOREIGN, json_object
from gradfeat.wording import finite

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
ARRAYS_OF_KEYS = f"""
    SELECT arrays.key, name, dtype, shape, data, cell, seed FROM arrays
    JOIN results ON results.key = arrays.key WHERE arrays.{_KEYS}"""
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


@contextlib.contextmanager
def intact(what: str) -> Iterator[None]:
    """Decode what is stored, or raise StoreError: a file that SQLite reads may hold anything."""
    try:
        yield
    except FOREIGN as error:
        why = " ".join(f"{error}".split())[:100]
        raise StoreError(
            f"{what} is damaged in the store ({why}): restore a copy of the store, or give another."
        ) from error


def of_cell(cell: Any, seed: Any) -> AbstractContextManager[None]:
    """:func:`intact`, of the result of a cell."""
    return intact(f"the result of {str(cell)[:200]}, seed {str(seed)[:20]},")


def selection_of(text: Any) -> dict[str, Any]:
    """What a run was asked for: its scale, seeds and values of factors.

    Raises StoreError where the text says something else.
    """
    with intact("what the last run was asked for"):
        found = json_object(text)
        names = ("scale", "seeds", "device", "overrides")
        scale, seeds, device, overrides = (found[name] for name in names)
        where = {"scale": _text(scale), "device": _text(device)}
        return {**where, "seeds": seeds, "overrides": dict(overrides)}


def _factors(text: Any) -> dict[str, str | int | float]:
    """Values of a cell, by name: flat, as trials take them."""
    found = json_object(text)
    for name, value in found.items():
        if value.__class__ not in (str, int, float):
            raise ValueError(f"the factor {name!r} is {str(value)[:40]!r}")
    return found


def _text(value: Any) -> str:
    if value.__class__ is not str:
        raise ValueError(f"{str(value)[:40]!r} is no text")
    return value


def in_order(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """The rows in the order of the keys (their first element)."""
    by_key = {row[0]: row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


def count_of(row: Row) -> tuple[str, int, int, int, float, str]:
    """A row of `STATUS`: experiment, version, done, failed, seconds, last."""
    name, version, done, failed, seconds, last = row
    datetime.fromisoformat(last)
    return _text(name), operator.index(version), int(done), int(failed), float(seconds), last


def factors_of(experiment: Experiment | str, rows: Sequence[Row]) -> list[str]:
    """The factors in the order of the trial; of a mere name, as the first row has them."""
    match experiment:
        case Experiment():
            return list(experiment.factors)
        case _:
            if not rows:
                return []
            with of_cell(rows[0][1], rows[0][2]):
                return list(json_object(rows[0][1]))


def table_of(
    rows: Sequence[Row], arrays: Mapping[str, Mapping[str, np.ndarray]], factors: list[str]
) -> pd.DataFrame:
    """The table of rows (key, cell, seed, metrics) and the arrays of each key."""
    records = []
    for key, cell, seed, metrics in rows:
        with of_cell(cell, seed):
            own = {**_factors(cell), "seed": operator.index(seed), **decode_metrics(metrics)}
        records.append({**own, **arrays.get(key, {})})
    return _frame(records, [*factors, "seed"])


def _frame(records: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    import pandas as pd

    names = list(dict.fromkeys([*first, *(name for record in records for name in record)]))
    table = pd.DataFrame(records, columns=pd.Index(names))
    table.attrs["factors"] = [name for name in first if name != "seed"]
    return table


def by_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The table ordered by its factors and the seed, rows numbered anew."""
    attrs = dict(table.attrs)
    table = table.sort_values([*attrs["factors"], "seed"], kind="stable", ignore_index=True)
    table.attrs.update(attrs)
    return table


def failures_of(rows: Sequence[Row], factors: list[str]) -> pd.DataFrame:
    records = []
    for key, cell, seed, error, finished in rows:
        with of_cell(cell, seed):
            own = {**_factors(cell), "seed": operator.index(seed)}
        records.append({**own, "error": str(error), "finished": str(finished), "key": key})
    return _frame(records, [*factors, "seed", "error", "finished", "key"])


def unpacked(rows: Iterable[Row]) -> dict[str, dict[str, np.ndarray]]:
    """Arrays by key and name, of rows (key, name, dtype, shape, data, cell, seed)."""
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for key, name, dtype, shape, data, cell, seed in rows:
        with of_cell(cell, seed):
            packed = PackedArray(name, dtype, tuple(json.loads(shape)), data)
            arrays.setdefault(key, {})[_text(name)] = unpack(packed)
    return arrays


Format = Literal["csv", "parquet", "json"]
FORMATS: tuple[Format, ...] = ("csv", "parquet", "json")


def _array_columns(table: pd.DataFrame) -> list[str]:
    objects = [str(name) for name in table.columns if table[name].dtype == object]
    return [name for name in objects if any(np.ndim(value) > 0 for value in table[name])]


def _with_lists(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    table = table.copy()
    table.attrs = {}
    for name in _array_columns(table):
        table[name] = pd.Series(
            [value.tolist() if np.ndim(value) else None for value in table[name]],
            index=table.index,
            dtype=object,
        )
    return table


def rendered(table: pd.DataFrame, to: str) -> bytes:
    """The table in a format.

    >>> import pandas as pd
    >>> rendered(pd.DataFrame({"n": [1], "a": [np.zeros(2)]}), "json")
    b'[{"n": 1, "a": [0.0, 0.0]}]\\n'
    """
    match to:
        case "csv":
            return table.drop(columns=_array_columns(table)).to_csv(index=False).encode()
        case "json":
            records = _with_lists(table).astype(object).to_dict("records")
            return (json.dumps(finite(records), allow_nan=False) + "\n").encode()
        case "parquet":
            buffer = io.BytesIO()
            _with_lists(table).to_parquet(buffer, index=False)
            return buffer.getvalue()
        case _:
            raise ExperimentError(f"{to!r} is no format{choices(to, FORMATS)}")


def export(table: pd.DataFrame, path: str | os.PathLike[str], to: str | None = None) -> None:
    """Write the table to a file, whole or not at all."""
    data = rendered(table, to or Path(path).suffix.removeprefix("."))
    with refused(path, StoreError):
        replace_file(path, data)
