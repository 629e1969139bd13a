"""What a plan for the cells of a column can do, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.cells import as_text
from gradfeat.table.results import UnreadCells

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

    Examples
    --------
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
