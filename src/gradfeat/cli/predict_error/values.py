"""Numbers in the words of a command: fractions, lists, ranges."""

from __future__ import annotations

import math

import numpy as np

from gradfeat.cli.guard import Refused

#: Values in a list or range, at most.
MOST_VALUES = 200


def number(option: str, text: str) -> float:
    """A finite number, or a fraction of two.

    Raises
    ------
    Refused
        Of anything else.

    Examples
    --------
    >>> number("--phi", "0.5"), round(number("--psi", "2/3"), 3)
    (0.5, 0.667)
    """
    try:
        above, *below = (float(part) for part in text.split("/", 1))
        value = above / below[0] if below else above
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise Refused(f"{option} has {text!r}: give a finite number such as 0.5, or a fraction 2/3")
    return value


def positive(option: str, text: str) -> float:
    """A number above 0.

    Raises
    ------
    Refused
        Of any other.

    Examples
    --------
    >>> positive("--phi", "1/2")
    0.5
    """
    if (value := number(option, text)) <= 0:
        raise Refused(f"{option} is {text}: give a number above 0, such as 0.5 or 2/3")
    return value


def numbers(option: str, text: str) -> list[float]:
    """Numbers in a list, `0.1,0.2`, or COUNT of them evenly from FIRST to LAST.

    Raises
    ------
    Refused
        Where a part is no number, or there are too many.

    Examples
    --------
    >>> numbers("--alpha", "0.1,1/4"), numbers("--alpha", "0:0.4:3")
    ([0.1, 0.25], [0.0, 0.2, 0.4])
    """
    if ":" not in text:
        found = [number(option, part.strip()) for part in text.split(",")]
        if len(found) > MOST_VALUES:
            raise Refused(f"{option} has {len(found)} values: give at most {MOST_VALUES}")
        return found
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].strip().isdecimal():
        raise Refused(f"{option} is {text!r}: a range is FIRST:LAST:COUNT, such as 0:0.45:10")
    count = int(parts[2])
    if not 2 <= count <= MOST_VALUES:
        raise Refused(f"{option} is a range with COUNT {count}: give 2 to {MOST_VALUES}")
    first, last = (number(option, part) for part in parts[:2])
    return np.linspace(first, last, count).tolist()
