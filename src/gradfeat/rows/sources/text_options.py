"""How a text is written: what a person says of it, and the encoding of its characters."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO, Literal

from ...errors import SourceError

#: The separator of fields that stand between runs of blanks or tabs.
BLANKS = " "

_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "colon": ":"}
_WORDS |= dict.fromkeys(("bar", "pipe"), "|")
_WORDS |= dict.fromkeys(("blank", "blanks", "space", "spaces"), BLANKS)

#: Byte order marks of UTF-16 and UTF-32; that of UTF-8 is apart: its bytes stay as they are.
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)

_READ = 2**20


@dataclass(frozen=True)
class TextOptions:
    """What is known of a delimited text beforehand; what is None is found from its first lines."""

    #: Between fields: one character, or :data:`BLANKS` for any run of blanks and tabs.
    separator: str | None = None
    comment: str | None = None  # what lines begin with that are left out
    #: Whether the first line names the columns; without one they are ``column_1``, ...
    header: bool | None = None
    encoding: str | None = None  # of the characters, by Python's name
    sheet: str | None = None  # of a workbook
    #: Columns that will be asked for: a first line that holds one of them is a header.
    wanted: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # columns of a text without a header
    quotes: str = ""  # where they are others than double ones that are doubled in fields
    target: str = ""  # the one of `names` that further files may lack
    #: How the text was written that a model was fitted to: what a text is taken for whose first
    #: lines hold none of the columns that are `wanted`.
    like: TextOptions | None = None

    @property
    def decimal(self) -> Literal["", ","]:
        """What stands before decimals where cells do not tell: a comma where semicolons delimit."""
        return "," if self.separator == ";" else ""

    def over(self, other: TextOptions) -> TextOptions:
        """These, and what they do not tell from the `other`."""
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(other, **{k: v for k, v in told.items() if v not in (None, (), "")})

    @classmethod
    def kept(cls, plain: Mapping[str, Any]) -> TextOptions:
        """From what JSON keeps of them (``dataclasses.asdict``)."""
        own = plain.keys() & {
            "separator",
            "comment",
            "header",
            "encoding",
            "sheet",
            "target",
            "quotes",
        }
        return cls(**{name: plain[name] for name in own}, names=tuple(plain.get("names", ())))


#: Nothing is known: everything is found.
FOUND = TextOptions()


def text_options(
    separator: str | None,
    comment: str | None,
    header: bool | None,
    encoding: str | None,
    sheet: str | None = None,
) -> TextOptions:
    """What a person asks for, checked."""
    if separator is not None:
        separator = _WORDS.get(separator.lower(), separator)
        if len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
            raise SourceError(
                f"the separator is {separator!r}: give one character other than a quote, or comma, "
                "semicolon, tab, bar or blanks."
            )
    if comment is not None and (not comment or set(comment) & set('"\r\n')):
        raise SourceError(f"the comment mark is {comment!r}: give what comments begin with.")
    if encoding is not None:
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise SourceError(
                f"the encoding {encoding!r} is not known: give one such as utf-8 or latin-1."
            ) from None
    return TextOptions(separator, comment, header, encoding, sheet)


def marks(sample: bytes) -> int:
    """Bytes of the marks of byte order that a text begins with: files that were joined have two.

    >>> marks(2 * codecs.BOM_UTF8 + b"x"), marks(b"x")
    (6, 0)
    """
    return len(sample) - len(re.sub(rb"\A(?:\xef\xbb\xbf)+", b"", sample))


def found_encoding(sample: bytes, cut: bool, likely: str | None = None) -> str:
    """The encoding of some first bytes: UTF-8, UTF-16 or 32, the `likely` one, that of Windows.

    `cut`: more bytes follow, so that the last character may be torn.
    """
    for marks, name in ((_UTF32, "utf-32"), (_UTF16, "utf-16")):
        if sample.startswith(marks):
            return name
    even, odd = (sample[start:2000:2].count(0) for start in (0, 1))
    half = max(1, min(len(sample), 2000) // 2)
    if max(even, odd) > 0.7 * half and min(even, odd) < 0.1 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    if decodes(sample, "utf-8", cut):
        return "utf-8"
    others = (one for one in (likely, "cp1252") if one and decodes(sample, one, cut))
    return next(others, "latin-1")


def decodes(sample: bytes, encoding: str, cut: bool) -> bool:
    """Whether bytes are text in an encoding; `cut`: their last character may be torn."""
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
            more = bool(data := self._raw.read(_READ))
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
