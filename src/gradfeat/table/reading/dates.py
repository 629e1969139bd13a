"""Columns of dates, written in any usual way or stored as dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.date_cells import (
    BARE_YEAR,
    EITHER,
    NO_YEAR,
    PIVOT,
    Short,
    WrittenDates,
    in_days,
    written_dates,
    year_first,
)
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.plan import (
    MISSING,
    ColumnPlan,
    EncodedColumn,
    Floats,
    by_distinct,
    cell_text,
    content,
    unread_cells,
    with_gaps,
)
from gradfeat.table.results import Kind

#: Which of two numbers is the day; "" where the column has none that may be either.
DateOrder = Literal["", "day-first", "month-first"]

#: Years that a column keeps to where most of its dates do: those of 64-bit nanoseconds, so that
#: 9999-12-31 for "open" does not stretch it.
USUAL_YEARS = (1678, 2261)
ALL_YEARS = (1, 9999)
NO_YEARS = (NO_YEAR, NO_YEAR)

#: Signs between two numbers of which either may be the day; who puts dots there writes it first.
_DOT = "."
_MARKS = ("-", "/", "_", " ", _DOT, "")

#: Numbers of days in spreadsheets, and how they are read, also in less than half of the cells.
_HALF = 0.5
_DAY_NUMBER = re.compile(r"[2-6]\d{4}(?:\.\d+)?", re.ASCII)
_COUNTED = "as days that spreadsheets number from 1899-12-30"

#: What comes round, and after how many.
_ROUND = {"month": 12, "day": 30, "weekday": 7, "hour": 24}

#: Years of two digits that span more than these are all there are, and cut somewhere.
_DENSE = 90

Dates = NDArray[np.datetime64]


@final
@dataclass(frozen=True)
class DatePlan(ColumnPlan):
    """Dates.

    `order`: of dates such as 3/4/2021 with one of the `marks` that training cells have; with other
    marks those are read that are a date in one order alone; year first and names of months are read
    in any case; `assumed`: whether nothing in the table told the order; `timezone`: in which the
    parts of a date are taken; "" for the clock that is written; `years`: first and last year; dates
    beyond are missing; `also`: what else was assumed, in a sentence; `short`: where the year of six
    digits is; `pivot`: the last year of two digits that is of the 2000s.
    """

    kind: ClassVar[Kind] = "date"
    ordered: ClassVar[bool] = True

    order: DateOrder = ""
    assumed: bool = False
    marks: tuple[str, ...] = ()
    timezone: str = ""
    years: tuple[int, int] = USUAL_YEARS
    also: str = ""
    short: Short = ""
    pivot: int = PIVOT

    @property
    def cells(self) -> Cells:
        return "text"

    def read(self, column: pd.Series) -> pd.Series:
        """The dates to the microsecond, in the zone of the plan; NaT where they are missing."""
        stored = types.is_datetime64_any_dtype(column.dtype) or content(column) == "period"
        dates = self._stored(column) if stored else self._written(cell_text(column))
        return dates.mask((dates.dt.year < self.years[0]) | (dates.dt.year > self.years[1]))

    def _stored(self, column: pd.Series) -> pd.Series:
        return _in_zone(_naive_or_aware(column), self.timezone)

    def _written(self, text: pd.Series) -> pd.Series:
        codes, distinct = pd.factorize(text)
        days = self.years == NO_YEARS
        texts = np.asarray(distinct, dtype=object)
        written = written_dates(texts, days=days, short=self.short)
        values = self._calendar(written.since(self.pivot))
        known = ~np.isnan(written.offset)
        if self.timezone:
            minutes = np.where(known, written.offset, 0.0)
            aware = pd.Series(values - minutes.astype("timedelta64[m]")).dt.tz_localize("UTC")
            local = _in_zone(pd.Series(values), self.timezone)
            dates = aware.dt.tz_convert(self.timezone).where(known, local)
        else:
            dates = pd.Series(values)
        return dates.reindex(codes).set_axis(text.index)

    def _calendar(self, written: WrittenDates) -> Dates:
        dates = calendar(written, self.order)
        new = (written.first > 0) & ~np.isin(written.mark, self.marks)
        return np.where(new, _in_one_order(written), dates) if new.any() else dates

    def seconds(self, column: pd.Series) -> Floats:
        """Seconds since 1970, nan where missing: (n,) float64."""
        return _seconds(self.read(column))

    def encode(self, column: pd.Series) -> EncodedColumn:
        dates = self.read(column)
        counted = np.zeros(len(column), bool)
        if dates.isna().any() and self.years == USUAL_YEARS:
            days = _in_zone(_counted_days(cell_text(column.where(dates.isna()))), self.timezone)
            dates, counted = dates.where(dates.notna(), days), days.notna().to_numpy()
        missing = dates.isna().to_numpy()
        parts = {"_seconds": _seconds(dates), "_year": dates.dt.year.to_numpy(dtype=float)}
        for name, period in _ROUND.items():
            if name == "weekday" and self.years == NO_YEARS:
                continue
            turns = _part(dates, name).to_numpy(dtype=float) / period
            parts |= on_circle(f"_{name}", turns)
        unread = unread_cells(self.name, column, missing, self._what, self._in_other_orders)
        told = unread_cells(self.name, column, counted, _COUNTED, read=True)
        return with_gaps(self, parts, (*told, *unread))

    def _in_other_orders(self, text: pd.Series) -> dict[str, NDArray[np.bool_]]:
        """Which of the cells that are missing are dates in another order, or with another mark."""
        turns: dict[DateOrder, DateOrder] = {"day-first": "month-first", "month-first": "day-first"}
        turned, *either = (
            replace(self, order=order, marks=marks).read(text).notna().to_numpy()
            for order, marks in (
                (turns.get(self.order, ""), self.marks),
                *((o, _MARKS) for o in turns),
            )
        )
        first, other = self.order.removesuffix("-first"), turns.get(self.order, "")[:-6]
        beyond = replace(self, years=ALL_YEARS) if self.years == USUAL_YEARS else self
        return {
            f"date from {self.years[0]} to {self.years[1]}": beyond.read(text).notna().to_numpy(),
            f"date with the {first} first, but some with the {other} first, so that others may be "
            "misread": turned,
            "sure date, as training rows do not tell day from month (write the year first)": (
                np.any(either, axis=0) & ~turned
            ),
        }

    @property
    def _what(self) -> str:
        return "day without a year" if self.years == NO_YEARS else "date"

    @property
    def assumption(self) -> str:
        if not self.assumed:
            return self.also
        return (
            f"Nothing in {self.name!r} tells day from month: 3/4/2021 is taken as March 4; --dates "
            f"day-first takes it as 3 April. {self.also}"
        ).strip()

    def treatment(self, parts: Sequence[str]) -> str:
        read = f"read {self.order}, " if self.order else ""
        named = dict.fromkeys(
            part.split("_circular")[0].strip("_") for part in parts if part != MISSING
        )
        if not named:
            return "whether there is one"
        return f"{read}as {', '.join(named)} (parts that come round lie on a circle)"


def _part(dates: pd.Series, name: str) -> pd.Series:
    return dates.dt.day_of_week + 1 if name == "weekday" else getattr(dates.dt, name)


def on_circle(name: str, turns: Floats) -> dict[str, Floats]:
    """Sine and cosine of so many turns (n,), by the names of skrub."""
    angle = 2 * np.pi * turns
    return {f"{name}_circular_0": np.sin(angle), f"{name}_circular_1": np.cos(angle)}


def calendar(written: WrittenDates, order: DateOrder) -> Dates:
    """Dates (n,) to the microsecond; NaT for what is none."""
    either = written.first > 0
    days, months = written.first, written.second
    if order == "month-first":
        days, months = months, days
    month = np.where(either, months, written.month)
    day = np.where(either, days, written.day)
    good = written.found & (month >= 1) & (month <= 12) & (written.year >= 1)
    good &= written.microseconds >= 0
    since = ((written.year - 1970) * 12 + month - 1).astype("datetime64[M]")
    dates = since.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    good &= (dates.astype("datetime64[M]") == since) & (day >= 1)
    found = dates.astype("datetime64[us]") + written.microseconds.astype("timedelta64[us]")
    return np.where(good, found, np.datetime64("NaT", "us"))


def _in_one_order(written: WrittenDates) -> Dates:
    """Dates (n,) where one order alone makes them one; NaT elsewhere.

    Those with dots have the day first; a year of two digits may be the first number as well.
    """
    day, month = (calendar(written, order) for order in ("day-first", "month-first"))
    dates = np.where(np.isnat(day) & (written.mark != _DOT), month, day)
    sure = np.isnat(day) | np.isnat(month) | (day == month) | (written.mark == _DOT)
    return np.where(sure & ~written.short, dates, np.datetime64("NaT", "us"))


def _counted_days(text: pd.Series) -> pd.Series:
    """The moments of days from 1954 to 2091 as spreadsheets number them; NaT for other texts."""
    days = by_distinct(
        text,
        lambda some: np.array([float(t) if _DAY_NUMBER.fullmatch(t) else np.nan for t in some]),
    )
    since = np.round(np.nan_to_num(days) * 86_400e6).astype("timedelta64[us]")
    dates = np.datetime64("1899-12-30", "us") + since
    return pd.Series(np.where(np.isnan(days), np.datetime64("NaT", "us"), dates), text.index)


def _naive_or_aware(column: pd.Series) -> pd.Series:
    if content(column) == "period":
        return pd.Series(pd.PeriodIndex(column).to_timestamp(), index=column.index).dt.as_unit("us")
    zone = getattr(column.dt, "tz", None)
    kind = "datetime64[us]" if zone is None else pd.DatetimeTZDtype("us", zone)
    return column.astype(kind)


def _in_zone(dates: pd.Series, zone: str) -> pd.Series:
    if dates.dt.tz is not None:
        return dates.dt.tz_convert(zone) if zone else dates.dt.tz_localize(None)
    return dates.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT") if zone else dates


def _seconds(dates: pd.Series) -> Floats:
    """Seconds since 1970 in float64 (skrub's are float32: steps of two minutes)."""
    zero = pd.Timestamp(0, tz=dates.dt.tz).as_unit("us")
    return (dates - zero).dt.total_seconds().to_numpy(dtype=float)


@dataclass(frozen=True)
class DateEvidence:
    """How often the first and the second of two numbers cannot be the month."""

    day_first: int
    month_first: int
    dotted: bool

    @property
    def order(self) -> DateOrder:
        """What the cells tell, "" where they tell nothing."""
        if self.day_first == self.month_first:
            return ""
        return "day-first" if self.day_first > self.month_first else "month-first"


def date_evidence(written: WrittenDates, counts: NDArray[np.int64]) -> DateEvidence | None:
    """What a column tells of the order of day and month; None where it has no such dates."""
    either = written.first > 0
    if not either.any():
        return None
    day = int(counts[either & (written.first > 12) & (written.second <= 12)].sum())
    month = int(counts[either & (written.second > 12) & (written.first <= 12)].sum())
    if day == month == 0 and len(np.unique(written.year[either])) > 1:
        # Of months, quarters or years the day is the same in all.
        one, other = (len(np.unique(part[either])) for part in (written.first, written.second))
        day, month = int(one == 1 and other > 2), int(other == 1 and one > 2)
    return DateEvidence(day, month, bool((written.mark[either] == _DOT).all()))


@dataclass(frozen=True)
class DateTexts:
    """The distinct texts of a column that may be dates, taken apart."""

    found: DistinctTexts
    written: WrittenDates
    evidence: DateEvidence | None
    short: Short = ""

    @classmethod
    def of(cls, found: DistinctTexts, short: Short = "") -> DateTexts | None:
        """None where they are not mostly dates, or years alone."""
        short = short or ("first" if year_first(found.texts) else "")
        texts = np.array(found.texts, dtype=object)
        written = written_dates(texts, days=in_days(found.texts), short=short)
        written = written.since(written.pivot)
        counts = np.array(found.counts, dtype=np.int64)
        evidence = date_evidence(written, counts)
        order = evidence.order if evidence else ""
        values = _since_1970(calendar(written, order or "day-first"))
        if _HALF < np.sum(counts * ~np.isnan(values)) / counts.sum() < 1:
            days = _since_1970(_counted_days(pd.Series(texts)).to_numpy())
            beside = (days >= np.nanmin(values)) & (days <= np.nanmax(values))
            values = np.where(np.isnan(values) & beside, days, values)
        if not found.mostly(values) or not (written.found & ~_bare_years(found)).any():
            return None
        return cls(found, written, evidence, short)

    def plan(self, name: str, asked: DateOrder, elsewhere: DateOrder) -> DatePlan:
        """Day and month as the column tells, as `asked`, as other columns do, else month-first.

        Dates with dots are written with the day first everywhere.
        """
        zone = "UTC" if (~np.isnan(self.written.offset)).any() else ""
        years = usual_years(self.written.year, np.array(self.found.counts))
        short, pivot = self.short, self.written.pivot
        plan = DatePlan(name, "", False, (), zone, years, self._also(name, years), short, pivot)
        if self.evidence is None:
            return plan
        usual: DateOrder = "day-first" if self.evidence.dotted else ""
        told = self.evidence.order or asked or usual or elsewhere
        marks = tuple(sorted(set(self.written.mark[self.written.first > 0])))
        return replace(plan, order=told or "month-first", assumed=not told, marks=marks)

    def _also(self, name: str, years: tuple[int, int]) -> str:
        """What was assumed of years and zones that are not written, in sentences."""
        said = []
        texts = [text for text in self.found.texts if EITHER.fullmatch(text)]
        if texts:
            taken = "a day without a year" if years == NO_YEARS else "a month of a year"
            return f"In {name!r} {texts[0]!r} is taken as {taken}: write years with four digits."
        if self.short:
            digits = f"In {name!r} {self.found.texts[0]!r}"
            said.append(f"{digits} is taken as a day with the year {self.short}.")
        if (alone := _bare_years(self.found)).any():
            year = self.found.texts[int(alone.argmax())]
            said.append(f"In {name!r} {year!r} alone is taken as its first day.")
        two = self.written.year[self.written.short]
        if len(two) and np.ptp(two) > _DENSE:
            ends = f"{two.min()} to {two.max()}"
            said.append(f"Years of two digits in {name!r} are taken as {ends}.")
        bare = np.flatnonzero(self.written.found & np.isnan(self.written.offset))
        if 0 < len(bare) < self.written.found.sum():
            example = self.found.texts[bare[0]]
            said.append(f"Times of {name!r} without a zone, as {example!r}, are taken as UTC.")
        return " ".join(said)


def _since_1970(dates: Dates) -> Floats:
    """Microseconds (n,), nan for NaT."""
    return np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(float))


def _bare_years(found: DistinctTexts) -> NDArray[np.bool_]:
    return np.array([BARE_YEAR.fullmatch(text) is not None for text in found.texts], dtype=bool)


def usual_years(year: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[int, int]:
    """The years that a column keeps to: 1678 to 2261 where half of its dates do, else any.

    NO_YEARS where half of them at least are days without one.

    >>> usual_years(np.array([2020, 9999]), np.array([9, 1]))
    (1678, 2261)
    """
    known = year > 0
    if 2 * counts[year == NO_YEAR].sum() > counts[known].sum():
        return NO_YEARS
    usual = known & (year >= USUAL_YEARS[0]) & (year <= USUAL_YEARS[1])
    return USUAL_YEARS if 2 * counts[usual].sum() >= counts[known].sum() else ALL_YEARS


def stored_plan(name: str, column: pd.Series) -> DatePlan:
    """The plan of a column that is stored as dates."""
    dates = _naive_or_aware(column)
    year = dates.dt.year.dropna().to_numpy(dtype=np.int64)
    zone = str(dates.dt.tz or "")
    return DatePlan(name, timezone=zone, years=usual_years(year, np.ones(len(year), np.int64)))
