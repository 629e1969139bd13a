"""What a delimited text looks like: its separator, comments, header and names of rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from unicodedata import normalize

import numpy as np

from ...errors import SourceError
from ...wording import listing
from .records import (
    Fields,
    is_header,
    is_number,
    is_row,
    looks_like_row,
    names_alone,
    names_of_two,
    not_blank,
    record_ends,
    titles,
)
from .text_options import BLANKS, TextOptions

DELIMITERS = (",", ";", "\t", "|")

#: What separates fields only where none of these does.
_RARE = (BLANKS, ":")

#: What comments begin with, where it need not be told.
_MARKS = ("#", "%")

#: Records by which it is decided.
_RECORDS = 1_000

#: What Excel reads the separator from, above the header.
_SEPARATOR_LINE = re.compile(rb"sep=([,;\t|])\r?\n", re.IGNORECASE)

_GENERATED = re.compile(r"column_[1-9]\d*")
_BETWEEN_BLANKS = re.compile(
    rb'((?:(?<=[\n \t])|\A)"(?:[^"]|"")*")|^[ \t]+|[ \t]+(?=\r?$)|([ \t]+)', re.MULTILINE
)


@dataclass(frozen=True)
class Looks:
    """How a delimited text is written."""

    #: As of :class:`~gradfeat.rows.sources.text_options.TextOptions`; no comments: empty.
    separator: str = ","
    comment: str = ""
    header: bool = True  # whether a line names the columns
    #: Whether the first field of each row has no name in the header, as R writes tables.
    row_names: bool = False
    names: tuple[str, ...] = ()  # the columns, that of the names of rows first where there is one
    #: Records before the first row: header, and lines above it that are no part of the table.
    before: int = 1
    padded: bool = False  # whether blanks stand between separators and quotes
    quotes: str = ""  # what fields are quoted with, or what stands before quotes in them
    remarks: tuple[str, ...] = ()  # what was found and not told, in sentences

    @property
    def told(self) -> TextOptions:
        names = () if self.header else self.names
        header = None if self.header and not self.before else self.header
        return TextOptions(self.separator, self.comment, header, names=names, quotes=self.quotes)

    @property
    def delimiter(self) -> str:
        """Between the fields of :meth:`plain` text."""
        return "\t" if self.separator == BLANKS else self.separator

    def plain(self, data: bytes) -> bytes:
        """The same lines, comments emptied, one delimiter between fields."""
        if self.comment:
            data = self._comments.sub(b"", data)
        if self.padded:
            separator = self.separator.encode()
            data = re.sub(re.escape(separator) + rb' +(?=")', separator, data)
        data = self._with_double_quotes(data, b'""')
        if self.separator != BLANKS:
            return data
        return _BETWEEN_BLANKS.sub(lambda found: found[1] or (found[2] and b"\t") or b"", data)

    def _with_double_quotes(self, data: bytes, inside: bytes) -> bytes:
        """Fields quoted as all are by default, with `inside` for a double quote in them."""
        plain = len(inside) > 1
        if self.quotes == "\\":
            kept = b"\\" if plain else b"\\\\"
            return re.sub(rb'\\(["\\])', lambda m: b'""' if m[1] == b'"' else kept, data)
        if not self.quotes:
            return data
        edge = rb"[\r\n" + re.escape(self.separator.encode()) + rb"]"
        field = rb"(?:(?<=" + edge + rb")|\A)'((?:[^'\n]|'')*)'(?=" + edge + rb"|\Z)"
        single = b"'" if plain else b"''"
        return re.sub(
            field, lambda m: b'"' + m[1].replace(b"''", single).replace(b'"', inside) + b'"', data
        )

    @property
    def _comments(self) -> re.Pattern[bytes]:
        return re.compile(rb"^[ \t]*" + re.escape(self.comment.encode()) + rb"[^\r\n]*", re.M)

    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        if self.comment:
            data = self._comments.sub(lambda found: b" " * len(found[0]), data)
        data = self._with_double_quotes(data, b" ")  # of the same length
        return record_ends(data, " \t" if self.separator == BLANKS else self.separator)

    def row_ends(self, data: bytes, ends: np.ndarray) -> np.ndarray:
        full = not_blank(data, ends)
        if not self.comment and self.separator != BLANKS:
            return full
        starts = np.concatenate([[0], ends[:-1]])[np.isin(ends, full)].tolist()
        mark = self.comment.encode()
        kept = [not _is_nothing(data[a:b], mark) for a, b in zip(starts, full, strict=True)]
        return full[np.array(kept, dtype=bool)]


def _is_nothing(record: bytes, mark: bytes) -> bool:
    text = record[:200].lstrip(b" \t")
    return (bool(mark) and text.startswith(mark)) or not (text.strip() or record.strip())


def looks_of(sample: bytes, options: TextOptions, name: str) -> Looks:
    """What some first lines of a text tell, and `options`, which win.

    What was told of the table that a model was fitted to holds for a text with its separator, and
    for one whose columns are not found otherwise.
    """
    found = _looks(sample, options, name)
    if options.like is None:
        return found
    if set(options.wanted) <= set(found.names) and options.like.separator != found.separator:
        return found
    known = options.over(options.like)
    if options.header is None and not options.like.header:
        known = replace(known, header=None)  # which a further file may have
    elif options.comment is None and not options.like.comment:
        known = replace(known, comment=None)  # of which a further file may have some
    return _looks(sample, known, name)


def _looks(sample: bytes, options: TextOptions, name: str) -> Looks:
    if excel := _SEPARATOR_LINE.match(sample):
        separator = options.separator or excel[1].decode()
        options = replace(options, comment=options.comment or "sep=", separator=separator)
    comment = options.comment if options.comment is not None else _comment(sample)
    found = Looks(",", comment)
    found = replace(found, separator=options.separator or _separator(sample, found, options))
    found = _quoted(sample, _padded(sample, found), options)
    rows = _once(first_records(sample, found))
    if not rows:
        return replace(found, before=0)
    if options.header is None:
        _refuse_either(rows, options, name)
    above = 0 if options.header is False else titles(rows, options.wanted)
    return _with_names(found, rows[above:], above, _commented(sample, found), options)


def _once(rows: list[Fields]) -> list[Fields]:
    """The records, without those that are the first one again: files joined with their headers."""
    return [*rows[:1], *[row for row in rows[1:] if row != rows[0]]]


def _with_names(
    found: Looks, rows: list[Fields], above: int, commented: Fields, options: TextOptions
) -> Looks:
    first, others = [cell.strip() for cell in rows[0]], rows[1:]
    width = Counter(map(len, others)).most_common(1)[0][0] if others else len(first)
    if len(first) == width + 1 and not first[-1]:
        first = first[:-1]  # a separator at the end of the header alone
    header = options.header
    if header is None:
        header = _has_header(first, others, options)
    named = len(commented) == len(first) and _names_columns(commented, found, options)
    if named and not (header and (is_header(first, others) or set(first) & set(options.wanted))):
        found = replace(found, before=above, names=_named(commented))
    elif header:
        more = 1 < len(first) == width - 1
        row_names = more and any(row[-1].strip() for row in others)
        names = _named([*first, *([""] if more and not row_names else [])])
        names = ("row name", *names) if row_names else names
        two = names_of_two(first, others)
        before = above + (2 if two else 1)
        found = replace(found, row_names=row_names, before=before, names=two or names)
    else:
        names = _without_header(len(first), options)
        no_row = options.header is None and names_alone(first, others)
        found = replace(found, header=False, before=above + 1 if no_row else 0, names=names)
    return replace(found, remarks=tuple(_remarks(found, first, above, options)))


def _refuse_either(rows: list[Fields], options: TextOptions, name: str) -> None:
    """Refuse a first record of which a wanted name is also a value in its column."""
    first = [cell.strip() for cell in rows[0]]
    for wanted in options.wanted:
        if wanted not in first or is_number(wanted):
            continue
        place = first.index(wanted)
        below = {row[place].strip() for row in rows[1:] if len(row) == len(first)}
        if wanted in below and is_row(first, rows[1:]):
            raise SourceError(
                f"'{name}' begins with {listing(first)}, which looks like a row and no header: "
                f"give --no-header, with which {wanted!r} stands in 'column_{place + 1}', or "
                "--header where that line does name the columns."
            )


def _names_columns(commented: Fields, found: Looks, options: TextOptions) -> bool:
    """Whether a comment names the columns: one of them is asked for, or it is no sentence."""
    cells = {cell.strip() for cell in commented}
    if cells & set(options.wanted):
        return True
    return found.separator != BLANKS and len(cells) == len(commented) and "" not in cells


def _named(cells: Fields) -> tuple[str, ...]:
    if all(len(cell) > 2 and cell[0] == cell[-1] == "'" for cell in cells):
        cells = [cell[1:-1] for cell in cells]  # quoted otherwise
    given = [normalize("NFC", cell.strip()) for cell in cells]
    more = ("", ".1")  # pandas writes such names itself
    return tuple(c or f"Unnamed: {i}{more[f'Unnamed: {i}' in given]}" for i, c in enumerate(given))


def _without_header(width: int, options: TextOptions) -> tuple[str, ...]:
    like = options.like or options
    fewer = tuple(name for name in like.names if name != like.target)
    if width == len(fewer) < len(like.names):
        return fewer
    return tuple(f"column_{i}" for i in range(1, width + 1))


def _remarks(found: Looks, first: Fields, above: int, options: TextOptions) -> Iterator[str]:
    if found.separator == BLANKS and options.separator is None:
        yield "fields stand between blanks"
    elif found.separator not in DELIMITERS and options.separator is None:
        yield f"fields are separated by {found.separator!r}"
    if found.comment and options.comment is None:
        yield f"lines that begin with {found.comment!r} are comments"
    yield from _about_header(found, first, above, options)
    if found.quotes == "'":
        yield "fields are quoted with '"
    elif found.quotes:
        yield "a quote in a field has a backslash before it"
    if found.row_names:
        yield "the names of rows, which R writes before the first column, are left out"


def _about_header(found: Looks, first: Fields, above: int, options: TextOptions) -> Iterator[str]:
    if above:
        lines = "line" if above == 1 else f"{above} lines"
        yield f"the first {lines} above the header left out"
    if found.header and found.before == above:
        yield "the names of columns stand in the last comment"
    numbered = f"columns are {found.names[0]} to {found.names[-1]}"
    if not found.header and found.before:
        yield f"the first line, {listing(first)}, is a header and left out: {numbered}"
    elif not found.header and options.header is None:
        yield (f"the first line is a row, not a header (--header reads it as one): {numbered}")
    if found.header and options.header is None and looks_like_row(first):
        yield "the first line is the header, of numbers (--no-header reads it as a row)"
    if found.header and found.before == above + 2:
        yield "the second line goes on with the header"


def _comment(sample: bytes) -> str:
    """The mark that the first lines begin with, if others do not."""
    lines = [line for line in sample.decode("utf-8", "replace").splitlines() if line.strip()]
    for mark in _MARKS:
        begins = [line.lstrip().startswith(mark) for line in lines]
        if begins and begins[0] and not all(begins):
            return mark
    return ""


def _commented(sample: bytes, found: Looks) -> Fields:
    """The fields of the last comment before the first row."""
    last = ""
    for line in sample.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if not found.comment or (text and not text.startswith(found.comment)):
            break
        last = text.lstrip(found.comment) or last
    rows = first_records(last.encode(), replace(found, comment=""))
    return rows[0] if rows else ()


def first_records(sample: bytes, found: Looks) -> list[Fields]:
    text = found.plain(sample).decode("utf-8", "replace")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=found.delimiter)
    try:
        return list(islice(filter(None, reader), _RECORDS))
    except csv.Error:
        return []


def _padded(sample: bytes, found: Looks) -> Looks:
    """With blanks between separators and quotes, where there are any."""
    cells = [cell for row in first_records(sample, found) for cell in row if cell[:1] == " "]
    quoted = any(cell.lstrip(" ")[:1] == '"' for cell in cells)
    return replace(found, padded=found.separator != BLANKS and quoted)


def _quoted(sample: bytes, found: Looks, options: TextOptions) -> Looks:
    """With quotes of another kind, where rows have the same number of fields with these alone."""
    if told := options.quotes or (options.like.quotes if options.like else ""):
        return replace(found, quotes=told)
    tried = [replace(found, quotes=quotes) for quotes in ("", "\\", "'")]
    if found.separator == BLANKS:
        return found
    alike = (one for one in tried if len({*map(len, first_records(sample, one))}) < 2)
    return next(alike, found)


def _separator(sample: bytes, found: Looks, options: TextOptions) -> str:
    """The one that splits the rows into the same number of fields, two at least.

    Where several do, the one that makes most cells numbers, then the one with most fields; blanks
    only where nothing else does. Text of a single column: one that does not occur in its header.
    """

    def score(separator: str) -> tuple[int, float, float, int]:
        tried = _padded(sample, replace(found, separator=separator))
        return _score(first_records(sample, tried), options)

    best = max(DELIMITERS, key=score)
    for rare in _RARE:
        known, other = score(best), score(rare)
        clear = other[0] >= _HEADER and other[1] > 0.98
        best = rare if clear and other[:2] > known[:2] else best
    return best


#: How well a separator does: the header holds a wanted column; is split as the rows are; stands
#: below lines of another kind; is split at all.
_WANTED, _HEADER, _BELOW, _SPLIT = 4, 3, 2, 1


def _score(rows: list[Fields], options: TextOptions) -> tuple[int, float, float, int]:
    if not rows:
        return 0, 0.0, 0.0, 0
    widths = [len(row) for row in rows]
    width = Counter(widths[1:] or widths).most_common(1)[0][0]
    agreeing = sum(w == width for w in widths[1:]) / len(widths[1:]) if widths[1:] else 1.0
    some = [cell for row in rows[1:200] for cell in row]
    numbers = sum(map(is_number, some)) / max(1, len(some))
    above = titles(rows, options.wanted)
    if widths[0] == 1 and not above:
        return 0, widths.count(1) / len(widths), 0.0, 1
    grade = _HEADER if widths[0] > 1 and widths[0] in (width, width - 1) else _SPLIT
    if widths[0] > 1 and {cell.strip() for cell in rows[0]} & set(options.wanted):
        grade = _WANTED
    if grade < _HEADER and above:
        grade = _WANTED if {cell.strip() for cell in rows[above]} & set(options.wanted) else _BELOW
    return grade, round(agreeing, 2), round(numbers, 2), width


def _has_header(first: Fields, others: list[Fields], options: TextOptions) -> bool:
    """Whether the first record names the columns, by what is asked for and by the rows below."""
    if set(first) & set(options.wanted):
        return True
    if any(_GENERATED.fullmatch(name) for name in options.wanted):
        return False
    return is_header(first, others) or not is_row(first, others)
