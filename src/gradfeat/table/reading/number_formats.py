"""How numbers are written: the separators and the unit of a column, found from all of its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from unicodedata import decimal

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

#: The unit of heights such as 5'11".
FEET = "ft in"

#: Cells that say in a word or a sign that there is no number.
MARKERS = frozenset(word.replace("_", " ") for word in _WORDS.split())

_UNITS = (
    r"(?:US|A|C|HK|NZ|R)?\$|[€£¥₹₽₩₺₪฿%]"
    "|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|NZD|CNY|SEK|NOK|DKK|PLN|BRL"
)
#: Any word, a measure if most cells of the column have it; what ends times is none.
_WORD = r"(?!(?i:[ap]m|days?|min|sec)\b)[^\W\d_][^\W\d_]{0,11}(?:/[^\W\d_]{1,5})?[²³]?"
#: A measure of several words, such as sq. ft., fl oz or miles per hour.
_MEASURE = rf"(?:(?i:sq|square|cu|cubic|fl|nautical|metric)\b\.?\s?)?{_WORD}\.?"
#: What an amount is for, as in $450/mo.
_PER = r"\s*(?:/|per\s)\s*(?P<per>[^\W\d_]{1,8})\.?"
#: Letters for powers of ten behind digits, as in $110.5M.
_SCALES = {"k": 1e3, "K": 1e3, "Tsd.": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "Mio.": 1e6,
           "B": 1e9, "bn": 1e9, "Mrd": 1e9, "Mrd.": 1e9}  # fmt: skip
_SCALE = "|".join(re.escape(word) for word in sorted(_SCALES, key=len, reverse=True))
_CELL = re.compile(
    rf"(?P<open>\()?\s*[~≈]?\s*(?P<sign>[+-])?\s*(?P<before>{_UNITS})?\s*(?P<inner>[+-])?\s*"
    rf"(?P<body>[\d.,][\d.,'_ ]*?(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<scale>{_SCALE})(?![^\W_]))?"
    rf"(?P<trailing>-)?\s*(?P<after>{_UNITS}|\+|{_MEASURE})?(?:{_PER})?\s*(?P<close>\))?",
    re.ASCII,
)
_FEET = re.compile(r"(?P<feet>\d{1,3})(?:'|ft\.?) ?(?P<inches>\d{1,2})(?:\"|''|in\.?)?", re.ASCII)
_SPELT = str.maketrans({"−": "-", "﹣": "-", "－": "-", "’": "'", "′": "'", "″": '"', "“": '"',
                        "”": '"', "\u00a0": " ", "\u2009": " ", "\u202f": " ", "．": ".",
                        "，": ",", "٫": ".", "٬": ","})  # fmt: skip


def _in_ascii(cell: str) -> str:
    """Digits of any script and typographic signs as those of ASCII."""
    if cell.isascii():
        return cell
    plain = cell.translate(_SPELT)
    return "".join(str(decimal(c)) if c.isdecimal() else c for c in plain)


@dataclass(frozen=True)
class WrittenNumber:
    """A cell taken apart: sign, unit ("" for none), digits with separators, power of ten."""

    sign: float
    unit: str
    body: str
    scale: float = 1.0


def taken_apart(cell: str) -> WrittenNumber | None:
    """A cell that may be a number; None for any other.

    >>> taken_apart("($1,200)"), taken_apart("12x5")
    (WrittenNumber(sign=-1.0, unit='$', body='1,200', scale=1.0), None)
    >>> taken_apart("12 miles"), taken_apart("1.5M").scale
    (WrittenNumber(sign=1.0, unit='mile', body='12', scale=1.0), 1000000.0)
    >>> taken_apart("1,991 sq. ft.").unit, taken_apart("$450/mo").unit
    ('sq ft', '$ per mo')
    """
    plain = _in_ascii(cell)
    if feet := _FEET.fullmatch(plain):
        inches = 12 * int(feet["feet"]) + int(feet["inches"])
        return WrittenNumber(1.0, FEET, str(inches)) if int(feet["inches"]) < 12 else None
    m = _CELL.fullmatch(plain)
    if m is None or (m["open"] is None) != (m["close"] is None):
        return None
    signs = [s for s in (m["sign"], m["inner"], m["trailing"]) if s]
    units = [u for u in (m["before"], m["after"]) if u]
    body = m["body"].rstrip()
    if m["trailing"] and not set(body) & set(".,"):  # 2- may be a grade
        return None
    if len(signs) + (m["open"] is not None) > 1 or len(units) > 1 or _is_code(m, body):
        return None
    if m["per"] and not units:
        return None
    negative = m["open"] is not None or signs == ["-"]
    scale = _SCALES.get(m["scale"] or "", 1.0)
    return WrittenNumber(-1.0 if negative else 1.0, _unit_words(units, m["per"]), body, scale)


def _is_code(m: re.Match[str], body: str) -> bool:
    """Whether letters follow the digits of a code, as in 01B."""
    joined = m["scale"] or (m["after"] and m.end("body") == m.start("after") and m["after"][0])
    return bool(joined) and joined.isalpha() and body[:1] == "0" and body[1:2].isdigit()


def _unit_words(units: Sequence[str], per: str | None) -> str:
    """A unit in the singular, without points, and what it is of."""
    unit = units[0].replace(".", "") if units else ""
    if unit in ("st", "nd", "rd", "th"):
        return "th"
    one = unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit
    return f"{one} per {per}" if per else one


@dataclass(frozen=True)
class NumberFormat:
    """What stands between thousands ("" for nothing) and before decimals, and the unit.

    A cell that does not follow it is read where it can be only one number: ``1,5`` is 1.5 where
    points are expected, ``1,234`` may be two numbers and is none. Percent are hundredths; letters
    such as K and M are powers of ten where the format is `scaled`.
    """

    thousands: str = ""
    decimal: str = "."
    unit: str = ""
    scaled: bool = False

    @property
    def plain(self) -> bool:
        """Whether every reader of text knows it."""
        return self == PLAIN

    def read(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Numbers (n,), nan for what is none, infinite beyond 1e150.

        >>> NumberFormat(",", ".", "$").read(["$1,200", "-3.5", "12 %", "1e400"]).tolist()
        [1200.0, -3.5, nan, inf]
        """
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def _number(self, text: str) -> float:
        cell = taken_apart(text)
        if cell is None or not self._has_unit(cell) or (cell.scale != 1 and not self.scaled):
            return np.nan
        value = self._value(cell.body)
        if value is None:
            others = {v for v in (f._value(cell.body) for f in FORMATS) if v is not None}
            value = others.pop() if len(others) == 1 else np.nan
        value *= cell.sign * cell.scale / (100 if self.unit == "%" else 1)
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
        said = [_UNIT_NAMES.get(self.unit, f"with {self.unit}")] if self.unit else []
        if self.thousands:
            said.append(f"with {_NAMES.get(self.thousands, self.thousands)} between thousands")
        if self.decimal == ",":
            said.append("with , before decimals")
        if self.scaled:
            said.append("K, M and B as powers of ten")
        return ", ".join(said)


_NAMES = {" ": "a blank"}
_UNIT_NAMES = {
    "%": "percent as hundredths",
    FEET: "feet and inches as inches",
    "th": "as places (1st, 2nd)",
}

#: Digits and a point: the format of every reader of text.
PLAIN = NumberFormat()


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


def find_format(texts: Sequence[str], counts: Sequence[int], decimals: str = "") -> FoundFormat:
    """The format of most of the cells `texts`, each of which occurs so many times.

    Where commas may stand between thousands or before decimals all over, they stand before
    decimals if other columns of the table have them so (`decimals` is ","), else between thousands.

    >>> find_format(["5.123,45", "7"], [1, 1]).format
    NumberFormat(thousands='.', decimal=',', unit='', scaled=False)
    >>> find_format(["1,234"], [1]).otherwise
    NumberFormat(thousands='', decimal=',', unit='', scaled=False)
    """
    cells = [(taken_apart(text), count) for text, count in zip(texts, counts, strict=True)]
    numbers = [(cell, count) for cell, count in cells if cell is not None]
    unit, scaled = _unit(numbers), _scaled(numbers)
    if not any(set(cell.body) & set(SEPARATORS) for cell, _ in numbers):
        return FoundFormat(NumberFormat(unit=unit, scaled=scaled))
    votes = {f: sum(n for cell, n in numbers if f.follows(cell.body)) for f in FORMATS}
    best = min(FORMATS, key=lambda f: (-votes[f], f.decimal != (decimals or f.decimal)))
    best, other = replace(best, unit=unit, scaled=scaled), _other(best, votes)
    return FoundFormat(best, other and replace(other, unit=unit, scaled=scaled))


def _scaled(numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether letters such as M are powers of ten, and no codes such as 2B beside 02.

    They are where a number with such a letter has decimals or is money, and where all have one.
    """
    scaled = [cell for cell, _ in numbers if cell.scale != 1]
    telling = any(set(c.body) & set(".,") or is_money(c.unit) for c in scaled)
    return telling or (bool(scaled) and len({cell.scale for cell, _ in numbers}) == 1)


def is_money(unit: str) -> bool:
    """Whether a unit is a currency."""
    return unit not in ("", "%") and re.fullmatch(_UNITS, unit) is not None


def _unit(numbers: Sequence[tuple[WrittenNumber, int]]) -> str:
    """The unit that most cells with a unit have; of money it may be some, else most of all."""
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare = units.pop("", 0)
    unit, count = max(units.items(), key=lambda item: item[1], default=("", 0))
    return "" if not is_money(unit) and count <= bare + sum(units.values()) - count else unit


def _other(best: NumberFormat, votes: dict[NumberFormat, int]) -> NumberFormat | None:
    """Where the comma may be either: what it would be otherwise."""
    pair = {
        NumberFormat(",", "."): NumberFormat("", ","),
        NumberFormat("", ","): NumberFormat(",", "."),
        NumberFormat(".", ","): NumberFormat(),
    }
    other = pair.get(best)
    return None if other is None or votes[other] < votes[best] else other
