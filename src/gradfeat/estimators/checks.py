"""Parameters as users give them, turned into what the models take, or refused in one sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..models.head import RidgeHead
from ..models.kernels.named import NAMES
from ..models.search.kernel_space import KernelChoice
from .arrays import Floats

#: Bandwidths, in units of the standardised inputs; squares beyond are no floating-point numbers.
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-100, 1e100


def _as_float(value: Any) -> float:
    """The number that `value` is; nan for what is none, digits in quotes among it."""
    try:
        return math.nan if type(value) is str else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_positive(name: str, value: Any, *, zero: bool = False, none: str = "") -> float:
    """`value` as a finite number > 0 (>= 0 with `zero`); `none` tells what else is allowed."""
    number = _as_float(value)
    if math.isfinite(number) and (number > 0 or (zero and number == 0)):
        return number
    least = "non-negative" if zero else "positive"
    raise ValueError(f"{name} is {value!r}: give a {least} number{none}.")


def positive_or_none(name: str, value: Any, *, zero: bool = False) -> float | None:
    return None if value is None else check_positive(name, value, zero=zero, none=" or None")


def check_count(name: str, value: Any, *, least: int = 1, none: str = "") -> int:
    """`value` as an integer >= `least`; `none` tells what else is allowed."""
    number = _as_float(value)
    if number.is_integer() and number >= least:
        return int(number)
    raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{none}.")


def count_or_none(name: str, value: Any, *, least: int = 1) -> int | None:
    return None if value is None else check_count(name, value, least=least, none=" or None")


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """That of the `allowed` values which `value` is."""
    try:
        return allowed[list(allowed).index(value)]
    except ValueError:  # also where an array has no one answer to ==
        pass
    raise ValueError(f"{name} is {value!r}: allowed are {', '.join(map(repr, allowed))}.")


def check_bytes(memory_limit: Any) -> int | None:
    """A limit of memory as a whole number of bytes, or None."""
    limit = positive_or_none("memory_limit", memory_limit)
    return None if limit is None else math.ceil(limit)


def check_head(alpha: Any, penalty_by: Any) -> RidgeHead:
    """The ridge head of penalty `alpha`, or of one chosen by `penalty_by`."""
    alpha = positive_or_none("alpha", alpha)
    return RidgeHead(alpha, check_choice("penalty_by", penalty_by, ("loo", "gcv", "validation")))


def check_kernel(name: Any, bandwidth: Any, alpha: Any) -> KernelChoice:
    """Kernel, bandwidth and penalty, each of them or None."""
    name = check_choice("kernel", name, (*NAMES, None))
    width = positive_or_none("bandwidth", bandwidth)
    if width is not None and not LEAST_BANDWIDTH <= width <= LARGEST_BANDWIDTH:
        raise ValueError(
            f"bandwidth is {width}: give a number from {LEAST_BANDWIDTH:g} to "
            f"{LARGEST_BANDWIDTH:g}, in units of the standardised inputs."
        )
    return KernelChoice(name, width, positive_or_none("alpha", alpha, zero=True))


def check_directions(value: Any) -> int | str | None:
    """A number of directions as an int, or "auto" or None."""
    if value is None or (type(value) is str and value == "auto"):
        return value
    number = math.nan if type(value) in (bool, np.bool_) else _as_float(value)
    if number.is_integer() and number >= 1:
        return int(number)
    raise ValueError(f"directions is {value!r}: give an integer of at least 1, 'auto' or None.")


def warn_ill_scaled(X: Floats, names: list[str], *, standardise: bool) -> None:
    """Warn, naming the columns, when one column's spread swamps the others and nothing rescales."""
    if standardise or X.shape[1] < 2:
        return
    spread = X.std(axis=0)
    typical = np.median(spread[spread > 0]) if (spread > 0).any() else 0.0
    large = [name for name, s in zip(names, spread, strict=True) if s > 1e4 * typical > 0]
    if large:
        warnings.warn(
            f"{', '.join(large)} spreads over 10,000 times more than the typical column and will "
            "swamp the distances: use standardise=True, or rescale it.",
            UserWarning,
            stacklevel=4,
        )
