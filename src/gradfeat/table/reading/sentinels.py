"""Numbers such as -999 that may stand for missing ones."""

# Apart: a remark on values, which no plan depends on.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gradfeat.drawing.numbers import percent

#: What is written for a missing number, beside nines alone: -9, 99, -999, 9999, ...
_OTHERS = (-1.0,)

#: Fewest cells that hold it, and how far it is from the others, in lengths of their range.
_LEAST, _FAR = 3, 0.5


def sentinel(values: NDArray[np.float64]) -> float | None:
    """The number that stands far from all others, occurs again, and is -1 or all nines.

    Parameters
    ----------
    values : array (n,)
        Numbers of a column; nan where missing.

    Examples
    --------
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


def _usual(value: float) -> bool:
    return value in _OTHERS or (value % 1 == 0 and set(f"{abs(value):.0f}") == {"9"})


def about_sentinel(name: str, values: NDArray[np.float64]) -> str:
    """A remark on such a number, with its share and the range of the others; "" without one.

    Examples
    --------
    >>> about_sentinel("x", np.array([*range(97), -999.0, -999.0, -999.0]))
    "3 % of 'x' are -999 and its other values 0 to 96: --missing x=-999 takes them as missing."
    """
    value = sentinel(values)
    if value is None:
        return ""
    share = float((values == value).sum() / (~np.isnan(values)).sum())
    others = values[~np.isnan(values) & (values != value)]
    return (
        f"{percent(share)} of {name!r} are {value:.0f} and its other values {others.min():g} to "
        f"{others.max():g}: --missing {name}={value:.0f} takes them as missing."
    )
