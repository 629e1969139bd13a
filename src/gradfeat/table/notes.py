"""What is said to the person about each input column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from gradfeat.rows.sources.tables import Tables
from gradfeat.table.other_rows import names_sums
from gradfeat.table.reading.numbers import about_first_day, about_sentinel
from gradfeat.table.reading.plan import MISSING, ColumnPlan, EncodedColumn, as_text
from gradfeat.table.results import ColumnNote, MethodResult, UnreadCells


def column_note(
    plan: ColumnPlan, column: pd.Series, block: EncodedColumn, own: Sequence[str]
) -> ColumnNote:
    """Say what the column holds and what became of it, with its `own` parts that are encoded."""
    text = column if column.dtype.kind in "iuf" else as_text(column)
    distinct, missing = int(text.nunique()), int(text.isna().sum())
    if not own:
        return ColumnNote(plan.name, "dropped", distinct, missing, _why_dropped(distinct))
    lost = block.unread.cells if block.unread else 0
    treatment = plan.treatment(own)
    if MISSING in block.parts:
        treatment += _about_missing(missing + lost, own)
    remarks = [plan.assumption]
    if plan.kind == "number":
        remarks.append(about_sentinel(plan.name, block.parts[""]))
    if plan.kind == "date":
        remarks.append(about_first_day(plan.name, block.parts["_seconds"]))
    said = " ".join(remark for remark in remarks if remark)
    return ColumnNote(plan.name, plan.kind, distinct, missing + lost, treatment, said)


def _why_dropped(distinct: int) -> str:
    if distinct == 0:
        return "every value is missing"
    return "the same value in every row" if distinct == 1 else "encodes to the same in every row"


def _about_missing(missing: int, own: Sequence[str]) -> str:
    if not missing:
        return ""
    marked = ", and marked" if MISSING in own else ""
    return f"; missing: the median of the training rows{marked}"


def layout_sentence(remarks: Sequence[str]) -> str:
    """How a table is written, where that was found and not told."""
    return f"Read so: {'; '.join(remarks)}."


def unread_sentence(unread: Sequence[UnreadCells]) -> str:
    """What could not be read, by column.

    >>> unread_sentence([UnreadCells("age", 2, "?", "number", 15, "line 17")])
    "Taken as missing: 2 cells of 'age' that are no number (the first: '?', line 17)."
    """
    each = [_unread(one) for one in unread]
    sums = [one for one in unread if names_sums(one.example)]
    said = f"Taken as missing: {'; '.join(each)}."
    if not sums:
        return said
    where = f" ({sums[0].place})" if sums[0].place else ""
    return f"{said} The row of {sums[0].example!r}{where} sums up others: take it out of the table."


def _unread(one: UnreadCells) -> str:
    cells = "1 cell" if one.cells == 1 else f"{one.cells:,} cells"
    verb, first = ("is", "") if one.cells == 1 else ("are", "the first: ")
    place = f", {one.place}" if one.place else ""
    return f"{cells} of {one.column!r} that {verb} no {one.what} ({first}{one.example!r}{place})"


def strict_sentence(unread: Sequence[UnreadCells]) -> str:
    """Why nothing is done with rows whose cells could not all be read, by column."""
    each = "; ".join(_unread(one) for one in unread)
    return (
        f"Strict, and not all cells can be read: {each}. Mend them, or leave strict out to take "
        "them as missing."
    )


def with_places(unread: Iterable[UnreadCells], table: Tables) -> tuple[UnreadCells, ...]:
    """The same, with the places of the first ones in words."""
    return tuple(replace(one, place=table.place(one.row)) for one in unread)


def rows_word(method: MethodResult, words: str) -> str:
    """`words` with ``1,500 of 6,800 rows`` of a method that was fitted to fewer; of others ''."""
    if method.rows_used >= method.rows_there:
        return ""
    return words.format(f"{method.rows_used:,} of {method.rows_there:,} rows")
