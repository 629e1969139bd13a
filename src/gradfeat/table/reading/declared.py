"""Values that stand for missing ones because the user says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import Cells, Tables
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.errors import TableError, near_names
from gradfeat.table.reading.cells import as_text
from gradfeat.table.reading.number_formats import NumberFormat


@dataclass(frozen=True)
class DeclaredMissing:
    """Values that are missing ones: in any column, or in one of them.

    Attributes
    ----------
    values : tuple of str
        As given: ``-999``, or ``height=0`` for one column. Numbers are compared as numbers, all
        else as text.
    """

    values: tuple[str, ...] = ()

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


@dataclass(frozen=True)
class MaskedPiece(Piece[pd.DataFrame]):
    """Some rows, with what was declared missing empty."""

    piece: Piece[pd.DataFrame]
    change: Callable[[pd.DataFrame], pd.DataFrame]

    @property
    def name(self) -> str:
        return self.piece.name

    def read(self) -> Iterator[pd.DataFrame]:
        """The frames of the piece."""
        return (self.change(frame) for frame in self.piece.read())


class MaskedTables(Tables):
    """A table with what was declared missing empty, however its rows are read.

    Parameters
    ----------
    table : Tables
        Where the rows are.
    declared : DeclaredMissing
        Values that are missing ones.
    """

    def __init__(self, table: Tables, declared: DeclaredMissing) -> None:
        self.table, self.declared = table, declared

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def rows(self) -> int | None:
        return self.table.rows

    @property
    def count(self) -> int | None:
        return self.table.count

    @property
    def parallel(self) -> bool:
        return self.table.parallel

    @property
    def fingerprint(self) -> str:
        """That of the table, and the values."""
        return f"{self.table.fingerprint}\nmissing {self.declared.values}"

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.table.remarks

    @property
    def text(self) -> TextOptions:
        return self.table.text

    @property
    def cells(self) -> Mapping[str, Cells]:
        return self.table.cells

    def select(self, columns: Sequence[str]) -> MaskedTables:
        return MaskedTables(self.table.select(columns), self.declared)

    def read_as(self, cells: Mapping[str, Cells]) -> MaskedTables:
        return MaskedTables(self.table.read_as(cells), self.declared)

    def place(self, row: int) -> str:
        return self.table.place(row)

    def pieces(self) -> Iterator[MaskedPiece]:
        """Each as it comes, masked when it is read."""
        return (MaskedPiece(piece, self.declared.masked) for piece in self.table.pieces())


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
