"""What the cells of a column are, whatever holds them: their content, and each as text."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from pandas.api import types

from gradfeat.table.errors import TableError


def content(column: pd.Series) -> str:
    """Return what the values are, whatever the dtype that holds them (pandas' ``infer_dtype``)."""
    if types.is_bool_dtype(column.dtype):
        return "boolean"
    if types.is_numeric_dtype(column.dtype):
        return "complex" if types.is_complex_dtype(column.dtype) else "floating"
    return types.infer_dtype(column, skipna=True)


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text, None where missing or blank; whole numbers without ``.0``.

    Examples
    --------
    >>> as_text(pd.Series([1.0, None, 2.5])).tolist()
    ['1', None, '2.5']
    """
    if column.dtype not in ("str", "string", "category"):
        return _texts(column)
    codes, levels = pd.factorize(column)  # each distinct value is looked at once
    found = np.array([*_texts(pd.Series(levels)), None], dtype=object)
    return pd.Series(found[codes], index=column.index, dtype=object, name=column.name)


def _texts(column: pd.Series) -> pd.Series:
    values = column.astype(object)
    nested = values.map(types.is_list_like).to_numpy(dtype=bool)
    if nested.any():
        raise TableError(
            f"Column {column.name!r} holds lists or objects (the first is "
            f"{_shortened(values.iloc[nested.argmax()])}): give each part a column of its own, or "
            "leave the column out with --ignore."
        )
    text = values.map(_value_as_text, na_action="ignore")
    blank = text.isna() | (text == "")
    return text.astype(object).mask(blank, None)


def _shortened(value: object) -> str:
    return textwrap.shorten(str(value), 60, placeholder=" ...")


def _value_as_text(value: object) -> str:
    text = str(value).strip()
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text
