"""Where the records of a text begin, and which of the first ones names the columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import SourceError

#: Offsets after each record of some bytes, and where a quote opens that is not closed.
FindEnds = Callable[[bytes], tuple[np.ndarray, int | None]]

#: Of such offsets those of records that are rows.
KeepRows = Callable[[bytes, np.ndarray], np.ndarray]

_BLOCK = 2**24
_LONGEST_RECORD = 2**26


@dataclass(frozen=True)
class Span:
    """Some whole records: where they are, and which line of the file the first one is on."""

    offset: int
    length: int
    line: int
    rows: int


def line_ends(data: bytes) -> tuple[np.ndarray, None]:
    """Offsets after each line, for records without quoted line ends."""
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1, None


def record_ends(data: bytes, delimiter: str) -> tuple[np.ndarray, int | None]:
    """Offsets after the line end of each record, and where a quote opens that is not closed."""
    values = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(values == ord("\n")) + 1
    quotes = np.flatnonzero(values == ord('"'))
    if not len(quotes):
        return ends, None
    opening = quotes[::2]
    before = values[np.maximum(opening - 1, 0)]
    if (np.isin(before, list(f'{delimiter}\n"'.encode())) | (opening == 0)).all():
        inside = np.searchsorted(quotes, ends - 1) % 2 == 1
        return ends[~inside], int(quotes[-1]) if len(quotes) % 2 else None
    return _ends_beside_stray_quotes(data, ends, delimiter)


def _ends_beside_stray_quotes(
    data: bytes, ends: np.ndarray, delimiter: str
) -> tuple[np.ndarray, int | None]:
    """As :func:`record_ends`, field by field: quotes in the middle of fields open nothing."""
    before = re.escape(delimiter).encode()
    quoted = re.compile(rb"(?:(?<=[\n" + before + rb'])|\A)"(?:[^"]++|"")*+("|\Z)')
    fields = [m for m in quoted.finditer(data) if not m[1] or data.find(b"\n", *m.span()) >= 0]
    if not fields:
        return ends, None
    starts, stops = (np.array([edge(m) for m in fields]) for edge in (re.Match.start, re.Match.end))
    nearest = np.searchsorted(starts, ends - 1, side="right") - 1
    inside = (nearest >= 0) & (ends - 1 < stops[np.maximum(nearest, 0)])
    return ends[~inside], None if fields[-1][1] else fields[-1].start()


def not_blank(data: bytes, ends: np.ndarray) -> np.ndarray:
    """Of offsets after each record those of records that are no blank lines."""
    if not len(ends):
        return ends
    values = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], ends[:-1]])
    length = ends - starts
    line_end = np.isin(values[starts], (ord("\r"), ord("\n")))
    return ends[~(line_end & (length <= 2))]


def spans(
    read: Callable[[int], bytes],
    find: FindEnds,
    rows: int,
    name: str,
    offset: int,
    line: int,
    keep: KeepRows = not_blank,
) -> Iterator[tuple[Span, bytes]]:
    """All records from here on, `rows` at a time (of those that are rows), with their bytes.

    `read` gives the next bytes of a file from the beginning of a record on, which is at `offset`
    (from 0) and on `line` (from 1).
    """
    held, size = b"", _BLOCK
    while True:
        block = read(size)
        data = held + block
        ends, open_quote = find(data)
        _refuse_open(data, ends, open_quote, not block, name, line)
        if not block and data and not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        full = keep(data, ends)
        cuts = full[rows - 1 :: rows]
        left = len(full) - rows * len(cuts)
        start = 0
        for cut, number in _with_rest(cuts.tolist(), rows, len(data), left if not block else 0):
            yield Span(offset, cut - start, line, number), data[start:cut]
            offset, line = offset + cut - start, line + data.count(b"\n", start, cut)
            start = cut
        if not block:
            return
        held = data[start:]
        size = max(_BLOCK, 2 * len(held))


def _with_rest(cuts: list[int], rows: int, end: int, left: int) -> Iterator[tuple[int, int]]:
    yield from ((cut, rows) for cut in cuts)
    if left:
        yield end, left


def _refuse_open(
    data: bytes, ends: np.ndarray, open_quote: int | None, at_end: bool, name: str, line: int
) -> None:
    last = int(ends[-1]) if len(ends) else 0
    if open_quote is None or not (at_end or len(data) - last > _LONGEST_RECORD):
        return
    number = line + data.count(b"\n", 0, open_quote)
    raise SourceError(
        f"'{name}', line {number:,}: a quote opens there that is never closed: mend that line."
    )


#: Lines before the header at most.
_MOST_TITLES = 20

#: What files of loggers (Campbell Scientific) begin with: a line about the logger, the names, and
#: two lines of units and of how values came about.
_LOGGER = "TOA5"

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:[.,]\d*)*|[.,]\d+)(?:[eE][+-]?\d+)?\s*")
_WHOLE = re.compile(r"\s*\d+\s*")
_GAPS = frozenset({"", "?", "-", ".", "*", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})

#: The fields of one record.
Fields = Sequence[str]


def titles(rows: list[Fields], wanted: Sequence[str] = ()) -> int:
    """Records above a header: of another width than all that follow it, or without a name.

    `wanted`: columns that are asked for, of which the header has the first one.

    >>> titles([["TOA5", "logger"], ["TIMESTAMP", "t"], ["TS", "degC"], ["2021-05-01", "3.5"]])
    1
    """
    if rows[0][:1] == [_LOGGER]:
        return 1
    if above := _above_wanted(rows, wanted):
        return above
    widths = [len(row) for row in rows]
    width = Counter(widths).most_common(1)[0][0]
    if width < 2:
        return 0
    if _repeats(rows, width):
        return 1
    above = [i for i, w in enumerate(widths[:_MOST_TITLES]) if w != width]
    start = _blank_titles(rows, width)
    if not start and widths[0] in (
        width,
        width - 1,
    ):  # of names of rows, or a title with separators
        start = above[-1] + 1 if above and above != [0] else 0
        if not start:
            return 0
    start = start or next((i for i, w in enumerate(widths) if w == width), 0)
    last = max((i for i, w in enumerate(widths) if w == width), default=0)
    below = rows[start : last + 1 if len(rows) - last <= _MOST_TITLES else None]
    if start and widths[start - 1] == width + 1 and not rows[start - 1][-1].strip():
        start, below = start - 1, [rows[start - 1][:-1], *below]
    alike = len(below) > 2 and all(len(row) == width for row in below)
    return start if start <= _MOST_TITLES and alike and is_header(below[0], below[1:]) else 0


def _above_wanted(rows: list[Fields], wanted: Sequence[str]) -> int:
    """Records above the first one with the wanted name, where that is a header and the first not.

    A row of units may stand below the header.

    >>> _above_wanted([["", "Out"], ["x", "y"], ["kg", "m"], ["1", "2"], ["3", "4"]], ["y"])
    1
    """
    others: list[Fields] = [[cell.strip() for cell in row] for row in rows]
    first = others.pop(0)
    if not wanted or is_number(wanted[0]) or {*wanted} & {*first}:
        return 0
    at = next((i for i, row in enumerate(others[:_MOST_TITLES]) if wanted[0] in row), None)
    if at is None or len(others[at]) < len(first):
        return 0
    header, below = others[at], others[at + 1 :]
    sure = len(wanted) > 1 and {*wanted} <= {*header}
    return at + 1 if sure or is_header(header, below) or is_header(header, below[1:]) else 0


def _repeats(rows: list[Fields], width: int) -> bool:
    """Whether the first record says what groups of columns are, and the second names each."""
    first, *others = rows[:_MOST_TITLES]
    alike = len(others) > 2 and all(len(row) == width for row in (first, *others))
    named = [cell.strip() for cell in first if cell.strip()]
    return alike and len(set(named)) < len(named) and names_alone(others[0], others[1:])


def names_of_two(first: Fields, others: list[Fields]) -> tuple[str, ...]:
    """The names of columns where the second record goes on with the header; else none.

    So surveys are written: the second record has the answers that a question gives columns to,
    under blanks, and else one word for all questions, or nothing.

    >>> rows = [["", "Response", "red", "blue"], ["1", "yes", "", "3"], ["2", "no", "4", "3"]]
    >>> names_of_two(["id", "Fan?", "Rank", ""], rows)
    ()
    >>> names_of_two(["id", "Fan?", "", ""], rows)
    ('id', 'Fan?', 'red', 'blue')
    """
    second, below = [cell.strip() for cell in others[0]] if others else [], others[1:]
    if len(second) != len(first) or len(below) < 2 or any(map(is_number, second)):
        return ()
    alike = [row for row in below if len(row) == len(first)]
    blank = [i for i, cell in enumerate(first) if not cell]
    words = Counter(cell for name, cell in zip(first, second, strict=True) if name and cell)
    word, times = words.most_common(1)[0] if words else ("", 0)
    places = [i for i, cell in enumerate(second) if cell == word and first[i]]
    for_all = times > 1 and word not in _GAPS | {row[i].strip() for row in alike for i in places}
    if not blank:
        return tuple(first) if for_all and len(words) == 1 and times < len(first) else ()
    told = for_all or any(second[i] not in _GAPS for i in _numeric(first, below))
    if not told or len(blank) < 2 - for_all or not all(second[i] for i in blank):
        return ()
    names = [name or cell for name, cell in zip(first, second, strict=True)]
    again = Counter[str]()
    for i, name in enumerate(names):
        again[name] += 1
        names[i] = name if again[name] == 1 else f"{name}.{again[name] - 1}"
    return tuple(names)


def _blank_titles(rows: list[Fields], width: int) -> int:
    """First records as wide as the rows, of which most fields are blank: a title, not names."""
    filled = [sum(1 for cell in row if cell.strip()) for row in rows[: _MOST_TITLES + 1]]
    full = next((i for i, n in enumerate(filled) if 2 * n > width), 0)
    return full if full and width > 1 and len(rows[0]) == width else 0


def is_header(first: Fields, others: list[Fields]) -> bool:
    """Whether the first record has words where those below have numbers alone."""
    cells = [cell.strip() for cell in first]
    if _names_an_index(cells, others):
        return True
    if len(set(cells)) < len(cells) or not all(cells):
        return False
    return any(not is_number(cells[i]) and cells[i] not in _GAPS for i in _numeric(cells, others))


def names_alone(first: Fields, others: list[Fields]) -> bool:
    """Whether the first record is certainly a header: one without any number.

    >>> names_alone(["x", "y"], [["1", "a"]]), names_alone(["x", "1"], [["1", "2"]])
    (True, False)
    """
    return is_header(first, others) and not any(map(is_number, first))


def _names_an_index(cells: Sequence[str], others: list[Fields]) -> bool:
    """Whether names follow a blank above numbers of rows, as pandas and R write tables."""
    alike = [row for row in others if len(row) == len(cells)]
    if len(cells) < 2 or cells[0] or not all(cells[1:]) or not alike:
        return False
    if len(set(cells)) < len(cells) or 0 not in _numeric(cells, others):
        return False
    return not any(cells[i] in {row[i].strip() for row in alike} for i in range(len(cells)))


def is_row(first: Fields, others: list[Fields]) -> bool:
    """Whether the first record is certainly like those below.

    It has numbers where they do, and a number that is no name, or a value that comes again.
    """
    width = len(first)
    alike = [row for row in others if len(row) == width]
    if width < 2 or not alike:
        return False
    numeric = _numeric(first, others)
    texts = [i for i in range(width) if i not in numeric]
    again = [first[i] in {row[i].strip() for row in alike} for i in texts]
    if not numeric:
        return all(again)
    if any(not is_number(first[i]) and first[i] not in _GAPS for i in numeric):
        return False
    numbers = [first[i] for i in numeric if is_number(first[i])]
    no_name = any(not _WHOLE.fullmatch(cell) for cell in numbers)
    return no_name or len(set(numbers)) < len(numbers) or any(again) or len(numbers) < len(numeric)


def _numeric(first: Fields, others: list[Fields]) -> list[int]:
    """Columns that hold numbers and gaps alone below the first record."""
    alike = [row for row in others if len(row) == len(first)]
    known = [{row[i].strip() for row in alike} - _GAPS for i in range(len(first))]
    return [i for i, cells in enumerate(known) if cells and all(map(is_number, cells))]


def is_number(cell: str) -> bool:
    """Whether a field is a number, with a decimal point or comma."""
    return _NUMBER.fullmatch(cell) is not None


def looks_like_row(first: Fields) -> bool:
    """Whether a header looks like a row: numbers that do not count from 0 or 1 on."""
    numbers = [int(cell) for cell in first if _WHOLE.fullmatch(cell)]
    counted = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    return len(numbers) > len(first) / 2 and not counted
