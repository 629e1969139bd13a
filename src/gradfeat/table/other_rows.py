"""Rows that are no observations: those that sum up others, and those of units or names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Tables
from gradfeat.table.reading.masked import Masking
from gradfeat.table.reading.number_formats import MARKERS, taken_apart
from gradfeat.table.reading.numbers import DistinctTexts, NumberPlan, find_numbers
from gradfeat.table.reading.plan import as_text, has_digits
from gradfeat.table.row_sample import column_of

#: What rows are called that hold sums, and that hold something else of all others.
_TOTALS = {
    "total", "totals", "grand total", "subtotal", "sub-total", "sub total", "sum", "sums",
    "summe", "gesamt", "insgesamt", "gesamtsumme", "somme", "totale", "somma", "suma", "totaal",
}  # fmt: skip
SUMS = frozenset(_TOTALS) | {
    "mean", "average", "averages", "avg", "median", "overall", "all", "sd", "std", "std dev",
    "mittelwert", "durchschnitt", "moyenne", "media", "promedio", "gemiddelde",
}  # fmt: skip

#: Distinct texts by which it is told whether a column may be of numbers, and their share.
_LOOKED_AT, _SHARE = 100, 0.5

#: Rows of units or names at most: more of them say something else.
_MOST_OF_UNITS = 3

#: How near the sum or mean of a column is to what stands in such a row: it is rounded.
_NEAR = 0.01


def names_sums(text: str) -> bool:
    """Whether a cell says that its row sums up others.

    >>> names_sums("TOTAL:"), names_sums("totally")
    (True, False)
    """
    return _plain(text) in SUMS


def _plain(text: str) -> str:
    return text.strip(" :*").casefold()


@dataclass(frozen=True)
class OtherRows(Masking):
    """Rows that are no observations, each told by one of its cells (column, text).

    `sums`, `units` (str, str): of rows that sum up others, and of rows of units or names;
    `doubtful` (str, str): of rows that may sum up others, and stay.
    """

    sums: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, str], ...] = ()
    doubtful: tuple[tuple[str, str], ...] = ()

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Of all that are left out."""
        return (*self.sums, *self.units)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the cells that tell."""
        return tuple(dict.fromkeys(column for column, _ in self.cells))

    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these rows empty, so that rows keep their places."""
        hit = np.zeros(len(frame), bool)
        for cell in self.cells:
            hit |= rows_with(frame, cell)
        return frame.mask(pd.Series(hit, index=frame.index), axis=0) if hit.any() else frame

    def said(self, table: Tables) -> list[str]:
        """What is left out and what is not, with the first places, in sentences."""
        what = [(self.sums, "that sums up others"), (self.units, "of units or names")]
        found = [f"{_first(table, cell)} is a row {why}" for cells, why in what for cell in cells]
        said = [f"Left out, as no observations: {'; '.join(found)}."] if found else []
        for column, text in self.doubtful:
            first = column == table.names[0] and bool(table.text.separator)
            how = f", as --comment {text!r} does" if first else ""
            said.append(
                f"{_first(table, (column, text))} may be a row that sums up others, though its "
                f"numbers are not the sums or means of theirs: where it is, take it out{how}."
            )
        return said


def rows_with(frame: pd.DataFrame, cell: tuple[str, str]) -> NDArray[np.bool_]:
    """Which rows (n,) hold this cell (column, text)."""
    return (as_text(column_of(frame, cell[0])) == cell[1]).to_numpy(dtype=bool)


def _first(table: Tables, cell: tuple[str, str]) -> str:
    """The first row with a cell, in words."""
    before = 0
    for piece in table.select([cell[0]]).pieces():
        for frame in piece.read():
            hit = rows_with(frame, cell)
            if hit.any():
                place = table.place(before + int(hit.argmax()))
                return f"{place} ({cell[1]!r} in {cell[0]!r})"
            before += len(frame)
    return f"{cell[1]!r} in {cell[0]!r}"


def other_rows(
    frame: pd.DataFrame, times: NDArray[np.int64] | None, decimal: str = ""
) -> OtherRows:
    """Find such rows: none where cells do not say so.

    A word such as ``Total`` in a column of numbers, or beside numbers that are the sums, means or
    standard deviations of their columns; words in two columns of numbers at least of a row that has
    no number.

    `frame`: distinct rows, or all of them; `times` (n,): how often each row occurs; left out: not
    all rows are there; `decimal`: what stands before decimals where no column tells.

    >>> frame = pd.DataFrame({"x": ["kg", *range(20), "Total"], "y": ["m", *range(20), "190"]})
    >>> found = other_rows(frame, np.ones(22, np.int64))
    >>> found.sums, found.units
    ((('x', 'Total'),), (('x', 'kg'),))
    """
    texts = {
        str(n): c for n, c in frame.items() if c.dtype in ("str", "string", "category", object)
    }
    known = {name: as_text(column.drop_duplicates()).dropna() for name, column in texts.items()}
    words = [(name, text) for name, found in known.items() for text in found if names_sums(text)]
    plans = {n: p for n, c in texts.items() if (p := _numbers(n, c, known[n], decimal))}
    if not words and not plans:
        return OtherRows()
    stored = {str(n): c for n, c in frame.items() if c.dtype.kind in "iuf"}
    values = {n: plan.read(column_of(frame, n)) for n, plan in plans.items()}
    units = _units(frame, values, stored)
    sums = [cell for cell in words if cell[0] in plans]
    others = [cell for cell in words if cell[0] not in plans and rows_with(frame, cell).sum() == 1]
    if others:
        values |= {n: c.to_numpy(dtype=float, na_value=np.nan) for n, c in stored.items()}
        rest = {n: c for n, c in texts.items() if n not in plans}
        found = {n: _numbers(n, c, known[n], decimal, strays=False) for n, c in rest.items()}
        values |= {n: p.read(rest[n]) for n, p in found.items() if p}
    certain = [cell for cell in others if _adds_up(frame, values, times, cell, (*sums, *units))]
    doubtful = tuple(c for c in others if c not in certain and _plain(c[1]) in _TOTALS)
    return OtherRows((*sums, *certain), units, doubtful)


def _numbers(
    name: str, column: pd.Series, distinct: pd.Series, decimal: str, strays: bool = True
) -> NumberPlan | None:
    """The plan of a column of text that is of numbers, with or without strays."""
    if not has_digits(distinct):
        return None
    some = [taken_apart(str(text)) is not None for text in distinct.head(_LOOKED_AT)]
    if np.mean(some or [0.0]) <= _SHARE or strays == all(taken_apart(str(t)) for t in distinct):
        return None
    return find_numbers(name, DistinctTexts.of(as_text(column)), decimal)


def _units(
    frame: pd.DataFrame, values: Mapping[str, NDArray[np.float64]], stored: Mapping[str, pd.Series]
) -> tuple[tuple[str, str], ...]:
    """Of rows that have words in columns of numbers and no number in any of them."""
    if len(values) < 2:
        return ()
    words = {n: _words(column_of(frame, n)) & np.isnan(v) for n, v in values.items()}
    none = np.all([np.isnan(v) for v in values.values()], axis=0)
    at = np.flatnonzero(none & (np.sum([*words.values()], axis=0) >= 2))
    at = [i for i in at if not any(column.notna().iloc[i] for column in stored.values())]
    if len(frame.iloc[at].drop_duplicates()) > _MOST_OF_UNITS:
        return ()
    first = [next(n for n, word in words.items() if word[i]) for i in at]
    cells = [(n, str(column_of(frame, n).iloc[i]).strip()) for n, i in zip(first, at, strict=True)]
    return tuple(dict.fromkeys(cell for cell in cells if not names_sums(cell[1])))


def _words(column: pd.Series) -> NDArray[np.bool_]:
    """Which cells (n,) say something else than that a value is missing."""
    text = as_text(column)
    return (text.notna() & ~text.str.casefold().isin([*MARKERS])).to_numpy(dtype=bool)


def _adds_up(
    frame: pd.DataFrame,
    values: Mapping[str, NDArray[np.float64]],
    times: NDArray[np.int64] | None,
    cell: tuple[str, str],
    left_out: Sequence[tuple[str, str]],
) -> bool:
    """Whether most numbers of the row are sums, means or standard deviations of the others."""
    if times is None:
        return False
    row = int(rows_with(frame, cell).argmax())
    w = times.astype(float)
    w[row] = 0
    for other in left_out:
        w[rows_with(frame, other)] = 0
    near = [_near(v[row], v, w) for v in values.values() if not np.isnan(v[row])]
    return bool(near) and float(np.mean(near)) > _SHARE


def _near(value: float, column: NDArray[np.float64], w: NDArray[np.float64]) -> bool:
    there = ~np.isnan(column) & (w > 0)
    if not there.any() or np.ptp(column[there]) == 0:
        return False
    total, n = float(w[there] @ column[there]), float(w[there].sum())
    spread = float(np.std(column[there]))
    return bool(
        abs(value - total) <= _NEAR * abs(total) + 1e-9
        or min(abs(value - total / n), abs(value - spread)) <= _NEAR * spread
    )
