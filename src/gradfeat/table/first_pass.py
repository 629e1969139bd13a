"""The first pass over a table: its summary, with the target read, and where its rows are."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from jaxtyping import UInt8
from torch import Tensor

from gradfeat.errors import TableError
from gradfeat.maths.blocks import Statistic, collect
from gradfeat.rows.engine import Engine
from gradfeat.rows.sources.tables import Cells, FrameTables, Tables, held, unlike
from gradfeat.table.other_rows import other_rows
from gradfeat.table.reading.missing import MaskedTables, about_nowhere, declared
from gradfeat.table.reading.plan import as_text, content
from gradfeat.table.request import Request
from gradfeat.table.row_sample import (
    MOST_CLASSES,
    SAMPLE_ROWS,
    TEST_ROWS,
    RowSample,
    TargetValues,
    column_of,
    few_levels,
    has_value,
    is_numbers,
)
from gradfeat.table.statistic_rows import MOST, end_rows
from gradfeat.table.target import (
    Target,
    WrittenClasses,
    decision,
    no_target,
    prepare_target,
    refuse_infinite,
    refuse_missing,
    target_scale,
    too_many,
    written_classes,
)
from gradfeat.table.target_reading import (
    TargetReading,
    WithTargetRead,
    about_left_out,
    called_missing,
    rare_reading,
    target_reading,
)
from gradfeat.wording import columns_named, layout_sentence


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What the rows of a table are.

    `target`: the values of the target; `sample`: some of the rows that have one; `as_text`: columns
    with cells that are not what cells of them were to be read as.
    """

    rows: int
    target: TargetValues
    sample: RowSample
    as_text: frozenset[str] = frozenset()

    @property
    def known(self) -> int:
        return self.rows - self.target.missing


@dataclass(frozen=True)
class Summarise(Statistic[pd.DataFrame, TableSummary, TableSummary]):
    """Counts, distinct targets, and the `size` distinct rows of least hash.

    A hash of the contents is as good as a random number for each distinct row, so the sample is a
    simple random sample; blocks in any order and grouping give the same.

    `cells` are what cells of text are to be read as.
    """

    target: str
    size: int
    seed: int
    cells: tuple[tuple[str, Cells], ...] = ()

    def init(self, block: pd.DataFrame) -> TableSummary:
        return self._of(block.iloc[:0])

    def update(self, state: TableSummary, block: pd.DataFrame) -> TableSummary:
        """Add the rows of a frame."""
        return self.merge(state, self._of(block))

    def _of(self, frame: pd.DataFrame) -> TableSummary:
        column = column_of(frame, self.target)
        sample = RowSample.of(frame.loc[has_value(column)], self.seed, self.size)
        as_text = frozenset(unlike(dict(self.cells), frame)) if len(frame) else frozenset()
        return TableSummary(len(frame), TargetValues.of(column), sample, as_text)

    def merge(self, one: TableSummary, other: TableSummary) -> TableSummary:
        sample = one.sample.union(other.sample, self.size)
        target = one.target.union(other.target)
        return TableSummary(one.rows + other.rows, target, sample, one.as_text | other.as_text)

    def finish(self, state: TableSummary) -> TableSummary:
        return state

    def pack(self, state: TableSummary) -> dict[str, Tensor]:
        """Counts, extremes, and tables as bytes."""
        target, sample = state.target, state.sample
        return {
            "counts": torch.tensor([state.rows, target.missing, target.infinite]),
            "ends": torch.tensor([target.least, target.greatest], dtype=torch.float64),
            "values": _frame_bytes(target.table),
            "hash": torch.from_numpy(sample.hash),
            "count": torch.from_numpy(sample.count),
            "sample": _frame_bytes(sample.frame),
            "as_text": _numbers(json.dumps(sorted(state.as_text)).encode()),
        }

    def unpack(self, packed: Mapping[str, Tensor]) -> TableSummary:
        rows, missing, infinite = packed["counts"].tolist()
        least, greatest = packed["ends"].tolist()
        values, frame = (_frame_of(packed[name]) for name in ("values", "sample"))
        h, count = (packed[name].numpy().copy() for name in ("hash", "count"))
        if not len(h) == len(count) == len(frame):
            raise ValueError("there are other numbers of rows and of their hashes")
        target = TargetValues(missing, infinite, least, greatest, values)
        as_text = frozenset(json.loads(packed["as_text"].numpy().tobytes()))
        return TableSummary(rows, target, RowSample(h, count, frame), as_text)


def _numbers(data: bytes) -> UInt8[Tensor, " b"]:
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def _frame_bytes(frame: pd.DataFrame) -> UInt8[Tensor, " b"]:
    """The bytes of a frame in Arrow's format; numbers among texts, of chunks before, are text."""
    mixed = [name for name, c in frame.items() if content(c) in ("mixed", "mixed-integer")]
    frame = frame.assign(**{str(name): as_text(column_of(frame, str(name))) for name in mixed})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return _numbers(out.getvalue())


def _frame_of(numbers: UInt8[Tensor, " b"]) -> pd.DataFrame:
    return pa.ipc.open_stream(pa.py_buffer(numbers.numpy().tobytes())).read_all().to_pandas()


#: Bytes that the sample of a table may take.
SAMPLE_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class ReadRows:
    """What the first pass found, and where all rows are: in `frame`, or behind `table`.

    `size` is the most rows that the sample of the summary may hold.
    """

    summary: TableSummary
    size: int
    table: Tables
    frame: pd.DataFrame | None


def read_rows(table: Tables, request: Request, engine: Engine | None) -> ReadRows:
    """Read a table for the first time, held or streamed (with an engine)."""
    return _held(table, request) if engine is None else _streamed(table, request, engine)


def without_other_rows(
    read: ReadRows, request: Request, engine: Engine | None
) -> tuple[ReadRows, list[str]]:
    """The rows with those empty that are no observations, and which these are, in sentences."""
    sample, frame = read.summary.sample, read.frame
    if frame is not None:
        times, place = np.ones(len(frame), np.int64), np.arange(len(frame))
        ends = [place[:MOST], place[: -MOST - 1 : -1]]
    else:
        whole = int(sample.count.sum()) == read.summary.known
        frame, times = sample.frame, sample.count if whole else None
        ends = end_rows(read.table, sample, request.seed) if whole else []
    found = other_rows(frame, times, request.decimal, ends)
    said = found.said(read.table)
    if found.cells:
        read = _again(read, MaskedTables(read.table, found), request, engine)
    return read, said


def with_target(
    read: ReadRows, request: Request, engine: Engine | None
) -> tuple[ReadRows, tuple[str, ...]]:
    """The rows with their target read, and what became of its cells, in sentences."""
    column = column_of(read.summary.sample.frame, request.target)
    if is_numbers(column) and request.task != "classification":
        return read, ()  # neither strays nor rare classes
    said = []
    for find in (_reading, _rare):
        reading = find(read.summary, request)
        if reading.plain:
            continue
        before, table = read, WithTargetRead(read.table, reading)
        read = _again(read, table, request, engine)
        lost = read.summary.target.missing - before.summary.target.missing
        said += [about_left_out(reading, before.table, lost), reading.remark]
    said.append(called_missing(read.summary.target))
    return read, tuple(sentence for sentence in said if sentence)


def with_target_read(
    frame: pd.DataFrame, request: Request, *, read_from: Tables | None = None
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...], int]:
    """A frame without other rows, its target read, what became of each, and how many rows went.

    `read_from` knows the places of the rows, and how they are written.

    >>> frame = pd.DataFrame({"y": ["1.5", "?", "2"]})
    >>> frame, _, said, rows = with_target_read(frame, Request("a table", "y"))
    >>> frame["y"].tolist(), said, rows
    ([1.5, nan, 2.0], ("1 row left out, whose 'y' is no number ('?'; the first is row 2).",), 1)
    """
    if request.target not in frame.columns:
        return frame, (), (), 0
    table = FrameTables(frame, read_from=read_from)
    request = replace(request, decimal=table.text.decimal)
    before = _summarised_frame(table, frame, request)
    read, others = without_other_rows(before, request, None)
    read, said = with_target(read, request, None)
    lost = read.summary.target.missing - before.summary.target.missing
    return frame if read.frame is None else read.frame, tuple(others), tuple(said), lost


def _again(
    read: ReadRows, table: MaskedTables, request: Request, engine: Engine | None
) -> ReadRows:
    """What is found where the rows are those of `table`."""
    if read.frame is not None:
        return _summarised_frame(table, table.masking.masked(read.frame), request)
    if engine is None:
        return read
    rows, summary = summarised(table, request, read.size, engine)
    return ReadRows(summary, read.size, rows, None)


def _reading(summary: TableSummary, request: Request) -> TargetReading:
    column = column_of(summary.sample.frame, request.target)
    classes = request.target in request.category
    return target_reading(request.target, column, summary.target, request.decimal, classes)


def _written(table: Tables, summary: TableSummary, request: Request) -> WrittenClasses:
    column = column_of(summary.sample.frame, request.target)
    if request.target in request.category or column.dtype == "str":
        return WrittenClasses()
    return written_classes(table, request.target, summary.target, request.task)


def _rare(summary: TableSummary, request: Request) -> TargetReading:
    return rare_reading(request.target, summary.target, request.rare_classes, request.task)


def _held(table: Tables, request: Request) -> ReadRows:
    return _summarised_frame(table, held(table), request)


def _summarised_frame(table: Tables, frame: pd.DataFrame, request: Request) -> ReadRows:
    size = sample_size(frame)
    summary = collect(Summarise(request.target, size, request.seed), [frame])
    return ReadRows(summary, size, table, frame)


def _streamed(table: Tables, request: Request, engine: Engine) -> ReadRows:
    table = table.read_as(table.cells)
    size = sample_size(next(frame for piece in table.pieces() for frame in piece.read()))
    table, summary = summarised(table, request, size, engine)
    return ReadRows(summary, size, table, None)


def summarised(
    table: Tables, request: Request, size: int, engine: Engine
) -> tuple[Tables, TableSummary]:
    """The first pass, and the table with each column read as what all cells of it are.

    Where cells turn up that are not what the first rows told, their columns are read as text,
    in one more pass.
    """
    while True:
        cells = tuple(table.cells.items())
        look = Summarise(request.target, size, request.seed, cells)
        summary = look.finish(engine.state(look, table, "rows and target"))
        if not summary.as_text:
            return table, summary
        table = table.read_as({**table.cells, **dict.fromkeys(summary.as_text, "text")})


def sample_size(frame: pd.DataFrame) -> int:
    """Rows that are kept of a table with such rows: 72,000, fewer where they are large."""
    rows = frame.head(1000)
    size = float(rows.memory_usage(index=False, deep=True).sum()) / max(1, len(rows))
    return max(1000, min(TEST_ROWS + SAMPLE_ROWS, int(SAMPLE_BYTES / (size + 16))))


@dataclass(frozen=True, eq=False)
class KnownTable:
    """A table after its first pass: its rows, the decision on its target, and what is `said` of it.

    `request` has how the text is written; `table` knows the places of the rows.
    """

    read: ReadRows
    target: Target
    said: tuple[str, ...]
    request: Request
    table: Tables


def known_table(table: Tables, request: Request, engine: Engine | None = None) -> KnownTable:
    """Read a table once, leave out what are no rows of it, decide about its target."""
    ignored = columns_named(request.ignore, table.names, "to ignore")
    opened = table
    request = replace(request, decimal=table.text.decimal, ignore=tuple(ignored))
    table = table.select(chosen_columns(table, request))
    category = columns_named(request.category, table.names, "to read as levels")
    request = replace(request, category=tuple(category))
    if category:
        table = table.read_as({**table.cells, **dict.fromkeys(category, "text")})
    nowhere = about_nowhere(table, request.missing) if engine is None else []
    if request.missing:
        table = declared(table, request.missing)
    read = read_rows(table, request, engine)
    written = _written(table, read.summary, request)
    if written.as_they_are:
        table = table.read_as({**table.cells, request.target: "text"})
        request = replace(request, category=(*category, request.target))
        read = read_rows(table, request, engine)
    levels = few_levels(opened.categories, read.summary.sample.frame, request.target)
    request = replace(request, category=(*request.category, *levels))
    empty = read.summary.target.missing
    read, others = without_other_rows(read, request, engine)
    read, said = with_target(read, request, engine)
    layout = opened.remarks  # also of what was read last
    gone = [] if written.as_they_are else written.about_gaps(request.target, empty)
    said = (*([layout_sentence(layout)] if layout else []), *nowhere, *gone, *others, *said)
    target = decide_target(read.summary, request, empty)
    return KnownTable(read, target, said, request, table)


def decide_target(summary: TableSummary, request: Request, empty: int | None = None) -> Target:
    """The decision about the target, from its distinct values.

    `empty` are the rows whose target is empty as it came; left out: as it was read.
    """
    found, name = summary.target, request.target
    if request.missing_target == "refuse":
        refuse_missing(name, found.missing, summary.rows)
    refuse_infinite(name, found.infinite)
    examples = found.examples()
    classes = request.task == "classification"
    if found.many and (classes or (request.task == "auto" and content(examples) == "string")):
        raise too_many(name, f"more than {MOST_CLASSES}", examples)
    target = prepare_target(pd.DataFrame({name: examples}), name, request.task)
    distinct = f"more than {MOST_CLASSES}" if found.many else str(len(found.table))
    remark = decision(
        name, target.task, request.task, distinct, found.missing if empty is None else empty
    )
    scale = target_scale(request.target_transform, name, found.least, bool(target.classes))
    return replace(target, rows_dropped=found.missing, remark=remark, scale=scale)


def chosen_columns(table: Tables, request: Request) -> list[str]:
    """The columns that are read: all but those to be ignored; a TableError without the target.

    Rows may be held out by a column of times that no model reads.
    """
    if len(request.held_out_by) > 1:
        raise TableError("Rows are held out by --time-column or by --group-column: give one.")
    if request.target in request.held_out_by:
        raise TableError(
            f"Rows cannot be held out by the target {request.target!r}: give the column that "
            "orders or groups them."
        )
    if request.target in request.ignore:
        raise TableError(
            f"The target {request.target!r} is among the columns to ignore: take it out of them, "
            "or give another target."
        )
    ignored = {*request.ignore}.difference(request.held_out_by)  # read, and no inputs
    kept = [name for name in table.names if name not in ignored]
    if request.target not in kept:
        raise no_target(request.target, kept, table.remarks)
    return kept
