"""From a table to encoded training and test rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError, near_names
from gradfeat.table.request import Request
from gradfeat.table.split import Split, parse_time, split_rows
from gradfeat.table.target import Target, prepare_target, refuse_missing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Encoded training and test rows."""

    target: Target
    split: Split
    encoder: TableEncoder
    train: Floats
    test: Floats

    @property
    def y_train(self) -> NDArray[Any]:
        return self.target.values[self.split.train]

    @property
    def y_test(self) -> NDArray[Any]:
        return self.target.values[self.split.test]


def prepare(frame: pd.DataFrame, request: Request) -> Prepared:
    frame = without(frame, request.ignore)
    target = prepare_target(frame, request.target, request.task)
    if request.missing_target == "refuse":
        refuse_missing(request.target, target.rows_dropped, len(frame))
    frame = frame.iloc[target.rows]
    when = None if request.time_column is None else parse_time(frame, request.time_column)
    inputs = input_columns(frame, {request.target, request.time_column})
    split = split_rows(len(frame), target.values, target.task, seed=request.seed, time=when)
    encoder = TableEncoder().fit(inputs.iloc[split.train])
    train, test = (encoder.transform(inputs.iloc[rows]) for rows in (split.train, split.test))
    return Prepared(target, split, encoder, train, test)


def without(frame: pd.DataFrame, ignored: Sequence[str]) -> pd.DataFrame:
    """The table without columns that are to be ignored.

    Raises
    ------
    TableError
        For a name that is no column.

    Examples
    --------
    >>> without(pd.DataFrame({"a": [1], "b": [2]}), ["b"]).columns.tolist()
    ['a']
    """
    kept = set(kept_names(frame.columns, ignored))
    return frame.loc[:, [str(name) in kept for name in frame.columns]]


def kept_names(names: Iterable[object], ignored: Sequence[str]) -> list[str]:
    """Names of columns but those to be ignored.

    Raises
    ------
    TableError
        For a name that is no column.

    Examples
    --------
    >>> kept_names(["a", "b"], ["b"])
    ['a']
    """
    known = [str(name) for name in names]
    for name in ignored:
        if name not in known:
            raise TableError(f"The table has no column {name!r} to ignore{near_names(name, known)}")
    return [name for name in known if name not in ignored]


def input_columns(frame: pd.DataFrame, others: set[str | None]) -> pd.DataFrame:
    """The table without the columns named in `others`; a TableError where none is left."""
    inputs = frame.drop(columns=[c for c in frame.columns if str(c) in others])
    if inputs.shape[1] == 0:
        raise TableError(
            "The table has no column beside the target and the time: give at least one to predict "
            "from."
        )
    return inputs
