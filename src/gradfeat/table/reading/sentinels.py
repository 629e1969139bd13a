"""Values that stand for missing ones, told by how far they are from all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gradfeat.drawing.numbers import percent

#: What is written for a missing number, beside nines alone: -9, 99, -999, 9999, ...
_OTHERS = (-1.0, 32767.0, -32768.0, 2147483647.0, -2147483648.0)

#: Numbers of that size stand for a missing one, and so do these days (seconds since 1970).
_LARGE, _DAYS = 1e19, [-2208988800.0, 0.0, -62135596800.0]

#: Fewest cells that hold it, and how far it is from the others, in lengths of their range.
_LEAST, _FAR = 3, 0.5


def sentinel(values: NDArray[np.float64]) -> float | None:
    """The number that stands far from all others, occurs again, and is -1 or all nines.

    >>> sentinel(np.array([*range(40), -999.0, -999.0, -999.0]))
    -999.0
    >>> sentinel(np.array([*range(40), -1.0, -1.0, -1.0])) is None
    True
    """
    known, count = np.unique(values[~np.isnan(values)], return_counts=True)
    for at, inner in ((0, known[1:]), (-1, known[:-1])):
        if len(inner) < 2 or count[at] < _LEAST or not _usual(known[at]):
            continue
        gap = inner[0] - known[0] if at == 0 else known[-1] - inner[-1]
        if gap > _FAR * (inner[-1] - inner[0]):
            return float(known[at])
    return None


def _written(value: float) -> str:
    return f"{value:.0f}" if abs(value) < _LARGE else f"{value:g}"


def about_first_day(name: str, seconds: NDArray[np.float64]) -> str:
    """A remark on a day on which a calendar begins, far from all others, in several rows."""
    known = seconds[~np.isnan(seconds)]
    for day in _DAYS:
        others = known[known != day]
        far = len(others) > 1 and others.min() - day > _FAR * np.ptp(others)
        if far and len(known) - len(others) >= _LEAST:
            share = percent(1 - len(others) / len(known))
            written = np.datetime64(int(day), "s").astype("datetime64[D]")
            return (
                f"{share} of {name!r} are {written}, long before all others: --missing takes them "
                "as missing, written as they are there."
            )
    return ""


def _usual(value: float) -> bool:
    return (
        value in _OTHERS
        or abs(value) >= _LARGE
        or (value % 1 == 0 and set(f"{abs(value):.0f}") == {"9"})
    )


def about_sentinel(name: str, values: NDArray[np.float64]) -> str:
    """A remark on such a number, with its share and the range of the others; "" without one.

    >>> about_sentinel("x", np.array([*range(97), -999.0, -999.0, -999.0]))
    "3 % of 'x' are -999 and its other values 0 to 96: --missing x=-999 takes them as missing."
    """
    value = sentinel(values)
    if value is None:
        return ""
    share = float((values == value).sum() / (~np.isnan(values)).sum())
    others = values[~np.isnan(values) & (values != value)]
    said = _written(value)
    return (
        f"{percent(share)} of {name!r} are {said} and its other values {others.min():g} to "
        f"{others.max():g}: --missing {name}={said} takes them as missing."
    )
