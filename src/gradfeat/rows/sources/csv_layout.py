"""What the cells of delimited text are: the kind of each column, decided once or imposed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pacsv

from ...errors import SourceError
from ...wording import MISSING_WORDS, written_twice
from .looks import Looks
from .records import Fields, is_header, is_number
from .tables import Cells
from .text import Layout
from .text_options import TextOptions

#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

#: How a column is read. Numbers of the longer kinds are handed on as text once they are asked for
#: as cells: what they are is told by all of them, and then for each by itself.
Kind = Literal[
    "numbers",
    "numbers with a decimal comma",
    "numbers with a decimal point",
    "numbers with leading zeros",
    "truth values",
    "text",
]

_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"
_MAY_BE_THOUSANDS = r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*"  # which all cells of a column decide
#: Whole numbers with points between thousands, if one is below 1,000 and one ends in 0.
_WITH_POINTS = r"\s*[+-]?(?:[1-9]\d{0,2}\.\d{3}|\d{1,3})\s*"
_BELOW_1000, _ENDS_IN_0 = r"^\s*[+-]?\d{3}\s*$", r"\.\d\d0\s*$"
_MISSING = ["", *MISSING_WORDS]
_TRUE, _FALSE = ["True", "TRUE", "true"], ["False", "FALSE", "false"]
_PADDED = r"^\s*[+-]?0\d"
_TYPES = {
    "numbers": pa.float64(),
    "numbers with a decimal point": pa.float64(),
    "numbers with leading zeros": pa.float64(),
    "truth values": pa.bool_(),
}
#: What cells are handed on as; those of other kinds as text.
_CELLS: dict[Kind, Cells] = {"numbers": "numbers", "truth values": "truth values"}


@dataclass(frozen=True)
class CsvLayout(Layout):
    """The same for all pieces of a text: decided once, from its first rows, or imposed."""

    looks: Looks  # how the text is written
    kinds: tuple[Kind, ...]  # how each of its columns is read
    sampled: int  # rows from which the kinds were decided
    #: Whether a cell that is not of its column's kind is an error; else its chunk has text there.
    strict: bool = True

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.looks.remarks

    @property
    def told(self) -> TextOptions:
        return self.looks.told

    @property
    def cells(self) -> Mapping[str, Cells]:
        """By the kinds: numbers that may be written otherwise, or be codes, are text."""
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return {name: _CELLS.get(kinds[name], "text") for name in self.selected}

    def in_order(self, names: tuple[str, ...]) -> Self:
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return replace(self, names=names, kinds=tuple(kinds[n] for n in names)) if names else self

    def read_as(self, cells: Mapping[str, Cells]) -> CsvLayout:
        """Chunks with a cell that is not of its kind have the column as text."""
        each = zip(self.names, self.kinds, strict=True)
        kinds = tuple(cells.get(name, kind) for name, kind in each)
        return replace(self, kinds=kinds, strict=False)

    def end_of_rows(self, tail: bytes, name: str) -> int:
        del name
        lines = tail.splitlines(keepends=True)
        end = sum(map(len, lines[: before_second_table(lines, self.looks, self.names)]))
        return without_footer(tail[:end], self.looks.separator.encode(), len(self.names))

    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        return self.looks.record_ends(data)

    def row_ends(self, data: bytes, ends: np.ndarray) -> np.ndarray:
        return self.looks.row_ends(data, ends)

    def frame(self, data: bytes, name: str, line: int) -> pd.DataFrame:
        """Some records as a data frame; missing numbers are NaN."""
        data = self.looks.plain(data)
        kinds = dict(zip(self.names, self.kinds, strict=True))
        types = {n: _TYPES.get(kinds[n], pa.string()) for n in self.names}
        try:
            try:
                table = self._parsed(data, types)
            except pa.ArrowException as error:
                if self.strict or _wrong_cell(str(error)) is None:
                    raise
                table = self._cell_by_cell(data, kinds)
        except pa.ArrowException as error:
            raise SourceError(self._fault(str(error), data, name, line)) from error
        frame = table.to_pandas()
        for column in self.selected:
            if kinds[column] == "numbers with a decimal comma" and frame[column].dtype == "str":
                frame[column] = self._with_points(frame[column], data, name, line)
        return frame

    def _parsed(self, data: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        """The selected columns; words such as NA stay in text, where they may be values."""
        table = _parsed(data, self.looks.delimiter, self.names, types, self.selected, nulls=False)
        kinds = dict(zip(self.names, self.kinds, strict=True))
        none = pa.scalar(None, pa.string())
        for number, name in enumerate(self.selected):
            if types[name] == pa.string():
                texts = table.column(name)
                gaps = pc.is_in(texts, pa.array([""] if kinds[name] == "text" else _MISSING))
                table = table.set_column(number, name, pc.if_else(gaps, none, texts))
        return table

    def _cell_by_cell(self, data: bytes, kinds: Mapping[str, Kind]) -> pa.Table:
        """Columns of text where a cell is not of its kind, the others as their kind."""
        types = dict.fromkeys(self.names, pa.string())
        texts = self._parsed(data, types)
        columns = [_converted(texts.column(n), kinds[n]) for n in self.selected]
        return pa.table(columns, names=list(self.selected))

    def _with_points(self, texts: pd.Series, data: bytes, name: str, line: int) -> pd.Series:
        wrong = ~(texts.isna() | texts.str.fullmatch(_DECIMAL_COMMA))
        if not wrong.any():
            return texts.str.strip().str.replace(",", ".").astype(float)
        if not self.strict:
            return texts
        record = int(wrong.to_numpy().argmax())
        where = f"'{name}', line {_line(data, self.looks.delimiter, record + 1, line):,}"
        raise SourceError(self._wrong_value(where, str(texts.name), texts.iloc[record]))

    def _fault(self, message: str, data: bytes, name: str, line: int) -> str:
        row = re.search(r"Row #(\d+)", message)
        number = _line(data, self.looks.delimiter, int(row[1]), line) if row else line
        where = f"'{name}', line {number:,}"
        ragged = re.search(r"Expected (\d+) columns?, got (\d+)", message)
        wrong = _wrong_cell(message)
        if ragged:
            return (
                f"{where} has {ragged[2]} field{'s' * (ragged[2] != '1')} where the header has "
                f"{ragged[1]}: mend that line, or quote fields that contain the delimiter"
                f"{self._comment_there(data, number - line)}."
            )
        if wrong is not None:
            return self._wrong_value(where, self.names[wrong[0]], wrong[1])
        if "UTF8" in message:
            return f"{where} is not UTF-8 text: give its encoding with --encoding, such as latin-1."
        return f"{where} cannot be read ({message.splitlines()[0][:120]}): mend that line."

    def _comment_there(self, data: bytes, line: int) -> str:
        """A hint, where the line (from 0) begins as comments do."""
        mark = re.match(rb"\s*(//|--|[#%!])", data.split(b"\n")[line])
        if not mark:
            return ""
        found = mark[1].decode()
        return f"; lines that begin with {found} are left out with --comment '{found}'"

    def _wrong_value(self, where: str, column: str, value: str) -> str:
        kind = self.kinds[self.names.index(column)]
        return (
            f"{where}: column {column!r} holds {value!r} where its first {self.sampled:,} rows "
            f"hold {kind}: mend that value, or write the table as Parquet with the types it has."
        )


def _wrong_cell(message: str) -> tuple[int, str] | None:
    """The column and value that Arrow's message says it could not convert."""
    column = re.search(r"column #(\d+)", message)
    value = re.search(r"invalid value '(.*)'", message, re.DOTALL)
    return (int(column[1]), value[1]) if column and value else None


def _converted(texts: Any, kind: Kind) -> Any:
    """Cells as their kind, or the text where one of them is not."""
    if kind not in _TYPES:
        return texts
    if kind == "truth values":
        true, false = (pc.is_in(texts, pa.array(words)) for words in (_TRUE, _FALSE))
        known = pc.or_(true, false)
        fits = bool(pc.all(pc.or_(known, pc.is_null(texts)), min_count=0).as_py())
        return pc.if_else(known, true, pa.scalar(None, pa.bool_())) if fits else texts
    try:
        return pc.cast(pc.utf8_trim_whitespace(texts), pa.float64())
    except pa.ArrowException:
        return texts


def _line(data: bytes, delimiter: str, record: int, first: int) -> int:
    """Line of the file on which a record (from 1, blank ones not counted) ends."""
    text = io.StringIO(data.decode("utf-8", "replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    seen = 0
    for row in reader:
        seen += bool(row)
        if seen == record:
            break
    return first + reader.line_num - 1


def _parsed(
    data: bytes,
    delimiter: str,
    names: Sequence[str],
    types: dict[str, pa.DataType],
    chosen: Sequence[str],
    nulls: bool = True,
) -> pa.Table:
    return pacsv.read_csv(
        pa.BufferReader(data),
        read_options=pacsv.ReadOptions(
            column_names=list(names), use_threads=False, block_size=max(2**20, len(data) + 1)
        ),
        parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types=types,
            include_columns=list(chosen),
            null_values=_MISSING,
            strings_can_be_null=nulls,
            true_values=_TRUE,
            false_values=_FALSE,
        ),
    )


def infer_layout(sample: bytes, rows: int, looks: Looks, where: str, line: int) -> CsvLayout:
    """The kind of each column, from the first rows; a column with no value is numbers."""
    names, delimiter = looks.names, looks.delimiter
    text = CsvLayout(names, names, looks, ("text",) * len(names), rows)
    sample = looks.plain(sample)
    try:
        table = _parsed(sample, delimiter, names, {}, names)
        texts = _parsed(sample, delimiter, names, dict.fromkeys(names, pa.string()), names)
    except pa.ArrowException as error:
        raise SourceError(text._fault(str(error), sample, where, line)) from error
    commas = {n for n in names if delimiter != "," and _has_commas(table, texts, n)}
    kinds = tuple(
        _kind(table.schema.field(n).type, texts.column(n), n in commas, bool(commas)) for n in names
    )
    return replace(text, kinds=kinds)


def _has_commas(table: pa.Table, texts: pa.Table, name: str) -> bool:
    if not pa.types.is_string(table.schema.field(name).type):
        return False
    found = cast(pd.Series, texts.column(name).drop_null().to_pandas())
    if not len(found) or not found.str.fullmatch(_DECIMAL_COMMA).all():
        return False
    return not found.str.fullmatch(rf"{_MAY_BE_THOUSANDS}|[^,]*").all()


def _any(found: Any) -> bool:
    return bool(pc.any(found, min_count=0).as_py())


def _may_have_points(texts: Any) -> bool:
    return (
        _any(pc.match_substring_regex(texts, _BELOW_1000))
        and _any(pc.match_substring_regex(texts, _ENDS_IN_0))
        and not _any(pc.invert(pc.match_substring_regex(texts, rf"^{_WITH_POINTS}$")))
    )


def _may_be_codes(texts: Any) -> bool:
    """Whether some are 12E4, and none 1.2E5, or 1.1 and 1.10 are among a few: versions."""
    if not _any(pc.match_substring(texts, ".")):
        return _any(pc.match_substring_regex(texts, r"^\d+[eE]\d+$"))
    return bool(written_twice([t for t in pc.unique(texts).to_pylist() if t]))


def _kind(type_: pa.DataType, texts: Any, comma: bool, commas_elsewhere: bool) -> Kind:
    if pa.types.is_integer(type_) and _converted(texts, "numbers") is texts:
        return "text"  # 0x12, which Arrow takes for a whole number where it infers types
    if comma or (commas_elsewhere and pa.types.is_integer(type_)):
        return "numbers with a decimal comma"
    if pa.types.is_boolean(type_):
        return "truth values"
    number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if number and _any(pc.match_substring_regex(texts, _PADDED)):
        return "numbers with leading zeros"  # codes, or months as 05.2019
    if pa.types.is_floating(type_) and (_may_have_points(texts) or _may_be_codes(texts)):
        return "text"
    if pa.types.is_floating(type_) and commas_elsewhere:
        return "numbers with a decimal point"  # which may stand between thousands
    return "numbers" if number or pa.types.is_null(type_) else "text"


#: Lines below a table that are no part of it, where it comes from or notes on it: how many at most,
#: and what they begin with.
_MOST_FOOT = 20
_SAYS = (
    rb"\W*(?:sources?|notes?|data|quelle|remarks?|legend|copyright|generated|created|exported|"
    rb"downloaded|updated|last updated|accessed|footnotes?|see|\(c\)|\xc2\xa9)"
)
_SAYS_SO = re.compile(_SAYS + rb"\b[^,;\t|]*[:. ]", re.IGNORECASE)
_WITH_COLON = re.compile(_SAYS + rb" *:", re.IGNORECASE)  # in lines that may be rows as well
_FOOT_WORDS = re.compile(rb"\s*[^\s\d+.,-].*[\s:]|\s*[*\xc2(].*\S")


def before_second_table(lines: Sequence[bytes], looks: Looks, names: Sequence[str]) -> int:
    """How many of the last lines of a text with the columns `names` come before another table.

    It is no longer than a footer, and begins below a blank line with a header of its own: words
    above its numbers, and where the columns of the text have numbers.

    >>> text = b"1,2\\n3,4\\n\\nname,n\\nall,2\\n"
    >>> before_second_table(text.splitlines(), Looks(), ["x", "z"])
    2
    """
    plain = [looks.plain(line).decode("utf-8", "replace") for line in lines]
    rows = [[cell.strip() for cell in row] for row in csv.reader(plain, delimiter=looks.delimiter)]
    if len(rows) != len(lines):
        return len(lines)  # some are in quotes
    for i in range(max(2, len(rows) - _MOST_FOOT), len(rows) - 2):
        if any(rows[i]):
            continue
        filled: list[Fields] = [[cell for cell in row if cell] for row in rows[i + 1 :]]
        header, below = filled[0], filled[1:]
        above = [row for row in rows[:i] if len(row) == len(names)][1:]
        known = [[cell for cell in cells if cell] for cells in zip(*above, strict=True)]
        numbers = [bool(cells) and all(map(is_number, cells)) for cells in known]
        words = [not is_number(cell) for cell, one in zip(header, numbers, strict=False) if one]
        other = any(words) and all(words) and header != [*names]
        if other and is_header(header, below):
            return i
    return len(lines)


def without_footer(tail: bytes, delimiter: bytes, width: int) -> int:
    """Where the rows at the end of a text of `width` columns end: its length, where all are rows.

    A footer has fewer fields than a row: one, of several words, or more behind a word such as
    ``Source:``.
    """
    lines = tail.splitlines(keepends=True)
    end, rows = len(tail), len(lines)
    while rows > 1 and len(lines) - rows < _MOST_FOOT:
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
    return text.startswith(b"*") or bool((_FOOT_WORDS if fields == 1 else _SAYS_SO).match(text))
