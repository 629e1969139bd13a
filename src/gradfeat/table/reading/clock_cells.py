"""Times of day and durations written as text, as seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gradfeat.table.reading.date_cells import OFFSET

#: With a zone, but 9:00-17:00 is a range.
_OF_DAY = re.compile(
    r"T?(?P<H>\d{1,2})(?:[:hH]|\.(?=\d\d ?(?:Uhr|[AaPp]\.?[Mm])))(?P<M>\d{2})"
    r"(?::(?P<S>\d{2})(?:[.,](?P<f>\d+))?)?"
    rf"(?: ?(?P<half>[AaPp])(?:\.?[Mm])?\.?| ?(?:Uhr|hrs?|h)|Z|(?(S)[+-]|\+){OFFSET})?"
    r"|(?P<hour>\d{1,2}) ?(?:(?P<part>[AaPp])\.?[Mm]\.?|Uhr|o'clock)",
    re.ASCII,
)
_LENGTH = re.compile(
    r"(?:(?P<d>-?\d+) days?,? ?\+?)?(?:(?P<sign>-)?(?P<H>\d+):(?P<M>\d{2})"
    r"(?::(?P<S>\d{2}(?:[.,]\d+)?))?)?",
    re.ASCII,
)
_ISO_LENGTH = re.compile(
    r"(?P<sign>-)?P(?:(?P<w>\d+)W)?(?:(?P<d>-?\d+)D)?"
    r"(?:T(?:(?P<H>\d+)H)?(?:(?P<M>\d+)M)?(?:(?P<S>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_NUMBER, _THEN = r"\d+(?:\.\d+)?", r"\.?(?:,| and| und| et)? *"
_IN_WORDS = re.compile(
    rf"(?P<sign>-)?(?:(?P<d>{_NUMBER}) ?(?:d|(?i:days?|tage?)){_THEN})?"
    rf"(?:(?P<H>{_NUMBER}) ?(?:h|(?i:hrs?|hours?|std|stunden?|heures?)){_THEN})?"
    rf"(?:(?P<M>{_NUMBER}) ?(?:m|(?i:mins?|minuten?|minutes?)){_THEN})?"
    rf"(?:(?P<S>{_NUMBER}) ?(?:s|(?i:secs?|sek|seconds?))\.?)?",
    re.ASCII,
)
#: Ages: a bare m is of months beside years alone, and all over a column of such.
_AGE, _AGE_OF_MONTHS = (
    re.compile(
        rf"(?:(?P<y>{_NUMBER}) ?(?:y|(?i:yrs?|years?|jahre?|ans?)){_THEN})?"
        rf"(?:(?P<mo>{_NUMBER}) ?(?:{bare}|(?i:mos?|mths?|months?|monate?|mois)){_THEN})?"
        rf"(?:(?P<w>{_NUMBER}) ?(?:w|(?i:wks?|weeks?|wochen?)){_THEN})?"
        rf"(?:(?P<d>{_NUMBER}) ?(?:d|(?i:days?|tage?)))?\.?",
        re.ASCII,
    )
    for bare in ("(?(y)m|(?!))", "m")
)
_DAYS = {"y": 365.25, "mo": 365.25 / 12, "w": 7.0, "d": 1.0}
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
        return np.nan
    hours, half = int(m["H"] or m["hour"]), (m["half"] or m["part"] or "").lower()
    minutes, seconds = int(m["M"] or 0), int(m["S"] or 0)
    good = 0 < hours < 13 if half else hours < 24
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
    text = text.removesuffix(" ago").removesuffix(" old")
    if months and not np.isnan(age := _age(text, _AGE_OF_MONTHS)):
        return age
    if (lap := _LAP.fullmatch(text)) and (bare or lap["M"]):
        return 60.0 * int(lap["M"] or 0) + float(lap["S"].replace(",", "."))
    m = _LENGTH.fullmatch(text) or _ISO_LENGTH.fullmatch(text) or _IN_WORDS.fullmatch(text)
    groups = {} if m is None else m.groupdict()
    if not any(groups.get(key) for key in ("w", "d", "H", "M", "S")):
        return _age(text, _AGE)
    sign = -1.0 if groups["sign"] else 1.0
    days = 86400.0 * (7 * int(groups.get("w") or 0) + float(groups["d"] or 0))
    seconds = float((groups["S"] or "0").replace(",", "."))
    rest = 3600.0 * float(groups["H"] or 0) + 60 * float(groups["M"] or 0) + seconds
    return days + sign * rest if m is not None and m.re is _LENGTH else sign * (days + rest)


def _age(text: str, way: re.Pattern[str]) -> float:
    m = way.fullmatch(text) if text else None
    if m is None:
        return np.nan
    return 86400.0 * sum(float(m[key] or 0) * days for key, days in _DAYS.items())
