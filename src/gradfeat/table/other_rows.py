"""Rows that are no observations: those that sum up others, and those of units or names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Tables, selected
from gradfeat.table.reading.missing import DistinctTexts, Masking
from gradfeat.table.reading.number_cells import is_marker, taken_apart
from gradfeat.table.reading.number_formats import LARGEST
from gradfeat.table.reading.numbers import NumberPlan, find_numbers
from gradfeat.table.reading.plan import as_text, has_digits
from gradfeat.table.row_sample import column_of
from gradfeat.table.statistic_rows import statistic_rows, step_of

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

#: Without a word for it rows are sums where so many digits agree, of so many columns at most;
#: digits count down to this share of a number, and a sum is of so many rows at least.
_DIGITS, _COLUMNS, _ROUNDED, _FEWEST = 4.0, 10, 1e-4, 5

#: Levels of sums at most: of districts, of countries, of all. Groups that may be sums, and distinct
#: labels of a column whose words are looked at.
_LEVELS, _MOST_GROUPS, _MOST_LABELS = 3, 50, 10_000

#: Cells that a sentence names.
_NAMED = 5


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
        for name in self.needs:
            texts = [text for column, text in self.cells if column == name]
            hit |= as_text(column_of(frame, name)).isin(texts).to_numpy(dtype=bool)
        return frame.mask(pd.Series(hit, index=frame.index), axis=0) if hit.any() else frame

    def said(self, table: Tables) -> list[str]:
        """What is left out and what is not, with the first places, in sentences."""
        what = [(c, " that sum{} up others") for c in self.sums]
        what += [(c, " of units or names") for c in self.units]
        what = [*dict.fromkeys(what)]
        rows = sorted((*_rows(table, cell), why) for cell, why in what[:_NAMED])
        found = [_are((place, count), why) for _, place, count, why in rows]
        more = len(what) - len(found)
        found += [f"and those of {more:,} more such cells"] if more else []
        said = [f"Left out, as no observations: {'; '.join(found)}."] if found else []
        for column, text in self.doubtful:
            first = column == table.names[0] and bool(table.text.separator)
            how = f", as --comment {text!r} does" if first else ""
            said.append(
                f"{_rows(table, (column, text))[1]} may be a row that sums up others, though its "
                f"numbers are not the sums or means of theirs: where it is, take it out{how}."
            )
        return said


def rows_with(frame: pd.DataFrame, cell: tuple[str, str]) -> NDArray[np.bool_]:
    """Which rows (n,) hold this cell (column, text)."""
    return (as_text(column_of(frame, cell[0])) == cell[1]).to_numpy(dtype=bool)


def _rows(table: Tables, cell: tuple[str, str]) -> tuple[int, str, int]:
    """The first row with a cell, also in words, and how many rows there are with it."""
    before, rows, first, place = 0, 0, 0, ""
    for piece in table.select([cell[0]]).pieces():
        for frame in piece.read():
            hit = rows_with(frame, cell)
            if hit.any() and not rows:
                first = before + int(hit.argmax())
                place = f"{table.place(first)} "
            rows += int(hit.sum())
            before += len(frame)
    return first, f"{place}({cell[1]!r} in {cell[0]!r})", rows


def _are(rows: tuple[str, int], why: str) -> str:
    """The words on one row or several.

    >>> _are(("line 7 ('Sum' in 'x')", 3), " that sum{} up others")
    "line 7 ('Sum' in 'x') and 2 others are rows that sum up others"
    """
    first, count = rows
    if count < 2:
        return f"{first} is a row{why.format('s')}"
    others = f"{count - 1:,} other{'s' * (count > 2)}"
    return f"{first} and {others} are rows{why.format('')}"


def other_rows(
    frame: pd.DataFrame,
    times: NDArray[np.int64] | None,
    decimal: str = "",
    ends: Sequence[NDArray[np.intp]] = (),
) -> OtherRows:
    """Find such rows: none where cells do not say so.

    A word such as ``Total`` in a column of numbers, or beside numbers that are the sums, means or
    standard deviations of their columns; any label of rows whose numbers are the sums of all others
    (:func:`_sums`), or at an end statistics of them (:func:`statistic_rows`); words in two columns
    of numbers at least of a row that has no number.

    `frame`: distinct rows, or all of them; `times` (n,): how often each row occurs; left out: not
    all rows are there; `decimal`: what stands before decimals where no column tells; `ends`: the
    first rows and the last, outermost first.

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
    stored = {str(n): c for n, c in frame.items() if c.dtype.kind in "iuf"}
    values = {n: plan.read(column_of(frame, n)) for n, plan in plans.items()}
    units = _units(frame, values, stored)
    sums = [cell for cell in words if cell[0] in plans]
    others = [cell for cell in words if cell[0] not in plans]
    numbers = {n: c.to_numpy(dtype=float, na_value=np.nan) for n, c in stored.items()}
    values |= {n: np.where(np.abs(x) < LARGEST, x, np.nan) for n, x in numbers.items()}
    rest = {n: c for n, c in texts.items() if n not in plans}
    found = {n: _numbers(n, c, known[n], decimal, strays=False) for n, c in rest.items()}
    values |= {n: p.read(rest[n]) for n, p in found.items() if p}
    if times is None or not values:
        return OtherRows(tuple(sums), units, _doubtful(others))
    w = times.astype(float)
    for cell in (*sums, *units):
        w[rows_with(frame, cell)] = 0
    for row in statistic_rows([*values.values()], w, ends):
        ordered = selected(frame, [*(n for n in texts if n not in values), *values])
        sums += _cell(ordered, np.arange(len(w)) == row)
        w[row] = 0
    sums += _sums(frame, {n: texts[n] for n in texts if n not in found or not found[n]}, values, w)
    for cell in sums:
        w[rows_with(frame, cell)] = 0
    others = [cell for cell in others if cell not in sums and w[rows_with(frame, cell)].any()]
    certain = [c for c in others if _adds_up(values, w, rows_with(frame, c))]
    return OtherRows((*sums, *certain), units, _doubtful(c for c in others if c not in certain))


def _doubtful(cells: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(cell for cell in cells if _plain(cell[1]) in _TOTALS)


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
    return text.map(lambda t: t is not None and not is_marker(t)).to_numpy(dtype=bool)


def _adds_up(
    values: Mapping[str, NDArray[np.float64]], w: NDArray[np.float64], rows: NDArray[np.bool_]
) -> bool:
    """Whether most numbers of the one row are sums, means or standard deviations of the others."""
    if rows.sum() != 1:
        return False
    w, row = np.where(rows, 0.0, w), int(rows.argmax())
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


def _sums(
    frame: pd.DataFrame,
    texts: Mapping[str, pd.Series],
    values: Mapping[str, NDArray[np.float64]],
    w: NDArray[np.float64],
) -> list[tuple[str, str]]:
    """Cells (column, text) of rows whose numbers together are the sums of all other rows'.

    Of rows, of which each is in a sum of every one of L levels, all numbers together are L + 1
    times those of the rows themselves: sums of a level are groups of rows, by a label or a word of
    it, whose sum is 1/(L + 1) of that in most columns, and there are L such groups. Neither words
    nor the order of rows matter. Of a design the sums of all levels are equal: too many groups.
    """
    few = [*values.values()][:_COLUMNS]
    columns = [np.where(np.abs(v) <= LARGEST, v, np.nan) for v in few]  # whose sums are finite
    by_label = [(name, *_groups(as_text(text))) for name, text in texts.items()]
    by_label.append(("", *_groups(pd.Series(np.arange(len(w))))))  # a row without a label
    by_level = [_parts(columns, w, codes, members) for _, codes, _, members in by_label]
    for levels in range(1, _LEVELS + 1):
        found: dict[bytes, _SumRows] = {}
        for (name, codes, labels, members), each in zip(by_label, by_level, strict=True):
            parts = each[levels - 1]
            for g in np.flatnonzero(parts) if (parts > 0).sum() <= _MOST_GROUPS else ():
                own = members[1][members[0] == g]
                rows = np.isin(codes, own) & (w > 0)
                cells = [(name, str(labels[i])) for i in own] if name else _cell(frame, rows)
                found.setdefault(rows.tobytes(), _SumRows(rows, int(parts[g]), cells))
        kept = [one for one in found.values() if not any(map(one.within, found.values()))]
        if sum(one.parts for one in kept) != levels:
            continue
        sizes = [float(w[one.rows].sum()) for one in kept]
        if w.sum() - sum(sizes) >= max(_FEWEST, 2 * max(sizes)):
            return [cell for one in kept for cell in one.cells]
    return []


class _SumRows(NamedTuple):
    """Rows (n,) whose numbers are so many `parts` of all, and the cells that tell them."""

    rows: NDArray[np.bool_]
    parts: int
    cells: list[tuple[str, str]]

    def within(self, other: _SumRows) -> bool:
        """Whether they are some of others."""
        return bool((self.rows <= other.rows).all() and (self.rows != other.rows).any())


_Groups = tuple[NDArray[np.intp], NDArray[np.object_], NDArray[np.intp]]


def _groups(text: pd.Series) -> _Groups:
    """Codes (n,) of labels, the labels (k,), and which group each label is in: (2, m).

    A group is a label, or several that begin or end with the same word, as *North total* does.
    """
    codes, labels = pd.factorize(text)
    ends: dict[str, list[int]] = defaultdict(list)
    worded = labels.dtype == object and len(labels) <= _MOST_LABELS
    for i, label in enumerate(labels if worded else ()):
        words = str(label).casefold().split()
        for word in {words[0], words[-1]}:
            ends[word].append(i)
    several = [members for members in ends.values() if len(members) > 1]
    pairs = [(len(labels) + g, i) for g, members in enumerate(several) for i in members]
    each = np.arange(len(labels))
    members = np.hstack([[each, each], np.array(pairs, int).reshape(-1, 2).T])
    return codes, np.asarray(labels), members


def _parts(
    columns: Sequence[NDArray[np.float64]],
    w: NDArray[np.float64],
    codes: NDArray[np.intp],
    members: NDArray[np.intp],
) -> list[NDArray[np.intp]]:
    """Of 2, 3 and 4 parts of all numbers (1, 2 and 3 levels) how many each group has, or 0."""
    if not members.size:
        return [np.zeros(0, int)] * _LEVELS

    def sums(x: NDArray[np.float64]) -> NDArray[np.float64]:
        each = np.bincount(codes[codes >= 0], x[codes >= 0], members[1].max() + 1)
        return np.bincount(members[0], each[members[1]]).astype(float)

    parts = [np.arange(1, levels + 1) for levels in range(1, _LEVELS + 1)]
    share = np.concatenate([k / (k[-1] + 1) for k in parts])[:, None]
    there = np.zeros(members[0].max() + 1)
    near, digits = np.zeros((2, len(share), len(there)))
    for number, v in enumerate(columns):
        if not near.any() and (there >= len(columns) - number).all():
            break  # no group can have most columns
        seen = ~np.isnan(v)
        x = np.where(seen, v, 0.0) * w
        own, has = sums(x), sums(seen * w) > 0
        off = np.abs(own - share * x.sum())
        same = has & (off <= _ROUNDED * np.abs(own) + 1e-9 * np.abs(x).sum())
        size = np.log10(np.clip(np.abs(own) / step_of(v[seen][:_MOST_LABELS]), 1.0, 1 / _ROUNDED))
        there, near, digits = there + has, near + same, digits + same * size
    good = (near > _SHARE * there) & (digits >= _DIGITS) & (3 * sums(w) <= w.sum())
    found = np.split(good, np.cumsum([len(k) for k in parts])[:-1])
    return [np.where(one.any(axis=0), one.argmax(axis=0) + 1, 0) for one in found]


def _cell(frame: pd.DataFrame, rows: NDArray[np.bool_]) -> list[tuple[str, str]]:
    """The first cell of a row that no other row has."""
    for name, column in frame.items():
        text = as_text(column)
        cell = text.iloc[int(rows.argmax())]
        if cell is not None and (text == cell).sum() == 1:
            return [(str(name), str(cell))]
    return []
