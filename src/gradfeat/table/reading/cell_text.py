"""Cells as text, without what only their writing added."""

from __future__ import annotations

import re
from unicodedata import decimal, normalize, numeric

#: Characters that nobody sees, and blanks of all kinds.
_UNSEEN = dict.fromkeys([0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xAD]) | dict.fromkeys(
    [0xA0, 0x2007, 0x2009, 0x202F], " "
)


def plain_text(text: str) -> str:
    """The text without blanks at its ends, unseen characters, and a spreadsheet's ``="..."``.

    >>> plain_text('="007" '), plain_text("\\ufeffred\\u200b")
    ('007', 'red')
    """
    if not text.isascii():
        text = normalize("NFC", text.translate(_UNSEEN))
    text = text.strip()
    return text[2:-1] if text[:2] == '="' and text[-1] == '"' and len(text) > 3 else text


_SPELT = str.maketrans({"−": "-", "﹣": "-", "－": "-", "–": "-", "‑": "-", "’": "'", "′": "'",
                        "″": '"', "“": '"', "”": '"', "．": ".", "·": ".", "，": ",", "٫": ".",
                        "٬": ",", "×": "x", "º": "°", "˚": "°", "≤": "<", "≥": ">", "≈": "~",
                        "⁄": "/"})  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_QUOTED = re.compile(r"'(?=[-+\d.])([^']*)'?|\"(?=[-+\d.])([^\"]*)\"")
_POWER = re.compile(r"\s?[x*.]\s?10(?:\s?(?:\^|\*\*)\s?([-+]?\d+)|([⁻⁺]?[⁰¹²³⁴-⁹]+))")
_FRACTION = re.compile(r"([-+]?)(?:(\d+)[ -])?(\d{1,2})/(2|3|4|8|16|32|64)", re.ASCII)


def signs_of_ascii(text: str) -> str:
    """The text with the dashes, points and quotes that ASCII has."""
    return text if text.isascii() else text.translate(_SPELT)


def spelt_plainly(text: str) -> str:
    """The text of a number in digits, signs and points of ASCII, fractions as decimals.

    >>> [spelt_plainly(text) for text in ("−1٫5", "1.2×10⁴", "3 1/2", "2½", "'1.5'")]
    ['-1.5', '1.2e4', '3.5', '2.5', '1.5']
    """
    if not text.isascii():
        text = "".join(str(decimal(c)) if c.isdecimal() else c for c in text.translate(_SPELT))
        if numeric(text[-1], 0) % 1 and (text[:-1].strip() or "0").isdigit():
            text = f"{int(text[:-1] or 0) + numeric(text[-1]):.10g}"
    if text[:1] in "'\"" and (quoted := _QUOTED.fullmatch(text)):
        text = quoted[1] or quoted[2]
    if "10" in text:
        text = _POWER.sub(lambda m: f"e{(m[1] or m[2]).translate(_SUPERSCRIPTS)}", text)
    if "/" in text and (m := _FRACTION.fullmatch(text)) and int(m[3]) < int(m[4]):
        return f"{m[1]}{int(m[2] or 0) + int(m[3]) / int(m[4]):.10g}"
    return text
