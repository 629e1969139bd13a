"""Delimited text as a data frame: which delimiter, is it whole, what are the numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pandas as pd

from gradfeat.tabular.errors import TableError, listing

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 200_000
_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"


def parse_delimited(name: str, text: str) -> pd.DataFrame:
    """Parse the text of the file `name`; its first row names the columns.

    Raises
    ------
    TableError
        For rows of other lengths than the header, names that occur twice, and open quotes.
    """
    delimiter = find_delimiter(text)
    _check_rows(name, text, delimiter)
    try:
        frame = pd.read_csv(
            io.StringIO(text, newline=""), sep=delimiter, index_col=False, low_memory=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(
            f"'{name}' cannot be read as a table ({str(error).strip().splitlines()[-1]}): "
            "look for a quote that is never closed."
        ) from error
    frame.columns = frame.columns.str.strip()
    if delimiter == ",":
        return frame
    return pd.DataFrame({name: _with_decimal_comma(column) for name, column in frame.items()})


def find_delimiter(text: str) -> str:
    """Return the delimiter that splits the rows into the same number of fields, two at least.

    Where several do, the one with most fields; where none does, the one that splits most rows
    as it splits the header. Text of a single column: a delimiter that does not occur in it.

    Examples
    --------
    >>> find_delimiter('a;b\\n"1;2";3,5\\n')
    ';'
    """
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    return max(DELIMITERS, key=lambda delimiter: _score(sample, delimiter))


def _score(sample: str, delimiter: str) -> tuple[bool, float, int]:
    """Rank a delimiter: does it split the header, how many rows agree, into how many fields."""
    try:
        widths = [len(row) for row in _rows(sample, delimiter) if row]
    except csv.Error:
        return (False, 0.0, 0)
    if not widths:
        return (False, 0.0, 0)
    agreeing = sum(width == widths[0] for width in widths) / len(widths)
    return (widths[0] > 1, agreeing, widths[0])


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _check_rows(name: str, text: str, delimiter: str) -> None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    try:
        for row in reader:
            if row and not header:
                header = row
                _check_header(name, header)
            elif row and len(row) != len(header):
                raise TableError(
                    f"Line {reader.line_num} of '{name}' has {len(row)} field"
                    f"{'s' * (len(row) != 1)} where the header has {len(header)}: "
                    "mend that line, or quote fields that contain the delimiter."
                )
    except csv.Error as error:
        raise TableError(
            f"Line {reader.line_num} of '{name}' cannot be read ({error}): "
            "look for a quote that is never closed."
        ) from error


def _check_header(name: str, header: list[str]) -> None:
    names = [field.strip() for field in header if field.strip()]
    twice = [field for field in dict.fromkeys(names) if names.count(field) > 1]
    if twice:
        raise TableError(
            f"'{name}' has more than one column named {listing(twice)}: "
            "give each column its own name."
        )


def _with_decimal_comma(column: pd.Series) -> pd.Series:
    """Return the column as numbers where each value is one and some have a decimal comma."""
    found = column.dropna()
    if pd.api.types.is_numeric_dtype(column.dtype) or found.empty:
        return column
    text = found.astype(str)
    if not text.str.fullmatch(_DECIMAL_COMMA).all():
        return column
    return column.str.strip().str.replace(",", ".").astype(float)
