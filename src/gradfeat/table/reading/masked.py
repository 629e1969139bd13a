"""Tables with some cells or rows empty, and numbers that look as if they were to be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.drawing.numbers import listed, percent
from gradfeat.errors import TableError
from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import Cells, Tables, selected
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.rows.sources.words import near_names
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.plan import as_text


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


#: Numbers that stand for a missing one, and those from this size on, and first days of calendars.
_EXTREMES, _LARGE = (-1.0, 32767.0, -32768.0, 2147483647.0, -2147483648.0), 1e19
_DAYS = [-2208988800.0, 0.0, -62135596800.0]  # seconds since 1970

#: Such a number is in so many cells at least, so far from the others in lengths of their range, and
#: not the next whole number, as -1 is of levels -1, 0 and 1; at most so many are found of a column.
_LEAST, _FAR, _NEXT, _MOST_CODES = 3, 0.5, 1.0, 4

#: A number near the others is one where it is as frequent: of all cells, and as a multiple of how
#: often one of the others comes, of which so many are distinct.
_SHARE, _OFTEN, _DISTINCT = 0.01, 3.0, 20


def codes_for_missing(values: NDArray[np.float64]) -> list[float]:
    """Numbers that may stand for missing ones.

    Far from all others, these are up to four of 9, 99, 999 and so on, the extremes of integers, and
    97 or 998 beside 99 or 999; and 0, where that is frequent. Nearer ones are -1 and negative nines
    that are the only negative numbers and frequent.

    >>> ages = [*range(90)]
    >>> codes_for_missing(np.array(ages + 4 * [999.0, 998.0])), codes_for_missing(np.array(ages))
    ([999.0, 998.0], [])
    >>> codes_for_missing(np.array(ages + 4 * [-99.0, -1.0]))
    [-99.0, -1.0]
    """
    known, count = np.unique(values[~np.isnan(values)], return_counts=True)
    found: list[float] = []
    for _ in ("greatest first", "least first"):
        known, count = known[::-1], count[::-1]
        far = _far_codes(known, count)
        found += known[:far].tolist()
        known, count = known[far:], count[far:]
    often = count >= max(_LEAST, _SHARE * count.sum(), _OFTEN * float(np.median([0, *count])))
    if (known >= 0).sum() >= _DISTINCT and (below := (known < 0).sum()) <= _MOST_CODES:
        if all(often[i] and _written_for_missing(known[i]) for i in range(below)):
            found += known[:below].tolist()
            known, often = known[below:], often[below:]
        if known[0] == 0 and often[0] and known[1] > _FAR * (known[-1] - known[1]):
            found.append(0.0)
    return found


def _far_codes(known: NDArray[np.float64], count: NDArray[np.intp]) -> int:
    """How many of the first values, in order, are codes far from all others."""
    codes = [
        n >= _LEAST and _written_for_missing(value)
        for value, n in zip(known[:_MOST_CODES], count, strict=False)
    ]
    for k in range([*codes, False].index(False), 0, -1):
        rest = known[k:]
        if len(rest) > 1 and abs(known[k - 1] - rest[0]) > max(_NEXT, _FAR * np.ptp(rest)):
            return k
    return 0


def _written_for_missing(value: float) -> bool:
    """Whether it is -1, huge, an extreme of integers, all nines, -9.99, 97 or 998 and the like."""
    digits = f"{abs(value):.10g}".replace(".", "")
    nines = {*digits[:-1]} <= {"9"} and digits[-1] in ("6789" if len(digits) > 1 else "9")
    whole = value % 1 == 0 or value < 0
    return value in _EXTREMES or abs(value) >= _LARGE or (nines and whole)


def about_codes_for_missing(name: str, values: NDArray[np.float64]) -> str:
    """A remark on such numbers, with their shares and the range of the others; "" without one.

    >>> about_codes_for_missing("x", np.array([*range(97), -999.0, -999.0, -999.0]))
    "3 % of 'x' are -999 and its other values 0 to 96: --missing 'x=-999' takes them as missing."
    """
    if not (found := codes_for_missing(values)):
        return ""
    known = values[~np.isnan(values)]
    others = known[~np.isin(known, found)]
    written = [f"{v:.10g}" if abs(v) < _LARGE else f"{v:g}" for v in found]
    shares = [percent(float((known == v).mean())) for v in found]
    said = [f"{share} {v}" for share, v in zip(shares[1:], written[1:], strict=True)]
    options = ["--missing " + repr(f"{name}={v}") for v in written]
    return (
        f"{listed([f'{shares[0]} of {name!r} are {written[0]}', *said])} and its other values "
        f"{others.min():g} to {others.max():g}: "
        f"{' '.join(options)} take{'s' * (len(found) == 1)} them as missing."
    )


def about_first_day(name: str, seconds: NDArray[np.float64]) -> str:
    """A remark on a day on which a calendar begins, far from all others, in several rows."""
    known = seconds[~np.isnan(seconds)]
    for day in _DAYS:
        others = known[known != day]
        far = len(others) > 1 and others.min() - day > _FAR * np.ptp(others)
        if far and len(known) - len(others) >= _LEAST:
            share = percent(1 - len(others) / len(known))
            written = np.datetime64(int(day), "s").astype("datetime64[D]")
            return (
                f"{share} of {name!r} are {written}, long before all others: --missing takes them "
                "as missing, written as they are there."
            )
    return ""
