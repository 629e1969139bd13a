"""A file of rows and columns as a data frame."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pandas as pd

from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Cells, held


def read_table(
    path: str | os.PathLike[str], cells: Mapping[str, Cells] | None = None
) -> pd.DataFrame:
    """Read CSV, TSV or other delimited text, Parquet or JSON lines; text may be gz.

    The delimiter (comma, semicolon, tab or bar) is found from the text; fields may be quoted.
    A decimal comma is understood where the comma is not the delimiter. The text must be UTF-8.

    Parameters
    ----------
    path : str or path
        ``.parquet``/``.pq``, ``.jsonl``/``.ndjson``/``.json``, anything else: delimited text.
    cells : mapping of column to {"numbers", "truth values", "text"}, optional
        What cells of delimited text are read as, each by itself: the ``cells`` of a fitted
        encoder, for rows that it is to encode. Left out: a column is read as numbers where each
        of its cells is one.

    Returns
    -------
    pandas.DataFrame
        At least one row and one column, names distinct, rows numbered from 0.

    Raises
    ------
    SourceError
        Where there is no such file or it cannot be read as such a table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text('name;size\\n"a;b";1,5\\n')
    ...     read_table(Path(folder, "a.csv")).to_dict("list")
    {'name': ['a;b'], 'size': [1.5]}
    """
    return held(tables(path), cells)
