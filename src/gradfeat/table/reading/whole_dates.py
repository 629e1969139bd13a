"""Columns of whole numbers that are dates, such as 20240131."""

# Apart: texts of dates are told by how they are written, whole numbers by their column and values.

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd

from gradfeat.table.reading.date_cells import Short
from gradfeat.table.reading.dates import DateOrder, DatePlan, DateTexts
from gradfeat.table.reading.numbers import DistinctTexts
from gradfeat.table.reading.plan import cell_text

#: Words in the names of columns of dates.
_DATES = {
    "date", "dates", "datum", "day", "dt", "ymd", "yyyymmdd", "fecha", "when", "timestamp", "epoch",
    "unix", "ts", "time", "created", "updated", "month", "yyyymm", "yearmonth", "period",
}  # fmt: skip

#: Whole numbers that are days of about our time under any name, where so many differ: of numbers
#: of eight digits one in 28 is such a day, if any year is one.
_DAY = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.ASCII)
_MANY = 10


def named_date(name: str) -> bool:
    """Whether a column's name says that its whole numbers, such as 20240131, are dates.

    >>> named_date("orderDate"), named_date("order")
    (True, False)
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & _DATES) or name.lower().endswith("date")


def may_hold_dates(name: str, column: pd.Series) -> bool:
    """Whether whole numbers may be dates, by their first few: see :func:`whole_dates`."""
    digits = (6, 8, 9, 10, 12, 13, 14) if named_date(name) else (14,)
    some = cell_text(column.dropna().head(50)).dropna()
    told = all(len(text) in digits and text.isdigit() for text in some)
    return len(some) > 0 and (told or all(map(_DAY.fullmatch, some)))


def whole_dates(
    name: str, found: DistinctTexts, asked: DateOrder = "", elsewhere: DateOrder = ""
) -> DatePlan | None:
    """The plan of whole numbers such as 20240131; None where not all of them are dates.

    In columns that are named as dates are, these are also 31012024, 202401, 240131 or 310124, and
    seconds or milliseconds since 1970; with a time, as 20240131235959, under any name. So are
    20240131 and the like where at least ten in several months differ, which is said.

    >>> found = whole_dates("order_date", DistinctTexts(("20240131", "20240201"), (1, 1)))
    >>> found.kind if found else None
    'date'
    >>> whole_dates("order_date", DistinctTexts(("20240131", "20249901"), (1, 1)))
    """
    lengths = {len(text) if text.isdigit() else 0 for text in found.texts}
    if len(found.texts) < 2 or 0 in lengths or len(lengths - {9, 12}) > 1:
        return None
    unnamed = lengths == {8} and not named_date(name)
    if unnamed and not _are_days(found.texts):
        return None
    shorts: tuple[Short, ...] = ("", "first", "last") if lengths == {6} else ("",)
    tried = (DateTexts.of(found, short) for short in shorts)
    plans = (one.plan(name, asked, elsewhere) for one in tried if one)
    texts = pd.Series(found.texts)
    read = [(one.read(texts).dt.year, one) for one in plans]
    right = [(years.nunique(), one) for years, one in read if years.notna().all()]
    plan = min(right, key=lambda item: item[0], default=(0, None))[1]
    return plan and replace(plan, also=_said(name, found.texts[0])) if unnamed else plan


def _are_days(texts: tuple[str, ...]) -> bool:
    several = len(texts) >= _MANY and len({text[:6] for text in texts}) > 1
    return several and all(map(_DAY.fullmatch, texts))


def _said(name: str, text: str) -> str:
    day = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    return f"Every number of {name!r} is a day of the calendar: {text} is taken as {day}."
