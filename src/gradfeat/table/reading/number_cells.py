"""Numbers written as text, taken apart: sign, digits with separators, unit, factor and note."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import decimal, numeric

from gradfeat.table.reading.units import (
    FACTOR,
    FACTORS,
    FACTORS_OF_MONEY,
    MEASURE,
    MONEY,
    PER,
    SIGNS,
    TIMES,
    of_two_numbers,
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
_FORTRAN = re.compile(r"(?<=\d)(?:[dD]|\s[eE])(?=[-+]\d{1,3}$)", re.ASCII)
_FRACTION = re.compile(r"([-+]?)(?:(\d+)[ -])?(\d{1,2})/(2|3|4|8|16|32|64)", re.ASCII)

_WORDS = """
? ?? ??? - -- --- \u2013 \u2014 . .. ... * ** # n/a na n.a. n.a #n/a n/d nd n.d. nan null nil none
unknown unk missing undefined tbd tba #ref! #value! #div/0! #num! #name? #null! <na> nat
inf -inf +inf infinity -infinity +infinity
not_available not_applicable not_reported not_recorded no_data not_stated not_given
: (blank) (missing) (empty) keine_angabe k.a. k._a. unbekannt inconnu sin_datos s/d
bdl bql blq lod <lod <loq <dl <mdl
"""

#: The note of 3/4, which is taken as .75.
FRACTION = "fraction"

#: Cells that say in a word that there is no number.
MARKERS = frozenset(word.replace("_", " ") for word in _WORDS.split())
_RUN = re.compile(r"([-.*?_#~=])\1{2,}")  # of one sign, as *****, where a number had no room

#: What stands behind one number alone and more, as 90+; and letters of statistical offices.
LONE_FLAGS = frozenset("+sdᵃᵇᶜ")
#: Letters behind results of laboratories, too: high, low, below a limit, estimated.
FLAGS = LONE_FLAGS.union(["H", "L", "HH", "LL", "U", "J", "UJ"])

#: What says of a number that it is about so much, a limit, or has a note.
_MARKED = (
    r"(?:(?i:ca|c|circa|approx|about|est|under|over|above|below|up to|at (?:least|most)"
    r"|(?:more|less|fewer|greater) than)\b\.?|[<>]=?)\s*"
)
#: Of statistical offices: estimated, provisional, ...; alone, s and d may be seconds and days.
_FLAG = r"\s(?P<flag>[bepruz]|(?!bp)[bdeprsuz]{2})(?!\w)"
#: A longer text in brackets, as (95 % CI 96.7 to 102.7), may be a sentence of its own.
_NOTE = (
    r"\s*[*†‡§¶]+|\s?\[[^\[\]]{1,40}\]|\s?\([^()]{1,40}\)|\s?±\s?[\d.,]+"
    r"|\s?(?i:or|and|&) (?i:more|less|fewer|over|under|above|below|older|younger|up|higher|lower)"
)
#: Negative amounts of accounts with the unit outside: $(1,200), (3.5)%.
_ACCOUNT = re.compile(rf"({SIGNS}|{MONEY})?\s?\(([^()]+)\)\s?({SIGNS})?")
_CELL = re.compile(
    rf"(?P<mark>{_MARKED})?(?P<open>\()?\s*~?\s*(?P<sign>[+-])?\s*(?P<before>{SIGNS}|{MONEY})?"
    rf"\s*(?P<inner>[+-])?\s*(?P<body>[\d.,][\d.,'_ ]*?(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<scale>{FACTOR}|(?(before)(?:{'|'.join(FACTORS_OF_MONEY)})|(?!)))"
    rf"(?:(?<=[千천万萬만亿億억])|(?![^\W_])))?"
    rf"(?P<trailing>-)?(?:{_FLAG})?\s*(?P<plus>\+)?\s*(?P<after>{SIGNS}|{MEASURE})?(?:{PER})?"
    rf"\s*(?P<close>\))?"
    rf"(?P<note>{_NOTE})?"
)


def is_marker(text: str) -> bool:
    """Whether a cell says in a word or a sign that there is no number.

    >>> is_marker("N/A"), is_marker("*****"), is_marker("no")
    (True, True, False)
    """
    return text.casefold() in MARKERS or _RUN.fullmatch(text) is not None


def spelt_plainly(text: str) -> str:
    """The text of a number in digits, signs and points of ASCII, fractions as decimals.

    >>> [spelt_plainly(text) for text in ("−1٫5", "1.2×10⁴", "3 1/2", "2½", "'1.5'", "8.7D+01")]
    ['-1.5', '1.2e4', '3.5', '2.5', '1.5', '8.7e+01']
    """
    if not text.isascii():
        text = "".join(str(decimal(c)) if c.isdecimal() else c for c in text.translate(SPELT))
        if numeric(text[-1], 0) % 1 and (text[:-1].strip() or "0").isdigit():
            text = f"{int(text[:-1] or 0) + numeric(text[-1]):.10g}"
    text = text.replace("+/-", "±").replace("+-", "±")
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
    units = [u for u in (m["before"], m["after"]) if u] or [u for u in [m["plus"]] if u]
    if trailing and not set(body) & set(".,"):  # 2- may be a grade
        return None
    if len(signs) + (m["open"] is not None) > 1 or len(units) > 1 or _is_code(m, body):
        return None
    if m["per"] and not units and (len(m["per"]) < 3 or m["per"].casefold() not in TIMES):
        return None
    sign = -1.0 if m["open"] is not None or signs == ["-"] else 1.0
    with_plus = ["plus"] * (units != ["+"])
    note = " ".join(m[part].strip() for part in ("mark", "flag", "note", *with_plus) if m[part])
    note = FRACTION if "/" in cell and "/" not in plain else note
    scale, word = FACTORS.get(m["scale"], 1.0), m["scale"] or ""
    unit = unit_words(units[0] if units else "", m["per"])
    return WrittenNumber(sign, unit, body, scale, note, len(word) > 1 or not word.isascii())


def _is_code(m: re.Match[str], body: str) -> bool:
    """Whether letters follow the digits of a code, as in 01B."""
    joined = m["scale"] or (m["after"] and m.end("body") == m.start("after") and m["after"][0])
    return bool(joined) and joined.isalpha() and body[:1] == "0" and body[1:2].isdigit()
