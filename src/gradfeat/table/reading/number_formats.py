"""How numbers are written: the separators and the unit of a column, found from all of its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

#: Larger numbers count as infinite: the squares that scores and figures take stay finite.
LARGEST = 1e150

_WORDS = """
? ?? ??? - -- --- \u2013 \u2014 . .. ... * ** # n/a na n.a. n.a #n/a n/d nd n.d. nan null nil none
unknown unk missing undefined tbd tba #ref! #value! #div/0! #num! #name? #null! <na> nat
inf -inf +inf infinity -infinity +infinity
not_available not_applicable not_reported not_recorded no_data
"""

#: Cells that say in a word or a sign that there is no number.
MARKERS = frozenset(word.replace("_", " ") for word in _WORDS.split())

_UNITS = (
    r"(?:US|A|C|HK|NZ|R)?\$|[€£¥₹₽₩₺₪฿%]"
    "|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|NZD|CNY|SEK|NOK|DKK|PLN|BRL"
)
#: Any word after a blank: a measure, if most cells of the column have it; what ends times is none.
_WORD = r"(?<= )(?!(?i:[ap]m|days?|min|sec)\b)[^\W\d_][^\W\d_]{0,11}(?:/[^\W\d_]{1,5})?[²³]?"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_UNITS})?\s*(?P<inner>[+-])?\s*"
    rf"(?P<body>[\d.,][\d.,'_ \u00a0\u2009\u202f]*?(?:[eE][+-]?\d+)?)"
    rf"\s*(?P<after>{_UNITS}|{_WORD})?\s*(?P<close>\))?",
    re.ASCII,
)
_SPELT = str.maketrans({"−": "-", "﹣": "-", "－": "-", "’": "'", "\u00a0": " ", "\u2009": " ",
                        "\u202f": " "})  # fmt: skip


@dataclass(frozen=True)
class WrittenNumber:
    """A cell taken apart: its sign, its unit ("" for none) and the digits with separators."""

    sign: float
    unit: str
    body: str


def taken_apart(cell: str) -> WrittenNumber | None:
    """A cell that may be a number; None for any other.

    Examples
    --------
    >>> taken_apart("($1,200)"), taken_apart("12kg")
    (WrittenNumber(sign=-1.0, unit='$', body='1,200'), None)
    >>> taken_apart("12 miles")
    WrittenNumber(sign=1.0, unit='mile', body='12')
    """
    m = _CELL.fullmatch(cell.translate(_SPELT))
    if m is None or (m["open"] is None) != (m["close"] is None):
        return None
    signs = [s for s in (m["sign"], m["inner"]) if s]
    units = [u for u in (m["before"], m["after"]) if u]
    if len(signs) + (m["open"] is not None) > 1 or len(units) > 1:
        return None
    negative = m["open"] is not None or signs == ["-"]
    return WrittenNumber(-1.0 if negative else 1.0, _singular(units), m["body"].rstrip())


def _singular(units: Sequence[str]) -> str:
    unit = units[0] if units else ""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


@dataclass(frozen=True)
class NumberFormat:
    """What stands between thousands ("" for nothing) and before decimals, and the unit.

    A cell that does not follow it is read where it can be only one number: ``1,5`` is 1.5 where
    points are expected, ``1,234`` may be two numbers and is none. Percent are hundredths.
    """

    thousands: str = ""
    decimal: str = "."
    unit: str = ""

    @property
    def plain(self) -> bool:
        """Whether every reader of text knows it."""
        return self == NumberFormat()

    def read(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Numbers (n,), nan for what is none, infinite beyond 1e150.

        Examples
        --------
        >>> NumberFormat(",", ".", "$").read(["$1,200", "-3.5", "12 %", "1e400"]).tolist()
        [1200.0, -3.5, nan, inf]
        """
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def _number(self, text: str) -> float:
        cell = taken_apart(text)
        if cell is None or not self._has_unit(cell):
            return np.nan
        value = self._value(cell.body)
        if value is None:
            others = {v for v in (f._value(cell.body) for f in FORMATS) if v is not None}
            value = others.pop() if len(others) == 1 else np.nan
        value = cell.sign * (value / 100 if self.unit == "%" else value)
        return np.copysign(np.inf, value) if abs(value) > LARGEST else value

    def _has_unit(self, cell: WrittenNumber) -> bool:
        if cell.unit:
            return cell.unit == self.unit
        return self.unit != "%" or not cell.body.strip("0.,")

    def _value(self, body: str) -> float | None:
        if not _pattern(self.thousands, self.decimal).fullmatch(body):
            return None
        if self.thousands:
            body = body.replace(self.thousands, "")
        return float(body.replace(self.decimal, "."))

    def follows(self, body: str) -> bool:
        """Whether digits with separators are written so."""
        return _pattern(self.thousands, self.decimal).fullmatch(body) is not None

    @property
    def words(self) -> str:
        """How numbers are written, in words; empty for plain ones."""
        said = []
        if self.unit == "%":
            said.append("percent as hundredths")
        elif self.unit:
            said.append(f"with {self.unit}")
        if self.thousands:
            said.append(f"with {_NAMES.get(self.thousands, self.thousands)} between thousands")
        if self.decimal == ",":
            said.append("with , before decimals")
        return ", ".join(said)


_NAMES = {" ": "a blank"}


@cache
def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        t = re.escape(thousands)
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{t}\d{{3}})+)"
        if thousands == ",":  # lakhs and crores are groups of two
            whole = rf"(?:{whole}|[1-9]\d?(?:,\d\d)+,\d{{3}})"
    d = re.escape(decimal)
    return re.compile(rf"(?:{whole}(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


#: What may stand between the digits of a number.
SEPARATORS = ".,' _"

#: In order of preference where several read as many cells.
FORMATS = tuple(
    NumberFormat(thousands, decimal)
    for thousands, decimal in (
        ("", "."), (",", "."), ("", ","), (".", ","), (" ", "."), (" ", ","), ("'", "."),
        ("'", ","), ("_", "."),
    )
)  # fmt: skip


@dataclass(frozen=True)
class FoundFormat:
    """The format that reads most cells, and the other one that reads as many differently."""

    format: NumberFormat
    otherwise: NumberFormat | None = None


def find_format(texts: Sequence[str], counts: Sequence[int], decimal: str = "") -> FoundFormat:
    """The format of most of the cells `texts`, each of which occurs so many times.

    Where commas may stand between thousands or before decimals all over, they stand before
    decimals if other columns of the table have them so (`decimal` is ","), else between thousands.

    Examples
    --------
    >>> find_format(["5.123,45", "7"], [1, 1]).format
    NumberFormat(thousands='.', decimal=',', unit='')
    >>> find_format(["1,234"], [1]).otherwise
    NumberFormat(thousands='', decimal=',', unit='')
    """
    cells = [(taken_apart(text), count) for text, count in zip(texts, counts, strict=True)]
    numbers = [(cell, count) for cell, count in cells if cell is not None]
    unit = _unit(numbers)
    if not any(set(cell.body) & set(SEPARATORS) for cell, _ in numbers):
        return FoundFormat(NumberFormat(unit=unit))
    votes = {f: sum(n for cell, n in numbers if f.follows(cell.body)) for f in FORMATS}
    best = min(FORMATS, key=lambda f: (-votes[f], f.decimal != (decimal or f.decimal)))
    return FoundFormat(_with_unit(best, unit), _other(best, votes, unit))


def _unit(numbers: Sequence[tuple[WrittenNumber, int]]) -> str:
    """The unit that most cells with a unit have; of money it may be some, else most of all."""
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare = units.pop("", 0)
    unit, count = max(units.items(), key=lambda item: item[1], default=("", 0))
    money = unit != "%" and re.fullmatch(_UNITS, unit) is not None
    return "" if not money and count <= bare + sum(units.values()) - count else unit


def _with_unit(found: NumberFormat, unit: str) -> NumberFormat:
    return NumberFormat(found.thousands, found.decimal, unit)


def _other(best: NumberFormat, votes: dict[NumberFormat, int], unit: str) -> NumberFormat | None:
    """Where the comma may be either: what it would be otherwise."""
    pair = {
        NumberFormat(",", "."): NumberFormat("", ","),
        NumberFormat("", ","): NumberFormat(",", "."),
        NumberFormat(".", ","): NumberFormat(),
    }
    other = pair.get(best)
    if other is None or votes[other] < votes[best]:
        return None
    return _with_unit(other, unit)
