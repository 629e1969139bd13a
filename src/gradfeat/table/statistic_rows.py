"""Rows at the ends of a table whose numbers are statistics of the others, such as medians."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Tables
from gradfeat.table.row_sample import RowSample, frame_hash

#: Such rows at an end at most, columns that are looked at, and rows beyond which none are.
MOST, _COLUMNS, _MOST_ROWS = 12, 10, 200_000

#: Of all rows between the first and the last that is a statistic so many are.
_SHARE = 2 / 3

#: Decimal digits that agree by chance in one of so many tables, 10 to the power of it.
_DIGITS = 4.0

#: The first few statistics are also those of the first or last row of a table in an order.
_EXTREMES, _STATISTICS = 3, 15


def end_rows(table: Tables, sample: RowSample, seed: int) -> list[NDArray[np.intp]]:
    """The first and the last rows of a table as places in a sample of it, outermost first."""
    known, found = sample.hash, []
    pieces = next(iter(table.pieces())), deque(table.pieces(), 1).pop()
    for piece, step in zip(pieces, (1, -1), strict=True) if len(known) else ():
        frames = [frame for frame in piece.read() if len(frame)]
        h = frame_hash(frames[0 if step > 0 else -1], seed)[::step][:MOST] if frames else known[:0]
        place = np.searchsorted(known, h).clip(max=len(known) - 1)
        found.append(place[known[place] == h])
    return found


def statistic_rows(
    values: Sequence[NDArray[np.float64]], w: NDArray[np.float64], ends: Sequence[NDArray[np.intp]]
) -> NDArray[np.intp]:
    """Rows at an end, each of which is one statistic of all columns (n,) that it has a number in.

    `w` (n,): how often each row occurs; `ends`: rows at the beginning and at the end, outermost
    first.

    Statistics are of the rows without those of the same end, to the digits that are written. The
    rows are kept where so many digits agree that chance would not have it; least and greatest
    values alone, as the last row of a growing table has them, do not count.

    >>> x, z = np.random.default_rng(0).normal(size=(2, 50)).round(3)
    >>> table = [np.append(v, [v.mean().round(3), np.median(v), 50]) for v in (x, z)]
    >>> statistic_rows(table, np.ones(53), [np.arange(52, 40, -1)])
    array([50, 51, 52])
    """
    if not _FEWEST <= w.sum() <= _MOST_ROWS:
        return np.zeros(0, int)
    with np.errstate(all="ignore"):  # sums of numbers near the largest agree with nothing
        return _found(values, w, ends)


def _found(
    values: Sequence[NDArray[np.float64]], w: NDArray[np.float64], ends: Sequence[NDArray[np.intp]]
) -> NDArray[np.intp]:
    there = w > 0
    varied = [v for v in values if np.unique(v[there & ~np.isnan(v)][: 10 * MOST]).size > 1]
    middle = w.copy()
    for end in ends:
        middle[end] = 0
    columns = [_Column.of(v, middle) for v in varied[:_COLUMNS]]
    found = [_at_end(columns, w, end, ends) for end in ends if columns]
    return np.unique(np.concatenate([*found, np.zeros(0, int)]))


#: Rows at least that are summed up.
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class _Column:
    """Numbers `x` (n,) of all rows, and those between the ends in their order."""

    x: NDArray[np.float64]
    ordered: NDArray[np.float64]

    @classmethod
    def of(cls, x: NDArray[np.float64], w: NDArray[np.float64]) -> _Column:
        some = ~np.isnan(x) & (w > 0)
        return cls(x, np.sort(np.repeat(x[some], w[some].astype(int))))

    def among(self, rows: NDArray[np.intp], w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those between the ends and of some more rows, in their order."""
        more = np.repeat(self.x[rows], w[rows].astype(int))
        more = np.sort(more[~np.isnan(more)])
        return np.insert(self.ordered, np.searchsorted(self.ordered, more), more)


def _at_end(
    columns: Sequence[_Column],
    w: NDArray[np.float64],
    end: NDArray[np.intp],
    ends: Sequence[NDArray[np.intp]],
) -> NDArray[np.intp]:
    """The outermost rows of one end that are statistics of all others, with the most digits."""
    best, most = np.zeros(0, int), _DIGITS
    edge = np.concatenate(list(ends))
    for k in range(1, len(end) + 1):
        block = end[:k]
        rest = np.setdiff1d(edge, block)
        digits, any_number = np.zeros((_STATISTICS, k)), np.zeros(k, bool)
        for column in columns:
            cells, x = column.x[block], column.among(rest, w)
            if len(x) >= max(_FEWEST, 2 * k):
                digits += np.where(np.isnan(cells), 0.0, _agreement(cells, x))
                any_number |= ~np.isnan(cells)
            if w[block[-1]] and np.isneginf(digits[:, -1]).all():
                break  # the innermost row is none
        found = any_number & np.isfinite(digits).any(axis=0) | (w[block] == 0)
        sure = (digits[_EXTREMES:, any_number] - np.log10(_STATISTICS)).clip(min=0.0)
        total = min(sure.max(axis, initial=0.0).sum() for axis in (0, 1))  # each is there once
        if found[-1] and found.mean() >= _SHARE and total > most:
            best, most = block, float(total)
    return best


def _agreement(cells: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Digits of each statistic (s,) of numbers x, in order, that cells (k,) agree in; else -inf.

    They are the logarithm of how seldom so near a number is met by chance among x.
    """
    near = np.array([step_of(cells[i : i + 1]) for i in range(len(cells))]) * 0.51 + 1e-9 * np.abs(
        cells
    )
    there = np.searchsorted(x, [cells - near, cells + near], side="right")
    chance = np.maximum((there[1] - there[0]) / len(x), 2 * near / max(np.ptp(x), 1e-300))
    digits = -np.log10(np.clip(chance, 1e-6, 1.0))
    return np.where(np.abs(cells - _statistics(x)[:, None]) <= near, digits, -np.inf)


def _statistics(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of numbers in order: those of :data:`_EXTREMES` first."""
    n, mean, spread = len(x), x.mean(), x.std(ddof=1)
    quarters = np.quantile(x, [0.25, 0.5, 0.75])
    share = spread / abs(mean) if mean else np.nan
    extremes = [x[0], x[-1], x[-1] - x[0]]
    moments = [mean, spread, x.std(), spread**2, spread / np.sqrt(n), share, 100 * share]
    return np.array([*extremes, *quarters, *moments, n, x.sum()])


def step_of(values: NDArray[np.float64]) -> float:
    """The place after the point that numbers are written to, down to 1e-6.

    >>> step_of(np.array([12.5, 3.0])), step_of(np.array([400.0])), step_of(np.array([1.001]))
    (0.1, 1.0, 0.001)
    """
    for step in 10.0 ** -np.arange(6):
        steps = values / step
        if (np.abs(steps - np.round(steps)) < 1e-6 * np.maximum(1, np.abs(steps))).all():
            return float(step)
    return 1e-6


#: Sums of the rows beside them at least, rows that are looked at, and digits that agree: all
#: together, and of each beside those that so many tries give.
_FEWEST_SUMS, FIRST_ROWS, _SUM_DIGITS, _EACH = 3, 10_000, 6.0, 0.5


def about_sums_in_order(columns: Sequence[NDArray[np.float64]], place: Callable[[int], str]) -> str:
    """A remark on rows each of which is the sum of those above it, down from the one before; or "".

    `columns` of numbers (n,) in the order of the file, `place` of a row in words. Sums are found
    by their numbers alone, as their labels may be empty; or of the rows below, where all are so.

    >>> x = np.array([3.2, 4.1, 7.3, 5.5, 6.9, 12.4, 2.7, 8.8, 11.5])
    >>> about_sums_in_order([x, 10 * x], "row {}".format)[:53]
    '3 of the first 9 rows are sums of the rows just above'
    """
    table = np.array([c[:FIRST_ROWS] for c in columns if np.unique(c).size > 2][:_COLUMNS])
    steps = np.array([step_of(v[~np.isnan(v)][:_MOST_STEPS]) for v in table])[:, None]
    for side, turned in (("above", table), ("below", table[:, ::-1])) if len(table) else ():
        rows = _sums_in_order(np.ascontiguousarray(turned), steps)
        if len(rows):
            first = rows[0] if side == "above" else table.shape[1] - 1 - rows[-1]
            return (
                f"{len(rows):,} of the first {table.shape[1]:,} rows are sums of the rows just "
                f"{side} them (the first is {place(int(first))}) and no observations: take them "
                "out, or label each 'subtotal', which leaves it out."
            )
    return ""


#: Numbers by which it is told to which place a column is written.
_MOST_STEPS = 1_000


def _sums_in_order(table: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows of the columns (p, n) that are sums since the last such row, where there are enough.

    Of one row most numbers are such sums, to the `steps` (p, 1) they are written to; right behind
    one may stand the sum of several. No group of rows is far longer than those before it, the one
    at the end neither. Sums of few digits are met by chance, of signed numbers above all.
    """
    found, sums, longest, digits, start, n = list[int](), list[int](), 0, 0.0, 0, table.shape[1]
    known = np.nan_to_num(table)
    while start < n:
        part = slice(start, start + 20 * longest + 20 if found else n)
        before = np.cumsum(known[:, part], axis=1) - known[:, part]
        before[:, 0] = known[:, sums].sum(axis=1) if len(sums) > 1 else np.nan
        before[:, 1:2] = before[:, 1:2] if found else np.nan  # a group of one row is no first one
        near = np.abs(table[:, part] - before) <= 0.51 * steps + 1e-9 * np.abs(before)
        same = near & (table[:, part] != 0)
        hits = np.flatnonzero(2 * same.sum(axis=0) > (~np.isnan(table[:, part])).sum(axis=0))
        if not hits.size:
            break
        at = int(hits[0])
        size = np.log10(np.maximum(1.0, np.abs(known[:, start + at]) / steps[:, 0]))
        gained = float(size[same[:, at]].sum()) - np.log10(max(1, at))
        if gained < _EACH:
            break
        digits, longest = digits + min(gained, _DIGITS), max(longest, at)
        found, sums = [*found, start + at], [*sums, start + at] if at else []
        start += at + 1
    enough = len(found) >= _FEWEST_SUMS and digits >= _SUM_DIGITS and n - start <= longest + 1
    return np.array(found if enough else [], int)
