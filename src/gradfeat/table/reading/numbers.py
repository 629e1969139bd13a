"""Columns of numbers, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.rows.sources.tables import Cells
from gradfeat.table.reading.missing import FEW_NUMBERS, DistinctTexts, written_for_missing
from gradfeat.table.reading.number_cells import FRACTION, taken_apart
from gradfeat.table.reading.number_formats import (
    GROUPED,
    LARGEST,
    ONE_STRAY_IN,
    PLAIN,
    FoundFormat,
    NumberFormat,
    find_format,
    in_one_size,
    one_group,
    one_groups,
    range_among,
    without_unit,
)
from gradfeat.table.reading.plan import (
    ColumnPlan,
    EncodedColumn,
    Floats,
    by_distinct,
    cell_text,
    has_digits,
    truths,
    unread_cells,
    with_gaps,
)
from gradfeat.table.reading.units import FEET, PARTS
from gradfeat.table.results import Kind
from gradfeat.wording import numbered_on, percent, written_twice

#: How many whole numbers with a mark between thousands may tell that they are.
MANY_GROUPED = 20

#: What cells have to be where a number alone may be of percent or hundredths.
_WITH_SIGN = {"%": "number with %", "‰": "number with ‰"}
#: How numbers are read that have % where training rows have none, and the other way round.
_WITH_PER_CENT = ("with % as the number before it", "with % as hundredths")
_WITHOUT_PER_CENT = ("without % as per cent", "without % as shares of 1")
#: Names of what is told apart by numbers, of so many distinct ones.
_CODE = re.compile(
    r"(?<![^\W_])(?:zip|zip_?code|post_?code|postal_?code|plz|icd|naics|fips|sic|sku)(?![^\W_])",
    re.IGNORECASE,
)
_DIAGNOSIS = re.compile(r"(?<![^\W_])(?:icd\W?_?\d*|dx\d?|diagnos[ie]s)(?![^\W_])", re.IGNORECASE)
_FEWEST_CODES = 2
_VERSION = re.compile(r"(?<![^\W_])version|^release$", re.IGNORECASE)
_POWER = re.compile(r"\d{2,}[eE](\d{1,3})", re.ASCII)


@final
@dataclass(frozen=True)
class NumberPlan(ColumnPlan):
    """Numbers written as `format` says; `otherwise` is what they could be taken for as well.

    `codes`: whether it is called as codes are; `noted`: one that has a note, such as ``<5`` or
    ``12*``, or is a fraction; `no_decimals`: the mark before decimals where training cells have
    only the one between thousands: beside 37,500 nothing tells whether 41.250 is 41250; `ends`:
    least and largest of the training rows; `truth`: whether all of them are 0 or 1; `no_unit`: a
    cell without the unit that others have, which is no money; `word`: says that there is no number,
    in a `share` of the training cells.

    Numbers beyond 1e150 are missing: the squares that every score and figure takes stay finite.
    """

    kind: ClassVar[Kind] = "number"
    ordered: ClassVar[bool] = True

    format: NumberFormat = field(default_factory=NumberFormat)
    otherwise: NumberFormat | None = None
    noted: str = ""
    codes: bool = False
    no_decimals: str = ""
    ends: tuple[float, float] | tuple[()] = ()
    truth: bool = False
    no_unit: str = ""
    word: str = ""
    share: float = 0.0

    @classmethod
    def of(cls, name: str, values: Floats, **what: Any) -> NumberPlan:
        """The plan of a column with these numbers (n,)."""
        known = values[np.isfinite(values)]
        truth = len(known) > 1 and bool(np.isin(known, (0, 1)).all()) and np.ptp(known) == 1
        ends = (float(known.min()), float(known.max())) if len(known) else ()
        return cls(name, ends=ends, truth=bool(truth), **what)

    @property
    def cells(self) -> Cells:
        """Numbers where every reader knows the format; the plan reads others from text."""
        return "numbers" if self.format.plain else "text"

    @property
    def assumption(self) -> str:
        said = [self._ambiguity] if self.otherwise else []
        if self.format.bare:
            taken = "as per cent" if self.format.bare == 1 else "as shares of 1"
            said.append(f"Numbers of {self.name!r} without {self.format.unit} are taken {taken}.")
        if self.no_unit:
            said.append(
                f"Some cells of {self.name!r} have {self.format.unit!r} behind the number and "
                f"others, as {self.no_unit!r}, have not: all are taken as of one unit."
            )
        if self.word:
            said.append(
                f"In {self.name!r} {self.word!r} says that there is no number, in "
                f"{percent(self.share)} of cells: these are missing."
            )
        if self.noted:
            value = f"{self.format.read([self.noted])[0]:.10g}"
            level = (
                f"; --category {self.name!r} takes it as a level"
                * self.noted.replace(".", "").isdigit()
            )
            said.append(f"In {self.name!r} {self.noted!r} is taken as {value}{level}.")
        if self.codes:
            said.append(
                f"{self.name!r} is taken as quantities, and its name is of codes: --category "
                f"{self.name!r} takes its numbers as levels."
            )
        return " ".join(said)

    @property
    def _ambiguity(self) -> str:
        between = bool(self.format.thousands)
        mark = self.format.thousands or self.format.decimal
        here, there = ("1234", "1.234") if between else ("1.234", "1234")
        return (
            f"Nothing in {self.name!r} tells what {mark!r} stands for: 1{mark}234 is taken as "
            f"{here}; where {there} is meant, write it so."
        )

    def read(self, column: pd.Series) -> Floats:
        """The numbers (n,), nan where a cell is missing or is none."""
        if types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype):
            values = self.format.stored(column.to_numpy(dtype=float, na_value=np.nan))
            far = np.abs(values) > LARGEST
            return np.where(far, np.nan, values) if far.any() else values
        values = by_distinct(cell_text(column), self._told)
        return np.where(np.isinf(values), np.nan, values)

    def _told(self, texts: Iterable[str]) -> Floats:
        return np.where(self._either(texts), np.nan, self.format.read(texts))

    def _either(self, texts: Iterable[str]) -> NDArray[np.bool_]:
        """Which of the texts (n,) may be thousands or decimals, as no training cell tells."""
        grouped = GROUPED.get(self.no_decimals)
        return np.array([bool(grouped and one_group(text, grouped)) for text in texts], bool)

    def _instead(self, texts: pd.Series) -> dict[str, NDArray[np.bool_]]:
        """Which of the texts (n,) are numbers in two ways, or with a unit that no other has."""
        either = (
            f"sure number, as training rows do not tell whether {self.no_decimals!r} stands before "
            f"decimals or between thousands (write 1234 or 1{self.no_decimals}5)"
        )
        cells = [None if self.format.unit else taken_apart(text) for text in texts]
        others = [cell is not None and cell.unit not in ("", *PARTS) for cell in cells]
        return {either: self._either(texts), "number without a unit": np.array(others, bool)}

    def encode(self, column: pd.Series) -> EncodedColumn:
        values = self.read(column)
        what = _WITH_SIGN.get(self.format.unit, "number")
        lost = np.isnan(values)
        found = self._otherwise(cell_text(column.where(lost))) if lost.any() else {}
        for numbers in found.values():
            values = np.where(np.isnan(numbers), values, numbers)
        told = [
            unread_cells(self.name, column, ~np.isnan(numbers), how, read=True)
            for how, numbers in found.items()
        ]
        if self.format.measured and not self.no_unit:
            alone = (by_distinct(cell_text(column), without_unit) > 0) & (values != 0)
            how = f"without a unit, as if {self.format.unit!r} stood behind them"
            told.append(unread_cells(self.name, column, alone & ~lost, how, read=True))
        told.append(unread_cells(self.name, column, *far_from(values, self.ends), read=True))
        lost = np.isnan(values)
        if self.word:
            lost &= cell_text(column).str.casefold().ne(self.word.casefold()).to_numpy(bool)
        unread = unread_cells(self.name, column, lost, what, self._instead)
        return with_gaps(self, {"": values}, (*sum(told, ()), *unread))

    def _otherwise(self, text: pd.Series) -> dict[str, Floats]:
        """Numbers (n,) of cells that are written as no training cell is, by how they are read.

        With per cent, or without, and with a mark before decimals or between thousands, where the
        other of both is beyond the training rows; with letters for powers of ten.
        """
        found = {"as no (0) and yes (1)": by_distinct(text, truths)} if self.truth else {}
        found |= self._marked_otherwise(text) if self.ends else {}
        other = {"": "%", "%": ""}.get(self.format.unit)
        if not self.ends or other is None:
            return found
        there = by_distinct(text, replace(self, format=replace(self.format, unit=other))._told)
        per_cent, share = (100 * there, there) if other else (there / 100, there)
        low, high = self.ends
        inside = [(low <= values) & (values <= high) for values in (per_cent, share)]
        as_per_cent, as_share = _WITH_PER_CENT if other else _WITHOUT_PER_CENT
        return found | {
            as_per_cent: np.where(inside[0] & ~inside[1], per_cent, np.nan),
            as_share: np.where(inside[1] & ~inside[0], share, np.nan),
        }

    def _marked_otherwise(self, text: pd.Series) -> dict[str, Floats]:
        """Of cells such as 41.250 the one number that has the size of the training rows.

        Of another size is what is ten times too large or too small.
        """
        low, high = self.ends or (0.0, 0.0)
        least, most = max(low, -high, 0.0) / 10, 10 * max(abs(low), abs(high))
        found: dict[str, Floats] = {}

        def read(**how: Any) -> tuple[Floats, NDArray[np.bool_]]:
            values = by_distinct(text, replace(self.format, **how).read)
            return values, (np.abs(values) >= least) & (np.abs(values) <= most)

        for mark, other in (",.", ".,"):
            group = by_distinct(text, partial(one_groups, mark=mark)) > 0
            decimal, small = read(decimal=mark, thousands="")
            whole, large = read(decimal=other, thousands=mark)
            for how, values, sure in (
                (f"with {mark!r} before decimals", decimal, small & ~large),
                (f"with {mark!r} between thousands", whole, large & ~small),
            ):
                found[how] = np.where(group & sure, values, np.nan)
        if not self.format.scaled:
            plain, (values, near) = by_distinct(text, self.format.read), read(scaled=True)
            sure = np.isnan(plain) & near
            found["with K, M or B as powers of ten"] = np.where(sure, values, np.nan)
        return found

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return "as it is" if self.format == PLAIN else f"as it is, read {self.format.words}"


def find_numbers(
    name: str, found: DistinctTexts, decimal: str = "", sure: bool = True
) -> NumberPlan | None:
    """The plan of a column that is mostly of numbers; None where it is not.

    A column is of numbers where, markers of missing values such as ``?``, ``-`` and ``n/a`` aside,
    at most one cell in ten is something else (one cell of at least four), and these cells are no
    codes or levels: beside whole numbers without a sign and unit, text with digits (``1A``,
    ``3+``) that stands in more than one row, and, beside at most 20 distinct ones, a word that
    does. Strays and markers are missing values.

    `decimal` stands before decimals in other columns of the table, where that is known; then
    nothing is left open. Where it is not `sure`, other tables with the same separator have it.

    >>> plan = find_numbers("x", DistinctTexts(("1,200", "?", "35", "12,400"), (1, 1, 1, 1)))
    >>> plan.format.words, plan.read(pd.Series(["2,500", "-"])).tolist()
    ('with , between thousands', [2500.0, nan])
    >>> find_numbers("code", DistinctTexts(("01", "02", "1A", "2B"), (1, 1, 1, 1)))
    """
    written = find_format(found.texts, found.counts, decimal)
    for mark, other in (",.", ".,"):
        if _surely_thousands(found, mark):
            written = FoundFormat(replace(written.format, thousands=mark, decimal=other))
    values = written.format.read(found.texts)
    if not found.mostly(values) or _codes(found, values, written.format):
        return None
    otherwise = None if sure and written.format.decimal == decimal else written.otherwise
    bodies = [cell.body for cell in map(taken_apart, found.texts) if cell]
    mark = written.format.decimal if written.format.thousands else ""
    whole = not any(mark and mark in body for body in bodies)
    about = {"format": written.format, "noted": _noted(found, values, written.format)}
    about["word"], about["share"] = found.one_word(values)
    if written.format.measured:
        alone = (without_unit(found.texts) > 0) & (values != 0) & ~np.isnan(values)
        about["no_unit"] = next(compress(found.texts, alone), "")
    return NumberPlan.of(name, values, otherwise=otherwise, **about, no_decimals=mark * whole)


def _surely_thousands(found: DistinctTexts, mark: str) -> bool:
    """Whether whole numbers have a mark from 1,000 on and none below, and no decimals are meant.

    Of a fixed number of decimals all cells would have them, of others none would end in 0. A code
    for missing values such as -999, and one number alone that comes again, have none in any case.
    """
    cells = [(taken_apart(text), n) for text, n in zip(found.texts, found.counts, strict=True)]
    bodies = [(cell.sign, cell.body, n) for cell, n in cells if cell]
    grouped = [body for _, body, _ in bodies if mark in body]
    bare = [body for _, body, _ in bodies if mark not in body]
    telling = [
        n
        for sign, body, n in bodies
        if len(body) == 3 and body.isdigit() and not written_for_missing(sign * float(body))
    ]
    return (
        len(grouped) >= MANY_GROUPED
        and all(GROUPED[mark].fullmatch(body) for body in grouped)
        and any(body.endswith("0") for body in grouped)
        and all(body.isdigit() and len(body) <= 3 for body in bare)
        and bool(telling)
        and (len(bare) > 1 or telling == [1])
        and in_one_size(cell for cell, _ in cells)
    )


def stored_numbers(name: str, column: pd.Series) -> NumberPlan:
    """Numbers as they are; of versions, 1.10 is said to be 1.1.

    >>> stored_numbers("version", pd.Series([1.1, 1.2])).assumption
    "In 'version' '1.10' is taken as 1.1; --category 'version' takes it as a level."
    """
    values = column.to_numpy(dtype=float, na_value=np.nan)
    known = values[np.isfinite(values)]
    whole = bool((known % 1 == 0).all())
    plan = NumberPlan.of(name, values, noted="1.10" if _VERSION.search(name) and not whole else "")
    many = len(np.unique(known)) > _FEWEST_CODES
    of_codes = _CODE.search(name) if whole else _DIAGNOSIS.search(name)
    return replace(plan, codes=many and of_codes is not None)


def _notes(found: DistinctTexts, values: Floats, flags: bool) -> dict[str, str]:
    """For each mark or note beside numbers the first cell with it, "" for cells without.

    Where letters such as H are `flags`, they are notes.
    """
    read = [text for text, v in zip(found.texts, values, strict=True) if not np.isnan(v)]
    cells = [(text, cell) for text in reversed(read) if (cell := taken_apart(text))]
    return {cell.note or (cell.unit if flags else ""): text for text, cell in cells}


def _noted(found: DistinctTexts, values: Floats, written: NumberFormat) -> str:
    """A cell whose number has a mark or note, or stands there as 1.10 and as 1.1; "" for none.

    So is 12,345 where the comma stands before decimals, too.
    """
    notes = _notes(found, values, written.flags)
    marked = next((text for note, text in notes.items() if note), "")
    if written.thousands == written.decimal:
        marked = next(t for t in found.texts if one_group(t, GROUPED[written.decimal]))
    return marked or numbered_on(written_twice(found.texts), found.texts, FEW_NUMBERS)


def _codes(found: DistinctTexts, values: Floats, written: NumberFormat) -> bool:
    """Whether what looks like numbers and strays are codes or levels together."""
    if written.measured and written.unit != FEET:
        return found.few_with_word(values)
    notes = _notes(found, values, written.flags).keys() - {FRACTION}
    if len(notes) > 1 and len(np.unique(values[~np.isnan(values)])) <= FEW_NUMBERS:
        return True
    if written != PLAIN or _powers(found):
        return written == PLAIN
    if not _whole(found.texts, values):
        return False
    strays = found.strays(values)
    codes = [n for t, n in strays.items() if has_digits([t]) and not range_among(t, values)]
    return sum(codes) > 1 or found.few_with_word(values)


def _powers(found: DistinctTexts) -> bool:
    """Whether one cell in ten is as 10E5, which nobody writes for a million, and no other is 1.5E6.

    Thousands, millions and so on are written so, as 100E3.
    """
    said = [_POWER.fullmatch(text) for text in found.texts]
    codes = sum(n for m, n in zip(said, found.counts, strict=True) if m and int(m[1]) % 3)
    pointed = any("." in text for text in found.texts)
    return not pointed and codes * ONE_STRAY_IN > sum(found.counts)


def _whole(texts: Sequence[str], values: Floats) -> bool:
    return all(t.isdigit() for t, v in zip(texts, values, strict=True) if not np.isnan(v))


#: Values so many ranges of the training rows beyond these are told at predict.
_FAR_RANGES = 5


def far_from(values: NDArray[np.float64], ends: tuple[float, ...]) -> tuple[NDArray[np.bool_], str]:
    """Which values (n,) lie beyond the `ends` of training rows by many ranges, and that in words.

    >>> far_from(np.array([5.0, 5_000.0]), (0.0, 10.0))[0].tolist()
    [False, True]
    """
    low, high = ends or (-np.inf, np.inf)
    far = _FAR_RANGES * (high - low) if high > low else np.inf
    words = (
        f"beyond {low:g} to {high:g}, all of the training rows, by over {_FAR_RANGES} such ranges"
    )
    return (values < low - far) | (values > high + far), words
