"""What the fields of delimited text are: delimiter, names, and the kind of each column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv

from ..errors import SourceError
from .words import refuse_repeated, refuse_unknown

DELIMITERS = (",", ";", "\t", "|")

#: How a column is read: numbers with a decimal point or comma, truth values, or text.
Kind = Literal["numbers", "numbers with a decimal comma", "truth values", "text"]

_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"
_MISSING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
_TYPES = {"numbers": pa.float64(), "truth values": pa.bool_()}


@dataclass(frozen=True)
class Layout:
    """The same for all pieces of a text: decided once, from its first rows.

    Attributes
    ----------
    delimiter : str
        One of :data:`DELIMITERS`.
    names : tuple of str
        All columns.
    kinds : tuple of Kind
        How each of them is read.
    chosen : tuple of str
        Those that are wanted.
    sampled : int
        Rows from which the kinds were decided.
    """

    delimiter: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    chosen: tuple[str, ...]
    sampled: int

    def select(self, columns: Sequence[str], where: str) -> Layout:
        """With these columns alone.

        Raises
        ------
        SourceError
            For a column that is not there.
        """
        refuse_repeated("the selection", columns)
        refuse_unknown(where, columns, self.names)
        return replace(self, chosen=tuple(columns))

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
            table = _parsed(data, self.delimiter, self.names, types, self.chosen)
        except pa.ArrowException as error:
            raise SourceError(self._fault(str(error), data, name, line)) from error
        frame = table.to_pandas()
        for column in self.chosen:
            if kinds[column] == "numbers with a decimal comma":
                frame[column] = self._with_points(frame[column], data, name, line)
        return frame

    def _with_points(self, texts: pd.Series, data: bytes, name: str, line: int) -> pd.Series:
        wrong = ~(texts.isna() | texts.str.fullmatch(_DECIMAL_COMMA))
        if wrong.any():
            record = int(wrong.to_numpy().argmax())
            where = f"'{name}', line {_line(data, self.delimiter, record + 1, line):,}"
            raise SourceError(self._wrong_value(where, str(texts.name), texts.iloc[record]))
        return texts.str.strip().str.replace(",", ".").astype(float)

    def _fault(self, message: str, data: bytes, name: str, line: int) -> str:
        """What is wrong, from the reader's message."""
        row = re.search(r"Row #(\d+)", message)
        number = _line(data, self.delimiter, int(row[1]), line) if row else line
        where = f"'{name}', line {number:,}"
        ragged = re.search(r"Expected (\d+) columns?, got (\d+)", message)
        column = re.search(r"column #(\d+)", message)
        value = re.search(r"invalid value '(.*)'", message, re.DOTALL)
        if ragged:
            return (
                f"{where} has {ragged[2]} field{'s' * (ragged[2] != '1')} where the header has "
                f"{ragged[1]}: mend that line, or quote fields that contain the delimiter."
            )
        if column and value:
            return self._wrong_value(where, self.names[int(column[1])], value[1])
        if "UTF8" in message:
            return f"{where} is not UTF-8 text: convert the file with iconv."
        return f"{where} cannot be read ({message.splitlines()[0][:120]}): mend that line."

    def _wrong_value(self, where: str, column: str, value: str) -> str:
        kind = self.kinds[self.names.index(column)]
        return (
            f"{where}: column {column!r} holds {value!r} where its first {self.sampled:,} rows "
            f"hold {kind}: mend that value, or write the table as Parquet with the types it has."
        )


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
            true_values=["True", "TRUE", "true"],
            false_values=["False", "FALSE", "false"],
        ),
    )


def infer_layout(
    sample: bytes, rows: int, delimiter: str, names: Sequence[str], where: str, line: int
) -> Layout:
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
    text = Layout(delimiter, tuple(names), ("text",) * len(names), tuple(names), rows)
    try:
        table = _parsed(sample, delimiter, names, {}, names)
        texts = _parsed(sample, delimiter, names, dict.fromkeys(names, pa.string()), names)
    except pa.ArrowException as error:
        raise SourceError(text._fault(str(error), sample, where, line)) from error
    commas = {n for n in names if delimiter != "," and _has_commas(table, texts, n)}
    kinds = tuple(_kind(table.schema.field(n).type, n in commas, bool(commas)) for n in names)
    return replace(text, kinds=kinds)


def _has_commas(table: pa.Table, texts: pa.Table, name: str) -> bool:
    if not pa.types.is_string(table.schema.field(name).type):
        return False
    found = texts.column(name).drop_null().to_pandas()
    return bool(len(found)) and bool(found.str.fullmatch(_DECIMAL_COMMA).all())


def _kind(type_: pa.DataType, comma: bool, commas_elsewhere: bool) -> Kind:
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
