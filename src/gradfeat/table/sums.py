"""Sums, products and ratios of columns that are the target, which may be known only once it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.leaks import FEWEST_ROWS, LEAK, MOST_ROWS, Floats
from gradfeat.table.reading.number_formats import LARGEST
from gradfeat.table.row_sample import is_numbers
from gradfeat.table.statistic_rows import step_of
from gradfeat.wording import listed

#: Formulas that a remark states.
MOST_FORMULAS = 5
#: Columns that may add up to the target, and the variance that rounding leaves of such a sum.
MOST_ADDED, ROUNDING = 100, 1e-6
#: Share of rows in which such a column is known, the constant of a sum that is none, in standard
#: deviations of the target, and what keeps equations of copies solvable.
KNOWN, NO_CONSTANT, RIDGE = 0.5, 1e-3, 1e-10
#: How far rounding moves numbers beside their standard deviation, and beside what they are where
#: they are of single precision.
SMALL, SINGLE = 0.01, 1.2e-7
#: What two columns may give together, also times a number and with one added, and whether their
#: order counts: where the target has a standard deviation of so many half steps at least, on so
#: many rows first. What is beyond floating-point numbers beside the target is rounding.
_OF_TWO: dict[str, tuple[Callable[[Floats, Floats], Floats], bool]] = {
    "{} × {}": (np.multiply, False),
    "{} / {}": (np.divide, True),
    "max({}, {})": (np.fmax, False),
    "min({}, {})": (np.fmin, False),
    "|{} - {}|": (lambda a, b: abs(a - b), False),
}
_TELLING, _FIRST_ROWS, _ROUNDED = 10.0, 200, 1e-9
#: Nearest pairs and threes of which it is asked whether they are exact.
_TRIED = 20


def about_sums(read: Mapping[str, pd.Series], y: Floats, target: str) -> list[str]:
    """Columns of numbers whose sum, with weights, or product is the target but for rounding.

    Of each such sum the fewest columns, and one of them to leave out, so that none is left. Where
    a formula is off by more than what is written, the target is nearly that. Else two columns that
    give it in another way, as a ratio that is rounded.
    """
    stored = {n: c for n, c in read.items() if is_numbers(c) and c.notna().mean() > KNOWN}
    columns = {n: c.to_numpy(dtype=np.float64, na_value=np.nan) for n, c in stored.items()}
    columns = {n: x for n, x in columns.items() if np.nanmax(np.abs(x)) < LARGEST}
    rows = min([MOST_ROWS, len(y), *map(len, columns.values())])
    X, y = np.array([x[:rows] for x in columns.values()]).T, y[:rows]
    if not 1 < len(columns) <= MOST_ADDED:
        return []
    positive = (X > 0).all(axis=0) & bool((y > 0).all())
    E, e = np.array([_half_step(x) for x in X.T]), _half_step(y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.where(positive, np.log(X), 0.0), np.log(y), np.where(positive, E / X, 0.0), e / y
    tried = {"sum": (X, y, np.tile(E, (rows, 1)), np.full(rows, e)), "product": logs}
    for word, (parts, whole, *half_steps) in tried.items():
        found = _adding_up(parts, whole, half_steps[0], half_steps[1], [*columns])
        if found:
            put = _as_sum if word == "sum" else _as_product
            exact = [one.weights for one in found if one.exact]
            each = listed([f"{target!r} = {put(w)}" for w in exact or [found[0].weights]])
            kept = found[: len(exact) or 1]
            left_out = " ".join(f"--ignore {next(iter(one.weights))!r}" for one in kept)
            above = np.floor(1e3 * kept[-1].others) / 1e3
            others = f", but the others together still have an R2 above {above:g}"
            return [
                f"The target is {'' if exact else 'nearly '}a {word} of other columns: {each}. If "
                f"they are known only once {target!r} is, the scores below are of no use; "
                f"{left_out} leaves one of them out{' of each' if len(kept) > 1 else ''}"
                f"{others if kept[-1].others > LEAK else ''}."
            ]
    for formula, name in _of_two(X, y, [*columns]):
        return [
            f"The target is given by two other columns: {target!r} = {formula}. If they are known "
            f"only once {target!r} is, the scores below are of no use; --ignore {name!r} leaves "
            "one of them out."
        ]
    return []


def _of_two(X: Floats, y: Floats, names: list[str]) -> Iterator[tuple[str, str]]:
    """Formulas of two columns (n, p) each that give y (n,) as it is rounded, and one of these.

    A column that gives the target alone is in none.
    """
    e, few = step_of(y) / 2, slice(_FIRST_ROWS)
    if not y.std() > _TELLING * e:
        return
    left = max(4 * e**2 / y.var(), _ROUNDED)
    with np.errstate(all="ignore"):
        free = np.flatnonzero(~(_correlations(X[few], y[few]) > 1 - ROUNDING))
        for form, (made, ordered) in _OF_TWO.items():
            for k, i in enumerate(free):
                others = free if ordered else free[k + 1 :]
                like = _correlations(made(X[few, i][:, None], X[few][:, others]), y[few])
                for j in others[like > 1 - left]:
                    w = _affine(made(X[:, i], X[:, j]), y, e) if i != j else None
                    if w is not None:
                        both = form.format(repr(names[i]), repr(names[j]))
                        terms = {both: w[0], **({"": w[1]} if w[1] else {})}
                        yield _as_sum(terms).replace(repr(both), both), names[i]


def _affine(f: Floats, y: Floats, e: float) -> Floats | None:
    """Plain w of w_0 f + w_1 = y (n,) within half a step e, w_1 = 0 where it can be; or None."""
    known = np.isfinite(f)
    if known.mean() <= KNOWN:
        return None
    f, y = f[known], y[known]
    near = 1.02 * e + _ROUNDED * np.abs(y)

    def fits(w: Floats) -> bool:
        return bool((abs(y - w[0] * f - w[1:].sum()) <= near).all())

    for parts in (f[:, None], np.column_stack([f, np.ones(len(f))])):
        w, exact = _plain(np.linalg.lstsq(parts, y)[0].astype(np.float64), fits)
        if exact:
            return np.append(w, 0.0)
    return None


def _correlations(F: Floats, y: Floats) -> Floats:
    """Squared correlations (p,) of columns (n, p) with y (n,), over the rows where both are."""
    known = np.isfinite(F)
    n = np.maximum(known.sum(axis=0), 1)
    F, Y = np.where(known, F, 0.0), np.where(known, y[:, None], 0.0)
    F, Y = (np.where(known, part - part.sum(axis=0) / n, 0.0) for part in (F, Y))
    return (F * Y).sum(axis=0) ** 2 / ((F**2).sum(axis=0) * (Y**2).sum(axis=0))


def _half_step(values: Floats) -> float:
    """Half the last place that numbers are written to; small beside their standard deviation."""
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return min(step_of(known) / 2, SMALL * float(known.std()))


def _as_sum(weights: Mapping[str, float]) -> str:
    """Terms with their signs, added ones first; the constant is called "".

    >>> _as_sum({"a": 1.0, "b": -2.0, "": 0.5})
    "'a' - 2 × 'b' + 0.5"
    """
    terms = []
    for name, w in sorted(weights.items(), key=lambda one: (not one[0], one[1] < 0)):
        size = f"{abs(w):.6g}"
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


@dataclass(frozen=True)
class _Formula:
    """Weights of columns, and of a constant that is called "", and whether they are `exact`.

    `others` is the share of the target that all columns but the first explain.
    """

    weights: dict[str, float]
    exact: bool
    others: float


def _adding_up(X: Floats, y: Floats, E: Floats, e: Floats, names: list[str]) -> list[_Formula]:
    """Linear combinations of columns (n, p) that give y (n,), of each the fewest columns.

    `E` (n, p), `e` (n,): how far numbers may be off as they are rounded. Each is found without the
    first column of those before it; exact ones come first. Columns that give the target alone are
    not among them.
    """
    known = np.isfinite(X).all(axis=1) & np.isfinite(y)
    X, y, E, e = X[known], y[known], E[known], e[known]
    if len(y) < 4 * X.shape[1] + FEWEST_ROWS or np.ptp(y) == 0:
        return []
    unit = np.abs(y).max()  # squares of 1e-300 are 0
    y, e, size = y / unit, e / unit, X.std(axis=0)
    Z, z = (X - X.mean(axis=0)) / np.where(size > 0, size, 1.0), (y - y.mean()) / y.std()
    R, c = Z.T @ Z / len(z), Z.T @ z / len(z)
    free = np.flatnonzero((size > 0) & (c**2 <= 1 - ROUNDING))
    short = np.linalg.qr(np.column_stack([Z, z]))[1]  # the same equations in p + 1 rows

    def weights(at: NDArray[np.intp]) -> Floats:
        return np.linalg.lstsq(short[:, at], short[:, -1])[0]

    def misses(at: NDArray[np.intp], w: Floats) -> tuple[bool, float]:
        """Whether more is left than rounding, and the constant."""
        rest = y - X[:, at] @ w
        near = 1.02 * (e + E[:, at] @ np.abs(w)) + SINGLE * (abs(y) + abs(X[:, at]) @ np.abs(w))
        constant = 0.0 if (abs(rest) <= near).all() else float(np.median(rest))
        return bool((abs(rest - constant) > near).any()), constant

    def gives(at: NDArray[np.intp]) -> bool:
        return not misses(at, weights(at) / size[at] * y.std())[0]

    found: list[_Formula] = []
    while len(found) < MOST_FORMULAS and len(at := _fewest(R, c, free, weights, gives)):
        at = at[np.argsort(-np.abs(weights(at)), kind="stable")]
        w = weights(at) / size[at] * y.std()
        w, exact = _plain(w * unit, lambda v, at=at: not misses(at, v / unit)[0])
        w = w / unit
        constant = misses(at, w)[1]
        named = {names[i]: float(v * unit) for i, v in zip(at, w, strict=True)}
        if abs(constant) > NO_CONSTANT * y.std():
            named[""] = float(f"{constant * unit:.5g}")
        free = free[free != at[0]]
        rest = z - Z[:, free] @ weights(free) if len(free) else z
        found.append(_Formula(named, exact, 1 - float(rest @ rest) / len(z)))
    return sorted(found, key=lambda one: not one.exact)


def _fewest(
    R: Floats,
    c: Floats,
    free: NDArray[np.intp],
    weights: Callable[[NDArray[np.intp]], Floats],
    gives: Callable[[NDArray[np.intp]], bool],
) -> NDArray[np.intp]:
    """The fewest of the `free` columns that give the target; none where all of them do not.

    By their correlations R (p, p), and those with the target c (p,). Pairs and threes are all
    tried; of more one after the other is left out as long as the rest `gives` the target, those of
    negative `weights` first, so that a plain sum is found before a difference.
    """

    def left(at: NDArray[np.intp]) -> Floats:
        part = R[at[..., :, None], at[..., None, :]] + RIDGE * np.eye(at.shape[-1])
        found = np.linalg.solve(part, c[at][..., None])[..., 0]
        return 1 - (c[at] * found).sum(axis=-1)

    if len(free) < 2 or left(free) > ROUNDING:
        return free[:0]
    exact = gives(free)
    for k in (2, 3):
        sets = free[np.array([*combinations(range(len(free)), k)], int).reshape(-1, k)]
        rest = left(sets)
        best = sets[np.argsort(rest)[:_TRIED]][np.sort(rest)[:_TRIED] < ROUNDING]
        for at in best:
            if not exact or gives(at):
                return at
    kept, tried = free, set[int]()
    while exact and len(rest := [i for i in np.argsort(weights(kept)) if kept[i] not in tried]):
        w = weights(kept)
        i = rest[0] if w[rest[0]] < 0 else min(rest, key=lambda i: abs(w[i]))
        tried.add(int(kept[i]))
        kept = fewer if gives(fewer := np.delete(kept, i)) else kept
    for i in free[np.argsort(np.abs(c[free]))] if not exact else ():
        fewer = kept[kept != i]
        kept = fewer if left(fewer) < ROUNDING else kept
    return kept


def _plain(w: Floats, fits: Callable[[Floats], bool]) -> tuple[Floats, bool]:
    """Weights in the fewest digits, of six, that still fit, and whether any do; else in four.

    >>> _plain(np.array([2.000004, 1.0301]), lambda w: abs(w[1] - 1.03) < 1e-3)
    (array([2.  , 1.03]), True)
    """
    tried = np.array([[float(f"{v:.{digits}g}") for v in w] for digits in range(1, 7)])
    at = next((i for i, one in enumerate(tried) if fits(one)), None)
    if at is None:
        return tried[3], False
    best = tried[at].copy()
    for j in range(len(w)):
        each = (np.where(np.arange(len(w)) == j, one[j], best) for one in tried[:at])
        best = next(filter(fits, each), best)
    return best, True
