"""Test rows and a training sample, by the hashes of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
import pandas as pd

from gradfeat.table.columns import content
from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError
from gradfeat.table.prepared import Prepared, input_columns
from gradfeat.table.request import Request
from gradfeat.table.split import FEWEST_ROWS, Split
from gradfeat.table.streamed.coding import Coding
from gradfeat.table.streamed.contents import column_of
from gradfeat.table.streamed.look import Seen
from gradfeat.table.streamed.target_values import TargetValues
from gradfeat.table.target import MOST_CLASSES, Target, decision, prepare_target, refuse_missing

#: Rows that are tested on, and rows by which columns are encoded and settings chosen, at most.
TEST_ROWS, SAMPLE_ROWS = 50_000, 22_000

#: Bytes that a look may hold.
SKETCH_BYTES = 2**26

#: Values of a hash.
HASHES = 2**63


@dataclass(frozen=True, eq=False)
class Parts:
    """A table that was looked at: what is held of it, and how the rest is read.

    Attributes
    ----------
    held : Prepared
        The sample of training rows, and the test rows.
    coding : Coding
        Of every row.
    n_rows, n_train, n_test : int
        Rows with a target, and those on either side.
    fewest : int
        Rows of the rarest class; all rows of a regression.
    """

    held: Prepared
    coding: Coding
    n_rows: int
    n_train: int
    n_test: int
    fewest: int


def sketch_size(frame: pd.DataFrame) -> int:
    """Rows that a look keeps of a table with such rows: 72,000, fewer where they are large.

    Examples
    --------
    >>> sketch_size(pd.DataFrame({"x": [1.0]}))
    72000
    """
    rows = frame.head(1000)
    size = float(rows.memory_usage(index=False, deep=True).sum()) / max(1, len(rows))
    return max(1000, min(TEST_ROWS + SAMPLE_ROWS, int(SKETCH_BYTES / (size + 16))))


def parts(seen: Seen, request: Request, size: int) -> Parts:
    """Split, encode and code what was seen.

    Raises
    ------
    TableError
        For a table or target that cannot be used.
    """
    target = _target(seen, request)
    _enough(seen)
    n_test = held_out(seen, size)
    sample = seen.sample
    test = sample.rows(0, n_test, TEST_ROWS)
    train = sample.rows(n_test, len(sample.hash), SAMPLE_ROWS)
    encoder = TableEncoder().fit(input_columns(train, {request.target}))
    threshold = int(sample.hash[n_test - 1])
    drawn = blake2b(sample.hash.tobytes() + sample.count.tobytes(), digest_size=16).hexdigest()
    coding = Coding(encoder, request.target, target.classes, request.seed, threshold, drawn)
    held = _held(coding, target, train, test)
    tested = int(sample.count[:n_test].sum())
    fewest = (
        int(column_of(seen.target.table, "count").to_numpy().min())
        if target.classes
        else seen.known
    )
    return Parts(held, coding, seen.known, seen.known - tested, len(test), fewest)


def held_out(seen: Seen, size: int) -> int:
    """Distinct rows that are tested on: a quarter, and no more than `TEST_ROWS` rows in all."""
    sample = seen.sample
    distinct = len(sample.hash)
    if distinct == size:
        distinct = int(size / ((int(sample.hash[-1]) + 1) / HASHES))
    most = size * TEST_ROWS // (TEST_ROWS + SAMPLE_ROWS)
    wanted = max(1, min(round(distinct / 4), most))
    return max(1, min(wanted, int(np.searchsorted(sample.count.cumsum(), TEST_ROWS, "right"))))


def _enough(seen: Seen) -> None:
    if min(seen.known, 2 * len(seen.sample.hash)) < FEWEST_ROWS:
        raise TableError(
            f"The table has {seen.known:,} usable rows, {len(seen.sample.hash):,} of them distinct,"
            f" and at least {FEWEST_ROWS} are needed to learn from some and test on others: give "
            "more rows."
        )


def _target(seen: Seen, request: Request) -> Target:
    """The decision about the target, from its distinct values."""
    found, name = seen.target, request.target
    if request.missing_target == "refuse":
        refuse_missing(name, found.missing, seen.rows)
    found.check(name)
    examples = found.examples()
    _refuse_many(found, examples, name, request.task)
    target = prepare_target(pd.DataFrame({name: examples}), name, request.task)
    distinct = f"more than {MOST_CLASSES}" if found.many else str(len(found.table))
    note = decision(name, target.task, request.task, distinct, found.missing)
    return Target(target.values, target.task, target.classes, target.rows, found.missing, note)


def _refuse_many(
    found: TargetValues,
    examples: pd.Series,
    name: str,
    task: Literal["auto", "regression", "classification"],
) -> None:
    what = content(examples)
    numbers = what in {"floating", "integer", "mixed-integer-float", "decimal"}
    classes = task == "classification" or (task == "auto" and what == "string")
    if found.many and classes:
        instead = "use --task regression" if numbers else "merge rare ones"
        raise TableError(
            f"The target {name!r} has more than {MOST_CLASSES} distinct values, and classification "
            f"takes at most {MOST_CLASSES}: {instead} or choose another target."
        )


def _held(coding: Coding, target: Target, train: pd.DataFrame, test: pd.DataFrame) -> Prepared:
    """The rows in memory, as a small table that was split."""
    X, Z = coding.inputs(train), coding.inputs(test)
    y = np.concatenate([coding.values(column_of(f, coding.target)) for f in (train, test)])
    values = y.astype(np.int64) if target.classes else y
    places = np.arange(len(values))
    held = Target(values, target.task, target.classes, places, target.rows_dropped, target.note)
    split = Split(places[: len(train)], places[len(train) :], "")
    return Prepared(held, split, coding.encoder, X, Z)
