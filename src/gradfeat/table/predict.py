"""Predictions for the rows of a table, piece after piece, to a file that appears when complete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gradfeat.errors import SourceError, TableError
from gradfeat.maths.files import refused, replacing
from gradfeat.rows.sources.files import PACKED_ENDINGS
from gradfeat.rows.sources.open import ARROW_ENDINGS, EXCEL_ENDINGS, PARQUET_ENDINGS
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.read import KeptColumns
from gradfeat.table.results import UnreadCells
from gradfeat.table.table_model import TableModel
from gradfeat.table.unread import NotFinite, UnreadSoFar, refuse_unread
from gradfeat.wording import columns_named

#: Rows that are predicted at once.
AT_ONCE = 2**15

#: Names of files of text with tabs, of JSON lines, and of formats that are read but not written.
_TAB_ENDINGS, _LINES_ENDINGS = (".tsv", ".tab"), (".jsonl", ".ndjson")
_OTHER_ENDINGS = (
    *(".json", ".xls", ".orc"), *EXCEL_ENDINGS, *ARROW_ENDINGS, *PACKED_ENDINGS
)  # fmt: skip


class Predictor:
    """Predictions for tables of any size, and what of them could not be read.

    `model`: what predicts, and tells how columns are read; `keep`: columns of the table that come
    before the predictions, as they stand in it; `interval`: per cent of new rows whose target is to
    lie in the interval or set of classes that is given beside its prediction; `strict`: refuse a
    table with cells that could not be read, once all of them are counted.
    """

    def __init__(
        self,
        model: TableModel,
        keep: Sequence[str] = (),
        interval: float | None = None,
        strict: bool = False,
    ) -> None:
        self.model, self._keep, self._interval, self._strict = model, keep, interval, strict
        self._so_far, self._not_finite = UnreadSoFar(), NotFinite()

    @property
    def unread(self) -> tuple[UnreadCells, ...]:
        """Cells of the rows so far that are taken as missing, by column."""
        return self._so_far.cells

    def frames(self, table: Tables) -> Iterator[pd.DataFrame]:
        """Predictions for all rows, in order, some at a time."""
        encoder, names = self.model.encoder, set(table.names)
        wanted = [name for name in encoder.columns_ if name in names]
        if len(wanted) < len(encoder.columns_):
            encoder.transform(pd.DataFrame(columns=list(names)))  # says which are missing
        kept = KeptColumns(table, self._kept_names(table))
        for piece in table.select(wanted).read_as(encoder.cells).pieces():
            for frame in piece.read():
                for start in range(0, len(frame), AT_ONCE):
                    f = self._predicted(frame.iloc[start : start + AT_ONCE], piece.name)
                    if not self._not_finite.lost:
                        said = self.model.in_columns(f, self._interval)
                        yield pd.concat([kept.take(len(said)), said], axis=1)
        if self._strict:
            refuse_unread(self.unread, table)
        self._not_finite.refuse(table)

    def _kept_names(self, table: Tables) -> list[str]:
        nothing = np.empty((0, len(self.model.encoder.feature_names_)))
        kept = columns_named(self._keep, table.names, "to keep")
        for name in self.model.in_columns(self.model.outputs(nothing), self._interval).columns:
            if name in kept:
                raise TableError(
                    f"The column {name!r} was to be kept, and predictions have that name: rename "
                    "it in the table, or leave it out."
                )
        return kept

    def _predicted(self, frame: pd.DataFrame, where: str) -> NDArray[Any]:
        try:
            X, unread = self.model.encoder.encoded(frame)
        except TableError as error:
            raise SourceError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from error
        self._so_far = self._so_far.then(UnreadSoFar(len(frame), unread))
        f = self.model.outputs(X)
        self._not_finite = self._not_finite.then(NotFinite.of(f))
        return f


def refuse_format(out: Path) -> None:
    """Refuse a name that says another format than predictions are written in."""
    if out.suffix.lower() in _OTHER_ENDINGS:
        raise TableError(
            f"Predictions are not written as {out.suffix}, as '{out.name}' says: give a name that "
            "ends in .csv, .tsv, .jsonl or .parquet."
        )


def write_predictions(frames: Iterable[pd.DataFrame], out: Path) -> int:
    """Write CSV, or what the name says, whole or not at all; return the rows."""
    ending = out.suffix.lower()
    write = _write_parquet if ending in PARQUET_ENDINGS else partial(_write_text, ending=ending)
    with refused(out), replacing(out) as handle:
        return write(frames, handle)


def _write_text(frames: Iterable[pd.DataFrame], handle: BinaryIO, ending: str) -> int:
    rows, first = 0, True
    separator = "\t" if ending in _TAB_ENDINGS else ","
    for frame in frames:
        if ending in _LINES_ENDINGS:
            lines = (json.dumps(row, default=str) for row in _records(frame))
            handle.write("".join(f"{line}\n" for line in lines).encode())
        else:
            handle.write(frame.to_csv(index=False, header=first, sep=separator).encode())
        rows, first = rows + len(frame), False
    return rows


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows by name; what is missing is None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _write_parquet(frames: Iterable[pd.DataFrame], handle: BinaryIO) -> int:
    rows, writer = 0, None
    for frame in frames:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(handle, table.schema)
        writer.write_table(table.cast(writer.schema))
        rows += len(frame)
    if writer is not None:
        writer.close()
    return rows
