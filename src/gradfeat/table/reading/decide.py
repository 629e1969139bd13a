"""How each column of a table is read, decided once from all of its training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from pandas.api import types

from gradfeat.table.reading.clocks import DurationPlan, find_clock
from gradfeat.table.reading.dates import DateOrder, DateTexts, stored_plan
from gradfeat.table.reading.number_formats import taken_apart
from gradfeat.table.reading.numbers import (
    DistinctTexts,
    NumberPlan,
    doubt,
    find_numbers,
    stored_numbers,
    zero_padded,
)
from gradfeat.table.reading.parts import find_parts
from gradfeat.table.reading.plan import (
    TRUTH,
    ColumnPlan,
    TwoLevels,
    cell_text,
    content,
    has_digits,
    levels_plan,
    most_levels,
)
from gradfeat.table.reading.whole_dates import may_hold_dates, whole_dates

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
            told |= {mark} if any(cell and mark in cell.body for cell in cells) else set()
    evidence = [w.evidence for w in written.values() if w and w.evidence]
    orders: set[DateOrder] = {e.order for e in evidence if e.order}
    mark = next(iter(told)) if len(told) == 1 else "" if told else decimal
    return Conventions(mark, bool(told), orders.pop() if len(orders) == 1 else "")


def plan_stored(name: str, column: pd.Series) -> ColumnPlan:
    """The plan of a column whose values have types."""
    what = content(column)
    if column.isna().all():
        return NumberPlan(name)
    if what == "boolean":
        return TwoLevels(name, TRUTH)
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
    codes = zero_padded(text)
    if codes or (column.dtype == "category" and len(text.texts) <= most_levels(sum(text.counts))):
        return levels_plan(name, text.counts, text.texts, codes=codes)
    if numbers := find_numbers(name, text, known.decimal, known.told):
        return numbers
    if written is not None:
        return written.plan(name, *orders)
    found = find_clock(name, text) or levels_plan(name, text.counts, text.texts, doubt(name, text))
    return (found.kind == "text" and find_parts(name, text)) or found
