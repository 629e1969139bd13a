"""Rows by what they are in: arrays, files, data frames, Dask collections, iterators."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

import pandas as pd
import torch

from ...errors import SourceError
from ...wording import first_and_more, listing, refuse_repeated
from ..rows import Rows
from ..source import PIECE_ROWS
from .column_files import MAGIC, ArrowFormat
from .csv_layout import CsvLayout, infer_layout
from .dask import DaskArrayRows, DaskTables
from .files import FoundFile, Paths, find_files, packing_of
from .json_lines import json_tables
from .looks import Looks, first_records, looks_of
from .npy import NpyRows
from .numeric import Numbers
from .parquet import ParquetTables
from .table_rows import IteratorRows, IteratorTables, Missing, TableRows
from .tables import ArrayRows, FrameTables, Tables
from .text import SAMPLE_BYTES, TextFile, TextTables, open_text, records
from .text_options import FOUND, TextOptions, marks

#: Rows from which it is decided what cells are read as.
SAMPLE_ROWS = 20_000

PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
EXCEL_ENDINGS = (".xlsx", ".xlsm")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
_PARQUET = (b"PAR1", b"PARE")


def tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
    text: TextOptions = FOUND,
) -> Tables:
    """A table by its first file: Parquet, Arrow (Feather), Excel, JSON lines, or delimited text.

    Text may be packed: gz, bz2, xz, zst, or a zip archive of one file; of a workbook its first
    sheet is one, or that of `text`.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/t.tsv", b"x\\ty\\n1\\t2\\n")
    >>> tables("memory://doc/t.tsv").names
    ('x', 'y')
    """
    first = find_files(path, storage_options)[0]
    start = first.bytes(0, 4)
    if text.sheet is not None and packing_of(first).told.sheet is None:
        raise SourceError(f"'{first.name}' is no workbook: leave out the sheet {text.sheet!r}.")
    if start in _PARQUET or first.path.lower().endswith(PARQUET_ENDINGS):
        return ParquetTables(path, columns, piece_rows, storage_options)
    if start == MAGIC[:4] or first.path.lower().endswith(ARROW_ENDINGS):
        return ParquetTables(path, columns, piece_rows, storage_options, ArrowFormat())
    if start.startswith(b"\x93NUM"):
        raise SourceError(f"'{first.name}' is a .npy file: give it to from_npy(X_path, y_path).")
    if packing_of(first).inside(first.path).lower().endswith(JSON_ENDINGS):
        return json_tables(path, columns, piece_rows, storage_options, text.encoding)
    return csv_tables(path, columns, piece_rows, storage_options, text)


def csv_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
    text: TextOptions = FOUND,
) -> TextTables:
    """CSV, TSV or other delimited text: a file, folder, glob, list, or fsspec URL.

    The separator (comma, semicolon, tab, bar or blanks), comments, and whether there is a header
    are found from the text (``looks``), and what is not plain is told in `remarks`; fields may be
    quoted; a decimal comma is understood where the comma is not the delimiter. Columns of several
    files go by their names. Kinds of columns are decided from the first 20,000 rows and kept;
    numbers are read as float64.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/a.csv", b'x;y\\n1,5;"a\\nb"\\n2;c\\n')
    >>> table = csv_tables("memory://doc/a.csv", piece_rows=1)
    >>> [frame.to_dict("list") for piece in table.pieces() for frame in piece.read()]
    [{'x': [1.5], 'y': ['a\\nb']}, {'x': [2.0], 'y': ['c']}]
    """
    found = find_files(path, storage_options)
    first, looks = open_csv(found[0], text)
    files = [first]
    for file in found[1:]:
        other, there = open_csv(file, looks.told.over(text))
        _refuse_unlike(found[0], looks, file, there)
        files.append(other if there.names == looks.names else replace(other, names=there.names))
    layout = _layout(files, looks)
    if columns is not None:
        layout = layout.select(columns, first_and_more(found[0].name, len(found)))
    return TextTables(files, layout, piece_rows)


def _refuse_unlike(first: FoundFile, looks: Looks, other: FoundFile, there: Looks) -> None:
    alike = sorted(there.names) == sorted(looks.names) and there.row_names == looks.row_names
    if not alike or (looks.row_names and there.names[0] != looks.names[0]):
        raise SourceError(
            f"the header of '{other.name}' ({listing(there.names)}) is not that of '{first.name}' "
            f"({listing(looks.names)}): give files with the same columns."
        )


def open_csv(file: FoundFile, options: TextOptions = FOUND) -> tuple[TextFile, Looks]:
    """Read the first lines of a file: what it looks like, and where its rows begin."""
    text, sample = open_text(file, options)
    options = text.packing.told.over(options)
    start = marks(sample)
    if sample[start:].lstrip().startswith((b'{"', b"[{")):
        raise SourceError(
            f"'{file.name}' is JSON: call it .jsonl where each line is an object, or give CSV, TSV "
            "or Parquet."
        )
    start += len(sample[start:]) - len(sample[start:].lstrip(b"\r\n"))
    rest = sample[start:]
    whole = rest if len(sample) < SAMPLE_BYTES else rest[: rest.rfind(b"\n") + 1] or rest
    _refuse_sparse(file.name, whole)
    looks = looks_of(whole, options, file.name)
    _refuse_prose(file.name, looks, whole, options.wanted)
    refuse_repeated(f"'{file.name}'", looks.names)
    told = {"utf-8", options.encoding, options.like and options.like.encoding}
    if text.encoding not in told:
        looks = replace(looks, remarks=(_about_encoding(text.encoding), *looks.remarks))
    end = start + _end(rest, looks)
    line = sample.count(b"\n", 0, end) + 1
    return replace(text, body=end, line=line), looks


_SPARSE = re.compile(rb"(?:[-+.\d]\S*(?: +\d+:[-+.\w]+)+ *\r?\n){2}")


def _refuse_sparse(name: str, sample: bytes) -> None:
    """Refuse tables whose rows do not say all of their columns, and those with a header of ARFF."""
    what = "sparse rows as LIBSVM writes them" if _SPARSE.match(sample) else ""
    if re.match(rb"(?:\s*%.*\n)*\s*@relation\b", sample, re.IGNORECASE):
        what = "an ARFF file"
    if what:
        raise SourceError(
            f"'{name}' is {what}: give CSV, TSV, Parquet or JSON lines with all columns in each "
            "row."
        )


#: Words of a name of a column from which a text of one column is no table.
_WORDS = 5


def _refuse_prose(name: str, looks: Looks, sample: bytes, wanted: Sequence[str]) -> None:
    """Refuse a text without a column that is asked for, whose lines are not of one width."""
    if not wanted or {*wanted} & {*looks.names}:
        return
    alike = [len(row) == len(looks.names) for row in first_records(sample, looks)]
    if 2 * sum(alike) < len(alike) or (
        len(looks.names) == 1 and len(looks.names[0].split()) >= _WORDS
    ):
        first = shorten(",".join(looks.names), 40, placeholder=" ...")
        raise SourceError(
            f"'{name}' does not look like a table with {listing(wanted, 3)}: its first line is "
            f"{first!r}; give CSV, TSV, Parquet or JSON lines, or say with --separator what stands "
            "between columns."
        )


def _end(data: bytes, looks: Looks) -> int:
    """Where the records before the first row end."""
    if not looks.before:
        return 0
    ends = looks.row_ends(data, looks.record_ends(data)[0])
    return int(ends[looks.before - 1]) if len(ends) >= looks.before else len(data)


def _about_encoding(encoding: str) -> str:
    if encoding.startswith(("utf-16", "utf-32")):
        return f"the text is {encoding[:6].upper()}"
    return f"the text is not UTF-8 and was read as {encoding} (--encoding reads it otherwise)"


def _layout(files: Sequence[TextFile], looks: Looks) -> CsvLayout:
    names = looks.names
    text = CsvLayout(names, names, looks, ("text",) * len(names), 0)
    for file in files:
        for span, data in records(file, text, SAMPLE_ROWS):
            layout = infer_layout(data, span.rows, looks, file.file.name, span.line)
            return replace(layout, selected=names[1:]) if looks.row_names else layout
    name = first_and_more(files[0].file.name, len(files))
    raise SourceError(f"{name} has no rows: give a table with at least one row.")


def from_arrays(
    X: Numbers,
    y: Numbers,
    w: Numbers | None = None,
    piece_rows: int = PIECE_ROWS,
    dtype: torch.dtype = torch.float64,
) -> Rows:
    """Arrays or tensors in memory: see :class:`~gradfeat.rows.sources.tables.ArrayRows`.

    >>> from_arrays(torch.ones(5, 2), torch.ones(5), piece_rows=2).source.count
    3
    """
    return Rows(ArrayRows(X, y, w, piece_rows, dtype))


def from_npy(
    X_path: str | os.PathLike[str],
    y_path: str | os.PathLike[str],
    w_path: str | os.PathLike[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    dtype: torch.dtype = torch.float64,
) -> Rows:
    """Memory-mapped files: see :class:`~gradfeat.rows.sources.npy.NpyRows`.

    >>> from_npy("X.npy", "y.npy")
    Traceback (most recent call last):
    ...
    gradfeat.errors.SourceError: there is no file or folder 'X.npy'.
    """
    return Rows(NpyRows(X_path, y_path, w_path, piece_rows, dtype))


def from_parquet(
    path: Paths,
    target: str | Sequence[str],
    inputs: Sequence[str] | None = None,
    weight: str | None = None,
    missing: Missing = "refuse",
    piece_rows: int = PIECE_ROWS,
    dtype: torch.dtype = torch.float64,
    storage_options: Mapping[str, Any] | None = None,
) -> Rows:
    """Numeric columns of Parquet files: see ``ParquetTables`` and ``TableRows``.

    >>> import fsspec
    >>> with fsspec.open("memory://doc/p.parquet", "wb") as file:
    ...     pd.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(file)
    >>> from_parquet("memory://doc/p.parquet", "y").columns
    Columns(inputs=('x',), targets=('y',))
    """
    table = ParquetTables(path, None, piece_rows, storage_options)
    return Rows(TableRows(table, target, inputs, weight, missing, dtype))


def from_csv(
    path: Paths,
    target: str | Sequence[str],
    inputs: Sequence[str] | None = None,
    weight: str | None = None,
    missing: Missing = "refuse",
    piece_rows: int = PIECE_ROWS,
    dtype: torch.dtype = torch.float64,
    storage_options: Mapping[str, Any] | None = None,
) -> Rows:
    """Numeric columns of delimited text: see ``csv_tables`` and ``TableRows``.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/n.csv", b"x,y\\n1,2\\n")
    >>> from_csv("memory://doc/n.csv", "y").columns
    Columns(inputs=('x',), targets=('y',))
    """
    table = csv_tables(path, None, piece_rows, storage_options)
    return Rows(TableRows(table, target, inputs, weight, missing, dtype))


def from_frames(
    frames: pd.DataFrame | Sequence[pd.DataFrame],
    target: str | Sequence[str],
    inputs: Sequence[str] | None = None,
    weight: str | None = None,
    missing: Missing = "refuse",
    piece_rows: int = PIECE_ROWS,
    dtype: torch.dtype = torch.float64,
) -> Rows:
    """Numeric columns of data frames in memory: see ``FrameTables`` and ``TableRows``.

    >>> from_frames(pd.DataFrame({"x": [1.0], "y": [2.0]}), "y").source.count
    1
    """
    return Rows(TableRows(FrameTables(frames, piece_rows), target, inputs, weight, missing, dtype))


def from_dask(
    data: Any,
    y: Any = None,
    w: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    weight: str | None = None,
    missing: Missing = "refuse",
    dtype: torch.dtype = torch.float64,
) -> Rows:
    """A Dask DataFrame with the name of a target, or Dask arrays X, y and perhaps w.

    Raises SourceError where neither a target nor y is given, or both; for what is not a Dask
    collection.

    >>> from_dask(None)
    Traceback (most recent call last):
    ...
    gradfeat.errors.SourceError: from_dask needs one of the two: target= with a Dask \
DataFrame, or y with a Dask Array.
    """
    if (target is None) == (y is None):
        raise SourceError(
            "from_dask needs one of the two: target= with a Dask DataFrame, or y with a Dask Array."
        )
    if target is None:
        return Rows(DaskArrayRows(data, y, w, dtype))
    return Rows(TableRows(DaskTables(data), target, inputs, weight, missing, dtype))


def from_iterator(
    factory: Callable[[], Iterable[Any]],
    target: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    weight: str | None = None,
    missing: Missing = "refuse",
    dtype: torch.dtype = torch.float64,
    fingerprint: str = "",
) -> Rows:
    """A function that gives a new iterator each time: of (X, y[, w]), or of frames with `target`.

    >>> rows = from_iterator(lambda: iter([pd.DataFrame({"x": [1.0], "y": [2.0]})]), target="y")
    >>> rows.columns
    Columns(inputs=('x',), targets=('y',))
    """
    if target is None:
        return Rows(IteratorRows(factory, dtype, fingerprint))
    frames = IteratorTables(factory, fingerprint=fingerprint)
    return Rows(TableRows(frames, target, inputs, weight, missing, dtype))
