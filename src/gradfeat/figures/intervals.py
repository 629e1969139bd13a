"""How intervals are written in figures, captions and tables."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradfeat.drawing.numbers import number
from gradfeat.table.results import Interval


def span(interval: Interval, write: Callable[[float], str] = number) -> str:
    """The 95 % interval alone: ``0.921 to 0.938``; empty where it is not known."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    return f"{write(interval.low)} to {write(interval.high)}"
