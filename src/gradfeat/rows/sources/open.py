"""Rows by what they are in: arrays, files, data frames, Dask collections, iterators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import torch

from ...errors import SourceError
from ..rows import Rows
from ..source import PIECE_ROWS
from .column_files import MAGIC, ArrowFormat
from .csv import csv_tables
from .dask import DaskArrayRows, DaskTables
from .files import Paths, find_files, packing_of
from .json_lines import json_tables
from .npy import NpyRows
from .numeric import Numbers
from .parquet import ParquetTables
from .table_rows import IteratorRows, IteratorTables, Missing, TableRows
from .tables import ArrayRows, FrameTables, Tables
from .text_options import FOUND, TextOptions

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

    Text may be packed: gz, bz2, xz, or a zip archive of one file; of a workbook its first sheet is
    one.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/t.tsv", b"x\\ty\\n1\\t2\\n")
    >>> tables("memory://doc/t.tsv").names
    ('x', 'y')
    """
    first = find_files(path, storage_options)[0]
    start = first.bytes(0, 4)
    if start in _PARQUET or first.path.lower().endswith(PARQUET_ENDINGS):
        return ParquetTables(path, columns, piece_rows, storage_options)
    if start == MAGIC[:4] or first.path.lower().endswith(ARROW_ENDINGS):
        return ParquetTables(path, columns, piece_rows, storage_options, ArrowFormat())
    if start.startswith(b"\x93NUM"):
        raise SourceError(f"'{first.name}' is a .npy file: give it to from_npy(X_path, y_path).")
    if packing_of(first).inside(first.path).lower().endswith(JSON_ENDINGS):
        return json_tables(path, columns, piece_rows, storage_options, text.encoding)
    return csv_tables(path, columns, piece_rows, storage_options, text)


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
