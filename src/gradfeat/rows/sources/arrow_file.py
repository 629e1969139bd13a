"""Arrow files (Feather): their record batches are what row groups are in Parquet files."""

# Apart: another format than Parquet's, read on the same road.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import pyarrow as pa

from ..errors import SourceError
from .files import FoundFile
from .parquet_footers import ColumnFormat

MAGIC = b"ARROW1"


@final
@dataclass(frozen=True)
class ArrowFormat(ColumnFormat):
    """Arrow's format of files, which Feather is from its version 2 on."""

    def opened(self, file: FoundFile) -> tuple[tuple[int, ...], pa.Schema]:
        try:
            with _reader(file, None) as reader:
                schema = reader.schema
            first = [0] if len(schema) else []
            with _reader(file, first) as reader:
                rows = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        except (pa.ArrowException, OSError) as error:
            raise SourceError(_what_is_wrong(file)) from error
        return tuple(rows), schema

    def batches(
        self, file: FoundFile, number: int, rows: int, most: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        with _reader(file, None) as reader:
            wanted = {*columns, *(name.partition(".")[0] for name in columns)}
            fields = [i for i, name in enumerate(reader.schema.names) if name in wanted]
        with _reader(file, fields or [0]) as reader:
            batch = reader.get_batch(number)
            for start in range(0, rows, most):
                yield batch.slice(start, most)


@contextmanager
def _reader(file: FoundFile, fields: list[int] | None) -> Iterator[pa.ipc.RecordBatchFileReader]:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    with file.fs.open(file.path, "rb") as raw, pa.ipc.open_file(raw, options=options) as reader:
        yield reader


def _what_is_wrong(file: FoundFile) -> str:
    match file.bytes(0, 6):
        case b"ARROW1":
            return f"'{file.name}' is cut short or damaged (no footer at its end): write it again."
        case start if start[:4] == b"FEA1":
            return f"'{file.name}' is Feather of version 1: write it again with pandas or pyarrow."
        case start if start[:4] == b"\xff\xff\xff\xff":
            return f"'{file.name}' is an Arrow stream: write it as an Arrow file or Parquet."
    return f"'{file.name}' is not an Arrow file: give Arrow files alone (a glob selects some)."
