"""How each column of a table is read, decided once from all of its training rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.table.reading.clocks import DurationPlan, find_clock, find_digits_clock
from gradfeat.table.reading.date_cells import Short
from gradfeat.table.reading.dates import DateOrder, DatePlan, DateTexts, stored_plan
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.number_cells import taken_apart
from gradfeat.table.reading.number_formats import EITHER
from gradfeat.table.reading.numbers import NumberPlan, find_numbers, stored_numbers
from gradfeat.table.reading.parts import doubt, find_parts, in_two_orders, zero_padded
from gradfeat.table.reading.plan import (
    NONE,
    TRUTH,
    ColumnPlan,
    Levels,
    TwoLevels,
    as_text,
    cell_text,
    content,
    has_digits,
    level_text,
    levels_plan,
    most_levels,
)
from gradfeat.wording import MISSING_WORDS

_STORED_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
_NO_TEXT = {*_STORED_NUMBERS, "boolean", "complex", "period", "empty"}


@dataclass(frozen=True)
class Conventions:
    """What one column of a table tells of how others are written."""

    decimal: str = ""
    told: bool = False  # by a column
    date_order: DateOrder = ""


def plan_columns(
    table: Mapping[str, pd.Series],
    dates: DateOrder = "",
    decimal: str = "",
    category: Sequence[str] = (),
) -> tuple[ColumnPlan, ...]:
    """Decide how to read each column of a table.

    Columns of numbers, truth values, dates and durations stay what they are. Text is numbers,
    dates, times of day or durations where it mostly is; whole numbers of one width with leading
    zeros are codes, those such as 20240131 dates where the column is named so. All else is levels,
    and where these are many numbers among words, or text.

    `dates`: which number is the day where dates do not tell; `decimal`: the mark where none tells;
    `category`: columns that are levels, or text where these are many, whatever they look like.

    >>> table = {"a": pd.Series(["1,5", "2,25"]), "b": pd.Series(["31/1/2020", "1/2/2020"])}
    >>> [plan.kind for plan in plan_columns(table)]
    ['number', 'date']
    """
    texts = {n: DistinctTexts.of(cell_text(c)) for n, c in table.items() if _is_text(c)}
    telling = {name: found for name, found in texts.items() if has_digits(found.texts)}
    written = {name: DateTexts.of(found) for name, found in telling.items()}
    known = _conventions(telling, written, decimal)

    def plan(name: str, column: pd.Series) -> ColumnPlan:
        found = first_plan(name, column)
        none = found.kind in ("category", "yes/no") and none_is_level(column)
        return _with_none(name, column) if none else found

    def first_plan(name: str, column: pd.Series) -> ColumnPlan:
        if name in category:
            found = DistinctTexts.of(cell_text(column))
            return levels_plan(name, found.counts, found.texts)
        if name not in texts:
            return plan_stored(name, column)
        found = texts[name]
        if name in telling:
            return _plan_text(name, column, found, written[name], known, dates)
        return levels_plan(name, found.counts, found.texts) if found.texts else NumberPlan(name)

    return tuple(plan(name, column) for name, column in table.items())


def plan_column(
    name: str, column: pd.Series, dates: DateOrder = "", decimal: str = ""
) -> ColumnPlan:
    """:func:`plan_columns` of one column."""
    return plan_columns({name: column}, dates, decimal)[0]


def none_is_level(column: pd.Series) -> bool:
    """Whether None stands beside NA or one other such word, which says what is missing there.

    Beside several of them it is one more.

    >>> none_is_level(pd.Series(["Driver", "None", "NA"])), none_is_level(pd.Series(["a", "None"]))
    (True, False)
    """
    words = {*as_text(column).dropna().unique()} & MISSING_WORDS
    return NONE in words and len(words) == 2


def _with_none(name: str, column: pd.Series) -> ColumnPlan:
    """The plan of levels of which None is one."""
    found = DistinctTexts.of(level_text(column, [NONE]))
    return levels_plan(name, found.counts, found.texts)


def _is_text(column: pd.Series) -> bool:
    string = types.is_string_dtype(column.dtype) and column.dtype != object
    return string or (column.dtype in ("category", object) and content(column) not in _NO_TEXT)


def _conventions(
    texts: Mapping[str, DistinctTexts], written: Mapping[str, DateTexts | None], decimal: str
) -> Conventions:
    told: set[str] = set()
    for name, found in texts.items():
        plan = find_numbers(name, found)
        if plan and not plan.format.plain and plan.otherwise is None:
            mark, cells = plan.format.decimal, map(taken_apart, found.texts)
            used = any(cell and {*mark} & {*cell.body} for cell in cells)
            told |= {mark} if used else set()
    evidence = [w.evidence for w in written.values() if w and w.evidence]
    orders: set[DateOrder] = {e.order for e in evidence if e.order}
    mark = next(iter(told)) if len(told) == 1 else "" if told else decimal
    mark = EITHER if EITHER in told else mark
    return Conventions(mark, bool(told), orders.pop() if len(orders) == 1 else "")


def plan_stored(name: str, column: pd.Series) -> ColumnPlan:
    """The plan of a column whose values have types."""
    what = content(column)
    if column.isna().all():
        return NumberPlan(name)
    if what == "boolean":
        known = tuple(as_text(column).dropna().unique())  # of one, the other is not known
        return Levels(name, known) if len(known) == 1 else TwoLevels(name, TRUTH)
    if types.is_timedelta64_dtype(column.dtype):
        return DurationPlan(name)
    if types.is_datetime64_any_dtype(column.dtype) or what == "period":
        return stored_plan(name, column)
    if column.dtype.kind in "iu" and column.nunique() > column.astype(float).nunique():
        found = DistinctTexts.of(cell_text(column))  # codes, which floating-point numbers confuse
        return levels_plan(name, found.counts, found.texts)
    if not may_hold_dates(name, column):
        return stored_numbers(name, column)
    return whole_dates(name, DistinctTexts.of(cell_text(column))) or stored_numbers(name, column)


def _plan_text(
    name: str,
    column: pd.Series,
    text: DistinctTexts,
    written: DateTexts | None,
    known: Conventions,
    dates: DateOrder,
) -> ColumnPlan:
    texts = pd.Series(text.texts, dtype=object)
    orders = dates, known.date_order
    if may_hold_dates(name, texts) and (whole := whole_dates(name, text, *orders)):
        return whole
    if written and any(t[:1] == "0" for t in text.texts) and all(map(OF_MONTH, text.texts)):
        return written.plan(name, *orders)
    codes = zero_padded(text)
    if codes and (clock := find_digits_clock(name, text)):
        return clock
    if codes or (column.dtype == "category" and len(text.texts) <= most_levels(sum(text.counts))):
        return levels_plan(name, text.counts, text.texts, codes=codes)
    if numbers := find_numbers(name, text, known.decimal, known.told):
        lost = text.strays(numbers.read(texts)) if numbers.format.unit else {}
        clock = find_clock(name, text) if lost else None  # 45Y beside 18M, which is no 18 million
        read = next(iter(clock.encode(texts).parts.values())) if clock else None
        return numbers if clock is None or read is None or text.strays(read) else clock
    if written is not None:
        return written.plan(name, *orders)
    found = find_clock(name, text) or levels_plan(name, text.counts, text.texts, doubt(name, text))
    parts = find_parts(name, text) if found.kind == "text" else None
    return replace(parts, doubt=in_two_orders(name, text)) if parts else found


#: 05.2019 where no month lacks its 0 is no number.
OF_MONTH = re.compile(r"(?:0[1-9]|1[0-2])\.(?:19|20)\d\d", re.ASCII).fullmatch

#: Words in the names of columns of dates.
_DATES = {
    "date", "dates", "datum", "day", "dt", "ymd", "yyyymmdd", "fecha", "when", "timestamp", "epoch",
    "unix", "ts", "time", "created", "updated", "month", "yyyymm", "yearmonth", "period",
}  # fmt: skip

#: Whole numbers that are days of about our time under any name, where so many differ: of numbers
#: of eight digits one in 28 is such a day, if any year is one.
_YEAR, _MONTH, _OF_MONTH = r"(?:19|20)\d\d", "(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_ORDERS = (_YEAR + _MONTH + _OF_MONTH, _OF_MONTH + _MONTH + _YEAR, _MONTH + _OF_MONTH + _YEAR)
_DAYS = tuple(re.compile(order, re.ASCII) for order in _ORDERS)
#: And of six digits, one number in 27; of seven, a day of a year where the name is of a date.
_SHORT_DAY = re.compile(r"\d\d" + _MONTH + _OF_MONTH, re.ASCII)
_MANY = 10


def named_date(name: str) -> bool:
    """Whether a column's name says that its whole numbers, such as 20240131, are dates.

    >>> named_date("orderDate"), named_date("order")
    (True, False)
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & _DATES) or name.lower().endswith("date")


#: Digits of moments since 1970 in seconds and their thousandths, millionths and billionths.
_OF_EPOCHS = {9, 10, 12, 13, 15, 16, 18, 19}


def _digits(text: str) -> int:
    """How many digits a whole number has, or the whole seconds of one with a fraction; else 0."""
    whole, point, fraction = text.partition(".")
    seconds = not point or (len(whole) in (9, 10) and fraction.isdigit())
    return len(whole) * (whole.isdigit() and seconds)


def may_hold_dates(name: str, column: pd.Series) -> bool:
    """Whether whole numbers may be dates, by their first few: see :func:`whole_dates`."""
    digits = {6, 7, 8, 14, *_OF_EPOCHS} if named_date(name) else {14}
    some = cell_text(column.dropna().head(50)).dropna()
    told = all(_digits(text) in digits for text in some)
    return len(some) > 0 and (
        told or any(all(map(day.fullmatch, some)) for day in (*_DAYS, _SHORT_DAY))
    )


def whole_dates(
    name: str, found: DistinctTexts, asked: DateOrder = "", elsewhere: DateOrder = ""
) -> DatePlan | None:
    """The plan of whole numbers such as 20240131; None where not all of them are dates.

    In columns that are named as dates are, these are also 31012024, 202401, 240131 or 310124, days
    of years as 2024031, and seconds since 1970 or parts of them; with a time, as 20240131235959,
    under any name. So are 20240131, 31012024, 01312024 and 240131 where at least ten in several
    months differ, which is said.

    >>> found = whole_dates("order_date", DistinctTexts(("20240131", "20240201"), (1, 1)))
    >>> found.kind if found else None
    'date'
    >>> whole_dates("order_date", DistinctTexts(("20240131", "20249901"), (1, 1)))
    """
    lengths = {_digits(text) for text in found.texts}
    epochs = lengths <= _OF_EPOCHS and named_date(name)
    if len(found.texts) < 2 or 0 in lengths or not (epochs or len(lengths) == 1):
        return None
    unnamed = lengths in ({6}, {8}) and not named_date(name)
    if unnamed and not _are_days(found.texts):
        return None
    shorts: tuple[Short, ...] = ("", "first", "last") if lengths == {6} else ("",)
    shorts = ("first",) if unnamed and lengths == {6} else shorts
    tried = (DateTexts.of(found, short) for short in shorts)
    plans = (one.plan(name, asked, elsewhere) for one in tried if one)
    texts = pd.Series(found.texts)
    read = [(one.read(texts).dt.year, one) for one in plans]
    right = [(years.nunique(), one) for years, one in read if years.notna().all()]
    plan = min(right, key=lambda item: item[0], default=(0, None))[1]
    if not unnamed or plan is None:
        return plan
    day = plan.read(texts).dt.strftime("%Y-%m-%d")[0]
    also = f"Every number of {name!r} is a day of the calendar: {texts[0]} is taken as {day}."
    return replace(plan, also=also)


def _are_days(texts: tuple[str, ...]) -> bool:
    if len(texts) < _MANY:
        return False
    if all(map(_SHORT_DAY.fullmatch, texts)):  # years with a month have no 13th of these
        return len({text[:4] for text in texts}) > 1 and any(text[4:] > "12" for text in texts)
    kinds = (k for k, day in enumerate(_DAYS) if all(map(day.fullmatch, texts)))
    months = ((slice(6),), (slice(2), slice(2, 4)), (slice(2), slice(2, 4)))
    return any(len({text[part] for text in texts}) > 1 for k in kinds for part in months[k])


def about_weeks(name: str, values: NDArray[np.float64]) -> str:
    """A remark on numbers such as 201729 in a column of weeks; "" for others.

    >>> about_weeks("year_week", np.array([201652.0, 201701.0]))[:51]
    "'year_week' has years with weeks such as 201652, ta"
    """
    known = values[~np.isnan(values)]
    year, week = known // 100, known % 100
    weeks = (known % 1 == 0) & (year >= 1900) & (year < 2100) & (week >= 1) & (week <= 53)
    if "week" not in name.lower() or not len(known) or not weeks.all():
        return ""
    return (
        f"{name!r} has years with weeks such as {known[0]:.0f}, taken as one number, which leaps "
        "at each new year: days, or a column of years and one of weeks, do not."
    )
