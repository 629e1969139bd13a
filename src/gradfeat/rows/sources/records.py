"""Where the records of a text begin, quoted line ends understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
