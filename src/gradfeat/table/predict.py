"""Predictions for the rows of a table, piece after piece, to a file that appears when complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gradfeat.maths.files import replacing
from gradfeat.rows.errors import SourceError
from gradfeat.rows.sources.open import PARQUET_ENDINGS
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.errors import TableError
from gradfeat.table.results import UnreadCells
from gradfeat.table.table_model import TableModel

#: Rows that are predicted at once.
AT_ONCE = 2**15


class Predictor:
    """Predictions for tables of any size, and what of them could not be read.

    Parameters
    ----------
    model : TableModel
        What predicts, and tells how columns are read.
    """

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self._unread: dict[str, UnreadCells] = {}
        self._rows = 0

    @property
    def unread(self) -> tuple[UnreadCells, ...]:
        """Cells of the rows so far that are taken as missing, by column."""
        return tuple(self._unread.values())

    def frames(self, table: Tables) -> Iterator[pd.DataFrame]:
        """Predictions for all rows, in order, some at a time.

        Raises
        ------
        TableError
            When the columns are not those of the training table.
        SourceError
            For rows that cannot be read, and infinite values.
        """
        encoder, names = self.model.encoder, set(table.names)
        wanted = [name for name in encoder.columns_ if name in names]
        if len(wanted) < len(encoder.columns_):
            encoder.transform(pd.DataFrame(columns=list(names)))  # says which are missing
        for piece in table.select(wanted).read_as(encoder.cells).pieces():
            for frame in piece.read():
                for start in range(0, len(frame), AT_ONCE):
                    yield self._predicted(frame.iloc[start : start + AT_ONCE], piece.name)

    def _predicted(self, frame: pd.DataFrame, where: str) -> pd.DataFrame:
        try:
            X, unread = self.model.encoder.encoded(frame)
        except TableError as error:
            raise SourceError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from error
        for one in unread:
            first = replace(one, cells=0, row=self._rows + one.row)
            before = self._unread.get(one.column, first)
            self._unread[one.column] = replace(before, cells=before.cells + one.cells)
        self._rows += len(frame)
        return self.model.predicted(X)


def write_predictions(frames: Iterable[pd.DataFrame], out: Path) -> int:
    """Write CSV, or Parquet where the name says so, whole or not at all; return the rows.

    Raises
    ------
    TableError
        Where the file cannot be written; an old one stays as it was.
    """
    write = _write_parquet if out.suffix.lower() in PARQUET_ENDINGS else _write_csv
    try:
        with replacing(out) as handle:
            return write(frames, handle)
    except OSError as error:
        raise TableError(
            f"Cannot write '{out}' ({error.strerror or error}): nothing was changed there; free "
            "the disk or choose another file."
        ) from error


def _write_csv(frames: Iterable[pd.DataFrame], handle: BinaryIO) -> int:
    rows, first = 0, True
    for frame in frames:
        handle.write(frame.to_csv(index=False, header=first).encode())
        rows, first = rows + len(frame), False
    return rows


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
