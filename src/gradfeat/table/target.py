"""The target column: which task it is, its scale, and the rows that have one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.errors import TableError
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.number_formats import LARGEST
from gradfeat.table.reading.parts import doubt
from gradfeat.table.reading.plan import as_text, content
from gradfeat.table.row_sample import (
    MOST_CLASSES,
    LabelKind,
    TargetValues,
    column_of,
    is_numbers,
    label_kind,
)
from gradfeat.wording import MISSING_WORDS, counted, listing, near_names, number

Task = Literal["regression", "classification"]

FEWEST_ROWS_OF_CLASS = 2

#: Share of all rows from which a word that may say "missing" is a class.
FREQUENT = 0.05

Transform = Literal["none", "log"]

#: The largest logarithm that is taken back, so that squares of predictions stay finite.
LARGEST_LOG = 345.0

#: What is above 0 where exp of a prediction is not.
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class TargetScale:
    """Methods are fitted to log(y + shift), or to y where there is no shift.

    Predictions are ``exp(f) - shift``, and 0 where that is below it, as no such target is: the
    median of y where f is that of its logarithm.

    >>> scale = TargetScale(1.0)
    >>> scale.back(scale.learned(np.array([0.0, 9.0]))).round(12).tolist()
    [0.0, 9.0]
    >>> scale.back(np.array([-0.1])).tolist()
    [0.0]
    """

    shift: float | None = None

    @property
    def transform(self) -> Transform:
        """The `target_transform` that it is of."""
        return "none" if self.shift is None else "log"

    def learned(self, y: NDArray[Any]) -> NDArray[Any]:
        """What methods are fitted to."""
        return y if self.shift is None else np.log(np.maximum(y + self.shift, SMALLEST))

    def back(self, f: Floats) -> Floats:
        """Predictions in the units of y."""
        if self.shift is None:
            return f
        return np.maximum(np.exp(np.minimum(f, LARGEST_LOG)) - self.shift, 0.0)

    def learned_name(self, target: str) -> str:
        """What is learned, as a formula: ``log(y)``."""
        if self.shift is None:
            return target
        return f"log({target})" if self.shift == 0 else f"log({number(self.shift, 0)} + {target})"

    def in_words(self, target: str) -> str:
        """What is learned and predicted, in a sentence; '' where y is learned as it is."""
        if self.shift is None:
            return ""
        return (
            f"Methods are fitted to {self.learned_name(target)}, and predict the median of "
            f"{target!r}: their predictions are taken back by exp. Scores are of {target!r} itself."
        )


#: A target that is learned as it is.
AS_IS = TargetScale()


def target_scale(asked: Transform, target: str, least: float, classes: bool) -> TargetScale:
    """The scale that was asked for; of a target that holds 0, log(1 + y)."""
    if asked == "none":
        return AS_IS
    if classes:
        raise TableError(
            f"Logarithms are of quantities, and {target!r} holds classes: learn it as it is, or "
            "its numbers by a regression."
        )
    if least < 0:
        raise TableError(
            f"Logarithms are of targets of at least 0, and {target!r} goes down to {least:.4g}: "
            "learn it as it is, or add a constant to the column."
        )
    return TargetScale(0.0 if least > 0 else 1.0)


@dataclass(frozen=True)
class Target:
    """The target of the rows that have one.

    `values` (n,) are float64, or int64 codes of classes: ``classes[code]`` is the label, in order
    of size (numbers) or of the alphabet. They stand at `rows` (n,) of the table; `rows_dropped`
    have no target. `remark` says what was decided and how to have it otherwise. A quantity is
    learned on `scale`. `labels` is the kind of the values that the classes are the text of.
    """

    values: np.ndarray
    task: Task
    classes: tuple[str, ...]
    rows: np.ndarray
    rows_dropped: int
    remark: str
    scale: TargetScale = AS_IS
    labels: LabelKind = "text"

    @property
    def outputs(self) -> int:
        """Columns that a fit predicts: one, or one a class where there are more than two."""
        return len(self.classes) if len(self.classes) > 2 else 1


def prepare_target(
    frame: pd.DataFrame,
    target: str,
    task: Literal["auto", "regression", "classification"] = "auto",
    told: int = 0,
) -> Target:
    """Take the target column out of a table and decide the task.

    ``auto`` takes text, categories, truth values, and whole numbers with exactly two distinct
    values as classes, every other column of numbers as a quantity. A class needs at least two
    rows, so that one can be learned from and one held out. Of the rows without a target `told` are
    told of elsewhere.

    >>> frame = pd.DataFrame({"y": ["no", "yes", None, "no", "yes"]})
    >>> found = prepare_target(frame, "y")
    >>> found.task, found.classes, found.values.tolist(), found.rows_dropped
    ('classification', ('no', 'yes'), [0, 1, 0, 1], 1)
    """
    column = _column(frame, target)
    text = as_text(column)
    kept = text.notna().to_numpy()
    column, text = column.loc[kept], text.loc[kept]
    _check_values(target, column, text)
    chosen = _task(column, text) if task == "auto" else task
    remark = decision(target, chosen, task, str(text.nunique()), int((~kept).sum()) - told)
    rows = np.flatnonzero(kept)
    if chosen == "regression":
        values = _quantity(target, column)
        return Target(values, chosen, (), rows, int((~kept).sum()), remark)
    classes = _classes(target, column, text)
    codes = text.map({label: code for code, label in enumerate(classes)}).to_numpy(dtype=np.int64)
    dropped, kind = int((~kept).sum()), label_kind(column)
    if kind == "number" and all(label.lstrip("-").isdigit() for label in classes):
        kind = "integer"  # stored as floats beside gaps
    return Target(codes, chosen, classes, rows, dropped, remark, labels=kind)


def refuse_missing(target: str, missing: int, rows: int) -> None:
    """Refuse rows without a target, where that was asked for."""
    if missing:
        raise TableError(
            f"The target {target!r} is missing in {missing:,} of {rows:,} rows: fill it in, or "
            "leave such rows out with --missing-target drop."
        )


def no_target(target: str, names: Sequence[str], remarks: Sequence[str] = ()) -> TableError:
    """What is said where no column has the target's name; `remarks` on how the table was read."""
    hint = near_names(target, names)
    if hint == ".":
        one = ", where --separator says what stands between columns" if len(names) == 1 else ""
        if one and re.search(r"[,;\t|]", names[0]):
            one = ", as quotes are around whole lines: take these off"
        read = f"; read so: {'; '.join(remarks)}" if remarks else one
        hint = f": its columns are {listing(names, most=8)}{read}."
    return TableError(f"The table has no column {target!r}{hint}")


def _column(frame: pd.DataFrame, target: str) -> pd.Series:
    columns = {str(name): column for name, column in frame.items()}
    if target not in columns:
        raise no_target(target, [*columns])
    return columns[target].reset_index(drop=True)


def is_number(column: pd.Series) -> bool:
    """Whether the values are numbers, whatever the dtype that holds them."""
    return content(column) in {"floating", "integer", "mixed-integer-float", "decimal"}


def _numbers(column: pd.Series) -> np.ndarray:
    try:
        return np.asarray(pd.to_numeric(column), dtype=float)
    except OverflowError:  # an integer beyond the largest float is infinite, as it is in a text
        return np.asarray(column.astype(str), dtype=float)


def _check_values(target: str, column: pd.Series, text: pd.Series) -> None:
    if text.empty:
        raise TableError(f"The target {target!r} is missing in every row: give its values.")
    if content(column) in {"date", "datetime", "datetime64", "timedelta", "complex", "period"}:
        raise TableError(
            f"The target {target!r} holds {content(column)} values: give a column of numbers or "
            "of classes."
        )
    refuse_infinite(target, int(np.isinf(_numbers(column)).sum()) if is_number(column) else 0)
    if len(text) == 1:
        raise TableError(
            f"The target {target!r} is known in 1 row only, and at least 4 are needed to learn "
            "from some and test on others: give more rows."
        )
    if text.nunique() == 1:
        raise TableError(
            f"The target {target!r} is {text.iloc[0]!r} in every row that has one: there is "
            "nothing to predict; give a target that varies, and a word where an empty cell is a "
            "class."
        )


def refuse_infinite(target: str, infinite: int) -> None:
    """Refuse a target with infinite values, of which there are so many."""
    if infinite:
        raise TableError(
            f"The target {target!r} has {counted(infinite, 'infinite value')}: put numbers there "
            "or leave the cells empty to drop the rows."
        )


_MOMENTS = {"date": "dates", "time of day": "times of day", "duration": "durations"}


def about_moments(target: str, values: pd.Series) -> str:
    """What is said of a target that holds dates or times; "" of any other."""
    kind = "number" if is_number(values) else plan_column(target, values).kind
    if kind not in _MOMENTS:
        return ""
    return (
        f"The target {target!r} holds {_MOMENTS[kind]} (such as {str(values.iloc[0])!r}): give "
        "numbers, such as seconds or days from a fixed moment, or classes."
    )


def too_many(target: str, distinct: str, values: pd.Series) -> TableError:
    """What is said where classes are more than a classification takes."""
    what = "use --task regression" if is_number(values) else "merge rare ones"
    doubted = _doubt(target, values)
    instead = f"; {doubted}" if doubted else f": {what} or choose another target."
    return TableError(
        about_moments(target, values)
        or f"The target {target!r} has {distinct} distinct values, and classification takes at "
        f"most {MOST_CLASSES}{instead}"
    )


def _doubt(target: str, values: pd.Series) -> str:
    """Why a target of classes may be meant to be numbers; "" where nothing says so."""
    return "" if is_number(values) else doubt(target, DistinctTexts.of(as_text(values)))


def _task(column: pd.Series, text: pd.Series) -> Task:
    if types.is_bool_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return "classification"
    if not is_number(column):
        return "classification"
    whole = bool((_numbers(column) % 1 == 0).all())
    return "classification" if whole and text.nunique() == 2 else "regression"


def decision(target: str, chosen: Task, asked: str, distinct: str, dropped: int) -> str:
    """What was decided about a target, and how to have it otherwise, in a sentence."""
    what = f"{distinct} classes" if chosen == "classification" else f"{distinct} distinct values"
    other = "regression" if chosen == "classification" else "classification"
    hint = f" (--task {other} to have it otherwise)" if asked == "auto" else " (as asked)"
    lost = f"; {counted(dropped, 'row')} without a target left out" if dropped else ""
    return f"{target!r} has {what}: {chosen}{hint}{lost}."


def _quantity(target: str, column: pd.Series) -> np.ndarray:
    if content(column) == "boolean":
        return column.astype(bool).to_numpy(dtype=float)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if not is_number(column):
        raise TableError(
            f"The target {target!r} is text (such as {as_text(column).iloc[0]!r}), which "
            "regression cannot predict: use --task classification or a target of numbers."
        )
    values = _numbers(column)
    if np.abs(values).max() > LARGEST:
        raise TableError(
            f"The target {target!r} reaches {np.abs(values).max():.0e}, and its squares are beyond "
            "floating-point numbers: give it in a larger unit or as a logarithm."
        )
    return values


def _classes(target: str, column: pd.Series, text: pd.Series) -> tuple[str, ...]:
    counts = text.value_counts()
    if len(counts) > MOST_CLASSES:
        raise too_many(target, f"{len(counts):,}", column)
    few = sorted(str(name) for name, count in counts.items() if count < FEWEST_ROWS_OF_CLASS)
    if len(few) == len(counts) > 1:
        said = _doubt(target, column) or "give more rows."
        raise TableError(
            about_moments(target, column)
            or f"No two rows of the target {target!r} have one class ({listing(few)}): {said}"
        )
    if few:
        raise TableError(
            about_moments(target, column)
            or f"The target {target!r} has only 1 row of {listing(few)}, and a class needs at "
            f"least {FEWEST_ROWS_OF_CLASS}: --rare-classes drop leaves them out, --rare-classes "
            "merge takes such classes together."
        )
    labels = sorted(counts.index)
    return tuple(sorted(labels, key=float) if is_number(column) else labels)


@dataclass(frozen=True)
class WrittenClasses:
    """What is to be known of classes in a text that are stored as numbers or truth values.

    `as_they_are`: whether they are to be taken as they are written; `word`: what says so often that
    there is none that it may be a class, else "".
    """

    as_they_are: bool = False
    word: str = ""

    def about_gaps(self, target: str, missing: int) -> list[str]:
        """How many rows are left out for the word, and how it is kept."""
        if not self.word:
            return []
        rows = "1 row is" if missing == 1 else f"{missing:,} rows are"
        return [
            f"{rows} left out, whose {target!r} is {self.word!r}: --category {target!r} takes "
            f"{self.word!r} as a class."
        ]


def written_classes(
    table: Tables,
    target: str,
    found: TargetValues,
    task: Literal["auto", "regression", "classification"],
) -> WrittenClasses:
    """How the classes of a text are written that are stored as numbers or truth values.

    They are taken as they are written where this differs from how their numbers or truth values
    are, such as +1 or TRUE, or there is one truth value alone beside the word.
    """
    values = column_of(found.table, "value")
    number = is_numbers(values)
    if task == "regression" or found.many or not (number or content(values) == "boolean"):
        return WrittenClasses()
    if task == "auto" and number and (len(values) > 2 or (values.astype(float) % 1 != 0).any()):
        return WrittenClasses()
    rows = table.select([target]).read_as({target: "text"})
    text = column_of(next(iter(next(iter(rows.pieces())).read())), target)
    if text.dtype != "str":
        return WrittenClasses()
    counts = Counter(map(str, text.dropna()))
    words = {word: n for word, n in counts.items() if word in MISSING_WORDS}
    often = sum(words.values()) > FREQUENT * len(text)
    texts = {t.strip().removesuffix(".0") for t in counts if t not in words}
    plain = {f"{value:.15g}" if number else str(value) for value in values}
    rewritten = texts != plain and len(texts) == len(plain) and (number or not words)
    word = max(words, key=lambda word: words[word]) if often else ""
    return WrittenClasses(rewritten or (word != "" and not number and len(values) == 1), word)


Floats = NDArray[np.float64]
