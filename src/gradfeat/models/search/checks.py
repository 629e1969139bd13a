"""Sentences for parameters that are not allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def _as_float(value: Any) -> float:
    """The number that `value` is; nan for what is none, digits in quotes among it."""
    try:
        return math.nan if type(value) is str else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_positive(name: str, value: Any, *, allow_none: bool = True, zero: bool = False) -> None:
    """Raise ValueError unless `value` is a finite number > 0 (>= 0 with `zero`), or None.

    Examples
    --------
    >>> check_positive("alpha", 1e-3)
    """
    if value is None and allow_none:
        return
    number = _as_float(value)
    if math.isfinite(number) and (number > 0 or (zero and number == 0)):
        return
    least = "non-negative" if zero else "positive"
    none = " or None" if allow_none else ""
    raise ValueError(f"{name} is {value!r}: give a {least} number{none}.")


def check_count(name: str, value: Any, *, least: int = 1, allow_none: bool = False) -> None:
    """Raise ValueError unless `value` is an integer >= `least`, or an allowed None.

    Examples
    --------
    >>> check_count("n_iter", 0, least=0)
    """
    if value is None and allow_none:
        return
    number = _as_float(value)
    if not (number.is_integer() and number >= least):
        none = " or None" if allow_none else ""
        raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{none}.")


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Raise ValueError unless `value` is one of `allowed`.

    Examples
    --------
    >>> check_choice("update", "agop", ("agop", "gradient"))
    """
    try:
        good = value in allowed
    except ValueError:  # an array has no one answer to ==
        good = False
    if not good:
        raise ValueError(f"{name} is {value!r}: allowed are {', '.join(map(repr, allowed))}.")
