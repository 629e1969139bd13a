"""How numbers are written in figures, captions, tables and JSON: one way everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

MISSING = "–"


def number(x: float, digits: int = 3) -> str:
    """Three decimals, more just below one, fewer for large numbers; a dash for nan.

    >>> number(0.93051), number(-12.3456), number(123456.7), number(0.00012), number(float("nan"))
    ('0.931', '−12.35', '123,457', '0.00012', '–')
    >>> number(0.9999871), number(1.0)
    ('0.99999', '1.000')
    """
    if not math.isfinite(x):
        return MISSING if math.isnan(x) else ("∞" if x > 0 else "−∞")
    size = abs(x)
    if size >= 1000:
        text = f"{x:,.0f}"
    elif size >= 10:
        text = f"{x:.{max(digits - 1, 0)}f}"
    elif 10**-9 < 1 - size < 0.0005:  # rounded it would be one, which it is not
        text = f"{x:.{math.ceil(-math.log10(1 - size))}f}"
    elif 0 < size < 0.01:
        text = f"{x:.2g}"
    else:
        text = f"{x:.{digits}f}"
    return text.replace("-", "−", 1) if x < 0 else text


def percent(share: float) -> str:
    """A share in whole per cent; below 1 % and above 0 ``<1 %``.

    >>> percent(0.4149), percent(0.001), percent(0.0), percent(float("nan"))
    ('41 %', '<1 %', '0 %', '–')
    """
    if math.isnan(share):
        return MISSING
    if 0 < share < 0.01:
        return "<1 %"
    return f"{100 * share:.0f} %"


def plain(x: float) -> str:
    """At most three digits, none after the point that are zero: for counts and their intervals.

    >>> plain(3.0), plain(2.5), plain(float("nan"))
    ('3', '2.5', '–')
    """
    return MISSING if math.isnan(x) else f"{x:.3g}"


def signed(x: float) -> str:
    """Two decimals with a sign.

    >>> signed(0.752), signed(-0.0032)
    ('+0.75', '−0.00')
    """
    return f"{x:+.2f}".replace("-", "−")


def seconds(value: float) -> str:
    """A duration for people: ``0.04 s``, ``12.3 s``, ``3 min 5 s``.

    >>> seconds(0.0412), seconds(12.34), seconds(185), seconds(float("nan"))
    ('0.04 s', '12.3 s', '3 min 5 s', '–')
    """
    if math.isnan(value):
        return MISSING
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.1f} s"
    return f"{round(value) // 60} min {round(value) % 60} s"


def listed(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def count(n: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``, ``2 classes``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def duration(seconds: float) -> str:
    """A time to wait, in words.

    >>> duration(0.2), duration(75), duration(4000), duration(200_000)
    ('1 s', '1 min 15 s', '1 h 6 min', '2 d 7 h')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def text_table(
    headings: Iterable[str] = (), *, right: Sequence[int] = (), fold: Sequence[int] = (0,)
) -> Table:
    """A table for the terminal, without a frame, to be filled row by row.

    Columns `right` are flush right; all but those in `fold` keep their text on one line.

    >>> [column.justify for column in text_table(["method", "R2"], right=[1]).columns]
    ['left', 'right']
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        side = "right" if place in right else "left"
        table.add_column(Text(heading), justify=side, no_wrap=place not in fold, overflow="fold")
    return table


def finite(value: Any) -> Any:
    """Dictionaries, lists, arrays and numbers as strict JSON's own; what is not finite is None.

    >>> import numpy as np
    >>> finite({"a": np.array([1.0, np.nan]), "b": (np.float32(0.5), np.int64(2), -np.inf)})
    {'a': [1.0, None], 'b': [0.5, 2, None]}
    """
    text = json.dumps(value, default=lambda array: array.tolist())
    return json.loads(text, parse_constant=lambda _: None)
