"""A file of rows and columns as a data frame, or reasons to stream it."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gradfeat.maths.memory import available_memory, readable
from gradfeat.rows.sources.open import ARROW_ENDINGS, EXCEL_ENDINGS, PARQUET_ENDINGS, tables
from gradfeat.rows.sources.packed import PACKED_ENDINGS
from gradfeat.rows.sources.tables import Cells, held
from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.table.errors import TableError


def read_table(
    path: str | os.PathLike[str],
    cells: Mapping[str, Cells] | None = None,
    text: TextOptions = FOUND,
) -> pd.DataFrame:
    """Read delimited text, Parquet, Feather, JSON lines or the first sheet of an Excel workbook.

    The separator (comma, semicolon, tab, bar or blanks), comments, whether there is a header, and
    the encoding are found from the text; fields may be quoted. Numbers with a decimal comma or
    leading zeros stay text: all of their column tells the encoder what they are.

    `path`: ``.parquet``/``.pq``, ``.feather``/``.arrow``, ``.xlsx`` (needs openpyxl),
    ``.jsonl``/``.ndjson``/``.json``, anything else: CSV, TSV or other delimited text, also packed
    (gz, bz2, xz, zip);
    `cells`: what cells of delimited text are read as, each by itself: the ``cells`` of a fitted
    encoder, for rows that it is to encode. Left out: a column is read as numbers where each of its
    cells is one; `text`: what is known of a text beforehand: its separator, comments, header,
    encoding.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text('name;size\\n"a;b";1,5\\n')
    ...     read_table(Path(folder, "a.csv")).to_dict("list")
    {'name': ['a;b'], 'size': ['1,5']}
    """
    return held(tables(path, text=text), cells)


def as_frame(data: Any) -> pd.DataFrame:
    """A table of any library as a data frame of pandas, its names as text.

    Whatever speaks Arrow's PyCapsule protocol (polars, pyarrow, duckdb) is read as a Parquet file
    with these columns is, structs one level apart (``a.b``); the columns of an array (n, d) are
    x0, x1, ...

    Examples
    --------
    >>> as_frame(pa.table({"x": [1, 2]}))["x"].tolist(), as_frame(np.eye(2)).columns.tolist()
    ([1, 2], ['x0', 'x1'])
    """
    match data:
        case pd.DataFrame():
            return data.set_axis([str(name) for name in data.columns], axis=1)
        case np.ndarray(ndim=2):
            return pd.DataFrame(data, columns=[f"x{k}" for k in range(data.shape[1])])
    try:
        return pa.table(data).flatten().to_pandas(ignore_metadata=True)
    except (TypeError, ValueError):
        raise TableError(
            f"The table is of type {type(data).__name__}: give a DataFrame of pandas or polars, a "
            "pyarrow Table, or the path of a file or folder."
        ) from None


#: Rows beyond which a table streams, and the share of the free memory that it may take.
MOST_ROWS, MOST_SHARE = 1_000_000, 0.25

#: Bytes in memory for each byte of text, and of packed text.
TEXT, PACKED = 2, 10


def why_streamed(path: str, asked: bool | None = None) -> str:
    """Why the rows stream, in words; empty where the table is held in memory.

    Examples
    --------
    >>> why_streamed("s3://store/rows/"), why_streamed("a.csv", asked=False)
    ('it is a URL', '')
    """
    if asked is False:
        return ""
    return "as asked" if asked else _many(path) or _large(path)


def refuse_beyond_memory(path: str, why: str, instead: str) -> None:
    """Refuse a file or folder that takes more memory than is free, with the bytes.

    `why` says what holds all of it; `instead` what to do, as the end of the sentence.
    """
    where = Path(path)
    parts = [where] if where.is_file() else [p for p in where.rglob("*") if p.is_file()]
    needed, free = sum(_rows_and_bytes(part)[1] for part in parts), available_memory()
    if needed > free:
        raise TableError(
            f"'{path}' takes about {readable(needed)} in memory and {readable(free)} are free, and "
            f"{why}: {instead}."
        )


def _many(path: str) -> str:
    if "://" in path:
        return "it is a URL"
    if Path(path).is_dir():
        return "it is a folder"
    return "it is a pattern of names" if glob.has_magic(path) and not Path(path).exists() else ""


def _large(path: str) -> str:
    file = Path(path)
    if not file.is_file():
        return ""
    rows, size = _rows_and_bytes(file)
    if rows > MOST_ROWS:
        return f"it has more than {MOST_ROWS:,} rows"
    if size > MOST_SHARE * available_memory():
        return f"it takes about {readable(size)} in memory, more than a quarter of what is free"
    return ""


def _rows_and_bytes(file: Path) -> tuple[int, int]:
    """Rows, as far as they are known, and about the bytes that they take in memory."""
    ending = file.suffix.lower()
    if ending in (*ARROW_ENDINGS, *EXCEL_ENDINGS):
        return 0, PACKED * file.stat().st_size
    return _parquet(file) if ending in PARQUET_ENDINGS else _text(file)


def _parquet(file: Path) -> tuple[int, int]:
    """Rows, and bytes once decoded; none of a file that cannot be read, which is refused later."""
    try:
        about = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return 0, 0
    sizes = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return about.num_rows, sum(sizes)


def _text(file: Path) -> tuple[int, int]:
    size = file.stat().st_size
    if file.suffix.lower() in PACKED_ENDINGS:
        return 0, PACKED * size
    rows = 0
    for lines in _lines(file) if size > MOST_ROWS else ():
        rows += lines
        if rows > MOST_ROWS:
            break
    return rows, TEXT * size


def _lines(file: Path) -> Iterator[int]:
    """Ends of lines, some megabytes at a time."""
    with file.open("rb") as handle:
        while data := handle.read(2**22):
            yield data.count(b"\n")
