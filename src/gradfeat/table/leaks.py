"""Columns that may be known only with the target: they explain it, or follow it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import lgamma, log

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.results import NEARLY_ALL
from gradfeat.table.row_sample import is_numbers
from gradfeat.wording import listed, percent

Floats = NDArray[np.float64]

#: Rows that are looked at for what a column alone explains, and the fewest that say anything.
MOST_ROWS, FEWEST_ROWS = 2_000, 20
#: Rows that hold a value of a column with gaps, at least, to look at by themselves; and how rarely
#: so many rows would all have one class, or levels be ranges of the target, by chance.
FEWEST_KNOWN, RARELY = 100, 1e-6
#: Share of the target that a column explains alone from which it may be a leak; from which it may
#: be a part of the target, and in what share of rows the rest is the same then.
LEAK, PART, SAME_REST = 0.95, 0.7, 0.1
#: Distinct numbers that are levels, and bins of more of them.
LEVELS, BINS = 50, 20
#: Columns or groups that a remark names.
NAMED = 5


def explained(column: pd.Series, code: Floats) -> float:
    """The share of the variance of `code` (n, c) between the levels of a column, adjusted.

    ``1 - (within / (n - k)) / (total / (n - 1))`` for k levels, of numbers 20 bins of equal
    size where they are many; 0 where nearly every row is a level of its own.
    """
    return between(_levels(column), code)


def between(group: NDArray[np.intp], code: Floats) -> float:
    """The share of the variance of `code` (n, c) between groups (n,), adjusted for their number."""
    n, k = len(group), int(group.max()) + 1
    total = ((code - code.mean(axis=0)) ** 2).sum()
    if n - k < max(FEWEST_ROWS, n // 4) or total == 0:
        return 0.0
    size = np.bincount(group, minlength=k)
    means = np.array([np.bincount(group, column, minlength=k) / size for column in code.T]).T
    within = ((code - means[group]) ** 2).sum()
    return float(max(0.0, 1 - (within / (n - k)) / (total / (n - 1))))


def _levels(column: pd.Series) -> NDArray[np.intp]:
    """Codes (n,) of levels, without gaps; what is missing is one."""
    if not is_numbers(column):
        return pd.factorize(column, use_na_sentinel=False)[0]
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)  # nan is last
    if len(count) <= LEVELS:
        return code
    rank = (np.cumsum(count) - (count - 1) / 2)[code] / np.sum(~np.isnan(values))
    binned = np.where(np.isnan(values), BINS + 1, np.ceil(BINS * rank))
    return np.unique(binned, return_inverse=True)[1]


def about_leaks(
    read: Mapping[str, pd.Series],
    alone: Mapping[str, float],
    y: Floats,
    code: Floats,
    target: str,
    classes: int,
) -> list[str]:
    """Columns that may be known only with the target, the most telling first."""
    found: dict[str, str] = {}
    known = {n: _where_known(column.iloc[:MOST_ROWS], code) for n, column in read.items()}
    most = 0.0
    for name in sorted(read, key=lambda name: (-alone[name], -known[name])):
        order = _same_order(read[name], y) or _part(read[name], y, alone[name])
        order = _of_one_class(read[name], y) * (classes > 2) if classes else order
        if max(alone[name], known[name]) >= LEAK or order:
            share, gaps = alone[name], ""
            if share < LEAK <= known[name]:
                share, gaps = (
                    known[name],
                    f" where it is filled in, {percent(read[name].notna().mean())} of rows",
                )
            evidence = [f"{percent(share)}{gaps}"] if share else []  # 0: too few rows to tell
            found[name] = f"{name!r} ({', '.join([*evidence, *([order] if order else [])])})"
            most = max(most, share)
    if not found:
        return []
    one = len(found) == 1
    it, verb = ("it", "is") if one else ("they", "are")
    leaves = f"--ignore {next(iter(found))!r} leaves it out"
    says = f"alone explain{'s' * one} {NEARLY_ALL}" if most >= LEAK else f"follow{'s' * one}"
    return [
        f"{names_of([*found.values()], quoted=True)} {says} {target!r}: if {it} {verb} known only "
        f"once {target!r} is, the scores below are of no use; "
        f"{leaves if one else '--ignore NAME leaves one out'}."
    ]


def _where_known(column: pd.Series, code: Floats) -> float:
    """What a column with gaps explains in the rows that hold a value, as one of later remarks.

    1 where all of these have one class, and others do not.
    """
    known = column.notna().to_numpy()
    if known.all() or known.sum() < FEWEST_KNOWN:
        return 0.0
    there = code[known]
    if (there == there[0]).all():
        return float((code == there[0]).all(axis=1).mean() ** known.sum() < RARELY)
    return explained(column.loc[known], there)


def _same_order(column: pd.Series, y: Floats) -> str:
    """Whether a column never goes against the target, as one that is rounded or binned does."""
    known = column.notna().to_numpy()
    column, y = column.iloc[np.flatnonzero(known)], y[: len(known)][known]
    code, levels = pd.factorize(column)
    if len(y) < FEWEST_ROWS or len(levels) < 2:
        return ""
    if is_numbers(column) and len(levels) > 2:
        x = column.to_numpy(dtype=np.float64)
        if np.array_equal(x, np.round(y)):
            return "is it, rounded"
        if _rises(x, y) or _rises(-x, y):
            return "never goes against it"
    size = np.bincount(code)
    means = np.bincount(code, y) / size
    ranges = len(levels) <= LEVELS and _telling(size) and _rises(means[code], y)
    return "each of its values is a range of the target" if ranges else ""


def _of_one_class(column: pd.Series, y: Floats) -> str:
    """Whether one of two values stands in all rows of a class and in no other, as a dummy's 1."""
    code, levels = pd.factorize(column)
    if len(levels) != 2 or (code < 0).any() or not _telling(np.bincount(code)):
        return ""
    sides = [set(np.unique(y[: len(code)][code == k])) for k in (0, 1)]
    one = min(map(len, sides)) == 1 and not sides[0] & sides[1]
    return "tells one class from all others" if one else ""


def _rises(x: Floats, y: Floats) -> bool:
    x = x[np.lexsort((x, y))]
    return not (x[1:] < x[:-1]).any()


def _telling(counts: NDArray[np.intp]) -> bool:
    """Whether levels of so many rows rarely are ranges of any target: k! in n! / prod(n_i!)."""
    n, k = int(counts.sum()), len(counts)
    ways = lgamma(n + 1) - sum(lgamma(c + 1) for c in counts.tolist())
    return lgamma(k + 1) - ways < log(RARELY)


def _part(column: pd.Series, y: Floats, alone: float) -> str:
    """Whether a number is the target in many rows but for the same rest, or the same factor."""
    if alone < PART or not is_numbers(column):
        return ""
    x = column.to_numpy(dtype=np.float64, na_value=np.nan)
    y = y[: len(x)]
    if min(len(np.unique(x)), len(np.unique(y))) <= LEVELS:
        return ""
    least = max(SAME_REST, 3 * _most_common(y)[1])
    with np.errstate(over="ignore"):  # what is beyond floating-point numbers is no rest or factor
        rest, factor = x - y, np.divide(x, y, out=np.full(len(x), np.nan), where=y != 0)
    rest, share = _most_common(rest)
    if share >= least:
        more = f"{abs(rest):g} {'more' if rest > 0 else 'less'} than it" if rest else "is it"
        return f"{more} in {percent(share)} of rows"
    factor, share = _most_common(factor)
    return f"{factor:g} times it in {percent(share)} of rows" if share >= least else ""


def _most_common(values: Floats) -> tuple[float, float]:
    """The value that comes most often, to six digits after the point, and its share."""
    with np.errstate(over="ignore"):  # NumPy rounds them in units of the last digit
        rounded = np.round(values[np.isfinite(values)], 6)
    found, counts = np.unique(rounded[np.isfinite(rounded)], return_counts=True)
    at = int(counts.argmax()) if len(found) else -1
    return (float(found[at]), float(counts[at] / len(values))) if len(found) else (0.0, 0.0)


#: Share of rows whose text names their class, and no other, from which a column is remarked on.
NAMING = 0.5


def about_named_classes(
    texts: pd.DataFrame, y: Floats, labels: Sequence[str], target: str
) -> list[str]:
    """Columns of text in which rows name their own class as a word, and hardly any another one.

    >>> texts = pd.DataFrame({"t": ["a red one", "one in blue", "Red!", "blue."]})
    >>> about_named_classes(texts, np.array([1, 0, 1, 0.0]), ["blue", "red"], "y")[0][:47]
    "'t' names the class of 'y' in 100 % of rows: if"
    """
    words = [rf"\b{re.escape(label)}\b" for label in labels]
    said = []
    for name, text in texts.items() if 1 < len(labels) <= LEVELS else ():
        some = text.iloc[:MOST_ROWS].fillna("").astype(str)
        named = np.array(
            [some.str.contains(word, case=False).to_numpy(dtype=bool) for word in words]
        )
        one, own = named.sum(axis=0) == 1, named[y[: len(some)].astype(int), np.arange(len(some))]
        share, other = float((one & own).mean()), float((one & ~own).mean())
        if share >= NAMING and other <= SAME_REST * share:
            said.append(
                f"{name!r} names the class of {target!r} in {percent(share)} of rows: if the text "
                f"is written only once {target!r} is known, the scores below are of no use; "
                f"--ignore {name!r} leaves it out."
            )
    return said


def names_of(names: Sequence[str], quoted: bool = False) -> str:
    """The first few, and how many more."""
    shown = [name if quoted else repr(name) for name in names[:NAMED]]
    more = len(names) - len(shown)
    return listed([*shown, *([f"{more:,} more"] if more else [])])
