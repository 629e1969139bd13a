"""Encoded training rows of a table as a source of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from gradfeat.maths.blocks import Block
from gradfeat.passes.source import Columns, Piece
from gradfeat.passes.sources.numeric import NumericSource, numbered
from gradfeat.passes.sources.tables import Tables
from gradfeat.tabular.streamed.coding import Coding

#: Bytes of encoded rows in a block, and rows that are encoded at once in any case.
BLOCK_BYTES, LEAST_ROWS = 2**26, 1024


@dataclass(frozen=True)
class EncodedPiece(Piece[Block]):
    """A piece of a table, encoded when read."""

    piece: Piece[pd.DataFrame]
    coding: Coding

    @property
    def name(self) -> str:
        """Where the rows are."""
        return self.piece.name

    def read(self) -> Iterator[Block]:
        """Blocks of training rows, so many at a time that they take at most `BLOCK_BYTES`.

        Raises
        ------
        SourceError
            For rows that cannot be read or encoded.
        """
        step = max(LEAST_ROWS, BLOCK_BYTES // (8 * len(self.coding.encoder.feature_names_)))
        for frame in self.piece.read():
            for start in range(0, len(frame), step):
                yield self.coding.training(frame.iloc[start : start + step], self.name)


class EncodedRows(NumericSource):
    """Training rows of a table.

    Parameters
    ----------
    tables : Tables
        With the columns that the rows were looked at with.
    coding : Coding
        What they are turned into.
    rows : int
        Number of training rows.
    """

    def __init__(self, tables: Tables, coding: Coding, rows: int) -> None:
        self.tables = tables
        self.coding = coding
        self._rows = rows

    def pieces(self) -> Iterator[EncodedPiece]:
        """One for each piece of the table."""
        return (EncodedPiece(piece, self.coding) for piece in self.tables.pieces())

    @property
    def rows(self) -> int:
        """Training rows."""
        return self._rows

    @property
    def columns(self) -> Columns:
        """Numbers in the place of names, as encoded rows in memory have."""
        return numbered(len(self.coding.encoder.feature_names_), 1)

    @property
    def count(self) -> int | None:
        """As of the table."""
        return self.tables.count

    @property
    def fingerprint(self) -> str:
        """That of the table, and of what its rows are turned into."""
        coding = self.coding
        what = (coding.signature, coding.target, coding.classes, coding.seed, coding.threshold)
        return f"{self.tables.fingerprint}\nencoded {what}"

    @property
    def parallel(self) -> bool:
        """As of the table."""
        return self.tables.parallel
