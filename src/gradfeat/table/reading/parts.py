"""Columns of text that hold numbers among the same words and signs: 120/80, 4x5x6 cm, No. 7.

And what is said of a text that may be meant to be numbers or dates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.reading.date_cells import written_dates
from gradfeat.table.reading.dates import calendar
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.number_cells import SPELT, is_marker, taken_apart
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.plan import (
    EncodedColumn,
    Floats,
    UnambiguousText,
    by_distinct,
    cell_text,
    unread_cells,
    with_gaps,
)
from gradfeat.table.reading.units import is_money
from gradfeat.table.results import Kind
from gradfeat.wording import counted, listing, percent

#: A sign counts where no word or number ends before it; of 10.0.0.1 each digit group is a number.
_NUMBER, _GROUPED = (
    re.compile(rf"((?<![\w)/])[-+](?=\d))?({grouped}(?<![\d.])\d+\.\d+(?![\d.])|\d+)")
    for grouped in ("", r"(?<![\d.,])\d{1,3}(?:,\d{2,3})*,\d{3}(?![\d,])(?:\.\d+)?|")
)

#: Most numbers in a cell; digits of codes, which are no quantities.
_MOST, _CODE = 8, 3

#: Letters that the first number follows at once, as in c17 or SKU123: a code, but for fiscal years;
#: links and addresses.
_GLUED = re.compile(r"(?!fy\d)[^\W\d_]+\d|\S*(?:://|@|www\.)", re.I)

#: What stands between the ends of a range, and the words around an open one.
_RANGES = {"-", "to", "bis", "till", "until", "a"}
_OPEN = {("", more) for more in ("+", "ormore", "andmore", "andover", "andabove", "orless")}
_OPEN |= {(less, "") for less in ("<", ">", "under", "below", "lessthan", "upto", "over", "above",
                                  "morethan", "from")}  # fmt: skip
_MONEY, _COMMAS_OF_MONEY = "$€£¥₹", re.compile(r"[$€£¥₹]\s?\d{1,3},\d{2,3}(?!\d)")

#: Share of a text's cells that are numbers from which this is said, and share of those that are
#: digits and signs, or begin or end with digits.
_HALF, _NEARLY_ALL = 0.5, 0.9

_DIGITS = re.compile(r"[^\w\s]*\d[\d\W]*")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")
#: Digits at an end, but not those of A17.
_AT_AN_END = re.compile(r"^[^\w\s]{0,2}\d|(?<![\w.,])\d[\d.,]*\W{0,2}$")
_ANY, _PADDED = re.compile(r"\d[\d.,]*"), re.compile(r"(?<![\d.,:])0\d+(?![\d.,:])")
#: Ways to write the words around digits: in so many a column is of amounts, in more of names.
_FEW_WAYS = 20
#: Characters of an amount or a day at most: sentences and names of browsers have more.
_LONGEST = 40

#: The words around the numbers of a cell.
Words = tuple[str, ...]


def _taken_apart(text: str, grouped: bool) -> tuple[Words, tuple[str, ...]]:
    """The words around the numbers of a cell, one more than these, and the numbers."""
    parts = (_GROUPED if grouped else _NUMBER).split(text.translate(SPELT))
    words = tuple("".join(word.split()).casefold() for word in parts[::3])
    signed = zip(parts[1::3], parts[2::3], strict=True)
    return words, tuple((sign or "") + digits.replace(",", "") for sign, digits in signed)


@final
@dataclass(frozen=True)
class PartsPlan(UnambiguousText):
    """Numbers among the same `words` in each cell, such as `example`: a column a number.

    An open end of a range, as in 65+ beside 55-64, is both of its ends. `grouped`: whether commas
    stand between thousands; `doubt`: that the cells may be meant to be dates, in a sentence.

    >>> found = DistinctTexts(("120/80", "95 / 60"), (1, 1))
    >>> plan = find_parts("bp", found)
    >>> {k: v.tolist() for k, v in plan.encode(pd.Series(["140/90", "high"])).parts.items()}
    {'_1': [140.0, nan], '_2': [90.0, nan], '_missing': [0.0, 1.0]}
    """

    kind: ClassVar[Kind] = "numbers"
    ordered: ClassVar[bool] = True

    words: Words
    example: str
    grouped: bool = False
    doubt: str = ""

    @property
    def assumption(self) -> str:
        many = "a number" if len(self.words) == 2 else counted(len(self.words) - 1, "number")
        said = f"Each cell of {self.name!r} is taken as {many}, as {self.example!r} has."
        return f"{said} {self.doubt}".strip()

    def read(self, texts: NDArray[np.object_]) -> Floats:
        """The numbers (n, k), nan where a text has other words."""
        found = [self.numbers(*_taken_apart(text, self.grouped)) for text in texts]
        return np.array(found, dtype=np.float64).reshape(len(texts), len(self.words) - 1)

    def numbers(self, words: Words, digits: tuple[str, ...]) -> Sequence[float]:
        """Those of a text that was taken apart, nan where it has other words."""
        if words == self.words:
            return [float(one) for one in digits]
        between = len(self.words) == 3 and self.words[1].strip(_MONEY) in _RANGES
        open_ = between and tuple(word.strip(_MONEY) for word in words) in _OPEN
        return [float(digits[0]) if open_ else np.nan] * (len(self.words) - 1)

    def encode(self, column: pd.Series) -> EncodedColumn:
        values = by_distinct(cell_text(column), self.read)
        unread = unread_cells(
            self.name, column, np.isnan(values[:, 0]), f"text such as {self.example!r}"
        )
        return with_gaps(self, {f"_{k + 1}": v for k, v in enumerate(values.T)}, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        kept, there = sum(part[1:].isdigit() for part in parts), len(self.words) - 1
        if kept == there:
            return f"{counted(kept, 'number')} of each cell"
        return f"{kept} of the {there} numbers of each cell, the others the same in every row"


def find_parts(name: str, found: DistinctTexts) -> PartsPlan | None:
    """The plan of a column most of whose texts have numbers among the same words; None for others.

    Numbers of three digits at least with leading zeros, all of one length, are codes, and so are
    those that letters begin. Commas of money stand between thousands, others where nothing else
    makes the words the same.

    >>> plan = find_parts("pay", DistinctTexts(("$900-$1,200", "$5,000-$7,500"), (1, 1)))
    >>> plan.read(np.array(["$1,200-$2,400.50", "over $9,000"])).tolist()
    [[1200.0, 2400.5], [9000.0, 9000.0]]
    """
    ways = (True, False) if any(map(_COMMAS_OF_MONEY.search, found.texts)) else (False, True)
    return next((plan for grouped in ways if (plan := _find(name, found, grouped))), None)


def _find(name: str, found: DistinctTexts, grouped: bool) -> PartsPlan | None:
    apart = [_taken_apart(text, grouped) for text in found.texts]
    often = Counter[Words]()
    for (words, _), count in zip(apart, found.counts, strict=True):
        often[words] += count
    words, _ = often.most_common(1)[0]
    like = [k for k, (other, _) in enumerate(apart) if other == words]
    plan = PartsPlan(name, words, found.texts[like[0]], grouped)
    if words == ("", "") or not 2 <= len(words) <= _MOST + 1 or _GLUED.match(plan.example):
        return None
    unread = np.isnan([plan.numbers(*one)[0] for one in apart])
    if not found.mostly(np.where(unread, np.nan, np.arange(len(unread)))):
        return None
    columns = zip(*(apart[k][1] for k in like), strict=True)
    return None if any(map(_codes, columns)) else plan


def _codes(digits: Sequence[str]) -> bool:
    lengths = {len(text) for text in digits}
    return (
        len(lengths) == 1
        and lengths.pop() >= _CODE
        and any(t[0] == "0" and t.isdigit() for t in digits)
    )


def doubt(name: str, found: DistinctTexts) -> str:
    """Why a text may be meant to be numbers, in a sentence; "" where nothing says so.

    >>> doubt("pay", DistinctTexts(("5 florins", "7 ducats", "9 ducats"), (1, 1, 1)))[:57]
    "'pay' holds numbers with units of several kinds ('ducat',"
    """
    cells = [cell for cell in map(taken_apart, found.texts) if cell]
    most = len(cells) >= _NEARLY_ALL * len(found.texts)
    money = sorted({cell.unit for cell in cells if is_money(cell.unit)})
    if len(money) > 1 and most:
        return (
            f"{name!r} holds amounts in several currencies ({listing(money)}), which are taken as "
            "text: give all in one."
        )
    if all(map(_HEXADECIMAL.fullmatch, found.texts)):
        return (
            f"{name!r} holds hexadecimal numbers such as {found.texts[0]!r}, which are taken as "
            "text: write them with ten digits where quantities are meant."
        )
    values = NumberFormat().read(found.texts)
    every = np.array(found.counts)
    share = float(np.sum(~np.isnan(values) * every) / every.sum())
    if _HALF <= share < 1:
        other = next(text for text, v in zip(found.texts, values, strict=True) if np.isnan(v))
        return (
            f"{percent(share)} of {name!r} is numbers, and it is taken as text: mend the rest, as "
            f"{other!r}, to have it read as numbers."
        )
    signs = np.array([_DIGITS.fullmatch(text) is not None for text in found.texts])
    if np.sum(signs * every) >= _NEARLY_ALL * every.sum():
        return (
            f"{name!r} holds digits and signs such as {found.texts[int(signs.argmax())]!r}, which "
            "are taken as text: write plain numbers where numbers are meant."
        )
    units = sorted({cell.unit for cell in cells if cell.unit})
    if most and 1 < len(units) <= _FEW_WAYS:
        return (
            f"{name!r} holds numbers with units of several kinds ({listing(units)}), which are "
            "taken as text: give all in one unit."
        )
    return _like_numbers(name, found)


def _like_numbers(name: str, found: DistinctTexts) -> str:
    """That most texts begin or end with digits, written in few ways, and one that is no number."""
    known = [t for t in found.texts if not is_marker(t)]
    like = [text for text in known if len(text) <= _LONGEST and _AT_AN_END.search(text)]
    ways = Counter(_ANY.sub("0", text) for text in like)
    usual = sum(n for _, n in ways.most_common(_FEW_WAYS))
    none = next((text for text in like if taken_apart(text) is None), "")
    padded = any(map(_PADDED.search, known))  # as numbers of codes are
    if padded or not none or usual < _NEARLY_ALL * len(known) or len(ways) > usual / 2:
        return ""
    return (
        f"Most cells of {name!r} begin or end with digits, and {none!r} is no number or date that "
        "is known, so that they are taken as text: write plain numbers where numbers are meant, "
        "and days as 2021-05-31."
    )


def in_two_orders(name: str, found: DistinctTexts) -> str:
    """That some cells are dates with the day first and others with the month first; "" for others.

    >>> days = [f"{k}/1/2020" for k in range(13, 32)] + [f"1/{k}/2020" for k in range(13, 32)]
    >>> in_two_orders("day", DistinctTexts((*days,), (1,) * 38))[:52]
    "Some cells of 'day' are dates with the day first ('1"
    """
    written = written_dates(np.array(found.texts, dtype=object))
    day, month = (np.isnat(calendar(written, order)) for order in ("day-first", "month-first"))
    either = written.first > 0
    if (day & month | ~either).any() or not (day.any() and month.any()):
        return ""
    one, other = (found.texts[int(none.argmax())] for none in (month, day))
    return (
        f"Some cells of {name!r} are dates with the day first ({one!r}) and some with the month "
        f"first ({other!r}), so that they are not taken as dates: write the year first."
    )


def zero_padded(found: DistinctTexts) -> bool:
    """Whether all are whole numbers of one width, some with leading zeros, as codes have.

    >>> zero_padded(DistinctTexts(("01", "12"), (1, 1)))
    True
    """
    texts = [t for t in found.texts if not is_marker(t)]
    widths = {len(t) for t in texts}
    return (
        len(widths) == 1
        and widths != {1}
        and all(t.isdigit() and t.isascii() for t in texts)
        and any(t.startswith("0") for t in texts)
    )
