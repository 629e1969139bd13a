"""Values that stand for missing ones because the user says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gradfeat.rows.sources.tables import Tables
from gradfeat.table.errors import TableError, near_names
from gradfeat.table.reading.cells import as_text
from gradfeat.table.reading.masked import MaskedTables, Masking
from gradfeat.table.reading.number_formats import NumberFormat


@dataclass(frozen=True)
class DeclaredMissing(Masking):
    """Values that are missing ones: in any column, or in one of them.

    Attributes
    ----------
    values : tuple of str
        As given: ``-999``, or ``height=0`` for one column. Numbers are compared as numbers, all
        else as text.
    """

    values: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that tell what is empty in others: none."""
        return ()

    def of(self, column: str) -> tuple[str, ...]:
        """Those of a column: what follows its name, and what stands alone.

        Examples
        --------
        >>> DeclaredMissing(("-999", "height=0")).of("height")
        ('-999', '0')
        """
        named = f"{column}="
        return tuple(
            value.removeprefix(named)
            for value in self.values
            if value.startswith(named) or "=" not in value
        )

    def check(self, names: Iterable[str]) -> None:
        """Refuse values of columns that are not there.

        Raises
        ------
        TableError
            With the column, and those of similar names.
        """
        known = [str(name) for name in names]
        for value in self.values:
            if "=" in value and not any(value.startswith(f"{name}=") for name in known):
                column = value.split("=", 1)[0]
                raise TableError(
                    f"The table has no column {column!r}, of which {value!r} would be missing"
                    f"{near_names(column, known)}"
                )

    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these cells empty; the same frame where there are none.

        Examples
        --------
        >>> frame = pd.DataFrame({"x": [1.0, -999.0], "t": ["a", "?"]})
        >>> DeclaredMissing(("-999", "?")).masked(frame)["x"].tolist()
        [1.0, nan]
        """
        if not self.values:
            return frame
        changed = {str(n): self._masked(str(n), column) for n, column in frame.items()}
        return pd.DataFrame(changed, index=frame.index)

    def _masked(self, name: str, column: pd.Series) -> pd.Series:
        values = self.of(name)
        if not values:
            return column
        hit = column.isin(_floats(values)) if column.dtype.kind in "iuf" else _texts(column, values)
        return column.mask(hit) if hit.any() else column


def _floats(values: Sequence[str]) -> list[float]:
    numbers = NumberFormat().read(values)
    return numbers[~np.isnan(numbers)].tolist()


def _texts(column: pd.Series, values: Sequence[str]) -> pd.Series:
    return as_text(column).isin(as_text(pd.Series(values, dtype=object)))


def declared(table: Tables, values: Sequence[str]) -> Tables:
    """The table with these values empty.

    Raises
    ------
    TableError
        For values of a column that is not there.

    Examples
    --------
    >>> from gradfeat.rows.sources.in_memory import FrameTables
    >>> table = declared(FrameTables(pd.DataFrame({"x": [1, -9]})), ["x=-9"])
    >>> next(next(table.pieces()).read())["x"].tolist()
    [1.0, nan]
    """
    missing = DeclaredMissing(tuple(values))
    missing.check(table.names)
    return MaskedTables(table, missing) if values else table
