"""Delimited text files: opened, plain or gz; their header; their records in spans."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from ..errors import SourceError
from .csv_layout import find_delimiter
from .csv_records import Span, record_ends, spans
from .files import FoundFile, reading
from .words import refuse_repeated

_SAMPLE = 200_000
_NO_TABLE = ("<!doctype", "<html", "<?xml", '{"', "[{")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvFile:
    """A file with its header read: names, and where the first record after it is.

    Attributes
    ----------
    file : FoundFile
        The file.
    zipped : bool
        Whether it is gz, and so can be read from the start alone.
    delimiter : str
        Found from the first rows.
    names : tuple of str
        From the header.
    body, line : int
        Offset of the first byte after the header, and its line (from 1).
    """

    file: FoundFile
    zipped: bool
    delimiter: str
    names: tuple[str, ...]
    body: int
    line: int

    def spans(self, rows: int) -> Iterator[tuple[Span, bytes]]:
        """The records after the header, `rows` at a time.

        Raises
        ------
        SourceError
            Where the file cannot be read, or a quote is never closed.
        """
        with _opened(self.file, self.zipped) as stream:
            stream.read(self.body)
            yield from spans(stream, rows, self.delimiter, self.file.name, self.body, self.line)


@contextmanager
def _opened(file: FoundFile, zipped: bool) -> Iterator[BinaryIO]:
    try:
        with reading(file.name), file.fs.open(file.path, "rb") as raw:
            if not zipped:
                yield cast(BinaryIO, raw)
                return
            with gzip.open(cast(BinaryIO, raw)) as text:
                yield cast(BinaryIO, text)
    except (EOFError, zlib.error) as error:
        raise SourceError(
            f"'{file.name}' is a gzip file that is cut short or damaged: fetch or compress it "
            "again."
        ) from error


def open_csv(file: FoundFile, delimiter: str | None = None) -> CsvFile:
    """Read the header of a file.

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
    zipped = file.bytes(0, 2) == b"\x1f\x8b"
    with _opened(file, zipped) as stream:
        sample = stream.read(_SAMPLE)
    text = _decoded(file, sample)
    delimiter = delimiter or find_delimiter(text)
    start = len(_BOM) if sample.startswith(_BOM) else 0
    start += len(sample[start:]) - len(sample[start:].lstrip(b"\r\n"))
    ends, _ = record_ends(sample[start:], delimiter)
    end = start + (int(ends[0]) if len(ends) else len(sample) - start)
    header = sample[start:end].decode("utf-8")
    names = _names(header, delimiter)
    refuse_repeated(f"'{file.name}'", names)
    return CsvFile(file, zipped, delimiter, names, end, sample.count(b"\n", 0, end) + 1)


def _names(header: str, delimiter: str) -> tuple[str, ...]:
    fields = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    return tuple(field.strip() or f"Unnamed: {i}" for i, field in enumerate(fields))


def _decoded(file: FoundFile, sample: bytes) -> str:
    if b"\0" in sample:
        raise SourceError(
            f"'{file.name}' is not a table of text but binary data or UTF-16: give CSV or TSV in "
            "UTF-8, or Parquet."
        )
    whole = sample if len(sample) < _SAMPLE else sample[: sample.rfind(b"\n") + 1] or sample
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"'{file.name}' is not UTF-8 text (byte {whole[error.start]:#04x} at offset "
            f"{error.start}): convert it, for example with `iconv -f latin1 -t utf-8 OLD > NEW`."
        ) from error
    if not text.strip():
        raise SourceError(f"'{file.name}' is blank: give a table with a header and rows.")
    if text.lstrip().lower().startswith(_NO_TABLE):
        raise SourceError(
            f"'{file.name}' is JSON, HTML or XML: give CSV or TSV, or write it as Parquet."
        )
    if "\n" not in text and "\r" in text.strip():
        raise SourceError(
            f"'{file.name}' ends its lines with carriage returns alone: convert it with "
            "`tr '\\r' '\\n' < OLD > NEW`."
        )
    return text
