"""What is said to the person about each input column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from gradfeat.table.columns import ColumnPlan, as_text, numbers_in
from gradfeat.table.results import ColumnNote, UnreadCells
from gradfeat.table.vectorize import MISSING, Encoded

MOSTLY_NUMBERS = 0.5

Kind = Literal["number", "category", "text", "date", "yes/no", "dropped"]


def column_note(plan: ColumnPlan, column: pd.Series, encoded: tuple[Encoded, ...]) -> ColumnNote:
    """Say what the column holds and which of the encoded columns are its own."""
    text = column if plan.reading == "number" else as_text(column)
    own = [part for part in encoded if part.source == plan.name]
    distinct, missing = int(text.nunique()), int(text.isna().sum())
    if not own:
        return ColumnNote(plan.name, "dropped", distinct, missing, _why_dropped(distinct))
    kind = _kind(plan)
    treatment = _TREATMENT[kind](plan, text, own)
    if kind != "category":
        treatment += _about_missing(missing, own)
    return ColumnNote(plan.name, kind, distinct, missing, treatment)


def _kind(plan: ColumnPlan) -> Kind:
    if plan.reading == "levels":
        return "category" if plan.levels else "text"
    return plan.reading


def _why_dropped(distinct: int) -> str:
    if distinct == 0:
        return "every value is missing"
    return "the same value in every row" if distinct == 1 else "encodes to the same in every row"


def _about_missing(missing: int, own: list[Encoded]) -> str:
    if not missing:
        return ""
    marked = any(part.part == MISSING for part in own)
    return "; missing: the median of the training rows" + (", and marked" if marked else "")


def _number(plan: ColumnPlan, text: pd.Series, own: list[Encoded]) -> str:
    del plan, text, own
    return "as it is"


def _yes_no(plan: ColumnPlan, text: pd.Series, own: list[Encoded]) -> str:
    del text, own
    return f"0 for {plan.levels[0]}, 1 for {plan.levels[1]}"


def _category(plan: ColumnPlan, text: pd.Series, own: list[Encoded]) -> str:
    del plan
    missing = "; missing: all of them 0" if text.isna().any() else ""
    return f"{len(own)} columns of 0 and 1, one a level" + missing


def _text(plan: ColumnPlan, text: pd.Series, own: list[Encoded]) -> str:
    del plan
    found = text.dropna()
    numbers = 1.0 - float(np.isnan(numbers_in(found)).mean())
    hint = f"; {numbers:.0%} of it is numbers: mend the rest to have it read as numbers"
    hashed = sum(part.part != MISSING for part in own)
    return f"{hashed} min-hash numbers" + (hint if numbers > MOSTLY_NUMBERS else "")


def _date(plan: ColumnPlan, text: pd.Series, own: list[Encoded]) -> str:
    del text
    read = f"read as {plan.date_format}, " if plan.date_format else ""
    parts = dict.fromkeys(
        part.part.split("_circular")[0].strip("_") for part in own if part.part != MISSING
    )
    return f"{read}as {', '.join(parts)} (parts that come round lie on a circle)"


_TREATMENT = {
    "number": _number,
    "yes/no": _yes_no,
    "category": _category,
    "text": _text,
    "date": _date,
}


def unread_sentence(unread: Sequence[UnreadCells]) -> str:
    """What could not be read, by column.

    Examples
    --------
    >>> unread_sentence([UnreadCells("age", 2, "?")])
    "Taken as missing, unlike what the training rows hold: 2 cells of 'age' (such as '?')."
    """
    each = [
        f"{one.cells:,} cell{'s' * (one.cells != 1)} of {one.column!r} (such as {one.example!r})"
        for one in unread
    ]
    return f"Taken as missing, unlike what the training rows hold: {', '.join(each)}."
