"""Tables of text: records of plain or packed files, as ranges of bytes read in any order.

Files that hold no text are refused with what they are, and how to have them read.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, Literal, Self

import numpy as np
import pandas as pd

from ...errors import SourceError
from ...wording import checked_piece_rows, first_and_more, listing, refuse_repeated, refuse_unknown
from ..source import Piece
from .files import FoundFile, Packing, Plain, opened_safely, packing_of
from .records import Span, not_blank, spans
from .tables import Cells, Tables
from .text_options import FOUND, Recoded, TextOptions, decodes, found_encoding, marks

#: Bytes from which it is told whether a file is such text at all.
SAMPLE_BYTES = 200_000

#: What stands behind the text in files of DOS, and of copies that were cut.
_PADDING = b"\x1a\0"


@dataclass(frozen=True)
class TextFile:
    """A file of text, and where its first record is."""

    file: FoundFile
    packing: Packing
    encoding: str = "utf-8"  # of its characters; they are read as UTF-8
    #: What ends its lines; carriage returns are read as line feeds.
    line_ends: Literal["feed", "return"] = "feed"
    #: Offset of the first byte of the records, and its line (from 1).
    body: int = 0
    line: int = 1
    names: tuple[str, ...] = ()  # its columns, in an order other than that of the first file

    @property
    def from_start(self) -> bool:
        """Whether it can be read from the start alone: packed, and what is not UTF-8."""
        return self.packing != Plain() or self.encoding != "utf-8"

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The text as a stream of UTF-8."""
        with opened_safely(self.file, self.packing) as raw:
            if self.encoding == "utf-8":
                yield raw
            else:
                yield io.BufferedReader(Recoded(raw, self.encoding, self.file.name), 2**20)

    def in_line_feeds(self, data: bytes) -> bytes:
        """Bytes of the file with lines that end as records do."""
        return data.replace(b"\r", b"\n") if self.line_ends == "return" else data


def open_text(file: FoundFile, options: TextOptions = FOUND) -> tuple[TextFile, bytes]:
    """A file of text, perhaps packed, and its first characters as UTF-8.

    An encoding that is not given is found from the first bytes; where these are not UTF-8, that of
    ``options.like`` is tried first.
    """
    packing, likely = packing_of(file, options), options.like and options.like.encoding
    encoding = packing.told.encoding or options.encoding
    with TextFile(file, packing).opened() as stream:
        start = stream.read(SAMPLE_BYTES)
    cut = len(start) == SAMPLE_BYTES
    encoding = encoding or found_encoding(start, cut, likely)
    if not encoding.startswith(("utf-16", "utf-32")):
        start = start.rstrip(_PADDING)
        refuse_others(file.name, start)
    text = TextFile(file, packing, encoding)
    if encoding == "utf-8":
        sample = start
        _refuse_undecodable(file.name, start, cut)
    else:
        with text.opened() as stream:
            sample = stream.read(SAMPLE_BYTES)
    if not sample[marks(sample) :].strip():
        raise SourceError(f"'{file.name}' is blank: give a table with a header and rows.")
    if b"\n" not in sample.rstrip(b"\n") and b"\r" in sample.strip():
        text = replace(text, line_ends="return")
    return text, text.in_line_feeds(sample)


def _refuse_undecodable(name: str, sample: bytes, cut: bool) -> None:
    if not decodes(sample, "utf-8", cut):
        raise SourceError(
            f"'{name}' is not UTF-8 text, as it was said to be: leave out --encoding, or give "
            "another one, such as latin-1."
        )


@dataclass(frozen=True)
class Layout(ABC):
    """How the records of a text are found and what their fields are: the same for all pieces."""

    names: tuple[str, ...]  # all columns, in order, the names of rows among them
    selected: tuple[str, ...]  # those that are read, in the order asked for

    @property
    def cells(self) -> Mapping[str, Cells]:
        """What the text of each of them is read as; empty where the format has types."""
        return {}

    def select(self, columns: Sequence[str], where: str) -> Self:
        """With these columns alone; a SourceError for one that is not there."""
        refuse_repeated("the selection", columns)
        refuse_unknown(where, columns, self.names)
        return replace(self, selected=tuple(columns))

    def in_order(self, names: tuple[str, ...]) -> Self:
        """Of a file whose columns stand in the order of `names`; none: as here."""
        return replace(self, names=names) if names else self

    def read_as(self, cells: Mapping[str, Cells]) -> Layout:
        """As :meth:`~gradfeat.rows.sources.tables.Tables.read_as`."""
        del cells
        return self

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found of the text that no option told, in sentences."""
        return ()

    @property
    def told(self) -> TextOptions:
        """What it tells of further files of its kind."""
        return TextOptions()

    def end_of_rows(self, tail: bytes, name: str) -> int:
        """Where rows end in the last bytes of the file `name`; a SourceError for no right end."""
        del name
        return len(tail)

    @abstractmethod
    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        """Offsets after each record, and where a quote opens that is not closed."""

    def row_ends(self, data: bytes, ends: np.ndarray) -> np.ndarray:
        """Of the offsets `ends` after each record those of records that are rows."""
        return not_blank(data, ends)

    @abstractmethod
    def frame(self, data: bytes, name: str, line: int) -> pd.DataFrame:
        """Some records as a data frame; a SourceError that names the line of one that is wrong."""


@dataclass(frozen=True)
class Records:
    """Some records of a file: a range of bytes, or the bytes of a file read from its start."""

    file: TextFile
    span: Span
    data: bytes | None = None

    @property
    def name(self) -> str:
        return f"'{self.file.file.name}', from line {self.span.line:,}"

    def frames(self, layout: Layout) -> Iterator[pd.DataFrame]:
        """All of them, as one data frame."""
        layout = layout.in_order(self.file.names)
        yield layout.frame(self._bytes(), self.file.file.name, self.span.line)

    def _bytes(self) -> bytes:
        if self.data is not None:
            return self.data
        file = self.file.file
        file.refuse_changed()
        data = file.bytes(self.span.offset, self.span.offset + self.span.length)
        return self.file.in_line_feeds(data)

    def line(self, layout: Layout, row: int) -> int:
        """The line of the file on which one of the records (from 0) ends."""
        data = self._bytes()
        ends = layout.row_ends(data, layout.record_ends(data)[0])
        end = ends[row] - 1 if row < len(ends) else len(data)
        return self.span.line + data.count(b"\n", 0, int(end))


class TextTables(Tables):
    """Text files of one layout in pieces of at most `piece_rows` records.

    Plain files are scanned once, here, and are then ranges of bytes that can be read in any order;
    a file that is packed or not UTF-8 is read from its start each time, in one process.
    """

    def __init__(self, files: Sequence[TextFile], layout: Layout, piece_rows: int) -> None:
        self.piece_rows = checked_piece_rows(piece_rows)
        self.files, self.layout = tuple(files), layout
        self._footers: dict[str, str] = {}  # of files that were read to their ends
        self.spans: list[list[Span]] | None = None
        if not any(file.from_start for file in files):
            self.spans = [[span for span, _ in self._read_through(file)] for file in files]

    @property
    def name(self) -> str:
        return first_and_more(self.files[0].file.name, len(self.files))

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.selected

    @property
    def rows(self) -> int | None:
        if self.spans is None:
            return None
        return sum(span.rows for found in self.spans for span in found)

    @property
    def count(self) -> int | None:
        return None if self.spans is None else sum(len(found) for found in self.spans)

    @property
    def fingerprint(self) -> str:
        files = [file.file.fingerprint for file in self.files]
        return "\n".join([*files, str(self.layout), str(self.piece_rows)])

    @property
    def parallel(self) -> bool:
        return self.spans is not None

    @property
    def cells(self) -> Mapping[str, Cells]:
        return self.layout.cells

    def place(self, row: int) -> str:
        for some in self._records():
            if row < some.span.rows:
                line = f"line {some.line(self.layout, row):,}"
                return f"'{some.file.file.name}', {line}" if len(self.files) > 1 else line
            row -= some.span.rows
        return f"row {row + 1:,}"

    @property
    def remarks(self) -> tuple[str, ...]:
        told = (f"{self._where(file)} left out" for file in self._footers)
        packed = dict.fromkeys(said for file in self.files for said in file.packing.remarks)
        return (*packed, *self.layout.remarks, *told)

    def _where(self, file: str) -> str:
        """The lines below the rows of a file, in words."""
        lines = self._footers[file].splitlines()
        last = "last line" if len(lines) == 1 else f"last {len(lines)} lines"
        of = f" of '{file}'" if len(self.files) > 1 else ""
        return f"the {last}{of} ({listing(lines, most=2)})"

    @property
    def text(self) -> TextOptions:
        first = self.files[0]
        return replace(self.layout.told, encoding=first.encoding, sheet=first.packing.told.sheet)

    def select(self, columns: Sequence[str]) -> TextTables:
        return self._with(self.layout.select(columns, self.name))

    def read_as(self, cells: Mapping[str, Cells]) -> TextTables:
        return self._with(self.layout.read_as(cells))

    def _with(self, layout: Layout) -> Self:
        same = copy(self)
        same.layout = layout
        return same

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for some in self._records():
            yield Piece(some.name, partial(some.frames, self.layout))

    def _records(self) -> Iterator[Records]:
        """Ranges of bytes; where a file is read from its start, the text itself as it is read."""
        for number, file in enumerate(self.files):
            if self.spans is not None:
                yield from (Records(file, span) for span in self.spans[number])
                continue
            file.file.refuse_changed()
            yield from (Records(file, span, data) for span, data in self._read_through(file))

    def _read_through(self, file: TextFile) -> Iterator[tuple[Span, bytes]]:
        def tell(footer: bytes) -> None:
            self._footers[file.file.name] = footer.decode("utf-8", "replace")

        return records(file, self.layout, self.piece_rows, tell)


def records(
    file: TextFile, layout: Layout, rows: int, tell: Callable[[bytes], object] = len
) -> Iterator[tuple[Span, bytes]]:
    """The records of a file, `rows` at a time, with their bytes.

    `tell` takes what stands below the last of them.
    """
    with file.opened() as stream:
        stream.read(file.body)

        def read(size: int) -> bytes:
            return file.in_line_feeds(stream.read(size))

        find, keep, own = layout.record_ends, layout.row_ends, layout.in_order(file.names)
        body = footless(read, partial(own.end_of_rows, name=file.file.name), tell)
        yield from spans(body, find, rows, file.file.name, file.body, file.line, keep)


#: Bytes at the end of a text in which lines below the table stand.
_TAIL = 4096


def footless(
    read: Callable[[int], bytes], end_of: Callable[[bytes], int], tell: Callable[[bytes], object]
) -> Callable[[int], bytes]:
    """`read`, without the footer of what it reads, which is given to `tell`.

    `end_of` says where rows end in the last bytes.
    """
    held = b""

    def read_on(size: int) -> bytes:
        nonlocal held
        block = read(size + _TAIL)
        if not block:
            data, held = held.rstrip(_PADDING), b""
            end = end_of(data)
            if data[end:].strip():
                tell(data[end:].strip())
            return data[:end]
        data = held + block
        held, data = data[-_TAIL:], data[:-_TAIL]
        return data or read_on(size)

    return read_on


#: What pandas reads, by the first bytes: what the file is, and the function that reads it.
_BY_PANDAS = {
    rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\x00": ("a Stata file", "read_stata"),
    rb"ORC": ("an ORC file", "read_orc"),
    rb"\x80[\x02-\x05]": ("a pickle", "read_pickle"),
    rb"\$FL[23]": ("an SPSS file", "read_spss"),
    rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB": ("a SAS file", "read_sas"),
    rb"\x89HDF": ("an HDF5 file", "read_hdf"),
    rb"\s*(?:<!doctype html|<html|<table|<div|<head|<body)": ("an HTML page", "read_html"),
    rb"\s*(?:<\?xml|<[a-z]+ xmlns)": ("an XML file", "read_xml"),
    rb"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "read_excel"),
}

_OTHERS = {
    rb"\x89PNG": "a PNG image",
    rb"\xff\xd8\xff": "a JPEG image",
    rb"%PDF": "a PDF",
    rb"PK\x03\x04": "a zip archive",
    rb"PAR1": "a packed Parquet file",
    rb"SQLite format 3": "an SQLite database",
    rb"RD[ABX]\d?\n|X\n\x00\x00\x00": "a file of R's objects",
    rb"MATLAB 5": "a MATLAB file",
    rb"\s*<svg": "a picture",
    rb"\s*(?i:insert\s+into|create\s+table)\s": "statements of SQL",
    rb"\s*\+-[-+]+\+\r?\n|[^\n]*\n *-+(?:\+-+)+ *\r?\n": "a table as a database prints it",
    rb"\s*\\begin\{tab": "a table of LaTeX",
    rb"version https://git-lfs\.|/annex/objects/": "a pointer to a file that Git keeps elsewhere "
    "(`git lfs pull` or `git annex get` gets the file)",
    rb"(?s:.{257}ustar)": "a tar archive",
}


def refuse_others(name: str, data: bytes) -> None:
    """Refuse a file whose first bytes are no text."""
    for start, (what, reader) in _BY_PANDAS.items():
        if re.match(start, data, re.IGNORECASE):
            which = "[0]" if reader == "read_html" else ""
            raise SourceError(
                f"'{name}' is {what}, which is not read here: write its table as Parquet or CSV "
                f"first, as pandas.{reader}(...){which}.to_csv('table.csv', index=False) does."
            )
    found = (what for start, what in _OTHERS.items() if re.match(start, data))
    what = next(found, "binary data" if _is_binary(data) else "")
    if what:
        raise SourceError(
            f"'{name}' is not a table but {what}: give CSV, TSV or other delimited text, JSON "
            "(these also as .gz, .bz2, .xz, .zst or .zip), Parquet, Feather or Arrow (.feather, "
            ".arrow), or Excel (.xlsx)."
        )


def _is_binary(data: bytes) -> bool:
    """Whether control characters, which text does not use, are present."""
    control = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1a\x1b")) + b"\x7f"
    sample = data[:65536]
    found = len(sample) - len(sample.translate(None, control))
    return b"\0" in data or found > len(sample) // 100
