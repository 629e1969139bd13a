"""Settings that cannot be: ValueError in one sentence, with the name of the setting."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import TableError

if TYPE_CHECKING:
    import torch

#: Rows that a cell of the lab may draw: 10 inputs of each are 800 MB.
MOST_ROWS = 10_000_000

#: Degrees whose factorials and powers leave digits for an average over rows.
MOST_DEGREE = 20

#: Noise, of targets with variance 1, and frequencies that a sum of squares can take.
LARGEST = 1e6

#: Sizes of one ladder: more of them come to numbers that no computer holds.
MOST_SIZES = 64


def at_least(least: int, **settings: float | np.number) -> None:
    """Refuse a setting below `least`."""
    for name, value in settings.items():
        if not value >= least:
            raise ValueError(f"{name} is {value}: give {least} or more.")


def at_most(most: float, **settings: float | np.number) -> None:
    """Refuse a setting above `most`, and nan."""
    for name, value in settings.items():
        if not value <= most:
            digits = int(math.log10(value)) if 0 < value < math.inf else 0
            words = f"about 10^{digits}" if digits > 15 else f"{value:,}"
            raise ValueError(f"{name} is {words}: give {most:,} or less.")


def positive(**settings: float | np.number) -> None:
    """Refuse a setting that is not above 0 and finite."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value}: give a finite number above 0.")


def not_negative(**settings: float | np.number) -> None:
    """Refuse a setting that is below 0 or not finite."""
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} is {value}: give a finite number of 0 or more.")


def finite(**settings: Any) -> None:
    """Refuse a setting that is, or holds, nan or infinity."""
    for name, value in settings.items():
        values = np.asarray(value, dtype=np.float64).ravel()
        if not np.isfinite(values).all():
            wrong = values[~np.isfinite(values)][0]
            raise ValueError(f"{name} holds {wrong}: give finite numbers.")


def whole(low: int, high: int, **settings: Any) -> None:
    """Refuse a setting that is no whole number from `low` to `high`."""
    for name, value in settings.items():
        try:
            inside = low <= operator.index(value) <= high
        except TypeError:
            inside = False
        if not inside:
            raise ValueError(f"{name} is {value}: give a whole number from {low} to {high:,}.")


def within(low: float, high: float, **settings: float | np.number) -> None:
    """Refuse a setting outside of [low, high]."""
    for name, value in settings.items():
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}: give a number from {low:,.10g} to {high:,.10g}.")


def paired(m: int) -> None:
    """Refuse a number of neurons that cannot start as pairs."""
    if m < 2 or m % 2:
        raise ValueError(f"m is {m}: neurons start in pairs, give an even number of 2 or more.")


def one_of(choices: Collection[str], **settings: str) -> None:
    """Refuse a setting that is not among `choices`."""
    for name, value in settings.items():
        if value not in choices:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(map(repr, choices))}.")


def rising(name: str, values: ArrayLike) -> np.ndarray:
    """The list as float64; ValueError unless its numbers rise from 0 or more.

    >>> rising("steps", [0, 5]).tolist()
    [0.0, 5.0]
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not (
        len(found) and np.isfinite(found).all() and found[0] >= 0 and (np.diff(found) > 0).all()
    ):
        raise ValueError(f"{name} is {values}: give a list of finite numbers rising from 0.")
    return found


def usable_device(name: Any, *, here: bool = True) -> torch.device:
    """The torch device of that name; TableError where nothing is computed on one (that is `here`).

    >>> usable_device("cpu")
    device(type='cpu')
    """
    import torch  # pages that only read ranges do without

    try:
        where = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        raise TableError(f"device is {name!r}: give a torch device such as 'cpu'.") from None
    if here and where.type == "cuda" and not torch.cuda.is_available():
        raise TableError(f"device is {name!r} and no CUDA device is here: use device='cpu'.")
    try:
        torch.zeros(1, device=where if here or where.type == "meta" else "cpu").item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError):
        raise TableError(f"device is {name!r}, which computes nothing: use device='cpu'.") from None
    return where
