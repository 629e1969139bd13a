"""The target column: which task it is, its values, and the rows that have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api import types

from gradfeat.rows.sources.words import counted
from gradfeat.table.errors import TableError, listing, near_names
from gradfeat.table.reading.cells import as_text, content
from gradfeat.table.reading.number_formats import LARGEST
from gradfeat.table.target_scale import AS_IS, TargetScale

Task = Literal["regression", "classification"]

MOST_CLASSES = 100
FEWEST_ROWS_OF_CLASS = 2


@dataclass(frozen=True)
class Target:
    """The target of the rows that have one.

    Attributes
    ----------
    values : numpy.ndarray of shape (n,)
        Regression: float64. Classification: int64 codes, ``classes[code]`` is the label.
    task : {"regression", "classification"}
        What is to be predicted.
    classes : tuple of str
        Labels in order of size (numbers) or of the alphabet; empty for regression.
    rows : numpy.ndarray of shape (n,)
        Positions in the table of the rows kept.
    rows_dropped : int
        Rows left out because their target is missing.
    remark : str
        What was decided and how to have it otherwise, in a sentence.
    scale : TargetScale
        On which it is learned.
    """

    values: np.ndarray
    task: Task
    classes: tuple[str, ...]
    rows: np.ndarray
    rows_dropped: int
    remark: str
    scale: TargetScale = AS_IS

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

    Raises
    ------
    TableError
        Target absent, all missing, constant, infinite or a date; text for regression; more than
        100 classes; a class with a single row.

    Examples
    --------
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
    return Target(codes, chosen, classes, rows, int((~kept).sum()), remark)


def refuse_missing(target: str, missing: int, rows: int) -> None:
    """Refuse rows without a target, where that was asked for.

    Raises
    ------
    TableError
        With their number.

    Examples
    --------
    >>> refuse_missing("y", 0, 5)
    """
    if missing:
        raise TableError(
            f"The target {target!r} is missing in {missing:,} of {rows:,} rows: fill it in, or "
            "leave such rows out with --missing-target drop."
        )


def no_target(target: str, names: Sequence[str]) -> TableError:
    """What is said where no column has the target's name."""
    hint = near_names(target, names)
    if hint == ".":
        hint = f": its columns are {listing(names, most=8)}."
    return TableError(f"The table has no column {target!r}{hint}")


def _column(frame: pd.DataFrame, target: str) -> pd.Series:
    columns = {str(name): column for name, column in frame.items()}
    if target not in columns:
        raise no_target(target, [*columns])
    return columns[target].reset_index(drop=True)


def _is_number(column: pd.Series) -> bool:
    return content(column) in {"floating", "integer", "mixed-integer-float", "decimal"}


def _numbers(column: pd.Series) -> np.ndarray:
    return np.asarray(pd.to_numeric(column), dtype=float)


def _check_values(target: str, column: pd.Series, text: pd.Series) -> None:
    if text.empty:
        raise TableError(f"The target {target!r} is missing in every row: give its values.")
    if content(column) in {"date", "datetime", "datetime64", "timedelta", "complex", "period"}:
        raise TableError(
            f"The target {target!r} holds {content(column)} values: give a column of numbers or "
            "of classes."
        )
    infinite = int(np.isinf(_numbers(column)).sum()) if _is_number(column) else 0
    if infinite:
        raise TableError(
            f"The target {target!r} has {infinite} infinite value{'s' * (infinite > 1)}: put "
            "numbers there or leave the cells empty to drop the rows."
        )
    if len(text) == 1:
        raise TableError(
            f"The target {target!r} is known in 1 row only, and at least 4 are needed to learn "
            "from some and test on others: give more rows."
        )
    if text.nunique() == 1:
        raise TableError(
            f"The target {target!r} is {text.iloc[0]!r} in all {len(text)} rows that have it: "
            "there is nothing to predict; give a target that varies."
        )


def _task(column: pd.Series, text: pd.Series) -> Task:
    if types.is_bool_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return "classification"
    if not _is_number(column):
        return "classification"
    whole = bool((_numbers(column) % 1 == 0).all())
    return "classification" if whole and text.nunique() == 2 else "regression"


def decision(target: str, chosen: Task, asked: str, distinct: str, dropped: int) -> str:
    """What was decided about a target of so many `distinct` values, and how to have it otherwise.

    Examples
    --------
    >>> decision("y", "classification", "classification", "3", 0)
    "'y' has 3 classes: classification (as asked)."
    """
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
    if not _is_number(column):
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
        instead = "use --task regression" if _is_number(column) else "merge rare ones"
        raise TableError(
            f"The target {target!r} has {len(counts):,} distinct values, and classification takes "
            f"at most {MOST_CLASSES}: {instead} or choose another target."
        )
    few = sorted(str(name) for name, count in counts.items() if count < FEWEST_ROWS_OF_CLASS)
    if few:
        raise TableError(
            f"The target {target!r} has only 1 row of {listing(few)}, and a class needs at least "
            f"{FEWEST_ROWS_OF_CLASS}: --rare-classes drop leaves them out, --rare-classes "
            "merge takes such classes together."
        )
    labels = sorted(counts.index)
    return tuple(sorted(labels, key=float) if _is_number(column) else labels)
