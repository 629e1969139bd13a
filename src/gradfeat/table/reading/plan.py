"""What a plan for the cells of a column can do, and what it gives."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.errors import TableError
from gradfeat.table.reading.cell_text import plain_text
from gradfeat.table.results import UnreadCells

_DIGIT = re.compile(r"\d")


def content(column: pd.Series) -> str:
    """Return what the values are, whatever the dtype that holds them (pandas' ``infer_dtype``)."""
    if types.is_bool_dtype(column.dtype):
        return "boolean"
    if types.is_numeric_dtype(column.dtype):
        return "complex" if types.is_complex_dtype(column.dtype) else "floating"
    return types.infer_dtype(column, skipna=True)


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text, None where missing or blank; whole numbers without ``.0``.

    >>> as_text(pd.Series([1.0, None, 2.5])).tolist()
    ['1', None, '2.5']
    """
    if column.dtype not in ("str", "string", "category"):
        return _texts(column)
    codes, levels = pd.factorize(column)  # each distinct value is looked at once
    found = np.array([*_texts(pd.Series(levels)), None], dtype=object)
    return pd.Series(found[codes], index=column.index, dtype=object, name=column.name)


def has_digits(texts: Iterable[str]) -> bool:
    """Whether any may be a number or a date: each of them is written with a digit."""
    return any(_DIGIT.search(text) for text in texts)


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
    text = plain_text(str(value))
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


#: What a column holds, in reports.
Kind = Literal["number", "category", "text", "date", "time of day", "duration", "yes/no"]

#: The ending of the name of a column that says where another has no value.
MISSING = "_missing"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedColumn:
    """What the column `source` is encoded as: `parts` maps a name's ending to (n,) float64."""

    source: str
    parts: dict[str, Floats]
    unread: UnreadCells | None


@dataclass(frozen=True)
class Encoded:
    """One encoded column that is kept: where it comes from, its name, and what fills its gaps."""

    source: str
    part: str
    name: str
    fill: float


@dataclass(frozen=True)
class ColumnPlan(ABC):
    """How each cell of the column `name` is read, whatever stands in other rows."""

    #: What the column holds, in a word of reports.
    kind: ClassVar[Kind]
    #: Whether the first encoded column puts rows in order: numbers, or seconds.
    ordered: ClassVar[bool]

    name: str

    @property
    @abstractmethod
    def cells(self) -> Cells:
        """What cells of delimited text are to be given as."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What was assumed because nothing in the table tells, in a sentence; "" for nothing."""

    @abstractmethod
    def encode(self, column: pd.Series) -> EncodedColumn:
        """The column as numbers, nan where missing, and the cells counted that are not so read."""

    @abstractmethod
    def treatment(self, parts: Sequence[str]) -> str:
        """What was done to the column, in words, where it has the encoded `parts`."""


class UnambiguousText(ColumnPlan, ABC):
    """Plans that read every cell from its text, and have nothing to assume."""

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        return ""


def by_distinct(
    text: pd.Series, read: Callable[[NDArray[np.object_]], Floats]
) -> NDArray[np.float64]:
    """Read each distinct text once: (n,) or (n, k), nan where missing."""
    codes, distinct = pd.factorize(text)
    values = read(np.asarray(distinct, dtype=object))
    gap = np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, gap])[codes]


def unread_cells(
    name: str, column: pd.Series, lost: NDArray[np.bool_], what: str
) -> UnreadCells | None:
    """The cells counted that have a value which was `lost` (n,) in reading; None where none was.

    >>> column = pd.Series(["1", "?", None])
    >>> unread_cells("x", column, np.array([False, True, True]), "number")
    UnreadCells(column='x', cells=1, example='?', what='number', row=1, place='')
    """
    at = np.flatnonzero(lost)
    if not at.size:
        return None
    text = as_text(column.iloc[at])
    wrong = at[text.notna().to_numpy()]
    if not wrong.size:
        return None
    first = int(wrong[0])
    return UnreadCells(
        name, int(wrong.size), str(text.iloc[np.searchsorted(at, first)]), what, first
    )


def with_gaps(
    plan: ColumnPlan, parts: dict[str, Floats], unread: UnreadCells | None
) -> EncodedColumn:
    """Parts with nan where a cell is missing, and one that marks these rows."""
    missing = np.isnan(next(iter(parts.values()))).astype(float)
    return EncodedColumn(plan.name, parts | {MISSING: missing}, unread)
