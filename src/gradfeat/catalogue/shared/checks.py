"""Settings of the catalogue that cannot be: ValueError in one sentence, with the setting's name."""

from __future__ import annotations

import math
from collections.abc import Iterable

#: Rows that a cell may draw: 10 inputs of each are 800 MB.
MOST_ROWS = 10_000_000

#: Degrees whose factorials and powers leave digits for an average over rows.
MOST_DEGREE = 20

#: Noise, of targets with variance 1, and frequencies that a sum of squares can take.
LARGEST = 1e6


def at_least(least: int, **settings: float) -> None:
    """Refuse a setting below `least`."""
    for name, value in settings.items():
        if value < least:
            raise ValueError(f"{name} is {value}: give {least} or more.")


def at_most(most: float, **settings: float) -> None:
    """Refuse a setting above `most`, and nan."""
    for name, value in settings.items():
        if not value <= most:
            digits = 0 if math.isnan(value) or math.isinf(value) else int(math.log10(value))
            words = f"about 10^{digits}" if digits > 15 else f"{value:,}"
            raise ValueError(f"{name} is {words}: give {most:,} or less.")


def positive(**settings: float) -> None:
    """Refuse a setting that is not above 0 and finite."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value}: give a finite number above 0.")


def paired(m: int) -> None:
    """Refuse a number of neurons that cannot start as pairs."""
    if m < 2 or m % 2:
        raise ValueError(f"m is {m}: neurons start in pairs, give an even number of 2 or more.")


def one_of(choices: Iterable[str], **settings: str) -> None:
    """Refuse a setting that is not among `choices`."""
    known = list(choices)
    for name, value in settings.items():
        if value not in known:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(map(repr, known))}.")
