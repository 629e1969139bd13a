"""Columns that may be known only with the target: they explain it, follow it, or add up to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import lgamma, log

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.drawing.numbers import listed, percent
from gradfeat.table.reading.number_formats import LARGEST
from gradfeat.table.row_sample import is_numbers

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
#: Columns that may add up to the target, and the variance that rounding leaves of such a sum.
MOST_ADDED, ROUNDING = 100, 1e-6
#: Share of rows in which such a column is known, the constant of a sum that is none, in standard
#: deviations of the target, and what keeps equations of copies solvable.
KNOWN, NO_CONSTANT, RIDGE = 0.5, 1e-3, 1e-10
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
        order = "" if classes else _same_order(read[name], y) or _part(read[name], y, alone[name])
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
    says = f"alone explain{'s' * one} nearly all of" if most >= LEAK else f"follow{'s' * one}"
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


def about_sums(read: Mapping[str, pd.Series], y: Floats, target: str) -> list[str]:
    """Columns of numbers whose sum, with weights, or product is the target but for rounding.

    Of each such sum the fewest columns, and one of them to leave out, so that none is left.
    """
    stored = {n: c for n, c in read.items() if is_numbers(c) and c.notna().mean() > KNOWN}
    columns = {n: c.to_numpy(dtype=np.float64, na_value=np.nan) for n, c in stored.items()}
    columns = {n: x for n, x in columns.items() if np.nanmax(np.abs(x)) < LARGEST}
    rows = min([MOST_ROWS, len(y), *map(len, columns.values())])
    X = np.array([x[:rows] for x in columns.values()]).T
    if not 1 < len(columns) <= MOST_ADDED:
        return []
    positive = (X > 0).all(axis=0) & bool((y > 0).all())
    with np.errstate(divide="ignore", invalid="ignore"):
        tried = {"sum": (X, y), "product": (np.where(positive, np.log(X), 0.0), np.log(y))}
    for word, (parts, whole) in tried.items():
        found = _adding_up(parts, whole[:rows], [*columns])
        if found:
            put = _as_sum if word == "sum" else _as_product
            each = listed([f"{target!r} = {put(weights)}" for weights in found])
            left_out = " ".join(f"--ignore {next(iter(weights))!r}" for weights in found)
            return [
                f"The target is a {word} of other columns: {each}. If they are known only once "
                f"{target!r} is, the scores below are of no use; {left_out} leaves one of them "
                f"out{' of each' if len(found) > 1 else ''}."
            ]
    return []


def _as_sum(weights: Mapping[str, float]) -> str:
    """Terms with their signs, added ones first; the constant is called "".

    >>> _as_sum({"a": 1.0, "b": -2.0, "": 0.5})
    "'a' - 2 × 'b' + 0.5"
    """
    terms = []
    for name, w in sorted(weights.items(), key=lambda one: (not one[0], one[1] < 0)):
        size = f"{abs(w):.4g}"
        term = (repr(name) if size == "1" else f"{size} × {name!r}") if name else size
        terms.append(("-" if w < 0 else "+", term))
    text = " ".join(f"{sign} {term}" for sign, term in terms)
    return text.removeprefix("+ ")


def _as_product(weights: Mapping[str, float]) -> str:
    """Factors with their powers.

    >>> _as_product({"a": 1.0, "b": -1.0, "c": 2.0, "": 0.0})
    "'a' × 'c'^2 / 'b'"
    """
    powers = {name: f"{abs(w):.4g}" for name, w in weights.items() if name}
    each = {n: repr(n) if power == "1" else f"{n!r}^{power}" for n, power in powers.items()}
    above = [text for n, text in each.items() if weights[n] > 0]
    below = [text for n, text in each.items() if weights[n] < 0]
    factor = f"{np.exp(weights.get('', 0.0)):.4g}"
    above = [factor, *above] if factor != "1" or not above else above
    return " / ".join([" × ".join(above), *below])


def _adding_up(X: Floats, y: Floats, names: list[str]) -> list[dict[str, float]]:
    """The weights of linear combinations of columns (n, p) that give y (n,), and of a constant.

    Of each the fewest columns, found without the first one of those before it. Columns that give
    the target alone are not among them.
    """
    known = np.isfinite(X).all(axis=1) & np.isfinite(y)
    X, y = X[known], y[known]
    if len(y) < 4 * X.shape[1] + FEWEST_ROWS or np.ptp(y) == 0:
        return []
    unit = np.abs(y).max()  # squares of 1e-300 are 0
    y, size = y / unit, X.std(axis=0)
    Z, z = (X - X.mean(axis=0)) / np.where(size > 0, size, 1.0), (y - y.mean()) / y.std()
    R, c = Z.T @ Z / len(z), Z.T @ z / len(z)
    free = np.flatnonzero((size > 0) & (c**2 <= 1 - ROUNDING))
    found: list[dict[str, float]] = []
    while len(found) < NAMED and len(at := _fewest(R, c, free)):
        at = at[np.argsort(-np.abs(np.linalg.lstsq(Z[:, at], z)[0]), kind="stable")]
        *weights, constant = np.linalg.lstsq(np.column_stack([X[:, at], np.ones(len(y))]), y)[0]
        found.append({names[i]: float(w * unit) for i, w in zip(at, weights, strict=True)})
        if abs(constant) > NO_CONSTANT * y.std():
            found[-1][""] = float(constant * unit)
        free = free[free != at[0]]
    return found


def _fewest(R: Floats, c: Floats, free: NDArray[np.intp]) -> NDArray[np.intp]:
    """The fewest of the `free` columns that give the target; none where all of them do not.

    By their correlations R (p, p), and those with the target c (p,). Pairs and threes are all
    tried; of more one after the other is left out as long as the rest gives the target.
    """

    def left(at: NDArray[np.intp]) -> Floats:
        part = R[at[..., :, None], at[..., None, :]] + RIDGE * np.eye(at.shape[-1])
        weights = np.linalg.solve(part, c[at][..., None])[..., 0]
        return 1 - (c[at] * weights).sum(axis=-1)

    if len(free) < 2 or left(free) > ROUNDING:
        return free[:0]
    for k in (2, 3):
        sets = free[np.array([*combinations(range(len(free)), k)], int).reshape(-1, k)]
        rest = left(sets)
        if len(rest) and rest.min() < ROUNDING:
            return sets[rest.argmin()]
    kept = free
    for i in free[np.argsort(np.abs(c[free]))]:
        fewer = kept[kept != i]
        kept = fewer if left(fewer) < ROUNDING else kept
    return kept


def names_of(names: Sequence[str], quoted: bool = False) -> str:
    """The first few, and how many more."""
    shown = [name if quoted else repr(name) for name in names[:NAMED]]
    more = len(names) - len(shown)
    return listed([*shown, *([f"{more:,} more"] if more else [])])
