"""Tables with some cells or rows empty, however they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import Cells, Tables, selected
from gradfeat.rows.sources.text_options import TextOptions


class Masking(ABC):
    """What is empty, told by the cells of a row alone."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Columns that tell what is empty in others."""

    @abstractmethod
    def masked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these cells empty; the same frame where there are none."""


@dataclass(frozen=True)
class MaskedPiece(Piece[pd.DataFrame]):
    """Some rows, with what is to be empty so."""

    piece: Piece[pd.DataFrame]
    masking: Masking
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.piece.name

    def read(self) -> Iterator[pd.DataFrame]:
        """The frames of the piece."""
        return (selected(self.masking.masked(frame), self.names) for frame in self.piece.read())


class MaskedTables(Tables):
    """A table with some cells empty; rows keep their places.

    Parameters
    ----------
    table : Tables
        Where the rows are.
    masking : Masking
        What is empty.
    names : sequence of str, optional
        Columns; left out: those of the table.
    """

    def __init__(self, table: Tables, masking: Masking, names: Sequence[str] | None = None) -> None:
        self.table, self.masking = table, masking
        self._names = table.names if names is None else tuple(names)

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

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
        """That of the table, and what is empty."""
        return f"{self.table.fingerprint}\nempty {self.masking}"

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.table.remarks

    @property
    def text(self) -> TextOptions:
        return self.table.text

    @property
    def cells(self) -> Mapping[str, Cells]:
        return {n: kind for n, kind in self.table.cells.items() if n in self._names}

    def select(self, columns: Sequence[str]) -> Tables:
        more = [name for name in self.masking.needs if name not in columns]
        return MaskedTables(self.table.select([*columns, *more]), self.masking, columns)

    def read_as(self, cells: Mapping[str, Cells]) -> MaskedTables:
        return MaskedTables(self.table.read_as(cells), self.masking, self._names)

    def place(self, row: int) -> str:
        return self.table.place(row)

    def pieces(self) -> Iterator[MaskedPiece]:
        """Each as it comes, masked when it is read."""
        return (MaskedPiece(p, self.masking, self._names) for p in self.table.pieces())
