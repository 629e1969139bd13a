"""Columns of a table that are copied as they stand in it, beside what is computed of its rows."""

# Apart: a second reading of the same rows, which predictions only set beside theirs.

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from gradfeat.rows.sources.tables import Tables
from gradfeat.rows.sources.words import named, near_names
from gradfeat.table.errors import TableError


def columns_to_keep(asked: Sequence[str], names: Sequence[str]) -> list[str]:
    """Columns asked for one by one, or with commas between their names; each once.

    Raises
    ------
    TableError
        For a name that is no column.

    Examples
    --------
    >>> columns_to_keep(["b,a", "b"], ["a", "b", "c"])
    ['b', 'a']
    """
    kept = list(dict.fromkeys(named(asked, list(names))))
    for name in kept:
        if name not in names:
            raise TableError(f"The table has no column {name!r} to keep{near_names(name, names)}")
    return kept


class KeptColumns:
    """The next rows of some columns, in chunks of any size.

    Parameters
    ----------
    table : Tables
    names : sequence of str
        Columns; cells of text are given letter by letter (``007`` stays so).
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
