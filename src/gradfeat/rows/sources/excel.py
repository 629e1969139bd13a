"""Excel workbooks: one sheet, the first that can be seen or by name, as delimited text."""

# Apart: the one format that another library than pyarrow has to be there for.

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, BinaryIO, cast
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from ...errors import SourceError
from ...maths.unpacking import FOREIGN
from ...wording import counted, listing, near_names

#: In the XML of a sheet: merged cells, rows that are not shown, a formula without the value that a
#: spreadsheet program stores beside it; and what one takes at most.
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_HIDDEN = re.compile(rb'<(?:\w+:)?row\s(?=[^>]*?hidden="(?:1|true)")[^>]*?\br="(\d+)"')
_NO_VALUE = re.compile(
    rb'<c\s(?![^>]*t="str")[^>]*?\br="([A-Z]+\d+)"[^>]*>'
    rb"<f[^>]*(?:/>|>[^<]*</f>)(?:<v ?/>|<v></v>)?</c>"
)
_LONGEST = 2_000
#: Rows in which a sheet that is a table has two cells at least; and the format of codes.
_FIRST_ROWS, _CODES = 50, re.compile("0{2,}")


def sheet_text(
    raw: BinaryIO, name: str, asked: str | None = None, likely: str | None = None
) -> tuple[bytes, str, tuple[str, ...]]:
    """The text of a sheet, a line a row; what the sheet is called, and what is not read as it is.

    Cells merged over several rows have their value in each of them, and numbers shown with leading
    zeros have these. A smaller table beside the first, behind a blank column, is left out.

    The sheet that is `asked` for; left out, the `likely` one where it is there, or the first that
    can be seen and has rows of several cells.
    """
    if find_spec("openpyxl") is None:
        raise SourceError(
            f"'{name}' is an Excel workbook, and openpyxl, which reads these, is not "
            "installed: pip install openpyxl, or save the sheet as CSV."
        )
    import openpyxl
    from openpyxl.utils import column_index_from_string

    try:
        with warnings.catch_warnings(action="ignore"):
            book = openpyxl.load_workbook(cast(Any, raw), read_only=True, data_only=True)
            sheets = [s for s in book.worksheets if s.sheet_state == "visible"] or book.worksheets
            named = {one.title: one for one in book.worksheets}
            if asked is not None and asked not in named:
                raise SourceError(
                    f"'{name}' has no sheet {asked!r}{near_names(asked, named)} Its sheets are "
                    f"{listing(named)}."
                )
            for one in book.worksheets:
                one.reset_dimensions()  # some programs write wrong ones
            sheet = named.get(asked or likely or "") or next(filter(_is_table, sheets), sheets[0])
            rows = [[*map(_written, row)] for row in sheet.iter_rows()]
            part = cast(Any, sheet)._worksheet_path
            merged, hidden, formulas = _marks(cast(Any, book)._archive.open(part))
    except (SourceError, MemoryError):
        raise
    except (BadZipFile, ParseError, *FOREIGN) as error:
        raise SourceError(
            f"'{name}' is no Excel workbook that can be read: save it again as .xlsx or CSV."
        ) from error
    others = [one for one in book.sheetnames if one != sheet.title]
    for column, first, last in merged:
        at = column_index_from_string(column) - 1
        for row in rows[first:last]:
            row += [""] * (at + 1 - len(row))
            row[at] = next(iter(rows[first - 1][at : at + 1]), "")
    kept, beside = _one_table(rows)
    over = f"{counted(len(merged), 'merged cell')} over several rows with the value in each of them"
    said = {
        f"the sheet {sheet.title!r} alone, and not {listing(others)}, which --sheet reads": bool(
            others and asked is None
        ),
        over: bool(merged),
        f"without the smaller table of {listing(beside)} beside it, behind a blank column": beside,
        f"{counted(len(hidden), 'hidden row')} as all others": hidden,
        f"formulas without a stored value, as in {listing(formulas[:1])}, as empty cells: open it "
        "in a spreadsheet program and save it to have their values": formulas,
    }
    return _comma_separated(kept), sheet.title, tuple(text for text, is_so in said.items() if is_so)


def _is_table(sheet: Any) -> bool:
    """Whether two of the first rows have several cells; a note on the workbook has one."""
    rows = sheet.iter_rows(max_row=_FIRST_ROWS, values_only=True)
    return sum(sum(value is not None for value in row) > 1 for row in rows) > 1


def _written(cell: Any) -> str:
    """The value as text; of a number that is shown with leading zeros with these."""
    value = cell.value
    if type(value) is int and _CODES.fullmatch(cell.number_format):
        return str(value).zfill(len(cell.number_format))
    return "" if value is None else str(value)


def _marks(sheet: BinaryIO) -> tuple[list[tuple[str, int, int]], list[str], list[str]]:
    """In the XML of a sheet: column, first and last row of cells merged over rows; hidden rows;
    cells of formulas without a value."""
    found: tuple[dict[Any, None], ...] = ({}, {}, {})
    tail = b""
    with sheet:
        while part := sheet.read(2**20):
            text = tail + part
            for marks, way in zip(found, (_MERGED, _HIDDEN, _NO_VALUE), strict=True):
                marks |= dict.fromkeys(way.findall(text))
            tail = text[-_LONGEST:]  # what is found twice counts once
    merged, hidden, formulas = found
    ranges = [(c.decode(), int(first), int(last)) for c, first, last in merged]
    over = [one for one in ranges if one[2] > one[1]]
    return over, [row.decode() for row in hidden], [cell.decode() for cell in formulas]


def _one_table(rows: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """The rows without smaller tables beside the largest, and the first cells of these tables.

    Such a table stands behind a blank column, has two columns at least, and its rows, none of them
    blank, end before those of the largest.
    """
    width = max(map(len, rows), default=0)
    at = [
        [i for i, row in enumerate(rows) if row[k : k + 1] not in ([], [""])] for k in range(width)
    ]
    edges = [-1, *(k for k in range(width) if not at[k]), width]
    tables = [range(a + 1, b) for a, b in pairwise(edges) if b - a > 1]
    filled = {table: sorted({i for k in table for i in at[k]}) for table in tables}
    largest = max(tables, key=lambda table: sum(len(at[k]) for k in table), default=range(0))
    beside = [
        table
        for table, own in filled.items()
        if len(table) > 1 and own[-1] < filled[largest][-1] and len(own) == own[-1] - own[0] + 1
    ]
    gone = {k for table in beside for k in table}
    first = [rows[at[k][0]][k] for k in sorted(gone)]
    return [[cell for k, cell in enumerate(row) if k not in gone] for row in rows], first


def _comma_separated(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows of one width, without the blank columns on both sides; blank rows as blank lines."""
    filled = [i for row in rows for i, cell in enumerate(row) if cell]
    start, end = min(filled, default=0), max(filled, default=-1) + 1
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = [*row[start:end], *[""] * (end - max(start, len(row)))]
        writer.writerow(cells if any(cells) else [])
    return out.getvalue().encode("utf-8", "replace")
