"""Sheets of Excel workbooks, which are held: pandas reads them, with openpyxl."""

# Apart: the one format that another library than pyarrow has to be there for.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, cast
from zipfile import BadZipFile

import pandas as pd

from ...maths.unpacking import TooMuch, check_zip
from ..errors import SourceError
from ..source import PIECE_ROWS
from .files import FoundFile, Paths, find_files, reading
from .in_memory import FrameTables
from .words import listing, refuse_repeated


def excel_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
) -> FrameTables:
    """The first sheet of each workbook; its first row names the columns."""
    files = find_files(path, storage_options)
    if find_spec("openpyxl") is None:
        raise SourceError(
            f"'{files[0].name}' is an Excel workbook, and openpyxl, which reads these, is not "
            "installed: pip install openpyxl, or save the sheet as CSV."
        )
    sheets = [_first_sheet(file) for file in files]
    others = [name for _, names in sheets for name in names[1:]]
    said = (f"the first sheet alone, without {listing(others)}",) if others else ()
    table = FrameTables([frame for frame, _ in sheets], piece_rows, said=said)
    return table if columns is None else table.select(columns)


def _first_sheet(file: FoundFile) -> tuple[pd.DataFrame, list[str]]:
    """Its rows, and the names of all sheets."""
    try:
        with reading(file.name), file.fs.open(file.path, "rb") as raw:
            check_zip(raw, f"'{file.name}'")
            book = pd.ExcelFile(cast(Any, raw), engine="openpyxl")
            names = [str(name) for name in book.sheet_names]
            header = pd.read_excel(book, header=None, nrows=1)
            frame = pd.read_excel(book)
    except TooMuch as error:
        raise SourceError(str(error)) from error
    except (BadZipFile, KeyError, ValueError) as error:
        raise SourceError(
            f"'{file.name}' is no Excel workbook that can be read: save it again as .xlsx or CSV."
        ) from error
    if len(header):
        refuse_repeated(f"'{file.name}'", [str(name) for name in header.iloc[0].dropna()])
    return frame.set_axis([str(name) for name in frame.columns], axis=1), names
