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

#: What ASCII has signs for.
SPELT = str.maketrans({"−": "-", "﹣": "-", "－": "-", "–": "-", "‑": "-", "’": "'", "′": "'",
                        "″": '"', "“": '"', "”": '"', "．": ".", "·": ".", "，": ",", "٫": ".",
                        "٬": ",", "×": "x", "º": "°", "˚": "°", "≤": "<", "≥": ">", "≈": "~",
                        "⁄": "/"})  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
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

#: The unit of heights such as 5'11".
FEET = "ft in"

#: Cells that say in a word or a sign that there is no number.
MARKERS = frozenset(word.replace("_", " ") for word in _WORDS.split())

_UNITS = (
    r"(?:US|A|C|HK|NZ|R)?\$|[€£¥฿₠-₿﷼%]"
    "|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|NZD|CNY|SEK|NOK|DKK|PLN|BRL"
)
#: Words for money that stand before an amount.
_MONEY = r"(?:kr|Rs|RM|S?Fr|Kč|Ft|zł)\b\.?"
#: Any word, a measure if most cells of the column have it; what ends times is none.
_WORD = r"(?!(?i:[ap]m|days?|min|sec|uhr)\b)°?[^\W\d_]{1,12}(?:/[^\W\d_]{1,5})?(?:[²³]|\^?[23])?"
#: A measure of several words, such as sq. ft., fl oz or miles per hour; of so many; a sign.
_MEASURE = (
    rf"(?:(?i:sq|square|cu|cubic|fl|nautical|metric)\b\.?\s?)?{_WORD}\.?"
    r"|(?:/|(?:out )?of)\s?\d+|:1|[‰°]"
)
#: What an amount is for, as in $450/mo.
_PER = r"\s*(?:/|per\s)\s*(?P<per>[^\W\d_]{1,8})\.?"
#: Words and letters for powers of ten behind digits, as in $110.5M.
_SCALES = {word: float(power) for power, words in {
    "1e3": "k K Tsd. thousand Thousand", "1e5": "lakh Lakh lakhs Lakhs lac Lac",
    "1e6": "M mn Mio Mio. million Million", "1e7": "crore Crore crores Crores",
    "1e9": "B bn Mrd Mrd. billion Billion"}.items() for word in words.split()}  # fmt: skip
_SCALE = "|".join(re.escape(word) for word in sorted(_SCALES, key=len, reverse=True))
#: Such letters behind money alone: 5 m are metres, and 12.50 Cr are a credit.
_SCALES |= (_SCALES_OF_MONEY := {"m": 1e6, "Cr": 1e7})
#: What says of a number that it is about so much, a limit, or has a note.
_MARKED = r"(?:(?i:ca|c|circa|approx|about|est)\b\.?|[<>]=?)\s*"
_FLAG = r"\s(?P<flag>[bdeprsuz]{1,2})(?!\w)"  # of statistical offices: estimated, provisional, ...
_NOTE = r"\s*[*†‡§]+|\s?\[[^\[\]]{1,8}\]|\s?\([^()]{1,12}\)|\s?±\s?[\d.,]+"
#: Negative amounts of accounts with the unit outside: $(1,200), (3.5)%.
_ACCOUNT = re.compile(rf"({_UNITS}|{_MONEY})?\s?\(([^()]+)\)\s?({_UNITS})?")
_CELL = re.compile(
    rf"(?P<mark>{_MARKED})?(?P<open>\()?\s*~?\s*(?P<sign>[+-])?\s*(?P<before>{_UNITS}|{_MONEY})?"
    rf"\s*(?P<inner>[+-])?\s*(?P<body>[\d.,][\d.,'_ ]*?(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<scale>{_SCALE}|(?(before)(?:{'|'.join(_SCALES_OF_MONEY)})|(?!)))(?![^\W_]))?"
    rf"(?P<trailing>-)?(?:{_FLAG})?\s*(?P<after>{_UNITS}|\+|{_MEASURE})?(?:{_PER})?\s*(?P<close>\))?"
    rf"(?P<note>{_NOTE})?"
)
#: Measures of two numbers, and so many of the second in the first.
_PAIRS = {
    FEET: (12, r"(?P<one>\d{1,3})\s?(?:'|ft\.?|feet)\s?(?P<two>\d{1,2})\s?(?:\"|''|in\.?|inches)?"),
    "lb oz": (16, r"(?P<one>\d{1,3})\s?lbs?\.?\s?(?P<two>\d{1,2})\s?oz\.?"),
}
_DEGREES = re.compile(
    r"([+-]?)(\d{1,3}(?:\.\d+)?)°\s?(?:(\d{1,2})'\s?(?:(\d{1,2}(?:\.\d+)?)(?:\"|''))?\s?)?([NSEW])?",
    re.ASCII,
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
    if text[:1] in "'\"" and (quoted := _QUOTED.fullmatch(text)):
        text = quoted[1] or quoted[2]
    text = _FORTRAN.sub("e", text)
    if "10" in text:
        text = _POWER.sub(lambda m: f"e{(m[1] or m[2]).translate(_SUPERSCRIPTS)}", text)
    if "/" in text and (m := _FRACTION.fullmatch(text)) and int(m[3]) < int(m[4]):
        return f"{m[1]}{int(m[2] or 0) + int(m[3]) / int(m[4]):.10g}"
    return text


def _sizes() -> dict[str, tuple[int, float]]:
    """For each measure of a kind its kind and its size."""
    kinds = (
        "mg .001 g 1 gm 1 gram 1 kg 1000 t 1e6 lb 453.59237 oz 28.349523125",
        "mm .001 cm .01 m 1 km 1000 mile 1609.344 mi 1609.344 ft .3048 inch .0254",
        "b 1 kb 1e3 mb 1e6 gb 1e9 tb 1e12 kib 1024 mib 1048576 gib 1073741824 tib 1099511627776",
        "sqft 1 ft² 1 m² 10.763910417 sqm 10.763910417 acre 43560 ha 107639.10417", "cr 1 dr -1",
        "ml .001 cl .01 l 1", "hz 1 khz 1e3 mhz 1e6 ghz 1e9", "ad 1 ce 1 bc -1 bce -1",
    )  # fmt: skip
    pairs = [(k, kind.split()) for k, kind in enumerate(kinds)]
    return {w: (k, float(s)) for k, ws in pairs for w, s in zip(ws[::2], ws[1::2], strict=True)}


_SIZES = _sizes()


def _relative(unit: str, to: str) -> float:
    """One unit in units of another of its kind; nan where it is of another kind."""
    one, other = (_SIZES.get(each.casefold().replace(" ", "")) for each in (unit, to))
    if one and other and one[0] == other[0]:
        return one[1] / other[1]
    return 1.0 if unit == to else np.nan


@dataclass(frozen=True)
class WrittenNumber:
    """A cell taken apart: sign, unit ("" for none), digits with separators, power of ten.

    `note`: what stands beside the number and is left out.
    """

    sign: float
    unit: str
    body: str
    scale: float = 1.0
    note: str = ""


@lru_cache(1 << 14)  # from its format to its values a column is taken apart several times
def taken_apart(cell: str) -> WrittenNumber | None:
    """A cell that may be a number; None for any other.

    >>> taken_apart("($1,200)"), taken_apart("12x5")
    (WrittenNumber(sign=-1.0, unit='$', body='1,200', scale=1.0, note=''), None)
    >>> taken_apart("$(5)").sign, taken_apart("£5m").scale, taken_apart("5 m").unit
    (-1.0, 1000000.0, 'm')
    >>> taken_apart("1,991 sq. ft.").unit, taken_apart("$450/mo").unit, taken_apart("<5*").note
    ('sq ft', '$ per mo', '< *')
    """
    plain = spelt_plainly(cell)
    if special := _pair(plain) or _degrees(plain):
        return special
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
    if m["per"] and not units:
        return None
    sign = -1.0 if m["open"] is not None or signs == ["-"] else 1.0
    note = " ".join(m[part].strip() for part in ("mark", "flag", "note") if m[part])
    note = FRACTION if "/" in cell and "/" not in plain else note
    scale = _SCALES.get(m["scale"] or "", 1.0)
    return WrittenNumber(sign, _unit_words(units, m["per"]), body, scale, note)


def _pair(plain: str) -> WrittenNumber | None:
    """Of feet and inches, and the like: in the smaller of the two."""
    for unit, (many, pattern) in _PAIRS.items():
        if (m := re.fullmatch(pattern, plain, re.ASCII)) and int(m["two"]) < many:
            return WrittenNumber(1.0, unit, str(many * int(m["one"]) + int(m["two"])))
    return None


def _degrees(plain: str) -> WrittenNumber | None:
    """Of degrees, minutes and seconds: in degrees, those south and west below 0."""
    m = _DEGREES.fullmatch(plain)
    if m is None or float(m[3] or 0) >= 60 or float(m[4] or 0) >= 60:
        return None
    value = float(m[2]) + float(m[3] or 0) / 60 + float(m[4] or 0) / 3600
    side, beyond = m[5] or "", m[5] in ("S", "W")
    sign = -1.0 if (m[1] == "-") != beyond else 1.0
    return WrittenNumber(sign, f"°{'NE'['SW'.index(side)] if beyond else side}", f"{value:.10g}")


def _is_code(m: re.Match[str], body: str) -> bool:
    """Whether letters follow the digits of a code, as in 01B."""
    joined = m["scale"] or (m["after"] and m.end("body") == m.start("after") and m["after"][0])
    return bool(joined) and joined.isalpha() and body[:1] == "0" and body[1:2].isdigit()


def _unit_words(units: Sequence[str], per: str | None) -> str:
    """A unit in the singular, without points, and what it is of."""
    unit = units[0].replace(".", "") if units else ""
    if unit in ("st", "nd", "rd", "th"):
        return "th"
    unit = re.sub(r"^°\s", "°", unit)
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

    def stored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers that are stored as such: of percent only 0 is sure, as in text without a sign."""
        return np.where(values != 0, np.nan, values) if self.unit in _PARTS else values

    def _number(self, text: str) -> float:
        cell = taken_apart(text)
        if cell is None or not self._has_unit(cell) or (cell.scale != 1 and not self.scaled):
            return np.nan
        value = self._value(cell.body)
        if value is None:
            others = {v for v in (f._value(cell.body) for f in FORMATS) if v is not None}
            value = others.pop() if len(others) == 1 else np.nan
        value *= cell.sign * cell.scale / _PARTS.get(self.unit, 1)
        value *= _relative(cell.unit, self.unit) if cell.unit else 1.0
        return np.copysign(np.inf, value) if abs(value) > LARGEST else value

    def _has_unit(self, cell: WrittenNumber) -> bool:
        if cell.unit:
            return not np.isnan(_relative(cell.unit, self.unit))
        return self.unit not in _PARTS or not cell.body.strip("0.,")

    def _value(self, body: str) -> float | None:
        if not self.follows(body):
            return None
        if self.thousands:
            body = body.replace(self.thousands, "")
        return float(body.replace(self.decimal, "."))

    def follows(self, body: str) -> bool:
        """Whether digits with separators are written so: 7,265E4 has no thousands, as it has E."""
        grouped = self.thousands and self.thousands in body and "e" in body.lower()
        return not grouped and bool(_pattern(self.thousands, self.decimal).fullmatch(body))

    @property
    def words(self) -> str:
        """How numbers are written, in words; empty for plain ones."""
        said = [_UNIT_NAMES.get(self.unit.casefold(), f"with {self.unit}")] if self.unit else []
        if self.thousands:
            said.append(f"with {self.thousands.replace(' ', 'a blank')} between thousands")
        if self.decimal == ",":
            said.append("with , before decimals")
        if self.scaled:
            said.append("K, M and B as powers of ten")
        return ", ".join(said)


_PARTS = {"%": 100.0, "‰": 1000.0}
_UNIT_NAMES = {
    "%": "percent as hundredths", "‰": "per mille as thousandths",
    FEET: "feet and inches as inches", "lb oz": "pounds and ounces as ounces",
    "th": "as places (1st, 2nd)", "cr": "with CR, and DR below 0",
}  # fmt: skip

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
    """The unit that most cells with a unit have; of money it may be some, else most of all.

    Of credits and debits it is that of credits, whose sign is kept; 4dr alone is no -4.
    """
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare = units.pop("", 0)
    unit, _ = max(units.items(), key=lambda item: item[1], default=("", 0))
    count = sum(n for other, n in units.items() if not np.isnan(_relative(other, unit)))
    credit = (one for one in units if _relative(one, unit) < 0 < _SIZES[one.casefold()][1])
    unit = next(credit, unit)
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
