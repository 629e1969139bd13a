"""Names in sentences, and what pieces of rows are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from ...errors import SourceError, TableError
from ...maths.limits import slices
from ..source import Piece

Chunk = TypeVar("Chunk")

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


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


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
    twice = (t for t in texts if "." in t[:-2] and t[-1] == "0" and t[:-1] in known)
    return next(twice, "")


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


def held_piece(chunks: Sequence[Chunk], name: str = "rows in memory") -> Piece[Chunk]:
    return Piece(name, partial(iter, chunks))


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
