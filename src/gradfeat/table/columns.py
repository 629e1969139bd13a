"""How one column of a table is read: as numbers, two levels, levels or dates.

The plan is made once, from the training rows; every later cell of that column is read by it,
whatever its dtype and whatever stands in other rows, so that 1, 1.0, "1" and a category of 1 are
the same level. What cannot be read so is taken as missing, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
import pandas as pd
from pandas.api import types
from skrub import ToDatetime
from skrub.core import RejectColumn

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.errors import TableError
from gradfeat.table.results import UnreadCells

Reading = Literal["number", "yes/no", "levels", "date"]
Values = TypeVar("Values")

_NUMBER_CONTENT = {"integer", "floating", "mixed-integer-float", "decimal", "timedelta"}
_DATE_CONTENT = {"date", "datetime", "datetime64"}
_TRUTH = {"0": "False", "1": "True", "false": "False", "true": "True"}


@dataclass(frozen=True)
class ColumnPlan:
    """How to read the column `name`.

    `levels` are the two of a ``yes/no`` column (the second reads as 1) or those of a column that
    has few, `date_format` the one that dates given as text follow, `timezone` the zone in which
    the parts of a date are taken.
    """

    name: str
    reading: Reading
    levels: tuple[str, ...] = ()
    date_format: str = ""
    timezone: str = ""

    @property
    def cells(self) -> Cells:
        """What cells of delimited text are read as; the plan reads levels and dates from text."""
        return "numbers" if self.reading == "number" else "text"


@dataclass(frozen=True)
class Read(Generic[Values]):
    """A column as its plan reads it, and what could not be read."""

    values: Values
    unread: UnreadCells | None = None


def _read(plan: ColumnPlan, text: pd.Series, values: Values, lost: np.ndarray) -> Read[Values]:
    """With the cells counted that have a value which was `lost` (n,) in reading."""
    wrong = np.flatnonzero(lost & text.notna().to_numpy())
    if not wrong.size:
        return Read(values)
    return Read(values, UnreadCells(plan.name, int(wrong.size), str(text.iloc[wrong[0]])))


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
    if column.dtype not in ("str", "string"):
        return _texts(column)
    codes, levels = pd.factorize(column)  # each distinct string is looked at once
    found = np.array([*_texts(pd.Series(levels)), None], dtype=object)
    return pd.Series(found[codes], index=column.index, dtype=object, name=column.name)


def _texts(column: pd.Series) -> pd.Series:
    values = column.astype(object)
    text = values.map(_value_as_text, na_action="ignore")
    blank = text.isna() | (text == "")
    return text.astype(object).mask(blank, None)


def _value_as_text(value: object) -> str:
    text = str(value).strip()
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


def plan_column(name: str, column: pd.Series) -> ColumnPlan:
    """Decide how to read a column from its training rows.

    Numbers stay numbers. Truth values and text with exactly two levels are ``yes/no``; text
    that all follows one date format is a date; everything else is a set of levels.

    Raises
    ------
    TableError
        Where the values are complex numbers.
    """
    if column.isna().all():
        return ColumnPlan(name, "number")
    what = content(column)
    if what == "complex":
        raise TableError(
            f"Column {name!r} holds complex numbers: give its real and imaginary parts as two "
            "columns."
        )
    if what == "boolean":
        return ColumnPlan(name, "yes/no", ("False", "True"))
    if what in _NUMBER_CONTENT:
        return ColumnPlan(name, "number")
    if what in _DATE_CONTENT or what == "period":
        zone = getattr(_as_dates(column).dt, "tz", None)
        return ColumnPlan(name, "date", timezone=str(zone or ""))
    return _plan_text(name, as_text(column))


def _plan_text(name: str, text: pd.Series) -> ColumnPlan:
    found = text.dropna()
    levels = sorted(found.unique())
    if not levels:
        return ColumnPlan(name, "number")
    date_format = _date_format(found)
    if date_format:
        zone = "UTC" if "%z" in date_format else ""
        return ColumnPlan(name, "date", date_format=date_format, timezone=zone)
    if len(levels) == 2:
        return ColumnPlan(name, "yes/no", tuple(levels))
    return ColumnPlan(name, "levels")


def _date_format(text: pd.Series) -> str:
    """Return the one date format that every value follows, or ''."""
    if text.empty or text.str.fullmatch(r"[\d.]+").any():
        return ""
    reader = ToDatetime()
    try:
        reader.fit(text.astype("str").reset_index(drop=True))
    except RejectColumn:
        return ""
    return str(reader.format_ or "")


def read_number(plan: ColumnPlan, column: pd.Series) -> Read[np.ndarray]:
    """Return the column as (n,) float64, nan where missing.

    Raises
    ------
    TableError
        For infinite values.
    """
    read = _to_float(plan, column)
    infinite = int(np.isinf(read.values).sum())
    if infinite:
        raise TableError(
            f"Column {plan.name!r} has {infinite} infinite value{'s' * (infinite > 1)}: "
            "put a number there or leave the cell empty."
        )
    return read


def _to_float(plan: ColumnPlan, column: pd.Series) -> Read[np.ndarray]:
    if types.is_timedelta64_dtype(column.dtype) or content(column) == "timedelta":
        return Read(pd.to_timedelta(column).dt.total_seconds().to_numpy(dtype=float))
    if types.is_numeric_dtype(column.dtype):
        return Read(column.to_numpy(dtype=float, na_value=np.nan))
    text = as_text(column)
    values = numbers_in(text)
    return _read(plan, text, values, np.isnan(values))


def numbers_in(text: pd.Series) -> np.ndarray:
    """Return (n,) float64, nan where the text is not a number."""
    return np.asarray(pd.to_numeric(text, errors="coerce"), dtype=float)


def read_two_levels(plan: ColumnPlan, column: pd.Series) -> Read[np.ndarray]:
    """Return (n,) float64: 0 for the first level, 1 for the second, nan for anything else."""
    text = as_text(column)
    if plan.levels == ("False", "True"):
        text = text.map(lambda value: _TRUTH.get(value.lower(), value), na_action="ignore")
    codes = {level: float(code) for code, level in enumerate(plan.levels)}
    values = text.map(codes).to_numpy(dtype=float, na_value=np.nan)
    return _read(plan, text, values, np.isnan(values))


def read_levels(plan: ColumnPlan, column: pd.Series) -> Read[pd.Series]:
    """Return the column as a categorical whose levels are text; unseen ones count as not read."""
    text = as_text(column)
    values = text.astype("category")
    unseen = ~text.isin(plan.levels).to_numpy() if plan.levels else np.zeros(len(text), bool)
    return _read(plan, text, values, unseen)


def read_date(plan: ColumnPlan, column: pd.Series) -> Read[pd.Series]:
    """Return the column as datetimes in the zone of the plan; NaT where it cannot be read."""
    if plan.date_format and content(column) not in _DATE_CONTENT:
        utc = bool(plan.timezone)
        text = as_text(column)
        dates = pd.to_datetime(text, format=plan.date_format, errors="coerce", utc=utc)
    else:
        dates = _as_dates(column)
    read = _in_zone(dates, plan.timezone).astype(f"datetime64[us{_zone_suffix(plan)}]")
    if types.is_datetime64_any_dtype(column.dtype):
        return Read(read)
    return _read(plan, as_text(column), read, read.isna().to_numpy())


def _zone_suffix(plan: ColumnPlan) -> str:
    return f", {plan.timezone}" if plan.timezone else ""


def _as_dates(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if types.is_string_dtype(column.dtype) and content(column) == "string":
        return pd.to_datetime(as_text(column), errors="coerce", format="ISO8601")
    return pd.to_datetime(column, errors="coerce")


def _in_zone(dates: pd.Series, zone: str) -> pd.Series:
    aware = isinstance(dates.dtype, pd.DatetimeTZDtype)
    if aware:
        return dates.dt.tz_convert(zone) if zone else dates.dt.tz_localize(None)
    return dates.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT") if zone else dates
