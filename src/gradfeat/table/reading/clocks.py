"""Columns of times of day and of lengths of time, written or stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.date_cells import OFFSET
from gradfeat.table.reading.dates import on_circle
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.number_cells import is_marker
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

    `doubted`: one of cells that may be lengths of time as well; `digits`: one of four digits, of
    which the last two are minutes in all training rows.
    """

    kind: ClassVar[Kind] = "time of day"
    ordered: ClassVar[bool] = True

    doubted: str = ""
    digits: str = ""

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        if self.digits:
            clock = f"{self.digits[:2]}:{self.digits[2:]}"
            return f"Every cell of {self.name!r} is a time of day: {self.digits!r} is {clock}."
        if not self.doubted:
            return ""
        return (
            f"{self.name!r} is taken as times of day, as nothing tells these from lengths of time: "
            f"where {self.doubted!r} is one, write it with units, such as 2h 05m or 2m 05s."
        )

    def encode(self, column: pd.Series) -> EncodedColumn:
        seconds = by_distinct(cell_text(column), _digits_of_day if self.digits else times_of_day)
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

    #: Of what is written, 6m is six months and no minutes, and a number alone is of seconds; the
    #: unit of all training cells, of which later numbers alone are.
    months: bool = False
    bare: bool = False
    unit: str = ""

    def encode(self, column: pd.Series) -> EncodedColumn:
        if types.is_timedelta64_dtype(column.dtype):
            seconds = column.dt.total_seconds().to_numpy(dtype=float)
        else:
            read = partial(durations, months=self.months, bare=self.bare)
            seconds = by_distinct(cell_text(column), read)
        lost = np.isnan(seconds)
        if not self.unit or not lost.any():
            unread = unread_cells(self.name, column, lost, self.kind)
            return with_gaps(self, {"": seconds}, unread)
        one = durations(np.array([f"1 {self.unit}"], dtype=object))[0]
        alone = one * by_distinct(cell_text(column.where(lost)), _numbers_alone)
        seconds, how = np.where(lost, alone, seconds), f"without a unit as {self.unit}s"
        told = unread_cells(self.name, column, ~np.isnan(alone), how, read=True)
        unread = unread_cells(self.name, column, np.isnan(seconds), self.kind)
        return with_gaps(self, {"": seconds}, (*told, *unread))

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return "as seconds"


#: Names of columns of lengths of time; and clocks of the morning alone may be some.
_LENGTH_NAME = re.compile("durat|length|lap|pace|elapsed|runtime|split|took", re.IGNORECASE)
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
    if found.mostly(clock) and longer <= _LONGER * counts.sum() and not _LENGTH_NAME.search(name):
        early = not (clock >= _DAY / 2).any() and all(map(_BARE_CLOCK.fullmatch, found.texts))
        return ClockPlan(name, found.texts[0] if early else "")
    if not found.mostly(length):
        return None
    known = texts[~np.isnan(length)]
    return DurationPlan(name, months, bare_seconds(found.texts), _one_unit(known, months))


#: Hours and minutes without a sign, how many such cells tell that they are that, and a minute that
#: no day of a month is, and few parts of a group have.
_DIGITS, _MANY, _LATE = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d|2400", re.ASCII), 10, "45"


def find_digits_clock(name: str, found: DistinctTexts) -> ColumnPlan | None:
    """The plan of times such as 0930 and 1745, all of four digits; None for any other column.

    Of numbers of four digits with leading zeros one in seven is a time of day.

    >>> texts = [f"{hour:02d}{minute}" for hour in (8, 17) for minute in range(10, 60, 7)]
    >>> plan = find_digits_clock("t", DistinctTexts(tuple(texts), (1,) * len(texts)))
    >>> plan.encode(pd.Series(["0930", "9:30", 930, "0975"])).parts["_seconds"].tolist()
    [34200.0, 34200.0, 34200.0, nan]
    """
    known = [text for text in found.texts if not is_marker(text)]
    late = any(text[2:] >= _LATE for text in known)
    if len(known) < _MANY or not late or not all(map(_DIGITS.fullmatch, known)):
        return None
    return ClockPlan(name, digits=known[0])


def _digits_of_day(texts: NDArray[np.object_]) -> NDArray[np.float64]:
    padded = [text.zfill(4) if text.isdigit() else text for text in texts]
    signs = [f"{t[:2]}:{t[2:]}" if _DIGITS.fullmatch(t) else t for t in padded]
    return times_of_day(np.array(signs, dtype=object))


#: With a zone, but 9:00-17:00 is a range.
_OF_DAY = re.compile(
    r"T?(?P<H>\d{1,2})(?:[:hH]|\.(?=\d\d ?(?:Uhr|[AaPp]\.?[Mm])))(?P<M>\d{2})"
    r"(?::(?P<S>\d{2})(?:[.,](?P<f>\d+))?)?"
    rf"(?: ?(?P<half>[AaPp])(?:\.?[Mm])?\.?| ?(?:Uhr|hrs?|h)|Z|(?(S)[+-]|\+){OFFSET})?"
    r"|(?P<hour>\d{1,2}) ?(?:(?P<part>[AaPp])\.?[Mm]\.?|Uhr|o'clock)",
    re.ASCII,
)
_NAMED = {"midnight": 0.0, "noon": _DAY / 2, "midday": _DAY / 2}
_LENGTH = re.compile(
    r"(?:(?P<d>-?\d+) days?,? ?\+?)?(?:(?P<sign>[-+])?(?P<H>\d+):(?P<M>\d{2})"
    r"(?::(?P<S>\d{2}(?:[.,]\d+)?))?)?",
    re.ASCII,
)
_ISO_LENGTH = re.compile(
    r"(?P<sign>-)?P(?:(?P<y>\d+)Y)?(?:(?P<mo>\d+)M)?(?:(?P<w>\d+)W)?(?:(?P<d>-?\d+)D)?"
    r"(?:T(?:(?P<H>\d+)H)?(?:(?P<M>\d+)M)?(?:(?P<S>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_NUMBER, _THEN = r"\d+(?:\.\d+)?", r"\.?(?:,| and| und| et)? *"
_IN_WORDS = re.compile(
    rf"(?P<sign>-)?(?:(?P<d>{_NUMBER}) ?(?:d|(?i:days?|tage?)){_THEN})?"
    rf"(?:(?P<H>{_NUMBER}) ?(?:h|(?i:hrs?|hours?|std|stunden?|heures?)){_THEN})?"
    rf"(?:(?P<M>{_NUMBER}) ?(?:m|(?i:mins?|minuten?|minutes?)){_THEN})?"
    rf"(?:(?P<S>{_NUMBER}) ?(?:s|(?i:secs?|sek|seconds?))\.?{_THEN[3:]})?"
    rf"(?:(?P<ms>{_NUMBER}) ?(?:ms|(?i:msecs?|milliseconds?)))?"
    rf"(?:(?P<us>{_NUMBER}) ?(?:[uµμ]s|(?i:microseconds?)))?"
    rf"(?:(?P<ns>{_NUMBER}) ?(?:ns|(?i:nanoseconds?)))?",
    re.ASCII,
)
#: Ages: a bare m is of months beside years alone, and all over a column of such.
_AGE, _AGE_OF_MONTHS = (
    re.compile(
        rf"(?:(?P<y>{_NUMBER}) ?(?:[yY]|(?i:yrs?|years?|jahre?|ans?)){_THEN})?"
        rf"(?:(?P<mo>{_NUMBER}) ?(?:{bare}|(?i:mos?|mths?|months?|monate?|mois)){_THEN})?"
        rf"(?:(?P<w>{_NUMBER}) ?(?:[wW]|(?i:wks?|weeks?|wochen?)){_THEN})?"
        rf"(?:(?P<d>{_NUMBER}) ?(?:[dD]|(?i:days?|tage?)))?\.?",
        re.ASCII,
    )
    for bare in ("(?(y)m|(?!))", "[mM]")
)
_DAYS = {"y": 365.25, "mo": 365.25 / 12, "w": 7.0, "d": 1.0}
_PARTS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
#: Degrees, or hours, with minutes and seconds, as catalogues of stars have them.
_SEXAGESIMAL = re.compile(r"[-+]\d{1,3} [0-5]\d [0-5]\d(?:\.\d+)?", re.ASCII)
#: Minutes and seconds of a lap, or seconds alone.
_LAP = re.compile(r"(?:(?P<M>\d+):(?=\d{2}))?(?P<S>\d{1,2}[.,]\d+)", re.ASCII)


def times_of_day(texts: NDArray[np.object_]) -> NDArray[np.float64]:
    """Seconds since midnight (n,); nan for what is no time of day.

    >>> times_of_day(np.array(["1.08 PM", "13:08:05.5", "24:01"], dtype=object)).tolist()
    [47280.0, 47285.5, nan]
    """
    return np.array([_time_of_day(text) for text in texts], dtype=np.float64)


def _time_of_day(text: str) -> float:
    m = _OF_DAY.fullmatch(text)
    if m is None:
        return _NAMED.get(text.casefold().removeprefix("12 "), np.nan)
    hours, half = int(m["H"] or m["hour"]), (m["half"] or m["part"] or "").lower()
    minutes, seconds = int(m["M"] or 0), int(m["S"] or 0)
    good = 0 < hours < 13 if half else hours < 24 or (hours, minutes, seconds) == (24, 0, 0)
    if not good or minutes > 59 or seconds > 59:
        return np.nan
    hours = hours % 12 + 12 * (half == "p") if half else hours
    return 3600.0 * hours + 60 * minutes + seconds + float(f"0.{m['f'] or 0}")


def in_months(texts: NDArray[np.object_]) -> bool:
    """Whether 6m is six months, as beside 1y and 2w: no minutes, as beside 2h.

    >>> in_months(np.array(["6m", "1y"])), in_months(np.array(["6m", "2h", "1w"]))
    (True, False)
    """
    said = "\n".join(texts).lower()
    return bool(re.search(r"\d ?[yw]", said)) and not re.search(r"\d ?[hs]", said)


def _one_unit(texts: NDArray[np.object_], months: bool) -> str:
    """The unit of texts that are all one number with the same unit, as 37.50 min; "" for others."""
    matches = [_IN_WORDS.fullmatch(text) for text in texts]
    found = {"".join(k for k in "dHMS" if m and m[k]) for m in matches}
    units = {"d": "day", "H": "hour", "M": "minute", "S": "second"}
    return "" if months or len(found) != 1 else units.get(found.pop(), "")


def _numbers_alone(texts: NDArray[np.object_]) -> NDArray[np.float64]:
    return np.array([float(t) if re.fullmatch(_NUMBER, t) else np.nan for t in texts], dtype=float)


def bare_seconds(texts: Sequence[str]) -> bool:
    """Whether any is of seconds alone, as 58.31 beside 1:02.50."""
    return any((m := _LAP.fullmatch(text)) and not m["M"] for text in texts)


def durations(
    texts: NDArray[np.object_], *, months: bool = False, bare: bool = True
) -> NDArray[np.float64]:
    """Seconds (n,); nan for what is no duration; 6m is six months if `months`, else minutes.

    A number alone, as 58.31, is of seconds if `bare`.

    >>> durations(np.array(["1 days 02:00", "-1 days +02:00", "PT1H30M"], dtype=object)).tolist()
    [93600.0, -79200.0, 5400.0]
    >>> durations(np.array(["1h 30m", "90 min", "1.5 s"], dtype=object)).tolist()
    [5400.0, 5400.0, 1.5]
    """
    return np.array([_duration(text, months, bare) for text in texts], dtype=np.float64)


def _duration(text: str, months: bool, bare: bool) -> float:
    text = text.replace("−", "-").removesuffix(" ago").removesuffix(" old")
    text = text.replace(" ", ":") if _SEXAGESIMAL.fullmatch(text) else text
    if months and not np.isnan(age := _age(text, _AGE_OF_MONTHS)):
        return age
    if (lap := _LAP.fullmatch(text)) and (bare or lap["M"]):
        return 60.0 * int(lap["M"] or 0) + float(lap["S"].replace(",", "."))
    m = _LENGTH.fullmatch(text) or _ISO_LENGTH.fullmatch(text) or _IN_WORDS.fullmatch(text)
    groups = {} if m is None else m.groupdict()
    if not any(groups.get(key) for key in (*_DAYS, *"HMS", *_PARTS)):
        return _age(text, _AGE)
    sign = -1.0 if groups["sign"] == "-" else 1.0
    days = sum(_DAY * float(groups.get(key) or 0) * size for key, size in _DAYS.items())
    seconds = float((groups["S"] or "0").replace(",", "."))
    seconds += sum(float(groups.get(key) or 0) * size for key, size in _PARTS.items())
    rest = 3600.0 * float(groups["H"] or 0) + 60 * float(groups["M"] or 0) + seconds
    return days + sign * rest if m is not None and m.re is _LENGTH else sign * (days + rest)


def _age(text: str, way: re.Pattern[str]) -> float:
    m = way.fullmatch(text) if text else None
    if m is None:
        return np.nan
    return _DAY * sum(float(m[key] or 0) * days for key, days in _DAYS.items())
