"""Columns of times of day and of lengths of time, written or stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
import pandas as pd
from pandas.api import types

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.clock_cells import (
    bare_seconds,
    durations,
    in_months,
    times_of_day,
)
from gradfeat.table.reading.dates import on_circle
from gradfeat.table.reading.numbers import DistinctTexts
from gradfeat.table.reading.plan import (
    ColumnPlan,
    EncodedColumn,
    UnambiguousText,
    by_distinct,
    cell_text,
    unread_cells,
    with_gaps,
)
from gradfeat.table.results import Kind

_DAY = 86_400.0


@final
@dataclass(frozen=True)
class ClockPlan(ColumnPlan):
    """Times of day such as 13:08 or 1:08 PM: seconds since midnight, and the hour on a circle.

    `doubted`: one of cells that may be lengths of time as well.
    """

    kind: ClassVar[Kind] = "time of day"
    ordered: ClassVar[bool] = True

    doubted: str = ""

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        if not self.doubted:
            return ""
        return (
            f"{self.name!r} is taken as times of day, as nothing tells these from lengths of time: "
            f"where {self.doubted!r} is one, write it with units, such as 2h 05m or 2m 05s."
        )

    def encode(self, column: pd.Series) -> EncodedColumn:
        seconds = by_distinct(cell_text(column), times_of_day)
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

    #: Of what is written, 6m is six months and no minutes, and a number alone is of seconds.
    months: bool = False
    bare: bool = False

    def encode(self, column: pd.Series) -> EncodedColumn:
        if types.is_timedelta64_dtype(column.dtype):
            seconds = column.dt.total_seconds().to_numpy(dtype=float)
        else:
            read = partial(durations, months=self.months, bare=self.bare)
            seconds = by_distinct(cell_text(column), read)
        unread = unread_cells(self.name, column, np.isnan(seconds), self.kind)
        return with_gaps(self, {"": seconds}, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return "as seconds"


#: Names of columns of lengths of time; and clocks of the morning alone may be some.
_LENGTH = re.compile("durat|length|lap|pace|elapsed|runtime|split|took", re.IGNORECASE)
_BARE_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")

#: Share of cells that no time of day is and a duration from which all are durations.
_LONGER = 0.01


def find_clock(name: str, found: DistinctTexts) -> ColumnPlan | None:
    """The plan of a column that is mostly times of day, or durations; None for any other.

    Hours and minutes are a time of day where nearly all of them can be one.

    >>> find_clock("t", DistinctTexts(("13:08", "0:15"), (1, 1))).kind
    'time of day'
    >>> find_clock("t", DistinctTexts(("31:08", "0:15"), (1, 1))).kind
    'duration'
    """
    texts, counts = np.array(found.texts, dtype=object), np.array(found.counts)
    months = in_months(texts)
    clock, length = times_of_day(texts), durations(texts, months=months)
    longer = counts[np.isnan(clock) & ~np.isnan(length)].sum()
    if found.mostly(clock) and longer <= _LONGER * counts.sum() and not _LENGTH.search(name):
        early = not (clock >= _DAY / 2).any() and all(map(_BARE_CLOCK.fullmatch, found.texts))
        return ClockPlan(name, found.texts[0] if early else "")
    return DurationPlan(name, months, bare_seconds(found.texts)) if found.mostly(length) else None
