"""Columns of text that hold numbers among the same words and signs: 120/80, 4x5x6 cm, No. 7."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.sources.words import counted
from gradfeat.table.reading.number_formats import SPELT
from gradfeat.table.reading.numbers import DistinctTexts
from gradfeat.table.reading.plan import (
    EncodedColumn,
    Floats,
    UnambiguousText,
    by_distinct,
    cell_text,
    unread_cells,
    with_gaps,
)
from gradfeat.table.results import Kind

#: A sign counts where no word or number ends before it; of 10.0.0.1 each digit group is a number.
_NUMBER = re.compile(r"((?<![\w)/])[-+](?=\d))?((?<![\d.])\d+\.\d+(?![\d.])|\d+)")

#: Most numbers in a cell; digits of codes, which are no quantities.
_MOST, _CODE = 8, 3

#: Letters that the first number follows at once, as in c17 or SKU123: a code, but for fiscal years;
#: links and addresses.
_GLUED = re.compile(r"(?!fy\d)[^\W\d_]+\d|\S*(?:://|@|www\.)", re.I)

#: What stands between the ends of a range, and the words around an open one.
_RANGES, _OPEN = {"-", "to", "bis", "till", "until", "a"}, {("", "+"), ("<", ""), (">", "")}

#: The words around the numbers of a cell.
Words = tuple[str, ...]


def _taken_apart(text: str) -> tuple[Words, tuple[str, ...]]:
    """The words around the numbers of a cell, one more than these, and the numbers."""
    parts = _NUMBER.split(text.translate(SPELT))
    words = tuple("".join(word.split()).casefold() for word in parts[::3])
    signed = zip(parts[1::3], parts[2::3], strict=True)
    return words, tuple((sign or "") + digits for sign, digits in signed)


@final
@dataclass(frozen=True)
class PartsPlan(UnambiguousText):
    """Numbers among the same `words` in each cell, such as `example`: a column a number.

    An open end of a range, as in 65+ beside 55-64, is both of its ends.

    >>> found = DistinctTexts(("120/80", "95 / 60"), (1, 1))
    >>> plan = find_parts("bp", found)
    >>> {k: v.tolist() for k, v in plan.encode(pd.Series(["140/90", "high"])).parts.items()}
    {'_1': [140.0, nan], '_2': [90.0, nan], '_missing': [0.0, 1.0]}
    """

    kind: ClassVar[Kind] = "numbers"
    ordered: ClassVar[bool] = True

    words: Words
    example: str

    @property
    def assumption(self) -> str:
        many = "a number" if len(self.words) == 2 else counted(len(self.words) - 1, "number")
        return f"Each cell of {self.name!r} is taken as {many}, as {self.example!r} has."

    def read(self, texts: NDArray[np.object_]) -> Floats:
        """The numbers (n, k), nan where a text has other words."""
        found = [self.numbers(*_taken_apart(text)) for text in texts]
        return np.array(found, dtype=np.float64).reshape(len(texts), len(self.words) - 1)

    def numbers(self, words: Words, digits: tuple[str, ...]) -> Sequence[float]:
        """Those of a text that was taken apart, nan where it has other words."""
        if words == self.words:
            return [float(one) for one in digits]
        open_ = len(self.words) == 3 and self.words[1] in _RANGES and words in _OPEN
        return [float(digits[0]) if open_ else np.nan] * (len(self.words) - 1)

    def encode(self, column: pd.Series) -> EncodedColumn:
        values = by_distinct(cell_text(column), self.read)
        unread = unread_cells(
            self.name, column, np.isnan(values[:, 0]), f"text such as {self.example!r}"
        )
        return with_gaps(self, {f"_{k + 1}": v for k, v in enumerate(values.T)}, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        return f"{counted(sum(part[1:].isdigit() for part in parts), 'number')} of each cell"


def find_parts(name: str, found: DistinctTexts) -> PartsPlan | None:
    """The plan of a column most of whose texts have numbers among the same words; None for others.

    Numbers of three digits at least with leading zeros, all of one length, are codes, and so are
    those that letters begin.
    """
    apart = [_taken_apart(text) for text in found.texts]
    often = Counter[Words]()
    for (words, _), count in zip(apart, found.counts, strict=True):
        often[words] += count
    words, _ = often.most_common(1)[0]
    like = [k for k, (other, _) in enumerate(apart) if other == words]
    plan = PartsPlan(name, words, found.texts[like[0]])
    if words == ("", "") or not 2 <= len(words) <= _MOST + 1 or _GLUED.match(plan.example):
        return None
    unread = np.isnan([plan.numbers(*one)[0] for one in apart])
    if not found.mostly(np.where(unread, np.nan, np.arange(len(unread)))):
        return None
    columns = zip(*(apart[k][1] for k in like), strict=True)
    return None if any(map(_codes, columns)) else plan


def _codes(digits: Sequence[str]) -> bool:
    lengths = {len(text) for text in digits}
    return len(lengths) == 1 and lengths.pop() >= _CODE and any(t[0] == "0" for t in digits)
