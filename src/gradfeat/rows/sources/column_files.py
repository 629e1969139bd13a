"""Files of columns, Parquet and Arrow: rows of each group, and columns common to all files."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pyarrow.types as kinds

from ...errors import SourceError
from ...maths.unpacking import FOREIGN
from ...wording import listing, refuse_repeated, refuse_unknown
from .files import FoundFile

#: How Arrow files begin.
MAGIC = b"ARROW1"

#: Bytes read at a time of each column, so that a large row group is never held compressed.
_BUFFER, _READERS = 2**20, 8


class ColumnFormat(ABC):
    """A format of files that hold columns in groups of rows."""

    @abstractmethod
    def opened(self, file: FoundFile) -> tuple[tuple[int, ...], pa.Schema]:
        """Rows of each group, and the columns; a SourceError for what is not of the format."""

    @abstractmethod
    def batches(
        self, file: FoundFile, numbers: Sequence[int], rows: int, most: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Groups of so many rows together, at most `most` at a time."""


@final
@dataclass(frozen=True)
class ParquetFormat(ColumnFormat):
    """Parquet: a footer tells the rows of each row group."""

    def opened(self, file: FoundFile) -> tuple[tuple[int, ...], pa.Schema]:
        try:
            parquet = pq.ParquetFile(file.path, filesystem=file.fs)
        except (PermissionError, FileNotFoundError) as error:
            raise SourceError(
                f"'{file.name}' cannot be read ({error.strerror}): check its permissions."
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise SourceError(_no_parquet(file)) from error
        with parquet:
            footer, schema = parquet.metadata, parquet.schema_arrow
            rows = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
        return rows, schema

    def batches(
        self, file: FoundFile, numbers: Sequence[int], rows: int, most: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(
            file.path,
            filesystem=file.fs,
            metadata=_metadata(file),
            buffer_size=_BUFFER,
            pre_buffer=rows <= most,  # whole row groups at once, where they fit in memory
            page_checksum_verification=True,
        ) as parquet:
            yield from parquet.iter_batches(most, row_groups=[*numbers], columns=[*columns])


@lru_cache(maxsize=8)
def _metadata(file: FoundFile) -> pq.FileMetaData:
    return pq.ParquetFile(file.path, filesystem=file.fs).metadata


def _no_parquet(file: FoundFile) -> str:
    match file.bytes(0, 4):
        case b"PAR1":
            return f"'{file.name}' is cut short or damaged (no footer at its end): write it again."
        case b"PARE":
            return f"'{file.name}' is an encrypted Parquet file: decrypt it first."
    return f"'{file.name}' is not a Parquet file: give Parquet files alone (a glob selects some)."


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
            raise SourceError(_no_arrow(file)) from error
        return tuple(rows), schema

    def batches(
        self, file: FoundFile, numbers: Sequence[int], rows: int, most: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        del rows
        with _reader(file, None) as reader:
            wanted = {*columns, *(name.partition(".")[0] for name in columns)}
            fields = [i for i, name in enumerate(reader.schema.names) if name in wanted]
        with _reader(file, fields or [0]) as reader:
            for batch in map(reader.get_batch, numbers):
                yield from (batch.slice(start, most) for start in range(0, len(batch), most))


@contextmanager
def _reader(file: FoundFile, fields: list[int] | None) -> Iterator[pa.ipc.RecordBatchFileReader]:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    with file.fs.open(file.path, "rb") as raw, pa.ipc.open_file(raw, options=options) as reader:
        yield reader


def _no_arrow(file: FoundFile) -> str:
    match file.bytes(0, 6):
        case b"ARROW1":
            return f"'{file.name}' is cut short or damaged (no footer at its end): write it again."
        case start if start[:4] == b"FEA1":
            return f"'{file.name}' is Feather of version 1: write it again with pandas or pyarrow."
        case start if start[:4] == b"\xff\xff\xff\xff":
            return f"'{file.name}' is an Arrow stream: write it as an Arrow file or Parquet."
    return f"'{file.name}' is not an Arrow file: give Arrow files alone (a glob selects some)."


@dataclass(frozen=True)
class Footer:
    """Of one file: its row groups' rows, its columns, and the values its path gives."""

    file: FoundFile
    groups: tuple[int, ...]  # rows of each row group
    schema: pa.Schema  # the columns in the file and those of its path
    #: Columns that the path gives (``a=1/``), and their value in this file.
    keys: tuple[tuple[str, object], ...]
    #: A column that pandas wrote as a rule: its name, first value and step.
    count: tuple[str, int, int] | None
    structs: tuple[str, ...] = ()  # columns that are the fields of a struct, such as ``a.b``
    categories: frozenset[str] = frozenset()  # columns of codes, or of pandas' categories


def read_footers(files: Sequence[FoundFile], form: ColumnFormat) -> list[Footer]:
    with ThreadPoolExecutor(min(_READERS, len(files))) as threads:
        opened = list(threads.map(form.opened, files))
    partitioning = _partitioning(files)
    return [
        _footer(file, rows, schema, partitioning)
        for file, (rows, schema) in zip(files, opened, strict=True)
    ]


def _partitioning(files: Sequence[FoundFile]) -> ds.Partitioning:
    """The names in the files' paths; whole numbers are such in all of them, or text."""
    values: dict[str, set[str]] = {}
    for file in files:
        for part in file.below.split("/")[:-1]:
            name, equals, value = part.partition("=")
            if equals:
                values.setdefault(unquote(name), set()).add(value)
    whole = re.compile(r"-?\d{1,18}|__HIVE_DEFAULT_PARTITION__")
    types = {
        name: pa.int64() if all(map(whole.fullmatch, found)) else pa.string()
        for name, found in values.items()
    }
    return ds.partitioning(pa.schema(list(types.items())), flavor="hive")


def _footer(
    file: FoundFile, rows: tuple[int, ...], schema: pa.Schema, partitioning: ds.Partitioning
) -> Footer:
    refuse_repeated(f"'{file.name}'", schema.names)
    given = ds.get_partition_keys(partitioning.parse(file.below))
    keys = {name: value for name, value in given.items() if name not in schema.names}
    for name in keys:
        schema = schema.append(partitioning.schema.field(name))
    count, coded = _count(schema), frozenset(_categories(schema))
    if count is not None:
        schema = schema.insert(0, pa.field(count[0], pa.int64()))
    structs = [field.name for field in schema if kinds.is_struct(field.type)]
    flat = schema.remove_metadata().empty_table().flatten().schema
    refuse_repeated(f"'{file.name}'", flat.names)
    apart = tuple(n for n in flat.names if n not in schema.names) if structs else ()
    return Footer(file, rows, flat, tuple(keys.items()), count, apart, coded)


def _categories(schema: pa.Schema) -> Iterator[str]:
    """Columns of codes of categories; Parquet has no codes of numbers, and pandas notes these."""
    yield from (field.name for field in schema if kinds.is_dictionary(field.type))
    with suppress(*FOREIGN):
        for column in (schema.pandas_metadata or {}).get("columns", ()):
            if column["pandas_type"] == "categorical":
                yield str(column["name"])


def _count(schema: pa.Schema) -> tuple[str, int, int] | None:
    """The rows' numbers by a rule, where pandas wrote an index of them that has a name."""
    with suppress(*FOREIGN):  # other programs write other things there
        for index in (schema.pandas_metadata or {}).get("index_columns", ()):
            if type(index) is dict and index["kind"] == "range" and index["name"] is not None:
                name, start, step = str(index["name"]), index["start"], index["step"]
                numbers = operator.index(start), operator.index(step)
                return None if name in schema.names else (name, *numbers)
    return None


def common_schema(footers: Sequence[Footer], columns: Sequence[str] | None) -> pa.Schema:
    """The columns asked for (None: all of the first file), of types that hold all files."""
    first = footers[0]
    known = [name for name in first.schema.names if not name.startswith("__index_level_")]
    names = known if columns is None else list(columns)
    refuse_repeated("the selection", names)
    refuse_unknown(f"'{first.file.name}'", names, known)
    for footer in footers[1:]:
        _refuse_other(first, footer, names)
    return pa.schema(
        [
            (name, common_type(name, [(f.file.name, f.schema.field(name).type) for f in footers]))
            for name in names
        ]
    )


def _refuse_other(first: Footer, other: Footer, names: Iterable[str]) -> None:
    there = set(other.schema.names)
    missing = [name for name in names if name not in there]
    if missing:
        raise SourceError(
            f"'{other.file.name}' has no column {listing(missing)}, which '{first.file.name}' "
            "has: give files with the same columns, or select columns that all of them have."
        )


#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

_TESTS = {
    "nothing": kinds.is_null,
    "truth values": kinds.is_boolean,
    "numbers": lambda t: kinds.is_integer(t) or kinds.is_floating(t) or kinds.is_decimal(t),
    "text": lambda t: kinds.is_string(t) or kinds.is_large_string(t) or kinds.is_string_view(t),
    "dates": lambda t: kinds.is_timestamp(t) or kinds.is_date(t),
    "times of day": kinds.is_time,
    "durations": kinds.is_duration,
}

#: What can be written as text that is read as the same again.
_AS_TEXT = {"text", "numbers", "truth values", "dates", "times of day"}


def common_type(name: str, held: Sequence[tuple[str, pa.DataType]]) -> pa.DataType:
    """The type that holds the column of all files; each is given as its name and type.

    Numbers of any width go together, and truth values with them as 0 and 1; dates with times; text
    with numbers, truth values, dates and times, which are then text, from which the plan of a
    column reads them. Codes of categories are their values.

    >>> common_type("x", [("a", pa.int8()), ("b", pa.float64())])
    DataType(double)
    >>> common_type("x", [("a", pa.int8()), ("b", pa.string())])
    DataType(string)
    """
    types = [(file, plain(type_)) for file, type_ in held if not kinds.is_null(type_)]
    found = {kind(type_) for _, type_ in types}
    if "text" in found and len(found) > 1 and found <= _AS_TEXT:
        return pa.string()
    distinct = list(dict.fromkeys(type_ for _, type_ in types))
    if found == {"numbers", "truth values"}:
        distinct = [pa.int8() if kinds.is_boolean(type_) else type_ for type_ in distinct]
    if len(distinct) > 1 and any(map(kinds.is_decimal, distinct)):
        distinct = [pa.float64() if kind(type_) == "numbers" else type_ for type_ in distinct]
    if found == {"dates"} and len(distinct) > 1:
        distinct = [pa.timestamp("us") if kinds.is_date(type_) else type_ for type_ in distinct]
    schemas = [pa.schema([(name, type_)]) for type_ in distinct or [pa.null()]]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(name).type
    except pa.ArrowException as error:
        raise _apart(name, types) from error


def _apart(name: str, types: Sequence[tuple[str, pa.DataType]]) -> SourceError:
    """The error of two files that differ in kind, or in type where no two do."""
    first, one = types[0]
    differ = [(f, t) for f, t in types if kind(t) != kind(one)]
    words = kind
    if not differ:
        differ, words = [(f, t) for f, t in types if t != one], str
    other, type_ = differ[0]
    return SourceError(
        f"column {name!r} holds {words(one)} in '{first}' and {words(type_)} in '{other}': write "
        "it with the same type in all files."
    )


def plain(type_: pa.DataType) -> pa.DataType:
    """The type of the values, where a column is stored as codes of them."""
    return type_.value_type if kinds.is_dictionary(type_) else type_


def kind(type_: pa.DataType) -> str:
    """What a column holds, in words."""
    values = plain(type_)
    return next((word for word, test in _TESTS.items() if test(values)), f"values of type {values}")


def as_type(column: Any, type_: pa.DataType) -> Any:
    """A column as :func:`common_type` of it and others.

    Whole numbers become the nearest float64; what is no number is missing where numbers are text.
    """
    if kinds.is_floating(column.type) and kinds.is_string(type_):
        column = pc.if_else(pc.is_nan(column), None, column)
    whole = kinds.is_integer(column.type) and kinds.is_floating(type_)
    return pc.cast(column, options=pc.CastOptions(type_, allow_float_truncate=whole))


@dataclass(frozen=True)
class RowGroup:
    """One row group of one file, or several that follow each other, not read yet."""

    file: FoundFile
    numbers: tuple[int, ...]
    rows: int
    before: int
    keys: tuple[tuple[str, object], ...]
    count: tuple[str, int, int] | None
    form: ColumnFormat

    @property
    def name(self) -> str:
        return f"'{self.file.name}', row group {self.numbers[0]}"

    def tables(self, schema: pa.Schema, most: int) -> Iterator[pa.Table]:
        """The rows, at most `most` at a time, with the columns and types of `schema`."""
        self.file.refuse_changed()
        given = {*dict(self.keys), *(self.count or ())[:1]}
        inside = [name for name in schema.names if name not in given]
        seen = 0
        try:
            for batch in self.form.batches(self.file, self.numbers, self.rows, most, inside):
                yield _typed(batch, schema, self._given(self.before + seen, len(batch)))
                seen += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(_damaged(self.name, str(error))) from error
        if seen != self.rows:
            raise SourceError(_damaged(self.name, f"{seen} rows where {self.rows} were announced"))

    def _given(self, first: int, rows: int) -> dict[str, pa.Array]:
        """Columns that are not in the file, for some rows of it."""
        columns = {name: pa.repeat(pa.scalar(value), rows) for name, value in self.keys}
        if self.count is not None:
            name, start, step = self.count
            columns[name] = pa.array(start + step * np.arange(first, first + rows))
        return columns


def _damaged(name: str, why: str) -> str:
    reason = why.strip().splitlines()[0][:120].rstrip(".") if why.strip() else "unreadable"
    return f"{name} is damaged ({reason}): write the file again, or leave it out."


def _typed(batch: pa.RecordBatch, schema: pa.Schema, given: Mapping[str, pa.Array]) -> pa.Table:
    batch.validate(full=True)
    flat = pa.Table.from_batches([batch]).flatten()
    columns = [
        as_type(given[f.name] if f.name in given else flat.column(f.name), f.type) for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
