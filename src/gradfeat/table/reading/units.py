"""Units of numbers: how they are written, and one in another of its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: The unit of heights such as 5'11".
FEET = "ft in"
#: And of 2000/01.
SEASON = "yyyy/yy"

#: Words and letters behind digits that multiply them, as in $110.5M, in many languages.
FACTORS = {word.replace("_", " "): float(factor) for factor, words in {
    "1e3": "k K Tsd. thousand Thousand thousands mille milliers mila tys. tys тыс. тыс тысяч 千 천",
    "1e4": "万 萬 만", "1e5": "lakh Lakh lakhs Lakhs lac Lac लाख",
    "1e6": "M mn Mio Mio. million Million millions Millionen millones milhões milioni mln mln. млн "
           "млн. 百万 百萬 백만 مليون",
    "1e7": "crore Crore crores Crores 千万 千萬 천만", "1e8": "亿 億 억",
    "1e9": "B bn bln Mrd Mrd. billion Billion billions Milliarde Milliarden milliard milliards mld "
           "mld. miliardi mil_millones млрд млрд.",
    "1e12": "tn trillion Trillion trillions", "12": "dozen Dozen dozens doz doz. dz dz. Dutzend",
}.items() for word in words.split()}  # fmt: skip
FACTOR = "|".join(re.escape(word) for word in sorted(FACTORS, key=len, reverse=True))
#: Such letters behind money alone: 5 m are metres, 5 L litres, and 12.50 Cr are a credit.
FACTORS |= (FACTORS_OF_MONEY := {"m": 1e6, "MM": 1e6, "L": 1e5, "Cr": 1e7})
#: Currencies and percent, which may stand before a number.
SIGNS = (
    r"(?:US|A|C|HK|NZ|R)?\$|T ?€|T ?EUR|[€£¥฿₠-₿﷼%]"
    "|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|NZD|CNY|SEK|NOK|DKK|PLN|BRL|HKD|SGD|KRW|MXN|ZAR|CZK|HUF|RUB"
)
#: Words for money that stand before an amount.
MONEY = r"(?:kr|Rs|RM|S?Fr|Kč|Ft|zł)\b\.?"
#: Any word, a measure if most cells of the column have it; what ends times is none.
_WORD = r"(?!(?i:[ap]m|days?|min|sec|uhr)\b)°?[^\W\d_]{1,12}(?:/[^\W\d_]{1,5})?(?:[²³]|\^?[23])?"
#: A measure of several words, such as sq. ft., fl oz or miles per hour; of so many; a sign.
MEASURE = (
    r"(?i:per|pour|por|pro)\s(?i:cent|ciento|mille)|"
    rf"(?:(?i:sq|square|cu|cubic|fl|nautical|metric)\b\.?\s?)?{_WORD}\.?"
    r"|(?:/(?!(?:19|20)\d\d)|(?:out )?of)\s?\d+(?: stars?)?|:1|[‰°¢]"
)
#: What an amount is for, as in $450/mo.
PER = r"\s*(?:/|per\s)\s*(?P<per>[^\W\d_]{1,8})\.?"

#: What a number with such a unit is divided by; and words for these units.
PARTS = {"%": 100.0, "‰": 1000.0}
_PERCENT = {
    word: sign
    for sign, words in {
        "%": "percent pct prozent procent pourcent porciento procento",
        "‰": "permille promille pourmille",
    }.items()
    for word in words.split()
}
_NAMES = {
    "%": "percent as hundredths", "‰": "per mille as thousandths",
    FEET: "feet and inches as inches", "lb oz": "pounds and ounces as ounces",
    "st lb": "stones and pounds as pounds",
    "th": "as places (1st, 2nd)", "cr": "with CR, and DR below 0",
    "'": "with ' as feet or minutes", SEASON: "seasons as the years in which they begin",
}  # fmt: skip

#: Measures of two numbers, and so many of the second in the first.
_PAIRS = {
    FEET: (12, r"(?P<one>\d{1,3})\s?(?:'|ft\.?|feet)\s?(?P<two>\d{1,2})\s?(?:\"|''|in\.?|inches)?"),
    "lb oz": (16, r"(?P<one>\d{1,3})\s?lbs?\.?\s?(?P<two>\d{1,2})\s?oz\.?"),
    "st lb": (14, r"(?P<one>\d{1,2})\s?st\.?\s?(?P<two>\d{1,2})\s?lbs?\.?"),
}
_OF_DEGREES = re.compile(
    r"(?P<side>[NSEW] ?)?([+-]?)(\d{1,3}(?:\.\d+)?)°\s?(?:(\d{1,2}(?:\.\d+)?)'\s?"
    r"(?:(\d{1,2}(?:\.\d+)?)(?:\"|''))?\s?)?(?(side)|([NSEW]))?",
    re.ASCII,
)
#: Minutes of a match, with those of stoppage time: 72', 45'+2, 90+3'.
_OF_MATCH = re.compile(r"(\d{1,3})'|(\d{1,3})'?\s?\+\s?(\d{1,2})'|(\d{1,3})'\s?\+\s?(\d{1,2})")
_SEASON = re.compile(r"(\d{4})[/-](\d\d)", re.ASCII)

_PREFIXES = {
    "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 0.1, "h": 100.0, "k": 1e3,
    "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip

#: A kind a line: units with their sizes where these are not 1, before : the prefixes that are used.
#: From °F to °C is a shift, too.
_KINDS = (
    "nµumk:g gm gram mcg=1e-6 t=1e6 lb=453.59237 oz=28.349523125 lboz=28.349523125 stlb=453.59237",
    "nµumcdk:m mile=1609.344 mi=1609.344 ft=.3048 '=.3048 inch=.0254 in=.0254 "
    "ftin=.0254 yd=.9144 nmi=1852",
    "kMGT:b kib=1024 mib=1048576 gib=1073741824 tib=1099511627776",
    "sqft ft² m²=10.763910417 sqm=10.763910417 acre=43560 ha=107639.10417",
    "µumcdh:l gal=3.785411784 m³=1000 m3=1000",
    "kMGT:hz",
    "nµm:s",
    "nµumkMG:W hp=745.7",
    "mkMG:J kMGT:Wh=3600 k:cal=4.184",
    "nµumk:V",
    "nµumk:A",
    "hkMG:Pa mµ:bar=1e5 psi=6894.757 mmhg=133.322 atm=101325",
    "nµum:mol",
    "mkM:Ω",
    "km/h kmh kph mph=1.609344 m/s=3.6",
    "°C degC °F=.5555555555555556 degF=.5555555555555556",
    "% ‰=.1 bp=.01",
    "ppm ppb=1e-3 ppt=1e-6",
    "y yr year yo mo=.08333333333333333 month=.08333333333333333",
    "ka kyr Ma=1e3 Myr=1e3 Ga=1e6 Gyr=1e6",
    "cr dr=-1",
    "ad ce bc=-1 bce=-1",
)
#: Names of one currency a line.
_CURRENCIES = (
    "€ eur euro t€=1e3 teur=1e3", "$ usd us$ dollar ¢=.01 cent=.01", "£ gbp p=.01 pence=.01",
    "¥ jpy yen", "₹ inr rs rupee", "a$ aud", "c$ cad",
    "hk$ hkd", "nz$ nzd", "r$ brl", "chf fr sfr", "zł pln", "kč czk", "₩ krw", "₽ rub руб",
    "₺ tl", "₪ ils nis", "฿ thb", "₴ uah",
)  # fmt: skip
_SHIFTS = {"°F": -32.0, "degF": -32.0}
_FIRST_CURRENCY = len(_KINDS)

#: How often a time comes in a year, in amounts such as $450/mo; the kind of numbers without a unit;
#: what is added to the kind of an amount for its rates, and what multiplies it for quotients.
TIMES = {
    word: times
    for times, words in {
        8766.0: "hour hr h", 365.25: "day d", 365.25 / 7: "week wk w", 12.0: "month mo mth",
        4.0: "quarter", 1.0: "year yr y annum",
    }.items()
    for word in words.split()
}  # fmt: skip
_NUMBERS, _RATES, _OF_TWO = -1, 1000, 10_000

#: Letters behind numbers that are below 0 where the other stands too: sides of the equator and of
#: Greenwich, and of accounts the debit beside the credit (Soll, Haben).
_SIDES = (("S", "N"), ("W", "E"), ("S", "H"))

#: Kind, size, and what is added before.
_Size = tuple[int, float, float]


def _sizes() -> dict[str, _Size]:
    """For each unit its kind, its size and its shift."""
    found: dict[str, _Size] = {}
    for k, kind in enumerate((*_KINDS, *_CURRENCIES)):
        for word in kind.split():
            prefixes, _, name = word.rpartition(":")
            name, _, size = name.partition("=")
            for prefix, times in {"": 1.0, **{p: _PREFIXES[p] for p in prefixes}}.items():
                found[prefix + name] = (k, times * float(size or 1), _SHIFTS.get(name, 0.0))
    return found


def _folded(sizes: dict[str, _Size]) -> dict[str, _Size]:
    """The same in small letters, without what has two sizes then: mW and MW."""
    found: dict[str, set[_Size]] = {}
    for name, size in sizes.items():
        found.setdefault(name.casefold(), set()).add(size)
    return {name: each.pop() for name, each in found.items() if len(each) == 1}


_SIZES = _sizes()
_FOLDED = _folded(_SIZES)


def _size(unit: str) -> _Size | None:
    amount, per, time = unit.rpartition("per ")
    if per and (times := TIMES.get(time.casefold())):
        kind, size, _ = (_size(amount) if amount else None) or (_NUMBERS, 1.0, 0.0)
        return None if amount and kind == _NUMBERS else (kind + _RATES, size * times, 0.0)
    name = unit.replace(" ", "")
    found = _SIZES.get(name) or _FOLDED.get(name.casefold())
    over, _, under = name.partition("/")
    if found or not under:
        return found
    one, other = _size(over), _size(under)  # mg/dL is a mass in a volume
    kind = one and other and (one[0] + 1) * _OF_TWO + other[0]
    return (kind, one[1] / other[1], 0.0) if kind and one and other else None


def _opposite(unit: str, to: str) -> bool:
    return (unit, to) in _SIDES or (to, unit) in _SIDES


def related(unit: str, to: str) -> bool:
    """Whether two units are of a kind.

    >>> related("kWh", "Wh"), related("€", "EUR"), related("kg", "m")
    (True, True, False)
    """
    one, other = _size(unit), _size(to)
    return unit == to or _opposite(unit, to) or bool(one and other and one[0] == other[0])


def converted(value: float, unit: str, to: str) -> float:
    """A number of one unit in another of its kind.

    >>> converted(2.0, "MW", "kW"), converted(50.0, "bp", "%"), round(converted(68, "°F", "°C"), 9)
    (2000.0, 0.5, 20.0)
    """
    one, other = _size(unit), _size(to)
    if _opposite(unit, to):
        return -value
    if unit == to or one is None or other is None:
        return value
    return (value + one[2]) * (one[1] / other[1]) - other[2]


def of_credits(units: Sequence[str], unit: str) -> str:
    """The unit, or of debits that of credits, whose sign is kept, as it is north and east."""
    for below, above in _SIDES:
        if unit == below and above in units:
            return above
    others = [one for one in units if related(one, unit)]
    return next((one for one in others if (s := _size(one)) and s[1] > 0 > _signed(unit)), unit)


def _signed(unit: str) -> float:
    size = _size(unit)
    return size[1] if size else 1.0


def is_money(unit: str) -> bool:
    """Whether a unit is a currency."""
    size = _size(unit)
    sign = unit not in ("", "%") and re.fullmatch(SIGNS, unit) is not None
    return sign or (size is not None and _FIRST_CURRENCY <= size[0] < _RATES)


def unit_words(unit: str, per: str | None) -> str:
    """A unit ("" for none) in the singular, without points, and what it is of.

    >>> unit_words("sq. ft.", None), unit_words("per cent", None), unit_words("$", "mo")
    ('sq ft', '%', '$ per mo')
    """
    unit = unit.replace(".", "")
    if unit in ("st", "nd", "rd", "th"):
        return "th"
    unit = re.sub(r"^°\s", "°", unit)
    one = unit[:-1] if len(unit) > 2 and unit.endswith("s") and unit[-2] != "/" else unit
    one = _PERCENT.get("".join(one.split()).casefold(), one)
    return f"{one} per {per}".strip() if per else one


def name_of(unit: str) -> str:
    """How numbers with a unit are read, in words."""
    return _NAMES.get(unit.casefold(), f"with {unit}")


def of_two_numbers(plain: str) -> tuple[float, str, str] | None:
    """Sign, unit and digits of a measure of several numbers; None for any other cell.

    In the smaller of feet and inches, and the like; in degrees, those south and west below 0; of
    2000/01 the first year; of 45'+2 the sum.

    >>> of_two_numbers("5'11"), of_two_numbers("51°30'S"), of_two_numbers("2000/01")
    ((1.0, 'ft in', '71'), (-1.0, '°N', '51.5'), (1.0, 'yyyy/yy', '2000'))
    """
    if (m := _SEASON.fullmatch(plain)) and (int(m[1]) + 1) % 100 == int(m[2]):
        return 1.0, SEASON, m[1]
    if m := _OF_MATCH.fullmatch(plain):
        return 1.0, "'", str(sum(int(minutes) for minutes in m.groups() if minutes))
    for unit, (many, pattern) in _PAIRS.items():
        if (m := re.fullmatch(pattern, plain, re.ASCII)) and int(m["two"]) < many:
            return 1.0, unit, str(many * int(m["one"]) + int(m["two"]))
    m = _OF_DEGREES.fullmatch(plain)
    if m is None or float(m[4] or 0) >= 60 or float(m[5] or 0) >= 60:
        return None
    value = float(m[3]) + float(m[4] or 0) / 60 + float(m[5] or 0) / 3600
    side = (m[1] or m[6] or "").strip()
    beyond = side in ("S", "W")
    sign = -1.0 if (m[2] == "-") != beyond else 1.0
    return sign, f"°{'NE'['SW'.index(side)] if beyond else side}", f"{value:.10g}"
