"""What is missing: empty and declared cells, words and numbers for them; strays among texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.errors import TableError
from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import Cells, Tables, held, selected
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.leaks import names_of
from gradfeat.table.reading.number_cells import is_marker
from gradfeat.table.reading.number_formats import ONE_STRAY_IN, NumberFormat
from gradfeat.table.reading.plan import Floats, as_text, has_digits
from gradfeat.table.results import ColumnNote
from gradfeat.wording import listed, listing, near_names, percent


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
        there are at least four cells), and there are two values. One word beside many values is
        no stray but says that there is none, as `not tested` and `Free` do, in up to half of all.
        """
        strays = self.strays(values)
        share = self._share(values, strays)
        alone = sum(strays.values()) == 1 and share * _FEWEST_WITH_STRAY <= 1
        few = share * ONE_STRAY_IN <= 1 or alone or bool(_one_word(values, strays, share))
        distinct = len(np.unique(values[~np.isnan(values)]))
        return few and distinct >= (1 if len(self.texts) == distinct else 2)

    def one_word(self, values: Floats) -> tuple[str, float]:
        """The one word beside many values, and in which share of the cells; "" and 0 for none."""
        strays = self.strays(values)
        share = self._share(values, strays)
        word = _one_word(values, strays, share)
        return (word, share) if word else ("", 0.0)

    def few_with_word(self, values: Floats) -> bool:
        """Whether a stray stands in several rows beside few distinct values: 2WD, 4WD and AWD."""
        distinct = len(np.unique(values[~np.isnan(values)]))
        return distinct <= FEW_NUMBERS and max(self.strays(values).values(), default=0) > 1

    def _share(self, values: Floats, strays: Mapping[str, int]) -> float:
        """The share of strays in the cells that are no markers of missing values."""
        known = sum(n for n, value in zip(self.counts, values, strict=True) if not np.isnan(value))
        return sum(strays.values()) / max(known + sum(strays.values()), 1)

    def strays(self, values: Floats) -> dict[str, int]:
        """What has no value and is no marker of missing values either, with counts."""
        each = zip(self.texts, self.counts, values, strict=True)
        return {t: n for t, n, v in each if np.isnan(v) and not is_marker(t)}


#: Up to so many distinct numbers a word that occurs again is one more level.
FEW_NUMBERS = 20


def _one_word(values: Floats, strays: Mapping[str, int], share: float) -> str:
    """The one word among strays beside many values, in more than one cell in ten, at most half."""
    one = 1 < share * ONE_STRAY_IN <= ONE_STRAY_IN / 2 and len({*map(str.casefold, strays)}) == 1
    many = one and not has_digits(strays) and len(np.unique(values)) > FEW_NUMBERS + 1
    return next(iter(strays)) if many else ""


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
    found, frame = [], frame.dropna(how="all") if frame.shape[1] > 1 else frame
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


#: Ends of calendars: the days of a year that they have, and in how many other days they are found.
_ENDS, _FEWEST_DAYS = ("-01-01", "-12-30", "-12-31"), 10

#: Such a number is in so many cells at least, so far from the others in lengths of their range, and
#: not the next whole number, as -1 is of levels -1, 0 and 1; at most so many are found of a column.
_LEAST, _FAR, _NEXT, _MOST_CODES = 3, 0.5, 1.0, 4

#: A number near the others is one where it is as frequent: of all cells, and as a multiple of how
#: often one of the others comes, of which so many are distinct.
_SHARE, _OFTEN, _DISTINCT = 0.01, 3.0, 20


def codes_for_missing(values: NDArray[np.float64]) -> list[float]:
    """Numbers that may stand for missing ones.

    Far from all others, these are up to four of 9, 99.99, 999 and so on, 88, 777, the extremes of
    integers, and 97 or 998 beside 99 or 999; and 0, where that is frequent. Nearer ones are -1 and
    negative nines that are the only negative numbers and frequent, and -99.9 that is frequent.

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
        if all(often[i] and written_for_missing(known[i]) for i in range(below)):
            found += known[:below].tolist()
            known, often = known[below:], often[below:]
        if known[0] == 0 and often[0] and known[1] > _FAR * (known[-1] - known[1]):
            found.append(0.0)
    nines = [v for v in known[often & (known <= -99)] if {*f"{-v:.10g}"} <= {*"9."}]
    return found + (nines if len(known) >= _DISTINCT else [])


def _far_codes(known: NDArray[np.float64], count: NDArray[np.intp]) -> int:
    """How many of the first values, in order, are codes far from all others."""
    codes = [
        n >= _LEAST and written_for_missing(value)
        for value, n in zip(known[:_MOST_CODES], count, strict=False)
    ]
    for k in range([*codes, False].index(False), 0, -1):
        rest = known[k:]
        if len(rest) > 1 and abs(known[k - 1] - rest[0]) > max(_NEXT, _FAR * np.ptp(rest)):
            return k
    return 0


def about_codes_for_missing(name: str, values: NDArray[np.float64]) -> str:
    """A remark on such numbers, with their shares and the range of the others; "" without one.

    >>> about_codes_for_missing("x", np.array([*range(97), -999.0, -999.0, -999.0]))
    "3 % of 'x' are -999 and its other values 0 to 96: --missing 'x=-999' takes them as missing."
    """
    if not (found := codes_for_missing(values)):
        return ""
    known = values[~np.isnan(values)]
    others = known[~np.isin(known, found)]
    written = [f"{v:.10g}" if abs(v) < LARGE else f"{v:g}" for v in found]
    shares = [percent(float((known == v).mean())) for v in found]
    said = [f"{share} {v}" for share, v in zip(shares[1:], written[1:], strict=True)]
    options = ["--missing " + repr(f"{name}={v}") for v in written]
    return (
        f"{listed([f'{shares[0]} of {name!r} are {written[0]}', *said])} and its other values "
        f"{others.min():g} to {others.max():g}: "
        f"{' '.join(options)} take{'s' * (len(found) == 1)} them as missing."
    )


def about_end_days(name: str, seconds: NDArray[np.float64]) -> str:
    """Remarks on a first or last day of a year, far from all others, in several rows.

    1900-01-01 stands for an unknown day and 2099-12-31 for an open end.

    >>> days = 86_400.0 * np.array([*range(18_000, 18_100), 47_481, 47_481, 47_481])
    >>> about_end_days("left", days)[:58]
    "3 % of 'left' are 2099-12-31, long after all others: --mis"
    """
    days, said = np.floor(seconds[~np.isnan(seconds)] / 86_400), []
    for end, side in ((np.min, "before"), (np.max, "after")):
        others = days[days != (day := end(days, initial=np.inf if side == "before" else -np.inf))]
        if len(days) - len(others) < _LEAST or len(np.unique(others)) < _FEWEST_DAYS:
            continue
        written = str(np.datetime64(int(day), "D"))
        if np.abs(others - day).min() > _FAR * np.ptp(others) and written.endswith(_ENDS):
            said.append(
                f"{percent(1 - len(others) / len(days))} of {name!r} are {written}, long {side} "
                "all others: --missing takes them as missing, written as they are there."
            )
            days = others
    return " ".join(said)
