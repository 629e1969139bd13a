"""Compressed data from files of strangers: what grows beyond reason is refused while it is small.

A member of 1 MB may hold 1 GB of zeros, or say that it does. Tables and pictures shrink to a third
or a fiftieth; what unpacks to more than `RATIO` times its size, and to more than `FREE` bytes, is
taken for an attack or a mistake.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

#: What reading other contents than our own comes to: a checksum says nothing of who wrote a file.
FOREIGN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)

RATIO = 200
FREE = 64 * 2**20


class TooMuch(ValueError):
    """What is packed unpacks to far more than tables and models do; the message is a sentence."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} unpacks to more than {RATIO} times its size, and more than {FREE // 2**20} "
            "MiB, which no table or model does: unpack it by yourself if that is meant."
        )


def _too_much(unpacked: int, packed: int) -> bool:
    return unpacked > FREE and unpacked > RATIO * packed


class Unpacked(io.RawIOBase):
    """What a packed stream holds, for as long as it grows within reason.

    `contents` are read from `packed`, whose place tells how much of it was taken. A read raises
    TooMuch.
    """

    def __init__(self, packed: Any, contents: Any, name: str) -> None:
        super().__init__()
        self._packed, self._contents, self._name, self._taken = packed, contents, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = self._contents.readinto(buffer)
        self._taken += got
        if _too_much(self._taken, self._packed.tell()):
            raise TooMuch(self._name)
        return got


def gunzip(data: bytes, name: str) -> bytes:
    """What gz bytes hold.

    Raises TooMuch before more than a few pieces of it are unpacked; OSError, EOFError and
    zlib.error for damaged bytes.
    """
    packed = io.BytesIO(data)
    unpacked = Unpacked(packed, gzip.GzipFile(fileobj=packed), name)
    return io.BufferedReader(unpacked, 2**20).read()


def inflate(data: bytes, name: str, most: int | None = None) -> bytes:
    """What zlib bytes hold, of which `most` are known to be meant.

    Raises TooMuch before more is unpacked; zlib.error for damaged bytes.
    """
    most = max(FREE, RATIO * len(data)) if most is None else most
    unpacking = zlib.decompressobj()
    taken = unpacking.decompress(data, most + 1)
    if len(taken) > most:
        raise TooMuch(name)
    if not unpacking.eof:
        raise zlib.error("cut short")
    return taken


def json_object(text: str) -> dict[str, Any]:
    """What a JSON object holds; ValueError, TypeError or RecursionError for a text that is none."""
    found = json.loads(text)
    if found.__class__ is not dict:
        raise ValueError(f"{text[:40]!r} is no JSON object")
    return found


BuiltT = TypeVar("BuiltT")


def of_fields(kind: Callable[..., BuiltT], values: Mapping[str, Any]) -> BuiltT:
    """A dataclass of `kind` from a file; TypeError where a field has another type than its default.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Unit:
    ...     name: str = ""
    >>> of_fields(Unit, {"name": []})
    Traceback (most recent call last):
    TypeError: 'name' is a list
    """
    built: Any = kind(**values)
    for one in fields(built):
        value, kinds = getattr(built, one.name), (one.default.__class__,)
        kinds = (int, float) if kinds == (float,) else kinds
        if one.default.__class__ in (str, bool, int, float) and value.__class__ not in kinds:
            raise TypeError(f"{one.name!r} is a {value.__class__.__name__}")
    return built


def check_zip(file: Any, name: str) -> None:
    """Refuse a zip archive by what its members say, which is the most that is read of them.

    Raises TooMuch where all of them together, or one of them, are too much; zipfile.BadZipFile for
    what is no archive.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    if _too_much(sum(m.file_size for m in members), sum(m.compress_size for m in members)) or any(
        _too_much(m.file_size, m.compress_size) for m in members
    ):
        raise TooMuch(name)
