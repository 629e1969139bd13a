"""Tables as sources of blocks: each data frame is converted where it is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from ...maths.blocks import Block
from ..source import Piece
from .numeric import NumericSource
from .tables import Tables

#: A data frame and where its rows are, to blocks; picklable where pieces are sent.
Convert = Callable[[pd.DataFrame, str], Iterator[Block]]


@dataclass(frozen=True)
class ConvertedPiece(Piece[Block]):
    """A piece of a table, converted when read."""

    piece: Piece[pd.DataFrame]
    convert: Convert

    @property
    def name(self) -> str:
        """Where the rows are."""
        return self.piece.name

    def read(self) -> Iterator[Block]:
        """The blocks of each data frame.

        Raises
        ------
        SourceError
            For rows that cannot be read or converted.
        """
        for frame in self.piece.read():
            yield from self.convert(frame, self.name)


class OverTables(NumericSource):
    """Blocks made of the data frames of `tables`, one piece for each of theirs."""

    tables: Tables

    @property
    @abstractmethod
    def convert(self) -> Convert:
        """What a data frame is turned into."""

    @property
    def count(self) -> int | None:
        """As of the table."""
        return self.tables.count

    @property
    def parallel(self) -> bool:
        """As of the table."""
        return self.tables.parallel

    def pieces(self) -> Iterator[ConvertedPiece]:
        """One for each piece of the table."""
        return (ConvertedPiece(piece, self.convert) for piece in self.tables.pieces())
