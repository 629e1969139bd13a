"""Lines below a table that are no part of it: where it comes from, notes on it."""

# Apart: told by the end of a text alone, where all else is told by its beginning.

from __future__ import annotations

import re
from collections.abc import Callable

#: Bytes at the end of a text in which such lines stand, and how many they are at most.
_TAIL, _MOST_LINES = 4096, 20

_SAYS = (
    rb"\W*(?:sources?|notes?|data|quelle|remarks?|legend|copyright|generated|created|exported|"
    rb"downloaded|updated|last updated|accessed|footnotes?|see|\(c\)|\xc2\xa9)"
)
_SAYS_SO = re.compile(_SAYS + rb"\b[^,;\t|]*[:. ]", re.IGNORECASE)
_WITH_COLON = re.compile(_SAYS + rb" *:", re.IGNORECASE)  # in lines that may be rows as well
_WORDS = re.compile(rb"\s*[^\s\d+.,-].*[\s:]|\s*[*\xc2(].*\S")


def without_footer(tail: bytes, delimiter: bytes, width: int) -> int:
    """Where the rows at the end of a text of `width` columns end: its length, where all are rows.

    A footer has fewer fields than a row: one, of several words, or more behind a word such as
    ``Source:``.
    """
    lines = tail.splitlines(keepends=True)
    end, rows = len(tail), len(lines)
    while rows > 1 and len(lines) - rows < _MOST_LINES:
        line = lines[rows - 1]
        if line.strip() and not _is_footer(line, delimiter, width, lines[rows - 2]):
            break
        rows -= 1
    found = lines[rows:]
    return end - sum(map(len, found)) if any(line.strip() for line in found) else end


def _is_footer(line: bytes, delimiter: bytes, width: int, above: bytes) -> bool:
    """Whether a line is no row; one as wide as rows has to say so, and the line above must not."""
    text = line.strip()
    if text.startswith(b'"') and text.strip(delimiter + b'" ').count(b'"') == 0:
        text = text.strip(delimiter + b'" ')  # one quoted field, perhaps with blank ones behind
        return _SAYS_SO.match(text) is not None and not _SAYS_SO.match(above.strip(b' "'))
    if b'"' in text:
        return False
    fields = len(text.split() if delimiter == b" " else text.split(delimiter))
    if fields >= width:
        return _WITH_COLON.match(text) is not None and not _WITH_COLON.match(above.strip())
    return (_WORDS if fields == 1 else _SAYS_SO).match(text) is not None


def footless(
    read: Callable[[int], bytes], end_of: Callable[[bytes], int], tell: Callable[[bytes], object]
) -> Callable[[int], bytes]:
    """`read`, without the footer of what it reads, which is given to `tell`.

    `end_of` says where rows end in the last bytes.
    """
    held = b""

    def read_on(size: int) -> bytes:
        nonlocal held
        block = read(size + _TAIL)
        if not block:
            data, held = held, b""
            end = end_of(data)
            if data[end:].strip():
                tell(data[end:].strip())
            return data[:end]
        data = held + block
        held, data = data[-_TAIL:], data[:-_TAIL]
        return data or read_on(size)

    return read_on
