"""Excel workbooks: the first sheet that can be seen, as delimited text, which is then read."""

# Apart: the one format that another library than pyarrow has to be there for.

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import BinaryIO, final
from zipfile import BadZipFile

from ..errors import SourceError
from .files import FoundFile, reading
from .packing import Packing
from .text_options import TextOptions
from .words import listing


@final
@dataclass(frozen=True)
class Workbook(Packing):
    """A workbook; `others` are the names of the sheets that are not read."""

    file: FoundFile
    others: tuple[str, ...]

    def inside(self, path: str) -> str:
        return path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        del raw, name
        return io.BytesIO(_text(self.file)[0])

    @property
    def told(self) -> TextOptions:
        return TextOptions(",", encoding="utf-8")

    @property
    def remarks(self) -> tuple[str, ...]:
        return (f"the first sheet alone, without {listing(self.others)}",) if self.others else ()


def workbook(file: FoundFile) -> Workbook:
    """A file of which it is known that it is a workbook."""
    if find_spec("openpyxl") is None:
        raise SourceError(
            f"'{file.name}' is an Excel workbook, and openpyxl, which reads these, is not "
            "installed: pip install openpyxl, or save the sheet as CSV."
        )
    return Workbook(file, _text(file)[1])


@lru_cache(maxsize=4)
def _text(file: FoundFile) -> tuple[bytes, tuple[str, ...]]:
    """The sheet as comma-separated text, a line a row of the sheet, and the names of the others."""
    import openpyxl

    try:
        with (
            reading(file.name),
            file.fs.open(file.path, "rb") as raw,
            warnings.catch_warnings(action="ignore"),
        ):
            book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
            sheets = [s for s in book.worksheets if s.sheet_state == "visible"] or book.worksheets
            sheet = sheets[0]
            sheet.reset_dimensions()  # some programs write wrong ones
            rows = [
                ["" if value is None else str(value) for value in row]
                for row in sheet.iter_rows(values_only=True)
            ]
    except (BadZipFile, IndexError, KeyError, TypeError, ValueError) as error:
        raise SourceError(
            f"'{file.name}' is no Excel workbook that can be read: save it again as .xlsx or CSV."
        ) from error
    names = (name for name in book.sheetnames if name != sheet.title)
    return _comma_separated(rows), tuple(names)


def _comma_separated(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows of one width, without the blank columns on both sides; blank rows as blank lines."""
    filled = [i for row in rows for i in (_filled(row)[:1] + _filled(row)[-1:])]
    start, end = min(filled, default=0), max(filled, default=-1) + 1
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = [*row[start:end], *[""] * (end - max(start, len(row)))]
        writer.writerow(cells if any(cells) else [])
    return out.getvalue().encode("utf-8", "replace")


def _filled(row: Sequence[str]) -> list[int]:
    return [i for i, cell in enumerate(row) if cell]
