"""A file of rows and columns as a data frame, or one sentence saying why not."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gradfeat.table.delimited import parse_delimited
from gradfeat.table.errors import TableError, listing, near_names
from gradfeat.table.jsonlines import parse_json_lines

PARQUET_ENDINGS = {".parquet", ".pq"}
JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
_MAGIC = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive or Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"SQLite format 3": "an SQLite database",
    b"\x80\x04\x95": "a pickle",
}


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read CSV, TSV or other delimited text, Parquet or JSON lines; each but Parquet may be gz.

    The delimiter (comma, semicolon, tab or bar) is found from the text; fields may be quoted.
    A decimal comma is understood where the comma is not the delimiter. The text must be UTF-8.

    Parameters
    ----------
    path : str or path
        ``.parquet``/``.pq``, ``.jsonl``/``.ndjson``/``.json``, anything else: delimited text.

    Returns
    -------
    pandas.DataFrame
        At least one row and one column, names distinct, rows numbered from 0.

    Raises
    ------
    TableError
        Where there is no such file or it cannot be read as such a table.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text('name;size\\n"a;b";1,5\\n')
    ...     read_table(Path(folder, "a.csv")).to_dict("list")
    {'name': ['a;b'], 'size': [1.5]}
    """
    path = Path(path)
    data = _unzipped(path, _contents(path))
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending in PARQUET_ENDINGS or data[:4] == b"PAR1":
        frame = _parse_parquet(path, data)
    else:
        text = _decoded(path, data)
        parse = parse_json_lines if ending in JSON_ENDINGS else parse_delimited
        frame = parse(str(path), text)
    if frame.empty:
        raise TableError(f"'{path}' has no rows: give a table with at least one row.")
    return frame


def _contents(path: Path) -> bytes:
    if path.is_dir():
        raise TableError(f"'{path}' is a folder: give the file in it that holds the table.")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        folder = path.parent
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        raise TableError(f"There is no file '{path}'{near_names(path.name, names)}") from error
    except OSError as error:
        raise TableError(
            f"'{path}' cannot be read ({error.strerror or error}): check its permissions."
        ) from error
    if not data:
        raise TableError(f"'{path}' is empty: give a table with a header and at least one row.")
    return data


def _unzipped(path: Path, data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(
            f"'{path}' is a gzip file that is cut short or damaged: fetch or compress it again."
        ) from error


def _decoded(path: Path, data: bytes) -> str:
    _refuse_what_is_no_table(path, data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TableError(
            f"'{path}' is not UTF-8 text (byte {data[error.start]:#04x} at offset {error.start}): "
            "convert it, for example with `iconv -f latin1 -t utf-8 OLD > NEW`."
        ) from error
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise TableError(f"'{path}' is blank: give a table with a header and at least one row.")
    return text


def _refuse_what_is_no_table(path: Path, data: bytes) -> None:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TableError(
            f"'{path}' is UTF-16 text: convert it, for example with "
            "`iconv -f utf-16 -t utf-8 OLD > NEW`."
        )
    what = next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "")
    start = data[:2000].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<svg")):
        what = "an HTML or XML page"
    if not what and _is_binary(data):
        what = "binary data"
    if what:
        raise TableError(
            f"'{path}' is not a table but {what}: give CSV, TSV, Parquet or JSON lines."
        )


def _is_binary(data: bytes) -> bool:
    """Return whether control characters, which text does not use, are present."""
    control = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1a\x1b")) + b"\x7f"
    sample = data[:65536]
    found = len(sample) - len(sample.translate(None, control))
    return b"\0" in data or found > len(sample) // 100


def _parse_parquet(path: Path, data: bytes) -> pd.DataFrame:
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _refuse_repeated_names(path, file.schema_arrow.names)
        frame = file.read().to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"'{path}' is not a Parquet file or is cut short or damaged: write it again."
        ) from error
    named = any(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


def _refuse_repeated_names(path: Path, names: list[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise TableError(
            f"'{path}' has more than one column named {listing(twice)}: "
            "give each column its own name."
        )
