"""How a delimited text is written, as far as it is told and not found."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ..errors import SourceError

#: The separator of fields that stand between runs of blanks or tabs.
BLANKS = " "

_WORDS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "pipe": "|",
    "blank": BLANKS,
    "blanks": BLANKS,
    "space": BLANKS,
    "spaces": BLANKS,
    "colon": ":",
}


@dataclass(frozen=True)
class TextOptions:
    """What is known of a delimited text beforehand; what is None is found from its first lines."""

    #: Between fields: one character, or :data:`BLANKS` for any run of blanks and tabs.
    separator: str | None = None
    comment: str | None = None  # what lines begin with that are left out
    #: Whether the first line names the columns; without one they are ``column_1``, ...
    header: bool | None = None
    encoding: str | None = None  # of the characters, by Python's name
    #: Columns that will be asked for: a first line that holds one of them is a header.
    wanted: tuple[str, ...] = ()
    #: Columns in which words such as NA and None are values: targets, which may be called so.
    verbatim: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # columns of a text without a header
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
        own = ("separator", "comment", "header", "encoding", "target")
        known = {name: plain[name] for name in own if name in plain}
        return cls(**known, names=tuple(plain.get("names", ())))


#: Nothing is known: everything is found.
FOUND = TextOptions()


def text_options(
    separator: str | None, comment: str | None, header: bool | None, encoding: str | None
) -> TextOptions:
    """What a person asks for, checked.

    Examples
    --------
    >>> text_options("tab", "#", False, None).separator
    '\\t'
    """
    if separator is not None:
        separator = _WORDS.get(separator.lower(), separator)
        if len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
            raise SourceError(
                f"the separator is {separator!r}: give one character other than a quote, or comma, "
                "semicolon, tab, bar or blanks."
            )
    if comment is not None and (not comment or set(comment) & set('"\r\n')):
        raise SourceError(
            f"the comment mark is {comment!r}: give what such lines begin with, as #."
        )
    if encoding is not None:
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise SourceError(
                f"the encoding {encoding!r} is not known: give one such as utf-8 or latin-1."
            ) from None
    return TextOptions(separator, comment, header, encoding)
