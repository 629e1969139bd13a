"""Ranges of numbers that several formulas take: one sentence where one is outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..maths.step_names import ROW_LAWS, RowLaw


def positive(**values: float) -> None:
    """Raises ValueError where one is not above 0."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} was {value}: give a positive number.")


def not_negative(**values: float) -> None:
    """Raises ValueError where one is below 0 or not finite."""
    for name, value in values.items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} was {value}: give a finite number of 0 or more.")


def rising(name: str, values: ArrayLike) -> np.ndarray:
    """The list as float64; ValueError unless its numbers rise from 0 or more.

    >>> rising("steps", [0, 5]).tolist()
    [0.0, 5.0]
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not (
        len(found) and np.isfinite(found).all() and found[0] >= 0 and (np.diff(found) > 0).all()
    ):
        raise ValueError(f"{name} were {values}: give a list of finite numbers rising from 0.")
    return found


def lengths_vary(rows: RowLaw) -> bool:
    """Whether rows of W0 of this law differ in length; ValueError for another name."""
    if rows not in ROW_LAWS:
        raise ValueError(f"The rows of W0 are {rows!r}: give one of {', '.join(ROW_LAWS)}.")
    return rows == "gaussian"
