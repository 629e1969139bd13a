"""Hashes of the rows of a table by their contents, the same wherever the rows are."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from pandas.core.util.hashing import hash_pandas_object

from gradfeat.maths.row_hash import started, with_bits
from gradfeat.table.columns import as_text


def frame_hash(frame: pd.DataFrame, seed: int) -> NDArray[np.int64]:
    """Hash (n,) of the values of each row, uniform on 0 to 2^63 - 1.

    Numbers of any width with the same value are the same, and so are truth values and their
    text: what a column's type is may depend on which rows are read together.

    Examples
    --------
    >>> one = frame_hash(pd.DataFrame({"x": [1, 2]}), 0)
    >>> bool((one == frame_hash(pd.DataFrame({"x": [1.0, 2.0]}), 0)).all())
    True
    """
    h = started(len(frame), seed)
    for _, column in frame.items():
        h = with_bits(h, _column_hash(column))
    return (h >> np.uint64(1)).astype(np.int64)


def _column_hash(column: pd.Series) -> NDArray[np.uint64]:
    return hash_pandas_object(_plain(column), index=False).to_numpy()


def _plain(column: pd.Series) -> pd.Series:
    if is_numbers(column):
        return column.astype(np.float64) + 0.0
    if types.is_datetime64_any_dtype(column.dtype) or types.is_string_dtype(column.dtype):
        return column if column.dtype != object else as_text(column)
    return as_text(column)


def is_numbers(column: pd.Series) -> bool:
    """Whether it is stored as real numbers (truth values are not).

    Examples
    --------
    >>> is_numbers(pd.Series([1, 2])), is_numbers(pd.Series([True]))
    (True, False)
    """
    return column.dtype.kind in "iuf" and types.is_numeric_dtype(column.dtype)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column by its name.

    Examples
    --------
    >>> column_of(pd.DataFrame({"x": [1]}), "x").tolist()
    [1]
    """
    return cast(pd.Series, frame[name])


def has_value(column: pd.Series) -> NDArray[np.bool_]:
    """Which rows (n,) are neither missing nor blank.

    Examples
    --------
    >>> has_value(pd.Series(["a", " ", None])).tolist()
    [True, False, False]
    """
    return (column if is_numbers(column) else as_text(column)).notna().to_numpy(dtype=bool)
