"""Delimited text as a table: which delimiter, which columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import SourceError
from ..source import PIECE_ROWS
from .csv_layout import CsvLayout, infer_layout
from .files import FoundFile, Paths, find_files
from .records import record_ends
from .text import BOM, SAMPLE_BYTES, TextFile, TextTables, open_text, records
from .words import first_and_more, listing, refuse_repeated

DELIMITERS = (",", ";", "\t", "|")

#: Rows from which it is decided what cells are read as.
SAMPLE_ROWS = 20_000


def csv_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
) -> TextTables:
    """CSV, TSV or other delimited text: a file, folder, glob, list, or fsspec URL.

    The delimiter (comma, semicolon, tab or bar) is found from the text; fields may be quoted; a
    decimal comma is understood where the comma is not the delimiter. Text is UTF-8. Kinds of
    columns are decided from the first 20,000 rows and kept; numbers are read as float64.

    Parameters
    ----------
    path : path, URL or glob, or several of them
        Files with the same header.
    columns : sequence of str, optional
        Columns to read; left out: all.
    piece_rows : int
        Rows of a piece at most.
    storage_options : mapping, optional
        Given to the fsspec file system.

    Raises
    ------
    SourceError
        Where files cannot be found or read, or do not go together.

    Examples
    --------
    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/a.csv", b'x;y\\n1,5;"a\\nb"\\n2;c\\n')
    >>> table = csv_tables("memory://doc/a.csv", piece_rows=1)
    >>> [frame.to_dict("list") for piece in table.pieces() for frame in piece.read()]
    [{'x': [1.5], 'y': ['a\\nb']}, {'x': [2.0], 'y': ['c']}]
    """
    found = find_files(path, storage_options)
    first, delimiter, names = open_csv(found[0])
    files = [first]
    for file in found[1:]:
        other, _, there = open_csv(file, delimiter)
        if there != names:
            raise SourceError(
                f"the header of '{file.name}' ({listing(there)}) is not that of '{found[0].name}' "
                f"({listing(names)}): give files with the same header."
            )
        files.append(other)
    layout = _layout(files, delimiter, names)
    if columns is not None:
        layout = layout.select(columns, first_and_more(found[0].name, len(found)))
    return TextTables(files, layout, piece_rows)


def open_csv(
    file: FoundFile, delimiter: str | None = None
) -> tuple[TextFile, str, tuple[str, ...]]:
    """Read the header of a file: where the records begin, the delimiter, and the names.

    Parameters
    ----------
    file : FoundFile
        Delimited text in UTF-8, perhaps gz.
    delimiter : str, optional
        Left out: found from the first rows.

    Raises
    ------
    SourceError
        For what is not such text, and for names that occur twice.
    """
    text, sample = open_text(file)
    start = len(BOM) if sample.startswith(BOM) else 0
    if sample[start:].lstrip().startswith((b'{"', b"[{")):
        raise SourceError(
            f"'{file.name}' is JSON: call it .jsonl where each line is an object, or give CSV, TSV "
            "or Parquet."
        )
    whole = sample if len(sample) < SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    delimiter = delimiter or find_delimiter(whole[start:].decode("utf-8"))
    start += len(sample[start:]) - len(sample[start:].lstrip(b"\r\n"))
    ends, _ = record_ends(sample[start:], delimiter)
    end = start + (int(ends[0]) if len(ends) else len(sample) - start)
    fields = next(
        csv.reader(io.StringIO(sample[start:end].decode(), newline=""), delimiter=delimiter)
    )
    names = tuple(field.strip() or f"Unnamed: {i}" for i, field in enumerate(fields))
    refuse_repeated(f"'{file.name}'", names)
    line = sample.count(b"\n", 0, end) + 1
    return replace(text, body=end, line=line), delimiter, names


def _layout(files: Sequence[TextFile], delimiter: str, names: tuple[str, ...]) -> CsvLayout:
    text = CsvLayout(delimiter, names, ("text",) * len(names), names, 0)
    for file in files:
        for span, data in records(file, text, SAMPLE_ROWS):
            return infer_layout(data, span.rows, delimiter, names, file.file.name, span.line)
    name = first_and_more(files[0].file.name, len(files))
    raise SourceError(f"{name} has no rows: give a table with at least one row.")


def find_delimiter(sample: str) -> str:
    """The delimiter that splits the rows into the same number of fields, two at least.

    Where several do, the one with most fields; where none does, the one that splits most rows
    as it splits the header. Text of a single column: a delimiter that does not occur in it.

    Examples
    --------
    >>> find_delimiter('a;b\\n"1;2";3,5\\n')
    ';'
    """
    return max(DELIMITERS, key=lambda delimiter: _score(sample, delimiter))


def _score(sample: str, delimiter: str) -> tuple[bool, float, int]:
    """Rank a delimiter: does it split the header, how many rows agree, into how many fields."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        widths = [len(row) for row in reader if row]
    except csv.Error:
        return (False, 0.0, 0)
    if not widths:
        return (False, 0.0, 0)
    agreeing = sum(width == widths[0] for width in widths) / len(widths)
    return (widths[0] > 1, agreeing, widths[0])
