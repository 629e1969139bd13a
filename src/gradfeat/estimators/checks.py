"""Parameters as users give them, turned into what the models take, or refused in one sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..models.head import RidgeHead
from ..models.kernels.named import NAMES
from ..models.search.kernel_space import KernelChoice

#: Bandwidths, in units of the standardised inputs; squares beyond are no floating-point numbers.
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-100, 1e100


def _as_float(value: Any) -> float:
    """The number that `value` is; nan for what is none, digits in quotes among it."""
    try:
        return math.nan if type(value) is str else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@overload
def check_positive(
    name: str, value: Any, *, allow_none: Literal[False], zero: bool = False
) -> float: ...


@overload
def check_positive(name: str, value: Any, *, zero: bool = False) -> float | None: ...


def check_positive(
    name: str, value: Any, *, allow_none: bool = True, zero: bool = False
) -> float | None:
    """`value` as a finite number > 0 (>= 0 with `zero`), or None."""
    if value is None and allow_none:
        return None
    number = _as_float(value)
    if math.isfinite(number) and (number > 0 or (zero and number == 0)):
        return number
    least = "non-negative" if zero else "positive"
    none = " or None" if allow_none else ""
    raise ValueError(f"{name} is {value!r}: give a {least} number{none}.")


@overload
def check_count(
    name: str, value: Any, *, least: int = 1, allow_none: Literal[True]
) -> int | None: ...


@overload
def check_count(name: str, value: Any, *, least: int = 1) -> int: ...


def check_count(name: str, value: Any, *, least: int = 1, allow_none: bool = False) -> int | None:
    """`value` as an integer >= `least`, or an allowed None."""
    if value is None and allow_none:
        return None
    number = _as_float(value)
    if number.is_integer() and number >= least:
        return int(number)
    none = " or None" if allow_none else ""
    raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{none}.")


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """That of the `allowed` values which `value` is."""
    try:
        return allowed[list(allowed).index(value)]
    except ValueError:  # also where an array has no one answer to ==
        pass
    raise ValueError(f"{name} is {value!r}: allowed are {', '.join(map(repr, allowed))}.")


def check_bytes(memory_limit: Any) -> int | None:
    """A limit of memory as a whole number of bytes, or None."""
    limit = check_positive("memory_limit", memory_limit)
    return None if limit is None else math.ceil(limit)


def check_head(alpha: Any, penalty_by: Any) -> RidgeHead:
    """The ridge head of penalty `alpha`, or of one chosen by `penalty_by`."""
    alpha = check_positive("alpha", alpha)
    return RidgeHead(alpha, check_choice("penalty_by", penalty_by, ("loo", "gcv", "validation")))


def check_kernel(name: Any, bandwidth: Any, alpha: Any) -> KernelChoice:
    """Kernel, bandwidth and penalty, each of them or None."""
    name = check_choice("kernel", name, (*NAMES, None))
    width = check_positive("bandwidth", bandwidth)
    if width is not None and not LEAST_BANDWIDTH <= width <= LARGEST_BANDWIDTH:
        raise ValueError(
            f"bandwidth is {width}: give a number from {LEAST_BANDWIDTH:g} to "
            f"{LARGEST_BANDWIDTH:g}, in units of the standardised inputs."
        )
    return KernelChoice(name, width, check_positive("alpha", alpha, zero=True))


def check_directions(value: Any) -> int | str | None:
    """A number of directions as an int, or "auto" or None."""
    if value is None or (type(value) is str and value == "auto"):
        return value
    number = math.nan if type(value) in (bool, np.bool_) else _as_float(value)
    if number.is_integer() and number >= 1:
        return int(number)
    raise ValueError(f"directions is {value!r}: give an integer of at least 1, 'auto' or None.")


def warn_ill_scaled(X: NDArray[np.float64], names: list[str], *, standardise: bool) -> None:
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
