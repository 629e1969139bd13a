"""Excel workbooks: one sheet, the first that can be seen or by name, as delimited text."""

# Apart: the one format that another library than pyarrow has to be there for.

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, BinaryIO, cast
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from ...errors import SourceError
from ...maths.unpacking import FOREIGN
from .words import listing, near_names

#: A range of merged cells in the XML of a sheet, and what one takes at most.
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_LONGEST = 200


def sheet_text(
    raw: BinaryIO, name: str, asked: str | None = None, likely: str | None = None
) -> tuple[bytes, str, tuple[str, ...], int]:
    """The text of a sheet, a line a row; what the sheet is called, the other sheets, merged cells.

    Cells merged over several rows, which are counted, have their value in each of them.

    The sheet that is `asked` for; left out, the `likely` one where it is there, or the first that
    can be seen.
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
            sheet = named.get(asked or likely or "", sheets[0])
            sheet.reset_dimensions()  # some programs write wrong ones
            rows = [
                ["" if value is None else str(value) for value in row]
                for row in sheet.iter_rows(values_only=True)
            ]
            merged = _merged(cast(Any, book)._archive.open(cast(Any, sheet)._worksheet_path))
    except (SourceError, MemoryError):
        raise
    except (BadZipFile, ParseError, *FOREIGN) as error:
        raise SourceError(
            f"'{name}' is no Excel workbook that can be read: save it again as .xlsx or CSV."
        ) from error
    others = tuple(one for one in book.sheetnames if one != sheet.title)
    for column, first, last in merged:
        at = column_index_from_string(column) - 1
        for row in rows[first:last]:
            row += [""] * (at + 1 - len(row))
            row[at] = next(iter(rows[first - 1][at : at + 1]), "")
    return _comma_separated(rows), sheet.title, others, len(merged)


def _merged(sheet: BinaryIO) -> list[tuple[str, int, int]]:
    """Column, first and last row of cells merged over several rows, in the XML of a sheet."""
    found, tail = [], b""
    with sheet:
        while part := sheet.read(2**20):
            found += _MERGED.findall(tail + part)
            tail = (tail + part)[-_LONGEST:].rpartition(b">")[2]
    ranges = dict.fromkeys((c.decode(), int(first), int(last)) for c, first, last in found)
    return [one for one in ranges if one[2] > one[1]]


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
