"""Packed files of text: gz, bz2, xz, zip archives of one file, and workbooks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from ...maths.unpacking import TooMuch, Unpacked, check_zip
from ..errors import SourceError
from .excel import first_sheet
from .files import FoundFile, reading
from .text_options import FOUND, TextOptions
from .words import counted, listing

#: What damaged files of these kinds are told by; some are errors of the file system too.
_DAMAGED = (
    *(EOFError, NotImplementedError, gzip.BadGzipFile, lzma.LZMAError),
    *(zipfile.BadZipFile, zlib.error),
)


class Packing(ABC):
    """How the text of a file is packed."""

    @abstractmethod
    def inside(self, path: str) -> str:
        """The name of the text in the file at `path`."""

    @abstractmethod
    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        """The text as a stream, which goes on reading `raw`."""

    @property
    def told(self) -> TextOptions:
        """How the text is written, where that is known."""
        return FOUND

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is not read, in sentences."""
        return ()


@dataclass(frozen=True)
class Plain(Packing):
    """Text that nothing packs: its file is read as it is."""

    def inside(self, path: str) -> str:
        return path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        del name
        return raw


@dataclass(frozen=True)
class Workbook(Packing):
    """The first sheet of an Excel workbook, as comma-separated text."""

    file: FoundFile

    def inside(self, path: str) -> str:
        return path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        del raw, name
        return io.BytesIO(first_sheet(self.file)[0])

    @property
    def told(self) -> TextOptions:
        return TextOptions(",", encoding="utf-8")

    @property
    def remarks(self) -> tuple[str, ...]:
        others = first_sheet(self.file)[1]
        return (f"the first sheet alone, without {listing(others)}",) if others else ()


@dataclass(frozen=True)
class Compressed(Packing):
    """One compressed stream, of a file that is named by the text and an ending."""

    ending: str

    def inside(self, path: str) -> str:
        return path[: -len(self.ending)] if path.lower().endswith(self.ending) else path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        return _bounded(raw, openers[self.ending](raw, "rb"), name)


@dataclass(frozen=True)
class Zipped(Packing):
    """The one file in a zip archive."""

    member: str

    def inside(self, path: str) -> str:
        del path
        return self.member

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        return _bounded(raw, zipfile.ZipFile(raw).open(self.member), name)


PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zip")
_STARTS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}


def _bounded(raw: BinaryIO, contents: Any, name: str) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(Unpacked(raw, contents, f"'{name}'"), 2**20))


def packing_of(file: FoundFile) -> Packing:
    """How a file is packed, by its first bytes; a SourceError for an archive of several files."""
    start = file.bytes(0, 6)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with opened_safely(file, Plain()) as raw:
            names = _members(raw, file.name)
        if "xl/workbook.xml" in names:
            return Workbook(file)
        return Zipped(_only(names, file.name))
    found = (Compressed(end) for sign, end in _STARTS.items() if start.startswith(sign))
    return next(found, Plain())


@contextmanager
def opened_safely(file: FoundFile, packing: Packing) -> Iterator[BinaryIO]:
    """The unpacked text; what is wrong with it as one sentence."""
    name = file.name
    try:
        with reading(name, but=gzip.BadGzipFile), file.fs.open(file.path) as raw, _of_bz2():
            yield packing.unpacked(cast(BinaryIO, raw), name)
    except TooMuch as error:
        raise SourceError(str(error)) from error
    except _DAMAGED as error:
        raise SourceError(
            f"'{name}' is a packed file that is cut short or damaged: fetch or pack it again."
        ) from error


@contextmanager
def _of_bz2() -> Iterator[None]:
    """What bz2 says of damaged data as other formats say it, and not as file systems do."""
    try:
        yield
    except OSError as error:
        if str(error) != "Invalid data stream":
            raise
        raise EOFError from error


def _members(raw: BinaryIO, name: str) -> list[str]:
    """The files in a zip archive."""
    check_zip(raw, f"'{name}'")
    with zipfile.ZipFile(raw) as archive:
        members = [m for m in archive.infolist() if _visible(m.filename) and not m.is_dir()]
    if any(member.flag_bits & 1 for member in members):
        raise SourceError(f"'{name}' is a zip archive with a password: unpack it.")
    return [member.filename for member in members]


def _only(members: Sequence[str], name: str) -> str:
    """The only file in a zip archive."""
    if len(members) != 1:
        raise SourceError(
            f"'{name}' is a zip archive of {counted(len(members), 'file')}"
            f"{f' ({listing(members)})' if members else ''}: unpack it, and give one file or a "
            "folder of files of one kind."
        )
    return members[0]


def _visible(member: str) -> bool:
    return not any(part.startswith((".", "__MACOSX")) for part in member.split("/"))
