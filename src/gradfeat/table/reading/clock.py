"""Columns of times of day and of durations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pandas as pd
from pandas.api import types

from gradfeat.table.reading.cells import as_text
from gradfeat.table.reading.date_cells import durations, times_of_day
from gradfeat.table.reading.dates import on_circle
from gradfeat.table.reading.numbers import DistinctTexts
from gradfeat.table.reading.plan import (
    ColumnPlan,
    EncodedColumn,
    Kind,
    UnambiguousText,
    by_distinct,
    unread_cells,
    with_gaps,
)

_DAY = 86_400.0


@final
@dataclass(frozen=True)
class ClockPlan(UnambiguousText):
    """Times of day such as 13:08 or 1:08 PM: seconds since midnight, and the hour on a circle."""

    kind: ClassVar[Kind] = "time of day"
    ordered: ClassVar[bool] = True

    def encode(self, column: pd.Series) -> EncodedColumn:
        seconds = by_distinct(as_text(column), times_of_day)
        parts = {"_seconds": seconds} | on_circle("_hour", seconds / _DAY)
        unread = unread_cells(self.name, column, np.isnan(seconds), self.kind)
        return with_gaps(self, parts, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return "as seconds since midnight, and the hour on a circle"


@final
@dataclass(frozen=True)
class DurationPlan(UnambiguousText):
    """Durations, stored or written such as ``1 days 02:00:00``, ``36:15:00`` or ``PT1H30M``."""

    kind: ClassVar[Kind] = "duration"
    ordered: ClassVar[bool] = True

    def encode(self, column: pd.Series) -> EncodedColumn:
        if types.is_timedelta64_dtype(column.dtype):
            seconds = column.dt.total_seconds().to_numpy(dtype=float)
        else:
            seconds = by_distinct(as_text(column), durations)
        unread = unread_cells(self.name, column, np.isnan(seconds), self.kind)
        return with_gaps(self, {"": seconds}, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return "as seconds"


def find_clock(name: str, found: DistinctTexts) -> ColumnPlan | None:
    """The plan of a column that is mostly times of day, or durations; None for any other.

    Hours and minutes are a time of day where nearly all of them can be one.

    Examples
    --------
    >>> find_clock("t", DistinctTexts(("13:08", "0:15"), (1, 1))).kind
    'time of day'
    >>> find_clock("t", DistinctTexts(("31:08", "0:15"), (1, 1))).kind
    'duration'
    """
    texts = np.array(found.texts, dtype=object)
    if found.mostly(times_of_day(texts)):
        return ClockPlan(name)
    return DurationPlan(name) if found.mostly(durations(texts)) else None
