"""What is said is made of this: names, counts and numbers, written one way everywhere."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .errors import SourceError, TableError
from .maths.limits import slices

if TYPE_CHECKING:
    from rich.table import Table

#: A number that is none.
MISSING = "–"

#: Words that say in any text, of whatever format, that a value is missing: those of pandas.
MISSING_WORDS = frozenset({
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip

#: Words for no (0) and yes (1), in lower case.
_NO = ("no", "n", "false", "f", "0", "off", "nein", "non", "nej")
_YES = ("yes", "y", "true", "t", "1", "on", "ja", "oui", "si", "sí", "j")
TRUTH_WORDS = dict.fromkeys(_NO, 0.0) | dict.fromkeys(_YES, 1.0)


def listing(names: Iterable[object], most: int = 5) -> str:
    """The names quoted and joined, the first `most` of them and the number left out."""
    quoted = [repr(name) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")


def near_names(name: str, names: Iterable[str]) -> str:
    """The end of a sentence: ``"; did you mean 'a' or 'b'?"``, or ``"."`` where none is close."""
    by_lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    if not close:
        return "."
    return "; did you mean " + " or ".join(repr(by_lower[key]) for key in close) + "?"


def in_another_case(texts: Iterable[str]) -> list[str]:
    """Those that another one differs from in case alone."""
    texts = list(texts)
    found = Counter(text.casefold() for text in texts)
    return [text for text in texts if found[text.casefold()] > 1]


def as_there(name: str, names: Iterable[str]) -> str:
    """The one of the names that a name is, but for blanks around it; else the name itself.

    >>> as_there("age ", ["age", "y"]), as_there("y", [" y", "y "])
    ('age', 'y')
    """
    alike = [other for other in names if other.strip() == name.strip()]
    return alike[0] if len(alike) == 1 else name


def refuse_repeated(where: str, names: Iterable[str]) -> None:
    names = list(names)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise SourceError(
            f"{where} has more than one column named {listing(twice)}: "
            "give each column its own name."
        )


def refuse_unknown(where: str, wanted: Iterable[str], names: Iterable[str]) -> None:
    names = list(names)
    known = set(names)
    for name in wanted:
        if name not in known:
            raise SourceError(f"{where} has no column {name!r}{near_names(str(name), names)}")


def as_names(asked: Any) -> tuple[str, ...]:
    """A text or number is one name, and not a name a letter; names of columns may be numbers."""
    one = isinstance(asked, str) or not isinstance(asked, Iterable)
    return (str(asked),) if one else tuple(map(str, asked))


def named(given: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The columns that an option names: each a name as it is, or several with commas between.

    A name that is there wins over the names that its commas would make of it; what is no column
    is given back as it was written.

    >>> named(["resp, heart", "a, b"], ["a", "b", "resp, heart"])
    ('resp, heart', 'a', 'b')
    >>> named(["a,resp, heart"], ["a", "resp, heart"])
    ('a', 'resp, heart')
    """
    known = set(names)
    found = [name for text in given for name in _parts(text, known)]
    return tuple(dict.fromkeys(found))


def columns_named(asked: Sequence[str], names: Sequence[str], what: str) -> list[str]:
    """Columns asked for one by one, or with commas between their names; each once.

    A TableError where one is not there, with `what` becomes of it: ``to keep``.
    """
    found = list(named(asked, names))
    for name in found:
        if name not in names:
            raise TableError(f"The table has no column {name!r} {what}{near_names(name, names)}")
    return found


def _parts(text: str, known: set[str]) -> Iterator[str]:
    if text in known:
        yield text
        return
    parts = text.split(",")
    while parts:
        ends = range(len(parts), 0, -1)
        tried = ((end, ",".join(parts[:end]).strip()) for end in ends)
        end, name = next((one for one in tried if one[1] in known), (1, parts[0].strip()))
        parts = parts[end:]
        if name:
            yield name


#: Distinct texts at most that may be codes.
_MOST_CODES = 100


def written_twice(texts: Collection[str]) -> str:
    """Of a few texts a number such as 1.10 that stands there as 1.1 too; "" for none.

    >>> written_twice(["1.1", "1.10", "1.2"]), written_twice(["1.10", "1.20"])
    ('1.10', '')
    """
    known = set(texts) if len(texts) <= _MOST_CODES else set()
    return next((t for t in texts if "." in t[:-2] and t[-1] == "0" and t[:-1] in known), "")


def numbered_on(twice: str, texts: Collection[str], few: int) -> str:
    """1.10 where it may follow 1.9: among few texts, or where that is there; else "".

    39.30 among many temperatures is 39.3.
    """
    head, _, tail = twice.rpartition(".")
    return twice if len(texts) <= few or f"{head}.{int(tail or 0) - 1}" in texts else ""


def first_and_more(name: str, count: int) -> str:
    """The name of the first of several files, and how many more there are."""
    return f"'{name}'" + (f" and {count - 1} more" if count > 1 else "")


def checked_piece_rows(piece_rows: int) -> int:
    if type(piece_rows) is int and piece_rows >= 1:
        return piece_rows
    raise SourceError(f"piece_rows is {piece_rows!r}: give a whole number of rows, at least 1.")


def expanded_remark(names: Sequence[str]) -> tuple[str, ...]:
    """What is said of columns that come from objects (JSON) or structs (Parquet, Arrow)."""
    return (f"objects are columns: {listing(names)}",) if names else ()


def ranges(rows: int, piece_rows: int) -> list[tuple[slice, str]]:
    """All rows, `piece_rows` at a time, and what they are called."""
    parts = slices(rows, piece_rows)
    return [(part, f"rows {part.start:,} to {part.stop - 1:,}") for part in parts]


def layout_sentence(remarks: Sequence[str]) -> str:
    """How a table is written, where that was found and not told."""
    return f"Read so: {'; '.join(remarks)}."


def partly(used: int, there: int, words: str) -> str:
    """`words` with ``1,500 of 6,800 rows``; nothing where all of them were used."""
    return "" if used >= there else words.format(f"{used:,} of {there:,} rows")


def number(x: float, digits: int = 3) -> str:
    """Three decimals, more just below one, fewer for large numbers; a dash for nan.

    >>> number(0.93051), number(-12.3456), number(123456.7), number(0.00012), number(float("nan"))
    ('0.931', '−12.35', '123,457', '0.00012', '–')
    >>> number(0.9999871), number(1.0)
    ('0.99999', '1.000')
    """
    if not math.isfinite(x):
        return MISSING if math.isnan(x) else ("∞" if x > 0 else "−∞")
    size = abs(x)
    if size >= 1000:
        text = f"{x:,.0f}"
    elif size >= 10:
        text = f"{x:.{max(digits - 1, 0)}f}"
    elif 10**-9 < 1 - size < 0.0005:  # rounded it would be one, which it is not
        text = f"{x:.{math.ceil(-math.log10(1 - size))}f}"
    elif 0 < size < 0.01:
        text = f"{x:.2g}"
    else:
        text = f"{x:.{digits}f}"
    return text.replace("-", "−", 1) if x < 0 else text


def percent(share: float) -> str:
    """A share in whole per cent; below 1 % and above 0 ``<1 %``.

    >>> percent(0.4149), percent(0.001), percent(0.0), percent(float("nan"))
    ('41 %', '<1 %', '0 %', '–')
    """
    if math.isnan(share):
        return MISSING
    if 0 < share < 0.01:
        return "<1 %"
    return f"{100 * share:.0f} %"


def plain(x: float) -> str:
    """At most three digits, none after the point that are zero: for counts and their intervals.

    >>> plain(3.0), plain(2.5), plain(float("nan"))
    ('3', '2.5', '–')
    """
    return MISSING if math.isnan(x) else f"{x:.3g}"


def signed(x: float) -> str:
    """Two decimals with a sign.

    >>> signed(0.752), signed(-0.0032)
    ('+0.75', '−0.00')
    """
    return f"{x:+.2f}".replace("-", "−")


def seconds(value: float) -> str:
    """A duration for people: ``0.04 s``, ``12.3 s``, ``3 min 5 s``.

    >>> seconds(0.0412), seconds(12.34), seconds(185), seconds(float("nan"))
    ('0.04 s', '12.3 s', '3 min 5 s', '–')
    """
    if math.isnan(value):
        return MISSING
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.1f} s"
    return f"{round(value) // 60} min {round(value) % 60} s"


def listed(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def counted(n: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``, ``2 classes``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def duration(seconds: float) -> str:
    """A time to wait, in words.

    >>> duration(0.2), duration(75), duration(4000), duration(200_000)
    ('1 s', '1 min 15 s', '1 h 6 min', '2 d 7 h')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def text_table(
    headings: Iterable[str] = (), *, right: Sequence[int] = (), fold: Sequence[int] = (0,)
) -> Table:
    """A table for the terminal, without a frame, to be filled row by row.

    Columns `right` are flush right; all but those in `fold` keep their text on one line.

    >>> [column.justify for column in text_table(["method", "R2"], right=[1]).columns]
    ['left', 'right']
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        side = "right" if place in right else "left"
        table.add_column(Text(heading), justify=side, no_wrap=place not in fold, overflow="fold")
    return table


def finite(value: Any) -> Any:
    """Dictionaries, lists, arrays and numbers as strict JSON's own; what is not finite is None.

    >>> import numpy as np
    >>> finite({"a": np.array([1.0, np.nan]), "b": (np.float32(0.5), np.int64(2), -np.inf)})
    {'a': [1.0, None], 'b': [0.5, 2, None]}
    """
    text = json.dumps(value, default=lambda array: array.tolist())
    return json.loads(text, parse_constant=lambda _: None)
