"""The first pass over a table: its summary, with the target read, and where its rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from gradfeat.maths.blocks import collect
from gradfeat.rows.engine import Engine
from gradfeat.rows.sources.tables import Tables, held
from gradfeat.table.errors import TableError
from gradfeat.table.held_out import SAMPLE_ROWS, TEST_ROWS
from gradfeat.table.other_rows import other_rows
from gradfeat.table.reading.masked import MaskedTables
from gradfeat.table.request import Request
from gradfeat.table.row_sample import column_of
from gradfeat.table.summary import Summarise, TableSummary
from gradfeat.table.target_reading import (
    TargetReading,
    WithTargetRead,
    about_left_out,
    called_missing,
    rare_reading,
    target_reading,
)

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
    """Read a table for the first time, held or streamed (with an engine).

    Raises
    ------
    TableError
        For a table or option that cannot be used.
    SourceError
        For rows that cannot be read.
    """
    return _held(table, request) if engine is None else _streamed(table, request, engine)


def without_other_rows(
    read: ReadRows, request: Request, engine: Engine | None
) -> tuple[ReadRows, list[str]]:
    """The rows with those empty that are no observations, and which these are, in sentences."""
    sample, frame = read.summary.sample, read.frame
    if frame is not None:
        found = other_rows(frame, np.ones(len(frame), np.int64), request.decimal)
    else:
        whole = int(sample.count.sum()) == read.summary.known
        found = other_rows(sample.frame, sample.count if whole else None, request.decimal)
    said = found.said(read.table)
    if found.cells:
        read = _again(read, MaskedTables(read.table, found), request, engine)
    return read, said


def with_target(
    read: ReadRows, request: Request, engine: Engine | None
) -> tuple[ReadRows, tuple[str, ...]]:
    """The rows with their target read, and what became of its cells, in sentences."""
    said = []
    for find in (_reading, _rare):
        reading = find(read.summary, request)
        if reading.plain:
            continue
        before, table = read, WithTargetRead(read.table, reading)
        read = _again(read, table, request, engine)
        lost = read.summary.target.missing - before.summary.target.missing
        said.append(about_left_out(reading, before.table, lost))
    said.append(called_missing(read.summary.target))
    return read, tuple(sentence for sentence in said if sentence)


def _again(
    read: ReadRows,
    table: MaskedTables,
    request: Request,
    engine: Engine | None,
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
    return target_reading(request.target, column, summary.target, request.decimal)


def _rare(summary: TableSummary, request: Request) -> TargetReading:
    return rare_reading(request.target, summary.target, request.rare_classes, request.task)


def _held(table: Tables, request: Request) -> ReadRows:
    return _summarised_frame(table, held(table), request)


def _summarised_frame(table: Tables, frame: pd.DataFrame, request: Request) -> ReadRows:
    size = sample_size(frame)
    summary = collect(Summarise(request.target, size, request.seed), [frame])
    return ReadRows(summary, size, table, frame)


def _streamed(table: Tables, request: Request, engine: Engine) -> ReadRows:
    if request.time_column is not None:
        raise TableError(
            "--time-column holds out the last rows of a table in memory, and this one is streamed: "
            "leave it out, or give --no-stream where the table fits in memory."
        )
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
    """Rows that are kept of a table with such rows: 72,000, fewer where they are large.

    Examples
    --------
    >>> sample_size(pd.DataFrame({"x": [1.0]}))
    72000
    """
    rows = frame.head(1000)
    size = float(rows.memory_usage(index=False, deep=True).sum()) / max(1, len(rows))
    return max(1000, min(TEST_ROWS + SAMPLE_ROWS, int(SAMPLE_BYTES / (size + 16))))
