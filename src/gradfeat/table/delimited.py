"""Delimited text as a data frame: which delimiter, is it whole, what are the numbers."""

from __future__ import annotations

import csv
import io

import pandas as pd

from gradfeat.rows.sources.csv_layout import find_delimiter
from gradfeat.table.errors import TableError, listing

_SAMPLE = 200_000
_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"


def parse_delimited(name: str, text: str) -> pd.DataFrame:
    """Parse the text of the file `name`; its first row names the columns.

    Raises
    ------
    TableError
        For rows of other lengths than the header, names that occur twice, and open quotes.
    """
    delimiter = find_delimiter(_sample(text))
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


def _sample(text: str) -> str:
    """The first rows, whole."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    return sample


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
