"""A file of rows and columns as a data frame, or reasons to stream it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa

from gradfeat.errors import TableError
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Cells, Tables, held, of_64_bits, refuse_complex
from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.wording import listing


def read_table(
    path: str | os.PathLike[str],
    cells: Mapping[str, Cells] | None = None,
    text: TextOptions = FOUND,
) -> pd.DataFrame:
    """Read delimited text, Parquet, Feather, JSON lines or the first sheet of an Excel workbook.

    The separator (comma, semicolon, tab, bar or blanks), comments, whether there is a header, and
    the encoding are found from the text; fields may be quoted. Numbers with a decimal comma or
    leading zeros stay text: all of their column tells the encoder what they are.

    `path`: ``.parquet``/``.pq``, ``.feather``/``.arrow``, ``.xlsx`` (needs openpyxl),
    ``.jsonl``/``.ndjson``/``.json``, anything else: CSV, TSV or other delimited text, also packed
    (gz, bz2, xz, zip);
    `cells`: what cells of delimited text are read as, each by itself: the ``cells`` of a fitted
    encoder, for rows that it is to encode. Left out: a column is read as numbers where each of its
    cells is one; `text`: what is known of a text beforehand: its separator, comments, header,
    encoding.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text('name;size\\n"a;b";1,5\\n')
    ...     read_table(Path(folder, "a.csv")).to_dict("list")
    {'name': ['a;b'], 'size': ['1,5']}
    """
    return held(tables(path, text=text), cells)


def as_frame(data: Any) -> pd.DataFrame:
    """A table of any library as a data frame of pandas, its names as text.

    Whatever speaks Arrow's PyCapsule protocol (polars, pyarrow, duckdb) is read as a Parquet file
    with these columns is, structs one level apart (``a.b``); the columns of an array (n, d) are
    x0, x1, ...

    >>> as_frame(pa.table({"x": [1, 2]}))["x"].tolist(), as_frame(np.eye(2)).columns.tolist()
    ([1, 2], ['x0', 'x1'])
    """
    match data:
        case pd.DataFrame():
            refuse_complex(frame := _own_types(data))  # pandas has no kind of some types
            return frame.set_axis(_plain_names(map(str, data.columns)), axis=1)
        case [{}, *_]:  # records
            return pd.DataFrame(data)
        case np.ndarray(ndim=2):
            return as_frame(pd.DataFrame(data, columns=[f"x{k}" for k in range(data.shape[1])]))
    try:
        return pa.table(data).flatten().to_pandas(ignore_metadata=True)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise TableError(
            f"The table is of type {type(data).__name__}, which Arrow does not read ({why}): give "
            "a DataFrame of pandas or polars, a pyarrow Table, an array (n, d) or a list of "
            "records; rows of a cluster are read from the path of their files."
        ) from None


def by_name(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """The columns of a frame, rows numbered from 0; refused where two have one name."""
    refuse_complex(frame)
    names = frame.columns.map(str)
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise TableError(
            f"The table has more than one column named {listing(twice)}: "
            "give each column its own name."
        )
    return {str(name): column.reset_index(drop=True) for name, column in frame.items()}


def _plain_names(given: Iterable[str]) -> list[str]:
    """Names composed, without blanks at their ends, as those of text, unless two would be one."""
    names = [*given]
    plain = [normalize("NFC", name.strip()) for name in names]
    return plain if len({*plain}) == len({*names}) else names


def _own_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of types that pandas does not compute with as its own, as those of files are."""
    columns = [_own_type(column) for _, column in frame.items()]
    same = all(one.dtype == dtype for one, dtype in zip(columns, frame.dtypes, strict=True))
    return frame if same else pd.concat(columns, axis=1)


def _own_type(column: pd.Series) -> pd.Series:
    """Of Arrow, of extended precision, or in the order of bytes of other machines."""
    match column.dtype:
        case np.dtype(kind="f", itemsize=12 | 16):  # beyond the largest float a cell is infinite
            with np.errstate(over="ignore"):
                return column.astype(np.float64)
        case np.dtype(isnative=False) as kind:
            return column.astype(kind.newbyteorder("="))
        case kind if str(kind).endswith("[pyarrow]"):
            return pa.array(column).to_pandas().set_axis(column.index)
    return of_64_bits(column)


class KeptColumns:
    """The next rows of some columns, in chunks of any size.

    `names`: columns; cells of text are given letter by letter (``007`` stays so).
    """

    def __init__(self, table: Tables, names: Sequence[str]) -> None:
        self._chunks = self._read(table, names)
        self._held = pd.DataFrame(columns=list(names))

    @staticmethod
    def _read(table: Tables, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        if names:
            rows = table.select(names).read_as(dict.fromkeys(names, "text"))
            for piece in rows.pieces():
                yield from piece.read()

    def take(self, n: int) -> pd.DataFrame:
        """The n rows after those taken before, numbered from 0."""
        parts, there = [self._held], len(self._held)
        if not len(self._held.columns):
            return pd.DataFrame(index=range(n))
        while there < n:
            parts.append(next(self._chunks))
            there += len(parts[-1])
        rows = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
        self._held = rows.iloc[n:]
        return rows.iloc[:n].reset_index(drop=True)
