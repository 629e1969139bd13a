"""Delimited text as a table in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import SourceError
from ..source import PIECE_ROWS, Piece
from .csv_files import CsvFile, open_csv
from .csv_layout import Layout, infer_layout
from .csv_records import Span
from .files import FoundFile, Paths, find_files
from .tables import Tables
from .words import checked_piece_rows, first_and_more, listing

#: Rows from which the kinds of the columns are decided.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True)
class CsvPiece(Piece[pd.DataFrame]):
    """Some records of a file: a range of bytes."""

    file: FoundFile
    span: Span
    layout: Layout

    @property
    def name(self) -> str:
        """The file and its first line."""
        return f"'{self.file.name}', from line {self.span.line:,}"

    def read(self) -> Iterator[pd.DataFrame]:
        """One data frame.

        Raises
        ------
        SourceError
            Naming the line of a record that does not fit, or a file that has changed.
        """
        self.file.refuse_changed()
        data = self.file.bytes(self.span.offset, self.span.offset + self.span.length)
        yield self.layout.frame(data, self.file.name, self.span.line)


@dataclass(frozen=True)
class TextPiece(Piece[pd.DataFrame]):
    """Some records that are held as text, from a file that can be read from the start alone."""

    file: FoundFile
    line: int
    data: bytes
    layout: Layout

    @property
    def name(self) -> str:
        """The file and its first line."""
        return f"'{self.file.name}', from line {self.line:,}"

    def read(self) -> Iterator[pd.DataFrame]:
        """One data frame.

        Raises
        ------
        SourceError
            Naming the line of a record that does not fit.
        """
        yield self.layout.frame(self.data, self.file.name, self.line)


class CsvTables(Tables):
    """CSV, TSV or other delimited text: a file, folder, glob, list, or fsspec URL.

    The delimiter (comma, semicolon, tab or bar) is found from the text; fields may be quoted; a
    decimal comma is understood where the comma is not the delimiter. Text is UTF-8. Kinds of
    columns are decided from the first 20,000 rows and kept; numbers are read as float64. Plain
    files are scanned once, here, and are then ranges of bytes that can be read in any order; a gz
    file is read from its start at each pass, in one process.

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
    >>> table = CsvTables("memory://doc/a.csv", piece_rows=1)
    >>> [frame.to_dict("list") for piece in table.pieces() for frame in piece.read()]
    [{'x': [1.5], 'y': ['a\\nb']}, {'x': [2.0], 'y': ['c']}]
    """

    def __init__(
        self,
        path: Paths,
        columns: Sequence[str] | None = None,
        piece_rows: int = PIECE_ROWS,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.piece_rows = checked_piece_rows(piece_rows)
        self.files = _same_header(find_files(path, storage_options))
        self.layout = _layout(self.files, self.name)
        if columns is not None:
            self.layout = self.layout.select(columns, self.name)
        self.spans = None if any(file.zipped for file in self.files) else self._scanned()

    def _scanned(self) -> tuple[tuple[Span, ...], ...]:
        return tuple(tuple(span for span, _ in file.spans(self.piece_rows)) for file in self.files)

    @property
    def name(self) -> str:
        """The first file, and how many more there are."""
        return first_and_more(self.files[0].file.name, len(self.files))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.layout.chosen

    @property
    def rows(self) -> int | None:
        """Records of all files; None where one of them is gz."""
        if self.spans is None:
            return None
        return sum(span.rows for found in self.spans for span in found)

    @property
    def count(self) -> int | None:
        """Ranges of bytes; None where one of the files is gz."""
        return None if self.spans is None else sum(len(found) for found in self.spans)

    @property
    def fingerprint(self) -> str:
        """Files with size and time, kinds of columns, and rows of a piece."""
        files = [file.file.fingerprint for file in self.files]
        return "\n".join([*files, str(self.layout), str(self.piece_rows)])

    @property
    def parallel(self) -> bool:
        """Whether no file is gz."""
        return self.spans is not None

    def select(self, columns: Sequence[str]) -> CsvTables:
        """The same rows with these columns alone."""
        chosen = object.__new__(CsvTables)
        chosen.piece_rows, chosen.files, chosen.spans = self.piece_rows, self.files, self.spans
        chosen.layout = self.layout.select(columns, self.name)
        return chosen

    def pieces(self) -> Iterator[CsvPiece | TextPiece]:
        """Ranges of bytes; where a file is gz, the text itself as it is read."""
        if self.spans is None:
            yield from self._read_through()
            return
        for file, found in zip(self.files, self.spans, strict=True):
            for span in found:
                yield CsvPiece(file.file, span, self.layout)

    def _read_through(self) -> Iterator[TextPiece]:
        for file in self.files:
            file.file.refuse_changed()
            for span, data in file.spans(self.piece_rows):
                yield TextPiece(file.file, span.line, data, self.layout)


def _same_header(found: Sequence[FoundFile]) -> tuple[CsvFile, ...]:
    first = open_csv(found[0])
    files = (first, *(open_csv(file, first.delimiter) for file in found[1:]))
    for other in files[1:]:
        if other.names != first.names:
            raise SourceError(
                f"the header of '{other.file.name}' ({listing(other.names)}) is not that of "
                f"'{first.file.name}' ({listing(first.names)}): give files with the same header."
            )
    return files


def _layout(files: Sequence[CsvFile], name: str) -> Layout:
    for file in files:
        for span, data in file.spans(SAMPLE_ROWS):
            return infer_layout(
                data, span.rows, file.delimiter, file.names, file.file.name, span.line
            )
    raise SourceError(f"{name} has no rows: give a table with at least one row.")
