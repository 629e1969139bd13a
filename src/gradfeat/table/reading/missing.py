"""What is missing: empty and declared cells, words and numbers for them; strays among texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from gradfeat.errors import TableError
from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import Cells, Tables, held, selected
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.leaks import names_of
from gradfeat.table.reading.number_cells import is_marker
from gradfeat.table.reading.number_formats import (
    ONE_STRAY_IN,
    NumberFormat,
)
from gradfeat.table.reading.plan import Floats, as_text
from gradfeat.table.results import ColumnNote
from gradfeat.wording import listing, near_names, percent


class Masking(ABC):
    """What is empty, told by the cells of a row alone."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Columns that tell what is empty in others."""

    @abstractmethod
    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these cells empty; the same frame where there are none."""


class MaskedTables(Tables):
    """A table with some cells empty; rows keep their places."""

    def __init__(self, table: Tables, masking: Masking, names: Sequence[str] | None = None) -> None:
        self.table, self.masking = table, masking
        self._names = table.names if names is None else tuple(names)

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def rows(self) -> int | None:
        return self.table.rows

    @property
    def count(self) -> int | None:
        return self.table.count

    @property
    def parallel(self) -> bool:
        return self.table.parallel

    @property
    def fingerprint(self) -> str:
        return f"{self.table.fingerprint}\nempty {self.masking}"

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.table.remarks

    @property
    def text(self) -> TextOptions:
        return self.table.text

    @property
    def cells(self) -> Mapping[str, Cells]:
        return {n: kind for n, kind in self.table.cells.items() if n in self._names}

    def select(self, columns: Sequence[str]) -> Tables:
        more = [name for name in self.masking.needs if name not in columns]
        return MaskedTables(self.table.select([*columns, *more]), self.masking, columns)

    def read_as(self, cells: Mapping[str, Cells]) -> MaskedTables:
        return MaskedTables(self.table.read_as(cells), self.masking, self._names)

    def place(self, row: int) -> str:
        return self.table.place(row)

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for piece in self.table.pieces():
            yield Piece(piece.name, partial(_masked, piece, self.masking, self._names))


def _masked(
    piece: Piece[pd.DataFrame], masking: Masking, names: Sequence[str]
) -> Iterator[pd.DataFrame]:
    return (selected(masking.masked(frame), names) for frame in piece.read())


@dataclass(frozen=True)
class DeclaredMissing(Masking):
    """Values that are missing ones: in any column, or in one of them.

    `values`: as given: ``-999``, or ``height=0`` for one column. Numbers are compared as numbers,
    all else as text.
    """

    values: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def of(self, column: str) -> tuple[str, ...]:
        """Those of a column: what follows its name, and what stands alone."""
        key = f"{column}="
        return tuple(v.removeprefix(key) for v in self.values if v.startswith(key) or "=" not in v)

    def check(self, names: Iterable[str]) -> None:
        """Refuse values of columns that are not there."""
        known = [str(name) for name in names]
        for value in self.values:
            if "=" in value and not any(value.startswith(f"{name}=") for name in known):
                column = value.split("=", 1)[0]
                raise TableError(
                    f"The table has no column {column!r}, of which {value!r} would be missing"
                    f"{near_names(column, known)}"
                )

    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        changed = {str(n): self._masked(str(n), column) for n, column in frame.items()}
        return pd.DataFrame(changed, index=frame.index)

    def _masked(self, name: str, column: pd.Series) -> pd.Series:
        if not (values := self.of(name)):
            return column
        if column.dtype.kind in "iuf":
            hit = column.isin(self.numbers(name))
        else:
            hit = as_text(column).isin(as_text(pd.Series(values, dtype=object)))
        return column.mask(hit) if hit.any() else column

    def numbers(self, column: str) -> list[float]:
        return pd.Series(NumberFormat().read(self.of(column))).dropna().tolist()


def declared(table: Tables, values: Sequence[str]) -> Tables:
    """The table with these values empty."""
    missing = DeclaredMissing(tuple(values))
    missing.check(table.names)
    return MaskedTables(table, missing)


def about_nowhere(table: Tables, values: Sequence[str]) -> list[str]:
    """A remark on those of the `values` that no cell is; the table is read for it."""
    frame = held(table) if values else pd.DataFrame()
    gaps = int(frame.isna().to_numpy().sum())
    masked = ((v, DeclaredMissing((v,)).masked(frame)) for v in values)
    none = [v for v, found in masked if int(found.isna().to_numpy().sum()) == gaps]
    return [f"No cell is {listing(none)}, which --missing takes as missing."] if none else []


#: Fewest cells of which one may be a stray.
_FEWEST_WITH_STRAY = 4


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct texts of a column with their counts."""

    texts: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, text: pd.Series) -> DistinctTexts:
        """Those of texts with None for what is missing."""
        found = text.value_counts(sort=False)
        return cls(tuple(map(str, found.index)), tuple(int(n) for n in found))

    def mostly(self, values: Floats) -> bool:
        """Whether the texts are what gives `values` (k,), but for a few strays.

        Markers of missing values aside, at most one cell in ten is a stray (a single one where
        there are at least four cells), and there are two values.
        """
        strays = self.strays(values)
        known = sum(n for n, value in zip(self.counts, values, strict=True) if not np.isnan(value))
        few = not strays or (
            sum(strays.values()) * ONE_STRAY_IN <= known + sum(strays.values())
            or (sum(strays.values()) == 1 and known + 1 >= _FEWEST_WITH_STRAY)
        )
        distinct = len(np.unique(values[~np.isnan(values)]))
        return few and distinct >= (1 if len(self.texts) == distinct else 2)

    def strays(self, values: Floats) -> dict[str, int]:
        """What has no value and is no marker of missing values either, with counts."""
        each = zip(self.texts, self.counts, values, strict=True)
        return {t: n for t, n, v in each if np.isnan(v) and not is_marker(t)}


#: Numbers that stand for a missing one, and those from this size on.
_EXTREMES, LARGE = {-1.0, -128.0, 255.0, 65535.0, 4294967295.0}, 1e19
_EXTREMES |= {32767.0, -32768.0, 2147483647.0, -2147483648.0}


def written_for_missing(value: float) -> bool:
    """Whether it is -1, huge, an extreme of integers, all nines, 97 or 998, 88, 777 or 99.99."""
    digits = f"{abs(value):.10g}".replace(".", "")
    nines = {*digits[:-1]} <= {"9"} and digits[-1] in ("6789" if len(digits) > 1 else "9")
    nines |= len(digits) > 1 and len({*digits}) == 1 and digits[0] in "78"
    whole = value % 1 == 0 or value < 0 or (abs(value) > 10 and {*digits} == {"9"})
    return value in _EXTREMES or abs(value) >= LARGE or (nines and whole)


#: Share of rows without a value from which a column marks them, or a word for them is told.
MISSING_SHARE = 0.05


def about_words(notes: Sequence[ColumnNote]) -> str:
    """That words are taken as missing where they are as frequent as levels; "" for none.

    >>> about_words([ColumnNote("drink", "category", 2, 30, "", word="None", word_share=0.3)])
    "'None' is taken as missing: in 'drink' (30 % of rows); write it otherwise where it is a level."
    """
    often = sorted((n for n in notes if n.word_share >= MISSING_SHARE), key=lambda n: -n.word_share)
    if not often:
        return ""
    words = listing(dict.fromkeys(note.word for note in often))
    each = [f"{note.name!r} ({percent(note.word_share)} of rows)" for note in often]
    said = f"{words} {'is' if ',' not in words else 'are'} taken as missing"
    return f"{said}: in {names_of(each, quoted=True)}; write it otherwise where it is a level."


#: Blocks of rows at least, and by what share of their mean their lengths differ, as months do.
_FEWEST_BLOCKS, _ALIKE = 3, 0.25


def about_blocks(frame: pd.DataFrame) -> list[str]:
    """A remark on columns that have a value in the first row of each block alone, as reports do.

    >>> about_blocks(pd.DataFrame({"month": ["Jan", None, None, "Feb", None, None, "Mar", None]}))
    ["'month' has a value in one of 3 rows, the first of each block, and none below: where it \
holds for these rows too, fill them, as pandas' ffill() does."]
    """
    found = []
    for name, column in frame.items():
        known = column.notna().to_numpy()
        at = np.flatnonzero(known)
        size = np.diff(np.append(at, len(column)))
        if len(at) < _FEWEST_BLOCKS or at[0] or size.min() < 2 or size.std() > _ALIKE * size.mean():
            continue
        values = column.iloc[at].astype(str).to_numpy()
        if (values[1:] != values[:-1]).all():
            found.append(
                f"{str(name)!r} has a value in one of {size.mean():.0f} rows, the first of each "
                "block, and none below: where it holds for these rows too, fill them, as pandas' "
                "ffill() does."
            )
    return found
