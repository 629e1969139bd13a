"""Delimited text: delimiter, header, and what the cells of each column are read as."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pacsv

from ..errors import SourceError
from ..source import PIECE_ROWS
from .files import FoundFile, Paths, find_files
from .records import record_ends
from .tables import Cells
from .text import BOM, SAMPLE_BYTES, Layout, TextFile, TextTables, open_text, records
from .words import first_and_more, listing, refuse_repeated, refuse_unknown

#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

DELIMITERS = (",", ";", "\t", "|")

#: Rows from which it is decided what cells are read as.
SAMPLE_ROWS = 20_000

#: How a column is read: numbers with a decimal point or comma, truth values, or text.
Kind = Literal["numbers", "numbers with a decimal comma", "truth values", "text"]

_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"
_MISSING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
_TRUE, _FALSE = ["True", "TRUE", "true"], ["False", "FALSE", "false"]
_TYPES = {"numbers": pa.float64(), "truth values": pa.bool_()}
_CELLS: dict[Kind, Cells] = {
    "numbers": "numbers",
    "numbers with a decimal comma": "numbers",
    "truth values": "truth values",
    "text": "text",
}


@dataclass(frozen=True)
class CsvLayout(Layout):
    """The same for all pieces of a text: decided once, from its first rows, or imposed.

    Attributes
    ----------
    delimiter : str
        One of :data:`DELIMITERS`.
    names : tuple of str
        All columns.
    kinds : tuple of Kind
        How each of them is read.
    selected : tuple of str
        Those that are wanted.
    sampled : int
        Rows from which the kinds were decided.
    strict : bool
        Whether a cell that is not of its column's kind is an error; else its chunk has text there.
    """

    delimiter: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    selected: tuple[str, ...]
    sampled: int
    strict: bool = True

    @property
    def chosen(self) -> tuple[str, ...]:
        """Columns in the order asked for."""
        return self.selected

    @property
    def cells(self) -> Mapping[str, Cells]:
        """By the kinds; a decimal comma is a matter of the text."""
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return {name: _CELLS[kinds[name]] for name in self.selected}

    def select(self, columns: Sequence[str], where: str) -> CsvLayout:
        """With these columns alone.

        Raises
        ------
        SourceError
            For a column that is not there.
        """
        refuse_repeated("the selection", columns)
        refuse_unknown(where, columns, self.names)
        return replace(self, selected=tuple(columns))

    def read_as(self, cells: Mapping[str, Cells]) -> CsvLayout:
        """Chunks with a cell that is not of its kind have the column as text."""
        kinds = tuple(
            kind if cells.get(name, _CELLS[kind]) == _CELLS[kind] else cells[name]
            for name, kind in zip(self.names, self.kinds, strict=True)
        )
        return replace(self, kinds=kinds, strict=False)

    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        """Line ends that are not quoted."""
        return record_ends(data, self.delimiter)

    def frame(self, data: bytes, name: str, line: int) -> pd.DataFrame:
        """Some records as a data frame; missing numbers are NaN.

        Raises
        ------
        SourceError
            Naming the line of a record that does not fit.
        """
        kinds = dict(zip(self.names, self.kinds, strict=True))
        types = {n: _TYPES.get(kinds[n], pa.string()) for n in self.names}
        try:
            try:
                table = _parsed(data, self.delimiter, self.names, types, self.selected)
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

    def _cell_by_cell(self, data: bytes, kinds: Mapping[str, Kind]) -> pa.Table:
        """Columns of text where a cell is not of its kind, the others as their kind."""
        types = dict.fromkeys(self.names, pa.string())
        texts = _parsed(data, self.delimiter, self.names, types, self.selected)
        points = self.delimiter != ","
        columns = [_converted(texts.column(n), kinds[n], points) for n in self.selected]
        return pa.table(columns, names=list(self.selected))

    def _with_points(self, texts: pd.Series, data: bytes, name: str, line: int) -> pd.Series:
        wrong = ~(texts.isna() | texts.str.fullmatch(_DECIMAL_COMMA))
        if not wrong.any():
            return texts.str.strip().str.replace(",", ".").astype(float)
        if not self.strict:
            return _converted(pa.array(texts), "numbers", points=True).to_pandas()
        record = int(wrong.to_numpy().argmax())
        where = f"'{name}', line {_line(data, self.delimiter, record + 1, line):,}"
        raise SourceError(self._wrong_value(where, str(texts.name), texts.iloc[record]))

    def _fault(self, message: str, data: bytes, name: str, line: int) -> str:
        """What is wrong, from the reader's message."""
        row = re.search(r"Row #(\d+)", message)
        number = _line(data, self.delimiter, int(row[1]), line) if row else line
        where = f"'{name}', line {number:,}"
        ragged = re.search(r"Expected (\d+) columns?, got (\d+)", message)
        wrong = _wrong_cell(message)
        if ragged:
            return (
                f"{where} has {ragged[2]} field{'s' * (ragged[2] != '1')} where the header has "
                f"{ragged[1]}: mend that line, or quote fields that contain the delimiter."
            )
        if wrong is not None:
            return self._wrong_value(where, self.names[wrong[0]], wrong[1])
        if "UTF8" in message:
            return f"{where} is not UTF-8 text: convert the file with iconv."
        return f"{where} cannot be read ({message.splitlines()[0][:120]}): mend that line."

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


def _converted(texts: Any, kind: Kind, points: bool) -> Any:
    """Cells as their kind, or the text where one of them is not; `points` in place of commas."""
    if kind == "text":
        return texts
    if kind == "truth values":
        true, false = (pc.is_in(texts, pa.array(words)) for words in (_TRUE, _FALSE))
        known = pc.or_(true, false)
        fits = bool(pc.all(pc.or_(known, pc.is_null(texts)), min_count=0).as_py())
        return pc.if_else(known, true, pa.scalar(None, pa.bool_())) if fits else texts
    if points:
        with_comma = pc.match_substring_regex(texts, f"^{_DECIMAL_COMMA}$")
        texts = pc.if_else(with_comma, pc.replace_substring(texts, ",", "."), texts)
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
            strings_can_be_null=True,
            true_values=_TRUE,
            false_values=_FALSE,
        ),
    )


def csv_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
) -> TextTables:
    """CSV, TSV or other delimited text: a file, folder, glob, list, or fsspec URL.

    The delimiter (comma, semicolon, tab or bar) is found from the text; fields may be quoted; a
    decimal comma is understood where the comma is not the delimiter. Text is UTF-8. Kinds of
    columns are decided from the first 20,000 rows and kept; numbers are read as float64.

    Parameters
    ----------
    path : path, URL or glob, or several of them
        Files with the same header.
    columns : sequence of str, optional
        Columns to read; left out: all.
    piece_rows : int
        Rows of a piece at most.
    storage_options : mapping, optional
        Given to the fsspec file system.

    Raises
    ------
    SourceError
        Where files cannot be found or read, or do not go together.

    Examples
    --------
    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doc/a.csv", b'x;y\\n1,5;"a\\nb"\\n2;c\\n')
    >>> table = csv_tables("memory://doc/a.csv", piece_rows=1)
    >>> [frame.to_dict("list") for piece in table.pieces() for frame in piece.read()]
    [{'x': [1.5], 'y': ['a\\nb']}, {'x': [2.0], 'y': ['c']}]
    """
    found = find_files(path, storage_options)
    first, delimiter, names = open_csv(found[0])
    files = [first]
    for file in found[1:]:
        other, _, there = open_csv(file, delimiter)
        if there != names:
            raise SourceError(
                f"the header of '{file.name}' ({listing(there)}) is not that of '{found[0].name}' "
                f"({listing(names)}): give files with the same header."
            )
        files.append(other)
    layout = _layout(files, delimiter, names)
    if columns is not None:
        layout = layout.select(columns, first_and_more(found[0].name, len(found)))
    return TextTables(files, layout, piece_rows)


def open_csv(
    file: FoundFile, delimiter: str | None = None
) -> tuple[TextFile, str, tuple[str, ...]]:
    """Read the header of a file: where the records begin, the delimiter, and the names.

    Parameters
    ----------
    file : FoundFile
        Delimited text in UTF-8, perhaps gz.
    delimiter : str, optional
        Left out: found from the first rows.

    Raises
    ------
    SourceError
        For what is not such text, and for names that occur twice.
    """
    text, sample = open_text(file)
    start = len(BOM) if sample.startswith(BOM) else 0
    if sample[start:].lstrip().startswith((b'{"', b"[{")):
        raise SourceError(
            f"'{file.name}' is JSON: call it .jsonl where each line is an object, or give CSV, TSV "
            "or Parquet."
        )
    whole = sample if len(sample) < SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    delimiter = delimiter or find_delimiter(whole[start:].decode("utf-8"))
    start += len(sample[start:]) - len(sample[start:].lstrip(b"\r\n"))
    ends, _ = record_ends(sample[start:], delimiter)
    end = start + (int(ends[0]) if len(ends) else len(sample) - start)
    fields = next(
        csv.reader(io.StringIO(sample[start:end].decode(), newline=""), delimiter=delimiter)
    )
    names = tuple(field.strip() or f"Unnamed: {i}" for i, field in enumerate(fields))
    refuse_repeated(f"'{file.name}'", names)
    line = sample.count(b"\n", 0, end) + 1
    return replace(text, body=end, line=line), delimiter, names


def _layout(files: Sequence[TextFile], delimiter: str, names: tuple[str, ...]) -> CsvLayout:
    text = CsvLayout(delimiter, names, ("text",) * len(names), names, 0)
    for file in files:
        for span, data in records(file, text, SAMPLE_ROWS):
            return infer_layout(data, span.rows, delimiter, names, file.file.name, span.line)
    name = first_and_more(files[0].file.name, len(files))
    raise SourceError(f"{name} has no rows: give a table with at least one row.")


def infer_layout(
    sample: bytes, rows: int, delimiter: str, names: Sequence[str], where: str, line: int
) -> CsvLayout:
    """The kind of each column, from the first rows; a column with no value is numbers.

    Raises
    ------
    SourceError
        For records that do not fit the header.

    Examples
    --------
    >>> infer_layout(b"1;2,5;a\\n", 1, ";", ["x", "y", "z"], "a.csv", 2).kinds
    ('numbers with a decimal comma', 'numbers with a decimal comma', 'text')
    """
    text = CsvLayout(delimiter, tuple(names), ("text",) * len(names), tuple(names), rows)
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
    return bool(len(found)) and bool(found.str.fullmatch(_DECIMAL_COMMA).all())


def _kind(type_: pa.DataType, texts: Any, comma: bool, commas_elsewhere: bool) -> Kind:
    if pa.types.is_integer(type_) and _converted(texts, "numbers", points=False) is texts:
        return "text"  # 0x12, which Arrow takes for a whole number where it infers types
    if comma or (commas_elsewhere and pa.types.is_integer(type_)):
        return "numbers with a decimal comma"
    if pa.types.is_boolean(type_):
        return "truth values"
    if pa.types.is_null(type_) or pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return "numbers"
    return "text"


def find_delimiter(sample: str) -> str:
    """The delimiter that splits the rows into the same number of fields, two at least.

    Where several do, the one with most fields; where none does, the one that splits most rows
    as it splits the header. Text of a single column: a delimiter that does not occur in it.

    Examples
    --------
    >>> find_delimiter('a;b\\n"1;2";3,5\\n')
    ';'
    """
    return max(DELIMITERS, key=lambda delimiter: _score(sample, delimiter))


def _score(sample: str, delimiter: str) -> tuple[bool, float, int]:
    """Rank a delimiter: does it split the header, how many rows agree, into how many fields."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        widths = [len(row) for row in reader if row]
    except csv.Error:
        return (False, 0.0, 0)
    if not widths:
        return (False, 0.0, 0)
    agreeing = sum(width == widths[0] for width in widths) / len(widths)
    return (widths[0] > 1, agreeing, widths[0])
