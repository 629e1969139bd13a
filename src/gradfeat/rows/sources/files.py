"""The files of a path, here or on any fsspec file system, and the text inside packed ones.

A path is one file, a folder, a glob or a list; packed are gz, bz2, xz, zst, zip archives of one
file, and workbooks.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, BinaryIO, cast

from fsspec import AbstractFileSystem
from fsspec.core import has_magic, url_to_fs

from ...errors import SourceError
from ...maths.unpacking import TooMuch, Unpacked, check_zip
from ...wording import counted, listing, near_names
from .excel import sheet_text
from .text_options import FOUND, TextOptions

#: A path or URL, or several.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_STAMPS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True)
class FoundFile:
    """One file as it was when it was found."""

    fs: AbstractFileSystem  # where it lies
    path: str  # its path there
    name: str  # the path as it was given, for messages
    #: The path below the folder that was given: the part that may name partitions (``a=1/``).
    below: str
    size: int  # bytes
    stamp: str  # time of the last change, or tag of the contents

    @property
    def fingerprint(self) -> str:
        return f"{self.fs.unstrip_protocol(self.path)} {self.size} {self.stamp}"

    def refuse_changed(self) -> None:
        """Look whether the file is still the one that was found."""
        self.fs.invalidate_cache(self.path)
        with reading(self.name):
            info = self.fs.info(self.path)
        if (info["size"], _stamp(info)) != (self.size, self.stamp):
            raise SourceError(
                f"'{self.name}' has changed since it was opened: start again, and leave the file "
                "as it is until the end."
            )

    def bytes(self, start: int, end: int) -> bytes:
        with reading(self.name):
            return cast(bytes, self.fs.cat_file(self.path, start=start, end=end))


def find_files(
    path: Paths, storage_options: Mapping[str, Any] | None = None
) -> tuple[FoundFile, ...]:
    """All files of a path, in order of their names (numbers in names count as numbers: a9, a10).

    Below a folder, what begins with ``.`` or ``_`` is left out.
    """
    match path:
        case str() | os.PathLike():
            files = _files_of(os.fspath(path), storage_options or {})
        case _:
            several = (_files_of(os.fspath(one), storage_options or {}) for one in path)
            files = [file for found in several for file in found]
            if not files:
                raise SourceError("the list of files is empty: give at least one path.")
    for file in files:
        if not file.size:
            raise SourceError(f"'{file.name}' is empty (0 bytes): write it again, or remove it.")
    return tuple(files)


@contextmanager
def reading(name: str, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """Errors of a file system as one sentence, `but` those that say more."""
    try:
        yield
    except but:
        raise
    except FileNotFoundError as error:
        raise SourceError(f"'{name}' is not there any more: start again with the file.") from error
    except OSError as error:
        raise SourceError(
            f"'{name}' cannot be read ({error.strerror or error or type(error).__name__}): "
            "check its permissions and the connection."
        ) from error


def _files_of(given: str, storage_options: Mapping[str, Any]) -> list[FoundFile]:
    if not given:
        raise SourceError("the path is empty: give a file, a folder, a glob or a URL.")
    fs, root = _file_system(given, storage_options)
    if has_magic(root) and not fs.exists(root):
        return _globbed(fs, given, root)
    try:
        info = fs.info(root)
    except FileNotFoundError as error:
        like = near_names(_last(root), _siblings(fs, root))
        if given != "-":
            raise SourceError(f"there is no file or folder '{given}'{like}") from error
        info = {"type": "other"}
    except (ValueError, IndexError) as error:  # of fsspec, whose URLs with data have a form
        raise SourceError(f"'{given}' is no address: give a file, a folder or a URL.") from error
    except OSError as error:
        raise SourceError(
            f"'{given}' cannot be read ({error.strerror or error}): check its permissions."
        ) from error
    if info["type"] == "other":
        raise SourceError(
            f"'{given}' is a pipe or a device, and tables are read more than once: write what "
            "comes out of it to a file, and give that."
        )
    if info["type"] != "directory":
        return [_found(fs, info, given, "")]
    files = _inside(fs, given, root)
    if not files:
        raise SourceError(
            f"the folder '{given}' holds no files: give a folder with at least one "
            "(names beginning with '.' or '_' are left out)."
        )
    return files


def _file_system(given: str, storage_options: Mapping[str, Any]) -> tuple[AbstractFileSystem, str]:
    try:
        fs, root = url_to_fs(given, **storage_options)
    except (ImportError, ValueError) as error:
        raise SourceError(f"'{given}' cannot be opened: {str(error).rstrip('.')}.") from error
    return fs, str(root)


def _globbed(fs: AbstractFileSystem, given: str, pattern: str) -> list[FoundFile]:
    base = re.split(r"[*?\[]", pattern)[0].rpartition("/")[0]
    found = cast(dict[str, Any], fs.glob(pattern, detail=True))
    files = []
    for path, info in sorted(found.items(), key=lambda item: _natural(item[0])):
        if info["type"] == "directory":
            files += _inside(fs, path, base, path)
        else:
            files.append(_found(fs, info, path, _below(path, base)))
    if not files:
        raise SourceError(f"no file matches '{given}': check the pattern.")
    return files


def _inside(
    fs: AbstractFileSystem, given: str, root: str, start: str | None = None
) -> list[FoundFile]:
    """The visible files below a folder (below `start`, named from `root` on)."""
    top = root if start is None else start
    with reading(given):
        walk = list(cast(Iterable[Any], fs.walk(top, detail=True, on_error="raise")))
    infos = {info["name"]: info for _, _, files in walk for info in files.values()}
    prefix = given.rstrip("/") if start is None else root
    return [
        _found(fs, infos[path], f"{prefix}/{_below(path, root)}", _below(path, root))
        for path in sorted(infos, key=_natural)
        if _shown(_below(path, root), ".", "_")
    ]


def _found(fs: AbstractFileSystem, info: Mapping[str, Any], name: str, below: str) -> FoundFile:
    return FoundFile(fs, info["name"], name, below, info["size"], _stamp(info))


def _stamp(info: Mapping[str, Any]) -> str:
    """The first time or tag that the file system tells; of local files the ctime beside.

    Every change of the contents sets the ctime, also one that puts size and mtime back.
    """
    if "ino" in info:
        return f"{info['mtime']} {info['created']}"
    stamp = next((info[key] for key in _STAMPS if key in info), "")
    match stamp:
        case datetime():
            return str(stamp.timestamp())
        case _:
            return str(stamp)


def _shown(path: str, *hidden: str) -> bool:
    return not any(part.startswith(hidden) for part in path.split("/"))


def _below(path: str, root: str) -> str:
    return path.removeprefix(root.rstrip("/")).lstrip("/")


def _natural(path: str) -> list[tuple[bool, int, str]]:
    """A sort key by which a9 comes before a10."""
    parts = re.split(r"(\d+)", path)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _siblings(fs: AbstractFileSystem, path: str) -> Iterable[str]:
    parent = path.rstrip("/").rpartition("/")[0]
    try:
        return [_last(name) for name in fs.ls(parent, detail=False)]
    except OSError:
        return []


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
    """A sheet of an Excel workbook, as comma-separated text: see :func:`sheet_text`."""

    file: FoundFile
    asked: str | None = None
    likely: str | None = None

    def inside(self, path: str) -> str:
        return path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        del raw, name
        return io.BytesIO(_sheet(self)[0])

    @property
    def told(self) -> TextOptions:
        return TextOptions(",", encoding="utf-8", sheet=_sheet(self)[1])

    @property
    def remarks(self) -> tuple[str, ...]:
        return _sheet(self)[2]


@lru_cache(maxsize=4)
def _sheet(book: Workbook) -> tuple[bytes, str, tuple[str, ...]]:
    with reading(book.file.name), book.file.fs.open(book.file.path, "rb") as raw:
        return sheet_text(cast(BinaryIO, raw), book.file.name, book.asked, book.likely)


@dataclass(frozen=True)
class Compressed(Packing):
    """One compressed stream, of a file that is named by the text and an ending."""

    ending: str

    def inside(self, path: str) -> str:
        return path[: -len(self.ending)] if path.lower().endswith(self.ending) else path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        if self.ending == ".zst":
            from pyarrow import CompressedInputStream  # here: who finds no file needs no Arrow

            return _bounded(raw, CompressedInputStream(raw, "zstd"), name)
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


PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_STARTS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def _bounded(raw: BinaryIO, contents: Any, name: str) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(Unpacked(raw, contents, f"'{name}'"), 2**20))


def packing_of(file: FoundFile, options: TextOptions = FOUND) -> Packing:
    """How a file is packed, by its first bytes; a SourceError for an archive of several files.

    `options` tell the sheet of a workbook, and that a file is to be one.
    """
    start = file.bytes(0, 6)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with opened_safely(file, Plain()) as raw:
            names = _members(raw, file.name)
        if "xl/workbook.xml" in names:
            return Workbook(file, options.sheet, options.like and options.like.sheet)
        return Zipped(_only(names, file.name))
    found = (Compressed(end) for sign, end in _STARTS.items() if start.startswith(sign))
    return next(found, Plain())


@contextmanager
def opened_safely(file: FoundFile, packing: Packing) -> Iterator[BinaryIO]:
    """The unpacked text; what is wrong with it as one sentence."""
    name = file.name
    try:
        with reading(name, but=gzip.BadGzipFile), file.fs.open(file.path) as raw, _damage():
            yield packing.unpacked(cast(BinaryIO, raw), name)
    except TooMuch as error:
        raise SourceError(str(error)) from error
    except _DAMAGED as error:
        raise SourceError(
            f"'{name}' is a packed file that is cut short or damaged: fetch or pack it again."
        ) from error


@contextmanager
def _damage() -> Iterator[None]:
    """What bz2 and Arrow say of damaged data as other formats say it, not as file systems do."""
    try:
        yield
    except OSError as error:
        if not re.match("Invalid data stream|Truncated compressed|ZSTD", str(error)):
            raise
        raise EOFError from error


def _members(raw: BinaryIO, name: str) -> list[str]:
    """The files in a zip archive."""
    check_zip(raw, f"'{name}'")
    with zipfile.ZipFile(raw) as archive:
        members = [
            m for m in archive.infolist() if _shown(m.filename, ".", "__MACOSX") and not m.is_dir()
        ]
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
