"""Whether the first record of a text names its columns, by the records below it."""

# Apart: how a text is split into records is another question.

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:[.,]\d*)*|[.,]\d+)(?:[eE][+-]?\d+)?\s*")
_WHOLE = re.compile(r"\s*\d+\s*")
_GAPS = frozenset({"", "?", "-", ".", "*", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})

#: The fields of one record.
Fields = Sequence[str]


def is_header(first: Fields, others: list[Fields]) -> bool:
    """Whether the first record has words where those below have numbers alone."""
    cells = [cell.strip() for cell in first]
    if _names_an_index(cells, others):
        return True
    if len(set(cells)) < len(cells) or not all(cells):
        return False
    return any(not is_number(cells[i]) and cells[i] not in _GAPS for i in _numeric(cells, others))


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
    found = []
    for i in range(len(first)):
        cells = [row[i].strip() for row in others if len(row) == len(first)]
        known = [cell for cell in cells if cell not in _GAPS]
        if known and all(map(is_number, known)):
            found.append(i)
    return found


def is_number(cell: str) -> bool:
    """Whether a field is a number, with a decimal point or comma."""
    return _NUMBER.fullmatch(cell) is not None


def looks_like_row(first: Fields) -> bool:
    """Whether a header looks like a row: numbers that do not count from 0 or 1 on."""
    numbers = [int(cell) for cell in first if _WHOLE.fullmatch(cell)]
    counted = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    return len(numbers) > len(first) / 2 and not counted
