"""Text in other encodings than UTF-8: which one it is, and its characters as UTF-8."""

# Apart: where records begin and what files are tables is another question.

from __future__ import annotations

import codecs
import io
from typing import Any, BinaryIO

from ..errors import SourceError

#: Byte order marks of UTF-16, of which that of UTF-8 is apart: its bytes stay as they are.
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_READ = 2**20


def found_encoding(sample: bytes, cut: bool, likely: str | None = None) -> str:
    """The encoding of some first bytes: UTF-8, UTF-16, the `likely` one, or that of Windows.

    `cut`: more bytes follow, so that the last character may be torn.

    Examples
    --------
    >>> found_encoding("x,é".encode(), False), found_encoding("x,é".encode("cp1252"), False)
    ('utf-8', 'cp1252')
    >>> found_encoding("x,y".encode("utf-16-le"), False)
    'utf-16-le'
    """
    if sample.startswith(_UTF16):
        return "utf-16"
    even, odd = (sample[start:2000:2].count(0) for start in (0, 1))
    half = max(1, min(len(sample), 2000) // 2)
    if max(even, odd) > 0.7 * half and min(even, odd) < 0.1 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    if decodes(sample, "utf-8", cut):
        return "utf-8"
    others = [*([likely] if likely else []), "cp1252"]
    return next((other for other in others if decodes(sample, other, cut)), "latin-1")


def decodes(sample: bytes, encoding: str, cut: bool) -> bool:
    """Whether bytes are text in an encoding; `cut`: their last character may be torn.

    Examples
    --------
    >>> decodes("é".encode()[:1], "utf-8", True), decodes("é".encode()[:1], "utf-8", False)
    (True, False)
    """
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample, final=not cut)
    except UnicodeError:
        return False
    return True


class Recoded(io.RawIOBase):
    """The characters of a stream of bytes as UTF-8."""

    def __init__(self, raw: BinaryIO, encoding: str, name: str) -> None:
        super().__init__()
        self._raw, self._encoding, self._name = raw, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view, more = memoryview(buffer).cast("B"), True
        while more and not self._left:
            data = self._raw.read(_READ)
            more = bool(data)
            self._left = memoryview(self._decoded(data, not more).encode())
        taken = self._left[: len(view)]
        view[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)

    def _decoded(self, data: bytes, final: bool) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeError as error:
            raise SourceError(
                f"'{self._name}' is not {self._encoding} text: give its encoding with --encoding."
            ) from error
