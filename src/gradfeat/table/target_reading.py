"""How a target is read: numbers with strays, words that are classes or gaps, rare classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Cells, Tables
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.reading.missing import MaskedTables, Masking
from gradfeat.table.reading.number_cells import MARKERS, is_marker
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.plan import ColumnPlan, as_text, content
from gradfeat.table.row_sample import TargetValues, column_of
from gradfeat.table.target import FEWEST_ROWS_OF_CLASS, FREQUENT
from gradfeat.wording import counted, in_another_case, listing

RareClasses = Literal["refuse", "drop", "merge"]

#: Cells that are named of rows that are left out.
NAMED = 5

#: The class of those that are too rare to be one each.
OTHER = "other"

#: Share of the rows of the rarest other class from which a word that may say "missing" is one.
AS_OTHERS = 0.5

#: Such words; signs such as ? are no classes however frequent they are.
_WORDS = frozenset(word for word in MARKERS if word[:1].isalpha() or word[:1] in "#<")


@dataclass(frozen=True)
class TargetReading(Masking):
    """What becomes of the cells of a target before it is looked at.

    `numbers`: how text is read that is mostly numbers; what is none is missing; `labels` (str,
    str): other words for some classes; "" where rows of a class are left out; `why`: what the
    target is where rows are left out; `remark`: how its numbers are read, where that is to be said.
    """

    name: str
    numbers: ColumnPlan | None = None
    labels: tuple[tuple[str, str], ...] = ()
    why: str = "no class"
    remark: str = ""

    @property
    def plain(self) -> bool:
        """Whether cells stay what they are."""
        return self.numbers is None and not self.labels

    def read(self, column: pd.Series) -> pd.Series:
        """The column as it is to be looked at; None or nan where a row is left out."""
        if self.numbers is not None:
            plain = pd.to_numeric(as_text(column).astype(object), errors="coerce")
            plain = np.asarray(plain, dtype=np.float64)
            # What is infinite stays so and is refused, as in a column of numbers alone.
            values = np.where(np.isinf(plain), plain, self.numbers.encode(column).parts[""])
            return pd.Series(values, index=column.index, name=column.name)
        known = dict(self.labels)
        return as_text(column).map(lambda text: known.get(text, text) or None, na_action="ignore")

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns by which rows of others are left out: none."""
        return ()

    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with the target read."""
        return frame.assign(**{self.name: self.read(column_of(frame, self.name))})

    def left_out(self, column: pd.Series) -> NDArray[np.bool_]:
        """Which cells (n,) have a value and are no target."""
        return (as_text(column).notna() & self.read(column).isna()).to_numpy(dtype=bool)


def target_reading(
    name: str, column: pd.Series, found: TargetValues, decimal: str = "", classes: bool = False
) -> TargetReading:
    """How to read a target, by a sample of its cells and the counts of all.

    Text that is mostly numbers is numbers (as of inputs), and what is none is missing. Of classes,
    signs such as ``?`` are missing, but beside one other class or as ``-`` beside ``+``; words such
    as None or NA are classes where they stand in 5 % of the rows at least, and in half as many as
    the rarest other class. Where it is told that they are `classes`, numbers are words too.

    >>> column = pd.Series(["None", "Apnea", "None", "Apnea", "?"])
    >>> target_reading("y", column, TargetValues.of(column)).labels
    (('?', ''),)
    >>> column = pd.Series(["3.5", "4", "?", "7", "5"])
    >>> target_reading("y", column, TargetValues.of(column)).read(column).tolist()
    [3.5, 4.0, nan, 7.0, 5.0]
    """
    if content(column) not in ("string", "mixed", "mixed-integer", "categorical"):
        return TargetReading(name)
    plan = plan_column(name, column, decimal=decimal)
    if plan.kind == "number" and column.dtype != "category" and not classes:
        return TargetReading(name, plan, why="no number", remark=_about_numbers(plan, column))
    counts = {str(key): int(n) for key, n in found.table[["key", "count"]].itertuples(index=False)}
    words = {key: n for key, n in counts.items() if is_marker(key)}
    others = [n for key, n in counts.items() if key not in words]
    some = FREQUENT * sum(counts.values())
    least = max(some, AS_OTHERS * min(others, default=0))
    kept = {key for key, n in words.items() if key.casefold() in _WORDS and n >= least}
    if len(others) + len(kept) == 1 or {"+", "-"} <= {*counts}:
        signs = "-" if "+" in counts else words
        kept |= {key for key, n in words.items() if key in signs and n >= some}
    gone = [key for key in words if key not in kept]
    return TargetReading(name, None, tuple((key, "") for key in gone if others))


def _about_numbers(plan: ColumnPlan, column: pd.Series) -> str:
    """What predictions are where the target is written otherwise, and what was assumed of it."""
    text = as_text(column).dropna()
    values = plan.encode(text).parts[""]
    other = np.flatnonzero(~np.isnan(values) & (values != NumberFormat().read(text)))
    if not len(other) or plan.assumption:
        return plan.assumption
    cell, value = text.iloc[other[0]], values[other[0]]
    return f"Predictions of {plan.name!r} are plain numbers: {value:.10g} for {cell!r}."


def rare_reading(
    name: str,
    found: TargetValues,
    rare: RareClasses,
    task: Literal["auto", "regression", "classification"],
) -> TargetReading:
    """Classes of fewer than two rows left out, or taken together, where that was asked for.

    >>> found = TargetValues.of(pd.Series(["a", "a", "b", "c"]))
    >>> rare_reading("y", found, "merge", "auto").labels
    (('b', 'other'), ('c', 'other'))
    """
    numbers = content(column_of(found.table, "value")) in ("floating", "integer")
    if rare == "refuse" or task == "regression" or (numbers and task == "auto") or found.many:
        return TargetReading(name)
    few = found.table.loc[found.table["count"] < FEWEST_ROWS_OF_CLASS, "value"]
    word = "" if rare == "drop" else OTHER
    labels = tuple((text, word) for text in as_text(few))
    return TargetReading(name, None, labels, "a class of one row")


def called_missing(found: TargetValues) -> str:
    """A sentence on classes that may be none; "" for none.

    Their names elsewhere say that a value is missing, or all others are numbers and they are rare.
    """
    rows = {str(k): int(n) for k, n in found.table[["key", "count"]].itertuples(index=False)}
    words = [word for word in rows if np.isnan(NumberFormat().read([word])[0])]
    rare = sum(rows[word] for word in words) <= FREQUENT * sum(rows.values())
    strays = words if rare and len(rows) > len(words) else []
    if not strays and (alike := in_another_case(rows)):
        return f"Classes differ in case alone: {listing(alike)}; write them alike to have one."
    return " ".join(
        f"{word!r} is a class here ({counted(n, 'row')}); --missing {word!r} takes it as missing."
        for word, n in rows.items()
        if word in strays or (is_marker(word) and word not in "+-")
    )


def about_left_out(reading: TargetReading, table: Tables, rows: int) -> str:
    """How many rows are left out for their target, with the first of them; "" for none.

    `table` is as it was before the target was read so.
    """
    if not rows:
        merged = [text for text, word in reading.labels if word]
        return f"{listing(merged)} are taken together as {OTHER!r}." if merged else ""
    number, texts = _first_left_out(reading, table, rows)
    return (
        f"{counted(rows, 'row')} left out, whose {reading.name!r} is {reading.why} "
        f"({listing(texts)}; the first is {table.place(number)})."
    )


def _first_left_out(reading: TargetReading, table: Tables, rows: int) -> tuple[int, list[str]]:
    """The first of the `rows` that are left out, and what stands in them, of a few distinct."""
    before, first, seen, texts = 0, 0, 0, {}
    for frame in (
        frame for piece in table.select([reading.name]).pieces() for frame in piece.read()
    ):
        column = column_of(frame, reading.name)
        lost = np.flatnonzero(reading.left_out(column))
        if len(lost) and not seen:
            first = before + int(lost[0])
        texts |= dict.fromkeys(as_text(column.iloc[lost]))
        before, seen = before + len(frame), seen + len(lost)
        if seen >= rows or len(texts) >= NAMED:
            break
    return first, [*texts][:NAMED]


class WithTargetRead(MaskedTables):
    """A table with its target read."""

    def __init__(self, table: Tables, reading: TargetReading) -> None:
        super().__init__(table, reading)
        self.reading = reading

    @property
    def cells(self) -> Mapping[str, Cells]:
        """Those of the table; of the target none: it is read."""
        return {n: kind for n, kind in self.table.cells.items() if n != self.reading.name}

    def select(self, columns: Sequence[str]) -> Tables:
        """The same rows with these columns alone."""
        table = self.table.select(columns)
        return WithTargetRead(table, self.reading) if self.reading.name in columns else table

    def read_as(self, cells: Mapping[str, Cells]) -> WithTargetRead:
        """The same rows, whose other cells are read so."""
        target = self.table.cells.get(self.reading.name)
        kept: dict[str, Cells] = {self.reading.name: target} if target else {}
        return WithTargetRead(self.table.read_as({**cells, **kept}), self.reading)
