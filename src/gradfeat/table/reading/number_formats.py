"""How numbers are written: the separators and the unit of a column, found from all of its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from unicodedata import decimal, numeric

import numpy as np
from numpy.typing import NDArray

from gradfeat.table.reading.units import (
    FACTOR,
    FACTORS,
    FACTORS_OF_MONEY,
    MEASURE,
    MONEY,
    PARTS,
    PER,
    SIGNS,
    TIMES,
    converted,
    is_money,
    name_of,
    of_credits,
    of_two_numbers,
    related,
    unit_words,
)

#: What ASCII has signs for.
SPELT = str.maketrans({"−": "-", "﹣": "-", "－": "-", "–": "-", "‑": "-", "’": "'", "′": "'",
                        "″": '"', "“": '"', "”": '"', "．": ".", "·": ".", "，": ",", "٫": ".",
                        "٬": ",", "×": "x", "º": "°", "˚": "°", "≤": "<", "≥": ">", "≈": "~",
                        "⁄": "/"})  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_NOTHING_MORE = re.compile(r"(?<=\d)\s?/[-=]$")  # of rupees and shillings without parts
_QUOTED = re.compile(r"'(?=[-+\d.])([^']*)'?|\"(?=[-+\d.])([^\"]*)\"")
_POWER = re.compile(r"\s?[x*.]\s?10(?:\s?(?:\^|\*\*)\s?([-+]?\d+)|([⁻⁺]?[⁰¹²³⁴-⁹]+))")
_FORTRAN = re.compile(r"(?<=\d)[dD](?=[-+]\d{2,3}$)", re.ASCII)
_FRACTION = re.compile(r"([-+]?)(?:(\d+)[ -])?(\d{1,2})/(2|3|4|8|16|32|64)", re.ASCII)

#: Larger numbers count as infinite: the squares that scores and figures take stay finite.
LARGEST = 1e150

_WORDS = """
? ?? ??? - -- --- \u2013 \u2014 . .. ... * ** # n/a na n.a. n.a #n/a n/d nd n.d. nan null nil none
unknown unk missing undefined tbd tba #ref! #value! #div/0! #num! #name? #null! <na> nat
inf -inf +inf infinity -infinity +infinity
not_available not_applicable not_reported not_recorded no_data not_stated not_given
: (blank) (missing) (empty) keine_angabe k.a. k._a. unbekannt inconnu sin_datos s/d
"""

#: The note of 3/4, which is taken as .75.
FRACTION = "fraction"

#: Cells that say in a word or a sign that there is no number.
MARKERS = frozenset(word.replace("_", " ") for word in _WORDS.split())

#: What says of a number that it is about so much, a limit, or has a note.
_MARKED = r"(?:(?i:ca|c|circa|approx|about|est)\b\.?|[<>]=?)\s*"
_FLAG = r"\s(?P<flag>[bdeprsuz]{1,2})(?!\w)"  # of statistical offices: estimated, provisional, ...
#: A longer text in brackets, as (95 % CI 96.7 to 102.7), may be a sentence of its own.
_NOTE = r"\s*[*†‡§]+|\s?\[[^\[\]]{1,40}\]|\s?\([^()]{1,40}\)|\s?±\s?[\d.,]+"
#: Negative amounts of accounts with the unit outside: $(1,200), (3.5)%.
_ACCOUNT = re.compile(rf"({SIGNS}|{MONEY})?\s?\(([^()]+)\)\s?({SIGNS})?")
_CELL = re.compile(
    rf"(?P<mark>{_MARKED})?(?P<open>\()?\s*~?\s*(?P<sign>[+-])?\s*(?P<before>{SIGNS}|{MONEY})?"
    rf"\s*(?P<inner>[+-])?\s*(?P<body>[\d.,][\d.,'_ ]*?(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<scale>{FACTOR}|(?(before)(?:{'|'.join(FACTORS_OF_MONEY)})|(?!)))"
    rf"(?:(?<=[千천万萬만亿億억])|(?![^\W_])))?"
    rf"(?P<trailing>-)?(?:{_FLAG})?\s*(?P<after>{SIGNS}|\+|{MEASURE})?(?:{PER})?\s*(?P<close>\))?"
    rf"(?P<note>{_NOTE})?"
)


def spelt_plainly(text: str) -> str:
    """The text of a number in digits, signs and points of ASCII, fractions as decimals.

    >>> [spelt_plainly(text) for text in ("−1٫5", "1.2×10⁴", "3 1/2", "2½", "'1.5'", "8.7D+01")]
    ['-1.5', '1.2e4', '3.5', '2.5', '1.5', '8.7e+01']
    """
    if not text.isascii():
        text = "".join(str(decimal(c)) if c.isdecimal() else c for c in text.translate(SPELT))
        if numeric(text[-1], 0) % 1 and (text[:-1].strip() or "0").isdigit():
            text = f"{int(text[:-1] or 0) + numeric(text[-1]):.10g}"
    text = text.replace("+/-", "±")
    if text[:1] in "'\"" and (quoted := _QUOTED.fullmatch(text)):
        text = quoted[1] or quoted[2]
    text = _NOTHING_MORE.sub("", _FORTRAN.sub("e", text))
    if "10" in text:
        text = _POWER.sub(lambda m: f"e{(m[1] or m[2]).translate(_SUPERSCRIPTS)}", text)
    if "/" in text and (m := _FRACTION.fullmatch(text)) and int(m[3]) < int(m[4]):
        return f"{m[1]}{int(m[2] or 0) + int(m[3]) / int(m[4]):.10g}"
    return text


@dataclass(frozen=True)
class WrittenNumber:
    """A cell taken apart: sign, unit ("" for none), digits with separators, factor.

    `note`: what stands beside the number and is left out; `word`: whether a word says the factor,
    and no letter, as of codes.
    """

    sign: float
    unit: str
    body: str
    scale: float = 1.0
    note: str = ""
    word: bool = False


@lru_cache(1 << 14)  # from its format to its values a column is taken apart several times
def taken_apart(cell: str) -> WrittenNumber | None:
    """A cell that may be a number; None for any other.

    >>> taken_apart("($1,200)"), taken_apart("12x5")
    (WrittenNumber(sign=-1.0, unit='$', body='1,200', scale=1.0, note='', word=False), None)
    >>> taken_apart("$(5)").sign, taken_apart("£5m").scale, taken_apart("5 m").unit
    (-1.0, 1000000.0, 'm')
    >>> taken_apart("1,991 sq. ft.").unit, taken_apart("$450/mo").unit, taken_apart("<5*").note
    ('sq ft', '$ per mo', '< *')
    """
    plain = spelt_plainly(cell)
    if two := of_two_numbers(plain):
        return WrittenNumber(*two)
    if "(" in plain and (account := _ACCOUNT.fullmatch(plain)) and (account[1] or account[3]):
        plain = f"({account[1] or ''}{account[2]}{account[3] or ''})"
    m = _CELL.fullmatch(plain)
    if m is None or (m["open"] is None) != (m["close"] is None):
        return None
    body = m["body"].rstrip()
    trailing = "" if body[-1:] in (",", ".") else m["trailing"]  # 76,- has no cents
    signs = [s for s in (m["sign"], m["inner"], trailing) if s]
    units = [u for u in (m["before"], m["after"]) if u]
    if trailing and not set(body) & set(".,"):  # 2- may be a grade
        return None
    if len(signs) + (m["open"] is not None) > 1 or len(units) > 1 or _is_code(m, body):
        return None
    if m["per"] and not units and (len(m["per"]) < 3 or m["per"].casefold() not in TIMES):
        return None
    sign = -1.0 if m["open"] is not None or signs == ["-"] else 1.0
    note = " ".join(m[part].strip() for part in ("mark", "flag", "note") if m[part])
    note = FRACTION if "/" in cell and "/" not in plain else note
    scale, word = FACTORS.get(m["scale"], 1.0), m["scale"] or ""
    unit = unit_words(units[0] if units else "", m["per"])
    return WrittenNumber(sign, unit, body, scale, note, len(word) > 1 or not word.isascii())


def _is_code(m: re.Match[str], body: str) -> bool:
    """Whether letters follow the digits of a code, as in 01B."""
    joined = m["scale"] or (m["after"] and m.end("body") == m.start("after") and m["after"][0])
    return bool(joined) and joined.isalpha() and body[:1] == "0" and body[1:2].isdigit()


@dataclass(frozen=True)
class NumberFormat:
    """What stands between thousands ("" for nothing) and before decimals, and the unit.

    Before decimals ``.,`` is either. A cell that does not follow it is read where it can be only
    one number: ``1,5`` is 1.5 where points are expected, ``1,234`` may be two numbers and is none.
    Percent are hundredths; letters and words such as K, million and dozen multiply where the format
    is `scaled`. `bare`: how many percent 1 is without a sign, 0 where such cells are none.
    """

    thousands: str = ""
    decimal: str = "."
    unit: str = ""
    scaled: bool = False
    bare: float = 0.0

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

    def stored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers that are stored as such: of percent only 0 is sure, as in text without a sign."""
        return np.where(values != 0, np.nan, values) if self.unit in PARTS else values

    def _number(self, text: str) -> float:
        cell = taken_apart(text)
        if cell is None or not self._has_unit(cell) or (cell.scale != 1 and not self.scaled):
            return np.nan
        value = self._value(cell.body)
        if value is None:
            others = {v for v in (f._value(cell.body) for f in FORMATS) if v is not None}
            value = others.pop() if len(others) == 1 else np.nan
        value *= cell.sign * cell.scale
        value = converted(value, cell.unit, self.unit) if cell.unit else value * (self.bare or 1.0)
        value /= PARTS.get(self.unit, 1.0)
        return np.copysign(np.inf, value) if abs(value) > LARGEST else value

    def _has_unit(self, cell: WrittenNumber) -> bool:
        if cell.unit:
            return related(cell.unit, self.unit)
        return self.unit not in PARTS or bool(self.bare) or not cell.body.strip("0.,")

    def _value(self, body: str) -> float | None:
        if not self.follows(body):
            return None
        if self.thousands:
            body = body.replace(self.thousands, "")
        return float(body.replace(self.decimal[-1], "."))

    def follows(self, body: str) -> bool:
        """Whether digits with separators are written so: 7,265E4 has no thousands, as it has E."""
        grouped = self.thousands and self.thousands in body and "e" in body.lower()
        return not grouped and bool(_pattern(self.thousands, self.decimal).fullmatch(body))

    @property
    def words(self) -> str:
        """How numbers are written, in words; empty for plain ones."""
        said = [name_of(self.unit)] if self.unit else []
        if self.thousands:
            said.append(f"with {self.thousands.replace(' ', 'a blank')} between thousands")
        if self.decimal != ".":
            said.append(f"with {' or '.join(self.decimal)} before decimals")
        if self.scaled:
            said.append("multiplied by what K, million, dozen or the like say")
        return ", ".join(said)


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
    d = f"[{re.escape(decimal)}]"
    return re.compile(rf"(?:{whole}(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


#: What may stand between the digits of a number.
SEPARATORS = ".,' _"

#: Of so many cells that are no markers of missing values at least one may be none of the others.
ONE_STRAY_IN = 10

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
    Where some surely have points before decimals and others commas, none has thousands; `decimals`
    is ".,", where other columns tell so.

    >>> find_format(["5.123,45", "7"], [1, 1]).format == NumberFormat(".", ",")
    True
    >>> find_format(["1,234"], [1]).otherwise == NumberFormat("", ",")
    True
    """
    cells = [(taken_apart(text), count) for text, count in zip(texts, counts, strict=True)]
    numbers = [(cell, count) for cell, count in cells if cell is not None]
    unit, scaled = _unit(numbers), _scaled(numbers)
    best, other = PLAIN, None
    if any(set(cell.body) & set(SEPARATORS) for cell, _ in numbers):
        votes = {f: sum(n for cell, n in numbers if f.follows(cell.body)) for f in FORMATS}
        best = min(FORMATS, key=lambda f: (-votes[f], f.decimal != (decimals or f.decimal)))
        other = _other(best, votes)
        if _either_decimal(numbers, decimals == EITHER):
            best, other = NumberFormat("", EITHER), None
        elif best.thousands and _no_thousands(best, [cell.body for cell, _ in numbers]):
            best = replace(best, thousands="")
    unit, bare = _percent(unit, [(c, n) for c, n in numbers if best.follows(c.body)], best)
    best = replace(best, unit=unit, scaled=scaled, bare=bare)
    return FoundFormat(best, other and replace(other, unit=unit, scaled=scaled, bare=bare))


EITHER = ".,"  #: Points before decimals in some cells, commas in others.


def _either_decimal(numbers: Sequence[tuple[WrittenNumber, int]], told: bool) -> bool:
    """Whether cells have a point or a comma before decimals, each of them in some.

    Surely before decimals is a mark that no three digits follow, or that follows a 0, in one of ten
    cells with that mark. Where that is `told`, three digits may follow in all.
    """
    marked = Counter[tuple[str, bool]]()
    for cell, count in numbers:
        marks = [c for c in cell.body if c in SEPARATORS]
        if len(marks) > 1 or {*marks} - {*EITHER}:
            return False
        if marks:
            whole, _, after = cell.body.partition(marks[0])
            marked[marks[0], len(after) != 3 or not whole.strip("0") or len(whole) > 3] += count
    sure = (ONE_STRAY_IN * marked[m, True] >= marked[m, True] + marked[m, False] for m in EITHER)
    there = all(marked[m, True] + (told and marked[m, False]) for m in EITHER)
    return there and (told or all(sure))


def _no_thousands(written: NumberFormat, bodies: Sequence[str]) -> bool:
    """Whether 6,210 stands beside numbers such as 6.210, all of which are far below 6210."""
    others = [body for body in bodies if written.thousands not in body]
    marked = [body for body in {*bodies}.difference(others) if written.decimal not in body]
    places = [len(body.partition(written.decimal)[2]) for body in others]
    if not marked or 2 * places.count(3) <= len(bodies):
        return False
    most = max(written._value(body) or 0.0 for body in others)
    values = [written._value(body) or 0.0 for body in marked]
    return 10 * most < min(values) and max(values) < 10 * 1000 * most


def _percent(
    unit: str, numbers: Sequence[tuple[WrittenNumber, int]], written: NumberFormat
) -> tuple[str, float]:
    """The unit, percent where many cells are, and how many percent 1 is in the other cells.

    Where all of these are at most 1, and half of the cells with a sign are above, they are shares;
    where they are among those with a sign, they are percent. Else nothing tells.
    """
    signed = [(cell, n) for cell, n in numbers if cell.unit and related(cell.unit, "%")]
    alone = [(cell, n) for cell, n in numbers if not cell.unit]
    few = min(sum(n for _, n in each) for each in (signed, alone))
    if few * ONE_STRAY_IN <= sum(n for _, n in numbers):
        return unit, 0.0
    there, bare = (
        np.array([c.sign * (written._value(c.body) or 0.0) for c, _ in each])
        for each in (signed, alone)
    )
    there = np.array([converted(v, c.unit, "%") for v, (c, _) in zip(there, signed, strict=True)])
    if np.abs(bare).max() <= 1 < np.median(np.abs(there)):
        return "%", 100.0
    near = np.abs(bare - (there.min() + there.max()) / 2) <= 1.5 * np.ptp(there)
    return ("%", 1.0) if near.all() and np.abs(bare).max() > 1 else (unit, 0.0)


def _scaled(numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether letters such as M multiply, and are no codes such as 2B beside 02.

    They do where a number with such a letter has decimals or is money, where all have one, and
    where a word says it.
    """
    scaled = [cell for cell, _ in numbers if cell.scale != 1]
    telling = any(c.word or set(c.body) & set(".,") or is_money(c.unit) for c in scaled)
    return telling or (bool(scaled) and len({cell.scale for cell, _ in numbers}) == 1)


def _unit(numbers: Sequence[tuple[WrittenNumber, int]]) -> str:
    """The unit that most cells with a unit have; of money it may be some, else most of all.

    Of credits and debits it is that of credits, whose sign is kept; 4dr alone is no -4.
    """
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare = units.pop("", 0)
    if not units:
        return ""
    unit = max(units, key=lambda one: units[one])
    count = sum(n for other, n in units.items() if related(other, unit))
    unit = of_credits([*units], unit)
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
