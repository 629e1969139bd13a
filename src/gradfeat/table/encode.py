"""A table of mixed columns to a matrix of numbers, the same way every time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from gradfeat.errors import ModelFileError, TableError
from gradfeat.estimators.container import Contents
from gradfeat.maths.unpacking import of_fields
from gradfeat.rows.sources.tables import Cells
from gradfeat.table.read import by_name
from gradfeat.table.reading.clocks import ClockPlan, DurationPlan
from gradfeat.table.reading.dates import DateOrder, DatePlan
from gradfeat.table.reading.decide import about_weeks, none_is_level, plan_columns
from gradfeat.table.reading.missing import (
    MISSING_SHARE,
    DeclaredMissing,
    about_codes_for_missing,
    about_end_days,
    about_words,
)
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.numbers import NumberPlan
from gradfeat.table.reading.parts import PartsPlan
from gradfeat.table.reading.plan import (
    MISSING,
    NONE,
    ColumnPlan,
    Encoded,
    EncodedColumn,
    Levels,
    Text,
    TwoLevels,
    as_text,
    level_text,
)
from gradfeat.table.results import ColumnNote, UnreadCells
from gradfeat.wording import in_another_case, listing

#: What a model file calls an encoder.
KIND = "TableEncoder"

_PLANS = {
    plan.__name__: plan
    for plan in (ClockPlan, DatePlan, DurationPlan, Levels, NumberPlan, PartsPlan, Text, TwoLevels)
}


def _plan(about: dict[str, Any]) -> ColumnPlan:
    """JSON has lists for tuples, and objects for formats of numbers."""
    values = {key: value for key, value in about.items() if key != "plan"}
    for key in {"ends", "levels", "marks", "years", "words"} & values.keys():
        values[key] = tuple(values[key])
    for key in {"format", "otherwise"} & values.keys():
        values[key] = values[key] and of_fields(NumberFormat, values[key])
    return of_fields(_PLANS[about["plan"]], values)


#: What columns hold in which a word such as None may be a level.
_OF_WORDS = ("category", "text", "yes/no")


class TableEncoder:
    """Encode a data frame as a (n, d) float64 matrix without missing values.

    ========================  ===================================================================
    column                    encoded as
    ========================  ===================================================================
    numbers                   themselves; missing: the median of the training rows
    truth values, two levels  0 and 1; missing or unseen: the more frequent of the two
    some levels               one 0/1 column a level; missing or unseen: all of them 0
    more levels, free text    8 min-hash numbers (similar text, similar numbers); missing: median
    120/80, No. 7             the numbers, where all stand among the same words; missing: median
    dates                     seconds, year, and month, day, weekday and hour on a circle;
                              missing: median
    times of day              seconds since midnight, and the hour on a circle; missing: median
    durations                 seconds; missing: median
    ========================  ===================================================================

    A column with at least 5 % missing training rows (other than of levels, where the zero
    row says it) also gets a 0/1 column ``<name>_missing``. Encoded columns that do not vary over
    the training rows are left out.

    Text is numbers where it mostly is: markers such as ``?``, ``-`` and ``n/a`` aside, at most one
    cell in ten is something else (a single one of four or more), and these cells are no codes:
    ``1A`` or ``3+`` in several rows beside whole numbers, or a word in several rows beside at most
    20 of them, make a column of levels. Separators, a unit of money and per cent are found from
    the whole column, and so is which of two numbers is the day of a date. Whole numbers of one
    width with leading zeros are codes where they are few enough to be levels. What the plan of a
    column cannot read is missing, and counted. Up to 40 levels have a column each, up to 200 where
    there are ten rows a level, and half as many as rows at most; they are compared as text, and
    case counts only where nothing else tells two of them apart: 1, 1.0, "1" and a category of 1
    are the same. A column of pandas' categories stays levels where they are few enough.

    Parameters
    ----------
    missing : sequence of str
        Values that are missing ones, in any column or, as ``height=0``, in one: kept with the
        encoder, and empty in every later table too.
    dates : {"", "day-first", "month-first"}
        How dates such as 3/4/2021 are read where the column does not tell.
    decimal : {"", ","}
        What stands before decimals in numbers such as 1,234, where no column tells.
    category : sequence of str
        Columns that are levels, whatever they look like, such as codes 12E4 and 1.10.

    Attributes
    ----------
    columns_ : tuple of str
        Original columns that are used.
    feature_names_ : tuple of str
        The d encoded columns.
    source_ : tuple of str
        For each encoded column the original column it comes from.
    notes_ : tuple of ColumnNote
        What each original column holds and what was done to it.
    unread_ : tuple of UnreadCells
        Cells of the training rows that are not what their columns hold: missing. A loaded encoder
        has none.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1.0, None, 4.0], "b": ["yes", "no", None]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.feature_names_
    ('a', 'a_missing', 'b', 'b_missing')
    >>> encoder.transform(pd.DataFrame({"b": ["no", "?"], "a": [2, None]})).tolist()
    [[2.0, 0.0, 0.0, 0.0], [2.5, 1.0, 0.5, 1.0]]
    """

    columns_: tuple[str, ...]
    feature_names_: tuple[str, ...]
    source_: tuple[str, ...]
    notes_: tuple[ColumnNote, ...]
    unread_: tuple[UnreadCells, ...] = ()
    _plans: tuple[ColumnPlan, ...]
    _encoded: tuple[Encoded, ...]

    def __init__(
        self,
        missing: Sequence[str] = (),
        dates: DateOrder = "",
        decimal: str = "",
        category: Sequence[str] = (),
    ) -> None:
        self.missing = tuple(missing)
        self.dates: DateOrder = dates
        self.decimal, self.category = decimal, tuple(category)

    def fit(self, frame: pd.DataFrame) -> TableEncoder:
        """Learn levels, medians and formats from the training rows.

        Raises TableError for duplicate names, infinite values, complex numbers, and when no column
        varies.
        """
        if frame.empty:
            raise TableError("The table has no rows or no columns: give at least one of each.")
        table = self._columns(frame)
        plans = plan_columns(table, self.dates, self.decimal, self.category)
        blocks = tuple(plan.encode(table[plan.name]) for plan in plans)
        encoded = _varying(plans, blocks)
        if not encoded:
            raise TableError(
                "No input column varies over the training rows: give a table with at least one "
                "input column that takes two values."
            )
        parts: dict[str, list[str]] = defaultdict(list)
        for column in encoded:
            parts[column.source].append(column.part)
        notes = tuple(
            _note(plan, table[plan.name], block, parts[plan.name])
            for plan, block in zip(plans, blocks, strict=True)
        )
        self._set(plans, encoded, notes)
        self.unread_ = tuple(one for block in blocks for one in block.unread)
        return self

    def _columns(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """By name, with what was declared missing empty."""
        empty = DeclaredMissing(self.missing).masked(frame) if self.missing else frame
        return by_name(empty)

    def _set(
        self,
        plans: tuple[ColumnPlan, ...],
        encoded: tuple[Encoded, ...],
        notes: tuple[ColumnNote, ...],
    ) -> None:
        used = {column.source for column in encoded}
        self._plans = tuple(plan for plan in plans if plan.name in used)
        self._encoded, self.notes_ = encoded, notes
        self.columns_ = tuple(plan.name for plan in self._plans)
        self.feature_names_ = tuple(column.name for column in encoded)
        self.source_ = tuple(column.source for column in encoded)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was assumed in reading the columns, in sentences."""
        said = (*(note.remark for note in self.notes_), about_words(self.notes_))
        return tuple(sentence for sentence in said if sentence)

    def doubtful(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """Columns of text whose cells may be other than what the column holds."""
        table = by_name(frame)
        free = {plan.name for plan in self._plans if plan.kind == "text"}
        return tuple(n for n in self.columns_ if n not in free and table[n].dtype == "str")

    def in_order(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """The columns that are read as numbers or moments, read so, without fitting the encoder."""
        table = self._columns(frame)
        plans = plan_columns(table, self.dates, self.decimal, self.category)
        blocks = [plan.encode(table[plan.name]) for plan in plans if plan.ordered]
        return {block.source: pd.Series(next(iter(block.parts.values()))) for block in blocks}

    @property
    def cells(self) -> dict[str, Cells]:
        """What cells of delimited text are to be read as, by column, whichever rows are read."""
        return {plan.name: plan.cells for plan in self._plans}

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Encode rows: (n, d) float64. Columns are found by name; further columns are ignored.

        What cannot be read as the training rows were is taken as missing.

        Raises TableError for columns that are not there, duplicate names, and infinite values.
        """
        return self.encoded(frame)[0]

    @property
    def with_missing(self) -> tuple[str, ...]:
        """Columns that lacked values in training rows: further rows may lack them as well."""
        found = {note.name for note in self.notes_ if note.missing}
        return tuple(name for name in self.columns_ if name in found)

    def missing_row(self) -> pd.DataFrame:
        """A table of one row without values, which every fitted encoder reads."""
        return pd.DataFrame(None, [0], self.columns_, dtype=object)

    def encoded(self, frame: pd.DataFrame) -> tuple[np.ndarray, tuple[UnreadCells, ...]]:
        """:meth:`transform`, and the cells that could not be read, counted by column and reason."""
        table = self._columns(frame)
        absent = [name for name in self.columns_ if name not in table]
        if absent:
            folded = {name.strip().casefold(): name for name in table}
            like = [folded[n.strip().casefold()] for n in absent if n.strip().casefold() in folded]
            has = f" (it has {listing(like)}, spelt otherwise)" if like else ""
            raise TableError(
                f"The table lacks {listing(absent)}, which the model was fitted on{has}: "
                "give a table with the columns of the training table."
            )
        if len(frame) == 0:
            return np.empty((0, len(self.feature_names_))), ()
        blocks = [plan.encode(table[plan.name]) for plan in self._plans]
        values = {(b.source, p): v for b in blocks for p, v in b.parts.items()}
        filled = [_filled(values[(e.source, e.part)], e.fill, e.ends) for e in self._encoded]
        unread = tuple(one for block in blocks for one in block.unread)
        return np.column_stack(filled), unread

    def unread(self, frame: pd.DataFrame) -> tuple[UnreadCells, ...]:
        """The cells that could not be read, counted a column, of those columns that are there."""
        table = self._columns(frame)
        plans = [plan for plan in self._plans if plan.name in table] if len(frame) else []
        return tuple(one for plan in plans for one in plan.encode(table[plan.name]).unread)

    def to_contents(self) -> Contents:
        """The fitted encoder as plain values, for saving: see :func:`gradfeat.save`."""
        about = {
            "plans": [{"plan": type(plan).__name__} | asdict(plan) for plan in self._plans],
            "encoded": [asdict(part) for part in self._encoded],
            "notes": [asdict(note) for note in self.notes_],
            "missing": list(self.missing),
            "category": list(self.category),
        }
        return Contents(KIND, about, {})

    @staticmethod
    def from_contents(contents: Contents) -> TableEncoder:
        """Return the encoder that `to_contents` described.

        Raises ModelFileError where a part is missing or unknown.
        """
        about = contents.state
        try:
            encoder = TableEncoder(about["missing"], category=about["category"])
            plans = tuple(_plan(plan) for plan in about["plans"])
            hash(plans)  # TypeError where a file has a list in the place of a text
            encoder._set(
                plans,
                tuple(Encoded(**e | {"ends": tuple(e["ends"])}) for e in about["encoded"]),
                tuple(ColumnNote(**note) for note in about["notes"]),
            )
        except (KeyError, TypeError) as error:
            raise ModelFileError(
                f"The saved table encoder lacks a part of its state ({error}): fit and save it "
                "again."
            ) from error
        return encoder


def _varying(plans: Sequence[ColumnPlan], blocks: Sequence[EncodedColumn]) -> tuple[Encoded, ...]:
    """Keep the encoded columns that vary once filled, with the value that fills each."""
    kept: dict[str, Encoded] = {}
    for plan, block in zip(plans, blocks, strict=True):
        for part, values in block.parts.items():
            fill = _median(values)
            if part == MISSING and values.mean() < MISSING_SHARE:
                continue
            if np.ptp(_filled(values, fill)) > 0:
                name = _free_name(block.source + part, kept)
                text = plan.kind == "text" and part != MISSING
                ends = (float(np.nanmin(values)), float(np.nanmax(values))) if text else ()
                kept[name] = Encoded(block.source, part, name, fill, ends)
    return tuple(kept.values())


def _free_name(name: str, taken: dict[str, Encoded]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _median(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else 0.0


def _filled(values: np.ndarray, fill: float, ends: tuple[float, ...] = ()) -> np.ndarray:
    found = np.where(np.isnan(values), fill, values)
    return np.clip(found, ends[0], ends[1]) if ends else found


def _note(
    plan: ColumnPlan, column: pd.Series, block: EncodedColumn, own: Sequence[str]
) -> ColumnNote:
    """What the column holds and what became of it, with its `own` parts that are encoded."""
    none = plan.kind in ("category", "yes/no") and none_is_level(column)
    levels = (NONE,) if none else ()
    text = column if column.dtype.kind in "iuf" else level_text(column, levels)
    distinct, missing = int(text.nunique()), int(text.isna().sum())
    if not own:
        return ColumnNote(plan.name, "dropped", distinct, missing, _why_dropped(distinct))
    number = plan.kind == "number"
    lost = sum(one.cells for one in block.unread if not one.read)
    missing = int(np.isnan(block.parts[""]).sum()) if number else missing + lost
    treatment = plan.treatment(own)
    if MISSING in block.parts:
        treatment += _about_missing(missing, own)
    remarks = [plan.assumption]
    if number:
        remarks.append(about_codes_for_missing(plan.name, block.parts[""]))
        remarks.append(about_weeks(plan.name, block.parts[""]))
    if plan.kind == "date":
        remarks.append(about_end_days(plan.name, block.parts["_seconds"]))
    if none:
        remarks.append(
            f"'None' is taken as a level of {plan.name!r}, where another word says what is missing."
        )
    if plan.kind in ("category", "yes/no") and (
        alike := in_another_case(sorted(map(str, text.dropna().unique())))
    ):
        said = f"Levels of {plan.name!r} differ in case alone: {listing(alike)}"
        remarks.append(f"{said}; write them alike to have one.")
    said = " ".join(remark for remark in remarks if remark)
    word, share = _word_of_gaps(column, text) if plan.kind in _OF_WORDS else ("", 0.0)
    note = ColumnNote(plan.name, plan.kind, distinct, missing, treatment, said)
    return replace(note, word=word, word_share=share)


def _word_of_gaps(column: pd.Series, text: pd.Series) -> tuple[str, float]:
    """The most frequent word that says a value is missing, and the share of cells with any."""
    words = as_text(column).mask(text.notna()).dropna()
    return (str(words.mode().iloc[0]), len(words) / len(column)) if len(words) else ("", 0.0)


def _why_dropped(distinct: int) -> str:
    if distinct == 0:
        return "every value is missing"
    return "the same value in every row" if distinct == 1 else "encodes to the same in every row"


def _about_missing(missing: int, own: Sequence[str]) -> str:
    marked = ", and marked" if MISSING in own else ""
    return f"; missing: the median of the training rows{marked}" if missing else ""
