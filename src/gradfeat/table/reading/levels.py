"""Columns of levels: two of them, a few, or so many that their texts are hashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from skrub import MinHashEncoder

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.plan import (
    MISSING,
    ColumnPlan,
    EncodedColumn,
    Floats,
    Kind,
    UnambiguousText,
    as_text,
    by_distinct,
    unread_cells,
    with_gaps,
)

#: Levels that have a column each in any case; with enough rows a level, and at most.
FEW_LEVELS, ROWS_A_LEVEL, MOST_LEVELS = 40, 10, 200

#: Numbers for a text.
TEXT_COMPONENTS = 8

#: What else truth values are written as.
TRUTH = ("False", "True")
_TRUTH = {"0": 0.0, "1": 1.0}


def most_levels(rows: int) -> int:
    """So many levels of a column have a column of 0 and 1 each.

    Up to 40 do, and more where there are 10 rows a level, up to 200: a level that is seen less
    often says little, and each costs a column. In small tables half as many as rows.

    >>> most_levels(20), most_levels(400), most_levels(1000), most_levels(10**6)
    (10, 40, 100, 200)
    """
    return min(max(FEW_LEVELS, min(rows // ROWS_A_LEVEL, MOST_LEVELS)), max(3, rows // 2))


def codes_of(
    levels: Sequence[str], texts: NDArray[np.object_], others: Mapping[str, float] | None = None
) -> Floats:
    """The number of each text among the levels, nan for any other: (k,).

    Case counts only where two levels differ in nothing else.

    >>> codes_of(("No", "Yes"), np.array(["yes", "No", "Y"], dtype=object)).tolist()
    [1.0, 0.0, nan]
    """
    exact = {level: float(code) for code, level in enumerate(levels)}
    folded = dict(others or {})
    for level, code in exact.items():
        key = level.casefold()
        folded[key] = np.nan if key in folded else code
    return np.array(
        [exact.get(text, folded.get(text.casefold(), np.nan)) for text in texts], dtype=np.float64
    )


@final
@dataclass(frozen=True)
class TwoLevels(UnambiguousText):
    """Two levels: the second reads as 1. Of truth values 0 and 1 are levels too."""

    kind: ClassVar[Kind] = "yes/no"
    ordered: ClassVar[bool] = False

    levels: tuple[str, ...] = TRUTH

    def encode(self, column: pd.Series) -> EncodedColumn:
        text = as_text(column)
        truth = [level.casefold() for level in self.levels] == ["false", "true"]
        values = by_distinct(
            text, lambda texts: codes_of(self.levels, texts, _TRUTH if truth else {})
        )
        unread = unread_cells(self.name, text, np.isnan(values), "level of the training rows")
        return with_gaps(self, {"": values}, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return f"0 for {self.levels[0]}, 1 for {self.levels[1]}"


@final
@dataclass(frozen=True)
class Levels(UnambiguousText):
    """A few levels, with a column of 0 and 1 each; all of them 0 for what is none."""

    kind: ClassVar[Kind] = "category"
    ordered: ClassVar[bool] = False

    levels: tuple[str, ...]

    def encode(self, column: pd.Series) -> EncodedColumn:
        text = as_text(column)
        codes = by_distinct(text, lambda texts: codes_of(self.levels, texts))
        parts = {f"_{x}": (codes == code).astype(float) for code, x in enumerate(self.levels)}
        unread = unread_cells(self.name, text, np.isnan(codes), "level of the training rows")
        return EncodedColumn(self.name, parts, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        return f"{len(parts)} columns of 0 and 1, one a level; missing: all of them 0"


@final
@dataclass(frozen=True)
class Text(ColumnPlan):
    """Any text, as 8 min-hash numbers: similar texts have similar ones.

    `doubt`: why it may be meant to be numbers, in a sentence; `codes`: whether it is of whole
    numbers of one width with leading zeros.
    """

    kind: ClassVar[Kind] = "text"
    ordered: ClassVar[bool] = False

    doubt: str = ""
    codes: bool = False

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        if not self.codes:
            return self.doubt
        return (
            f"{self.name!r} has whole numbers of one width with leading zeros, as postcodes have: "
            "taken as codes, not as quantities; write quantities without these zeros."
        )

    def encode(self, column: pd.Series) -> EncodedColumn:
        values = by_distinct(as_text(column), _hashed)
        return with_gaps(self, {f"_{k}": values[:, k] for k in range(TEXT_COMPONENTS)}, None)

    def treatment(self, parts: Sequence[str]) -> str:
        hashed = sum(part != MISSING for part in parts)
        return f"{hashed} min-hash numbers"


def _hashed(texts: NDArray[np.object_]) -> Floats:
    """Min-hash numbers (k, 8). Source: Cerda and Varoquaux 2020, by skrub."""
    if not len(texts):
        return np.empty((0, TEXT_COMPONENTS))
    encoder = MinHashEncoder(n_components=TEXT_COMPONENTS, hashing="murmur")
    return encoder.fit_transform(pd.Series(texts, name="t", dtype="str")).to_numpy(dtype=float)


def levels_plan(
    name: str, counts: Sequence[int], texts: Sequence[str], doubt: str = "", codes: bool = False
) -> ColumnPlan:
    """The plan of a column of these texts, each of which occurs so many times."""
    levels = tuple(sorted(texts))
    if len(levels) == 2:
        return TwoLevels(name, levels)
    if len(levels) <= most_levels(sum(counts)):
        return Levels(name, levels)
    return Text(name, doubt, codes)
