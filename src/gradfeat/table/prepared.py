"""From a table to rows to learn from and rows to test on, held in memory or streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from gradfeat.errors import SourceError, TableError
from gradfeat.maths.blocks import Block, collect
from gradfeat.rows.engine import Engine
from gradfeat.rows.rows import Rows
from gradfeat.rows.source import Columns
from gradfeat.rows.sources.numeric import numbered
from gradfeat.rows.sources.tables import Convert, OverTables, Tables, held, selected, with_places
from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.table.encode import TableEncoder
from gradfeat.table.first_pass import KnownTable, ReadRows, TableSummary, known_table
from gradfeat.table.identifiers import about_texts, about_time
from gradfeat.table.reading.missing import about_blocks, about_codes_for_missing
from gradfeat.table.reading.plan import as_text
from gradfeat.table.request import Request
from gradfeat.table.results import ColumnNote, UnreadCells
from gradfeat.table.row_sample import (
    FEWEST_ROWS,
    SAMPLE_ROWS,
    HeldOut,
    RowSample,
    column_of,
    copy_order,
    frame_hash,
    has_value,
    held_out,
)
from gradfeat.table.scores import Units
from gradfeat.table.screening import (
    about_equal_rows,
    about_tails,
    left_out_notes,
    screen,
    target_codes,
)
from gradfeat.table.split import parse_groups, parse_time, split_rows
from gradfeat.table.statistic_rows import FIRST_ROWS, MOST, about_sums_in_order
from gradfeat.table.target import AS_IS, Target, TargetScale
from gradfeat.table.unread import CountUnread

Floats = NDArray[np.float64]

#: Bytes of encoded rows in a block, and rows that are encoded at once in any case.
BLOCK_BYTES, LEAST_ROWS = 2**26, 1024


def target_values(column: pd.Series, classes: tuple[str, ...]) -> Floats:
    """Targets (n,) of rows that have one, or codes of classes."""
    if classes:
        codes = {label: float(code) for code, label in enumerate(classes)}
        return np.array(as_text(column).map(codes), dtype=np.float64)
    return np.array(pd.to_numeric(column), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Coding:
    """What a row is turned into, and how much of it is learned from.

    `classes`: labels in the order of their codes; empty for numbers; `held_out`: rows that are
    tested on; `scale`: on which a quantity is learned.
    """

    encoder: TableEncoder
    target: str
    classes: tuple[str, ...]
    held_out: HeldOut
    scale: TargetScale = AS_IS

    @property
    def fingerprint(self) -> str:
        """Text that changes with what rows are turned into."""
        held = self.held_out
        return f"{self.target} {self.classes} {held.seed} {held.fingerprint} {self.scale}"

    def blocks(self, frame: pd.DataFrame, where: str) -> Iterator[Block]:
        """Training rows, so many at a time that they take at most `BLOCK_BYTES`."""
        step = max(LEAST_ROWS, BLOCK_BYTES // (8 * len(self.encoder.feature_names_)))
        for start in range(0, len(frame), step):
            yield self.training(frame.iloc[start : start + step], where)

    def training(self, frame: pd.DataFrame, where: str) -> Block:
        """The rows of a frame that have a target, with the share that is learned from as weight."""
        frame = frame.loc[has_value(column_of(frame, self.target))]
        w = self.held_out.weights(frame)
        frame, w = frame.loc[w > 0], w[w > 0]
        try:
            X = self.encoder.transform(frame)
        except TableError as error:
            raise SourceError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from error
        y = self.scale.learned(target_values(column_of(frame, self.target), self.classes))
        return Block(torch.from_numpy(X), torch.from_numpy(y)[:, None], torch.from_numpy(w))


class EncodedRows(OverTables):
    """Training rows of a table as a source of blocks, read as the encoder was fitted to them."""

    def __init__(self, tables: Tables, coding: Coding) -> None:
        self.tables = tables
        self.coding = coding

    @property
    def convert(self) -> Convert:
        return self.coding.blocks

    @property
    def columns(self) -> Columns:
        """Numbers in the place of names, as encoded rows in memory have."""
        return numbered(len(self.coding.encoder.feature_names_), 1)

    @property
    def fingerprint(self) -> str:
        """That of the table, and of what its rows are turned into."""
        return f"{self.tables.fingerprint}\nencoded {self.coding.fingerprint}"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that methods can be fitted to.

    `train` (n, d) and `y_train` (n,) are the training rows in the order of their hashes: all of
    them, or a sample where they stream; `rows` are then all of them, else None. `test` (k, d) and
    `y_test` (k,) are the test rows, chosen as `split` says, and `units` (k,) the group or stretch
    of time of each, or itself. Of all rows `n_train` are training rows, and `fewest` have the
    rarest class (all rows of a regression). `unread` are cells of all rows that are not what the
    training rows have their columns hold. `columns` say what each input column holds and what was
    done to it, those left out too; `remarks` what to know before scores are read.
    """

    target: Target
    encoder: TableEncoder
    train: Floats
    y_train: NDArray[Any]
    test: Floats
    y_test: NDArray[Any]
    units: Units
    rows: Rows | None
    n_train: int
    fewest: int
    split: str
    unread: tuple[UnreadCells, ...]
    text: TextOptions = FOUND
    columns: tuple[ColumnNote, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return self.n_train + len(self.test)


def prepare(table: Tables, request: Request, engine: Engine | None = None) -> Prepared:
    """Read a table, decide about its target, hold out test rows, learn how columns are encoded.

    Rows stream where there is an `engine`: test rows and a sample are held then, and all training
    rows are read by pieces.
    """
    if engine is not None and request.held_out_by:
        option = "time" if request.time_column is not None else "group"
        raise TableError(
            f"--{option}-column holds out rows of a table in memory, and this one is streamed: "
            "leave it out, or give --no-stream where the table fits in memory."
        )
    known = known_table(table, request, engine)
    read, target, request = known.read, known.target, known.request
    _enough(read.summary)
    if read.frame is None:
        found, coding = _from_sample(read, target, request)
        rows = Rows(EncodedRows(read.table, coding))
        found = replace(found, rows=rows if engine is None else rows.on(engine))
    else:
        found = _from_frame(read, read.frame, target, request)
    unread = unread_cells(known, found.encoder, found.unread, engine)
    first = _first_rows(read)
    in_order = [*about_blocks(first), *_about_sums(first, found, known)]
    remarks = (*known.said, *in_order, *about_equal_rows(read.summary.sample), *found.remarks)
    return replace(found, unread=unread, text=table.text, remarks=remarks)


def _first_rows(read: ReadRows) -> pd.DataFrame:
    """So many of them as are told by their order, however the table is cut."""
    if read.frame is not None:
        return read.frame.head(FIRST_ROWS)
    first, rows = list[pd.DataFrame](), 0
    for frame in (frame for piece in read.table.pieces() for frame in piece.read()):
        first, rows = [*first, frame], rows + len(frame)
        if rows >= FIRST_ROWS:
            break
    return pd.concat(first, ignore_index=True).head(FIRST_ROWS)


def _about_sums(first: pd.DataFrame, found: Prepared, known: KnownTable) -> list[str]:
    """A remark on sums among the first rows, by columns of numbers and a target that is one."""
    names = [note.name for note in found.columns if note.kind == "number"][:MOST]
    names += [] if found.target.classes else [known.request.target]
    again = TableEncoder(found.encoder.missing, decimal=known.request.decimal)
    columns = [c.to_numpy() for c in again.in_order(selected(first, names)).values()]
    said = about_sums_in_order(columns, known.table.place)
    return [said] if said else []


def unread_cells(
    known: KnownTable, encoder: TableEncoder, more: Sequence[UnreadCells], engine: Engine | None
) -> tuple[UnreadCells, ...]:
    """Counted over all rows, in those columns where such cells are known or may be."""
    return with_places(_unread(known.read, encoder, more, engine), known.table)


def _unread(
    read: ReadRows, encoder: TableEncoder, more: Sequence[UnreadCells], engine: Engine | None
) -> Sequence[UnreadCells]:
    sample = read.summary.sample
    columns = {one.column for one in (*encoder.unread_, *more)}
    if sample.count.sum() < read.summary.known:
        columns |= {*encoder.doubtful(sample.frame)}
    if not columns:
        return ()
    count, ordered = CountUnread(encoder), [n for n in read.table.names if n in columns]
    if engine is None or read.frame is not None:
        frame = held(read.table) if read.frame is None else read.frame
        return collect(count, [selected(frame, ordered)])
    return count.finish(engine.state(count, read.table.select(ordered), "cells"))


def _from_frame(read: ReadRows, frame: pd.DataFrame, target: Target, request: Request) -> Prepared:
    """All rows that are not held out are learned from."""
    summary = read.summary
    frame = frame.loc[has_value(column_of(frame, request.target))]
    if request.held_out_by:
        time = group = None
        if request.time_column is not None:
            time = parse_time(frame, request.time_column, request.dates)
        if request.group_column is not None:
            group = parse_groups(frame, request.group_column, request.seed)
        y = target_values(column_of(frame, request.target), target.classes)
        split = split_rows(len(frame), y, target.task, seed=request.seed, time=time, groups=group)
        train, test = frame.iloc[split.train], frame.iloc[split.test]
        train = train.iloc[copy_order(frame_hash(train, request.seed))]
        found = _prepared(summary, target, request, train, test, split.description)
        return replace(found, units=split.units)
    out = hold_out(summary, target, read.size, request)
    train, test = frame.iloc[out.training(frame)], _held_rows(summary.sample, out)
    return _prepared(summary, target, request, train, test, _by_hash(summary, test, request))


def _from_sample(read: ReadRows, target: Target, request: Request) -> tuple[Prepared, Coding]:
    """A sample of the rows that are not held out, and how all of them are read again."""
    summary, sample = read.summary, read.summary.sample
    out = hold_out(summary, target, read.size, request)
    left = sample.count.copy()
    left[np.searchsorted(sample.hash, out.hash)] -= out.tested
    train, test = sample.rows(sample.some(left, SAMPLE_ROWS, draw=1)), _held_rows(sample, out)
    split = _by_hash(summary, test, request)
    found = _prepared(summary, target, request, train, test, split)
    coding = Coding(found.encoder, request.target, target.classes, out, target.scale)
    return replace(found, n_train=summary.known - len(test)), coding


def hold_out(summary: TableSummary, target: Target, size: int, request: Request) -> HeldOut:
    """The test rows among those of the sample, classes in proportion."""
    sample = summary.sample
    groups = [np.ones(len(sample.hash), bool)]
    if target.classes:
        codes = target_values(column_of(sample.frame, request.target), target.classes)
        groups = [codes == code for code in range(len(target.classes))]
    tested = held_out(sample, summary.known, size, groups)
    some = tested > 0
    return HeldOut(request.seed, sample.hash[some], tested[some], sample.count[some])


def _held_rows(sample: RowSample, held: HeldOut) -> pd.DataFrame:
    times = np.zeros(len(sample.hash), np.int64)
    times[np.searchsorted(sample.hash, held.hash)] = held.tested
    return sample.rows(times)


def _by_hash(summary: TableSummary, test: pd.DataFrame, request: Request) -> str:
    share = f"{len(test):,} of {summary.known:,} rows held out"
    return f"{share}: by a hash of their contents, seed {request.seed}"


def _enough(summary: TableSummary) -> None:
    distinct = len(summary.sample.hash)
    if min(summary.known, 2 * distinct) < FEWEST_ROWS:
        raise TableError(
            f"The table has {summary.known:,} usable rows, {distinct:,} of them distinct, and at "
            f"least {FEWEST_ROWS} are needed to learn from some and test on others: give more rows."
        )


def _prepared(
    summary: TableSummary,
    target: Target,
    request: Request,
    train: pd.DataFrame,
    test: pd.DataFrame,
    split: str,
) -> Prepared:
    """All of `train` is learned from, and held."""
    inputs = input_columns(train, request.not_inputs)
    y, z = (target_values(column_of(f, request.target), target.classes) for f in (train, test))
    classes, keep = len(target.classes), request.keep_identifiers
    encoder = TableEncoder(request.missing, request.dates, request.decimal, request.category)
    screened = screen(
        inputs, y, request.target, classes, summary.rows, keep, True, encoder, target.classes
    )
    encoder.fit(inputs.drop(columns=[*screened.left_out]))
    X, (Z, unread) = encoder.transform(train), encoder.encoded(test)
    said = [*screened.remarks, *about_texts(encoder.notes_)]
    if request.time_column is None:
        said += about_time(X, encoder, target_codes(y, classes), request.target)
    said += about_quantity(target, request.target, np.concatenate([y, z]))
    y = target.scale.learned(y)
    if target.classes:
        y, z = y.astype(np.int64), z.astype(np.int64)
    counts = column_of(summary.target.table, "count").to_numpy()
    fewest = int(counts.min()) if target.classes else summary.known
    found = Prepared(
        target, encoder, X, y, Z, z, np.arange(len(Z)), None, len(X), fewest, split, unread
    )
    notes = dict(zip(screened.left_out, left_out_notes(inputs, screened.left_out), strict=True))
    columns = {note.name: note for note in encoder.notes_} | notes
    order = [str(name) for name in inputs.columns]
    return replace(found, columns=tuple(columns[n] for n in order), remarks=tuple(said))


def about_quantity(target: Target, name: str, y: Floats) -> list[str]:
    """Remarks on a quantity: its tails, where it is learned as it is, and values that are none."""
    if target.classes:
        return []
    far = about_codes_for_missing(name, y)
    return [*(about_tails(name, y) if target.scale.shift is None else []), *([far] if far else [])]


def input_columns(frame: pd.DataFrame, others: Sequence[str]) -> pd.DataFrame:
    """The table without the columns named in `others`; a TableError where none is left."""
    inputs = frame.drop(columns=[name for name in frame.columns if str(name) in others])
    if inputs.shape[1] == 0:
        raise TableError(
            "The table has no column beside the target and the time: give at least one to predict "
            "from."
        )
    return inputs
