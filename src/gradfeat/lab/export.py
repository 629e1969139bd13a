"""A table as CSV, Parquet or JSON.

Arrays become nested lists in Parquet and JSON, and are left out of CSV. JSON has a list of
records; it knows no numbers that are not finite, so these are null there.
"""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradfeat.lab.errors import ExperimentError, StoreError, choices
from gradfeat.maths.files import replace_file

if TYPE_CHECKING:
    import pandas as pd


Format = Literal["csv", "parquet", "json"]
FORMATS: tuple[Format, ...] = ("csv", "parquet", "json")


def _array_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns with arrays in them."""
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


def _plain(value: Any) -> Any:
    match value:
        case list():
            return [_plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def rendered(table: pd.DataFrame, to: str) -> bytes:
    """Return the table in a format.

    Examples
    --------
    >>> import pandas as pd
    >>> rendered(pd.DataFrame({"n": [1], "a": [np.zeros(2)]}), "json")
    b'[{"n": 1, "a": [0.0, 0.0]}]\\n'
    """
    match to:
        case "csv":
            return table.drop(columns=_array_columns(table)).to_csv(index=False).encode()
        case "json":
            records = _with_lists(table).astype(object).to_dict("records")
            plain = [{name: _plain(value) for name, value in record.items()} for record in records]
            return (json.dumps(plain, allow_nan=False) + "\n").encode()
        case "parquet":
            buffer = io.BytesIO()
            _with_lists(table).to_parquet(buffer, index=False)
            return buffer.getvalue()
        case _:
            raise ExperimentError(f"{to!r} is no format{choices(to, FORMATS)}")


def export(table: pd.DataFrame, path: str | os.PathLike[str], to: str | None = None) -> None:
    """Write the table to a file, whole or not at all."""
    data = rendered(table, to or Path(path).suffix.removeprefix("."))
    try:
        replace_file(path, data)
    except OSError as error:
        raise StoreError(
            f"{os.fspath(path)!r} cannot be written ({error.strerror}): give another path."
        ) from error
