"""Data frames as blocks, so that engines sum statistics over the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import torch

from gradfeat.maths.blocks import Block
from gradfeat.passes.source import Piece, Source
from gradfeat.passes.sources.tables import Tables


@dataclass(frozen=True)
class FrameBlock(Block):
    """Rows with names: a data frame, and a block without any number of the same length.

    Examples
    --------
    >>> len(FrameBlock.of(pd.DataFrame({"x": ["a", "b"]})).X)
    2
    """

    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame) -> FrameBlock:
        """A frame as a block."""
        none = torch.zeros(len(frame), 0, dtype=torch.float64)
        return cls(none, none, torch.ones(len(frame), dtype=torch.float64), frame)


@dataclass(frozen=True)
class FramePiece(Piece[Block]):
    """A piece of a table."""

    piece: Piece[pd.DataFrame]

    @property
    def name(self) -> str:
        """Where the rows are."""
        return self.piece.name

    def read(self) -> Iterator[FrameBlock]:
        """Its frames.

        Raises
        ------
        SourceError
            Where they cannot be read.
        """
        for frame in self.piece.read():
            yield FrameBlock.of(frame)


class FrameRows(Source[Block]):
    """A table as a source of :class:`FrameBlock`.

    Examples
    --------
    >>> from gradfeat.passes.sources.frames import FrameTables
    >>> FrameRows(FrameTables(pd.DataFrame({"x": range(5)}), piece_rows=2)).count
    3
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def pieces(self) -> Iterator[FramePiece]:
        """One for each piece of the table."""
        return (FramePiece(piece) for piece in self.tables.pieces())

    @property
    def count(self) -> int | None:
        """As of the table."""
        return self.tables.count

    @property
    def fingerprint(self) -> str:
        """As of the table."""
        return f"frames of {self.tables.fingerprint}"

    @property
    def parallel(self) -> bool:
        """As of the table."""
        return self.tables.parallel
