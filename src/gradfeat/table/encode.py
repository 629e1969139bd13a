"""A table of mixed columns to a matrix of numbers, the same way every time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from skrub import TableVectorizer

from gradfeat.rows.sources.tables import Cells
from gradfeat.table import encoder_file
from gradfeat.table.columns import ColumnPlan, as_text, plan_column
from gradfeat.table.errors import TableError, listing
from gradfeat.table.notes import column_note
from gradfeat.table.results import ColumnNote, UnreadCells
from gradfeat.table.vectorize import (
    MISSING,
    Encoded,
    EncodedColumn,
    encode_columns,
    fit_vectorizer,
    with_levels,
)

MISSING_SHARE = 0.05


class TableEncoder:
    """Encode a data frame as a (n, d) float64 matrix without missing values.

    ========================  ===================================================================
    column                    encoded as
    ========================  ===================================================================
    numbers                   themselves; missing: the median of the training rows
    truth values, two levels  0 and 1; missing or unseen: the more frequent of the two
    3 to 40 levels            one 0/1 column a level; missing or unseen: all of them 0
    more levels, free text    8 min-hash numbers (similar text, similar numbers); missing: median
    dates                     seconds, year, and month, day, weekday and hour on a circle;
                              missing: median
    ========================  ===================================================================

    A column with at least 5 % missing training rows (other than 3 to 40 levels, where the zero
    row says it) also gets a 0/1 column ``<name>_missing``. Encoded columns that do not vary over
    the training rows are left out. Levels are compared as text: 1, 1.0, "1" and a category of 1
    are the same. "More levels" begins at half the number of rows if that is below 40.

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
    _plans: tuple[ColumnPlan, ...]
    _encoded: tuple[Encoded, ...]
    _vectorizer: TableVectorizer | None

    def fit(self, frame: pd.DataFrame) -> TableEncoder:
        """Learn levels, medians and formats from the training rows.

        Raises
        ------
        TableError
            For duplicate names, infinite values, complex numbers, and when no column varies.
        """
        if frame.empty:
            raise TableError("The table has no rows or no columns: give at least one of each.")
        table = _by_name(frame)
        every = tuple(plan_column(name, column) for name, column in table.items())
        plans = tuple(plan for plan in every if _may_vary(plan, table[plan.name]))
        vectorizer = fit_vectorizer(plans, table)
        plans = with_levels(plans, vectorizer)
        blocks = encode_columns(plans, vectorizer, table)
        encoded = _varying(blocks)
        if not encoded:
            raise TableError(
                "No input column varies over the training rows: give a table with at least one "
                "input column that takes two values."
            )
        final = {plan.name: plan for plan in (*every, *plans)}
        notes = tuple(column_note(p, table[p.name], encoded) for p in final.values())
        self._set(plans, encoded, notes, vectorizer)
        return self

    def _set(
        self,
        plans: tuple[ColumnPlan, ...],
        encoded: tuple[Encoded, ...],
        notes: tuple[ColumnNote, ...],
        vectorizer: TableVectorizer | None,
    ) -> None:
        used = {column.source for column in encoded}
        self._plans = tuple(p for p in plans if p.name in used or p.reading in ("levels", "date"))
        self._encoded, self._vectorizer, self.notes_ = encoded, vectorizer, notes
        self.columns_ = tuple(plan.name for plan in self._plans)
        self.feature_names_ = tuple(column.name for column in encoded)
        self.source_ = tuple(column.source for column in encoded)

    @property
    def cells(self) -> dict[str, Cells]:
        """What cells of delimited text are to be read as, by column, whichever rows are read."""
        return {plan.name: plan.cells for plan in self._plans}

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Encode rows: (n, d) float64. Columns are found by name; further columns are ignored.

        What cannot be read as the training rows were is taken as missing.

        Raises
        ------
        TableError
            For columns that are not there, duplicate names, and infinite values.
        """
        return self.encoded(frame)[0]

    def encoded(self, frame: pd.DataFrame) -> tuple[np.ndarray, tuple[UnreadCells, ...]]:
        """:meth:`transform`, and the cells that could not be read, counted a column."""
        table = _by_name(frame)
        absent = [name for name in self.columns_ if name not in table]
        if absent:
            raise TableError(
                f"The table lacks {listing(absent)}, which the model was fitted on: "
                "give a table with the columns of the training table."
            )
        if len(frame) == 0:
            return np.empty((0, len(self.feature_names_))), ()
        blocks = encode_columns(self._plans, self._vectorizer, table)
        values = {(b.source, p): v for b in blocks for p, v in b.parts.items()}
        filled = [_filled(values[(e.source, e.part)], e.fill) for e in self._encoded]
        unread = tuple(block.unread for block in blocks if block.unread is not None)
        return np.column_stack(filled), unread

    def to_bytes(self) -> bytes:
        """Return the fitted encoder as bytes, without pickle."""
        state = encoder_file.State(self._plans, self._encoded, self.notes_)
        return encoder_file.dump(state, self._vectorizer)

    @staticmethod
    def from_bytes(data: bytes) -> TableEncoder:
        """Return the encoder that `to_bytes` wrote.

        Raises
        ------
        TableError
            Where the bytes are cut, altered, of another version, or name a foreign type.
        """
        state, vectorizer = encoder_file.load(data)
        encoder = TableEncoder()
        encoder._set(state.plans, state.encoded, state.notes, vectorizer)
        return encoder


def _by_name(frame: pd.DataFrame) -> dict[str, pd.Series]:
    names = frame.columns.map(str)
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise TableError(
            f"The table has more than one column named {listing(twice)}: "
            "give each column its own name."
        )
    return {str(name): column.reset_index(drop=True) for name, column in frame.items()}


def _may_vary(plan: ColumnPlan, column: pd.Series) -> bool:
    """Return whether the vectorizer can take the column; numbers are judged once encoded."""
    return plan.reading in ("number", "yes/no") or as_text(column).nunique(dropna=False) > 1


def _varying(blocks: tuple[EncodedColumn, ...]) -> tuple[Encoded, ...]:
    """Keep the encoded columns that vary once filled, with the value that fills each."""
    kept: dict[str, Encoded] = {}
    for block in blocks:
        for part, values in block.parts.items():
            fill = _median(values)
            if part == MISSING and values.mean() < MISSING_SHARE:
                continue
            if np.ptp(_filled(values, fill)) > 0:
                name = _free_name(block.source + part, kept)
                kept[name] = Encoded(block.source, part, name, fill)
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


def _filled(values: np.ndarray, fill: float) -> np.ndarray:
    return np.where(np.isnan(values), fill, values)
