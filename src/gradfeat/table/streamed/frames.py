"""Data frames as blocks, so that engines sum statistics over the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import torch

from gradfeat.maths.blocks import Block
from gradfeat.rows.source import Columns
from gradfeat.rows.sources.tables import Convert, OverTables, Tables


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


class FrameRows(OverTables):
    """A table as a source of :class:`FrameBlock`.

    Examples
    --------
    >>> from gradfeat.rows.sources.frames import FrameTables
    >>> FrameRows(FrameTables(pd.DataFrame({"x": range(5)}), piece_rows=2)).count
    3
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @property
    def convert(self) -> Convert:
        """Frames as blocks."""
        return _frame_blocks

    @property
    def columns(self) -> Columns:
        """None of numbers."""
        return Columns((), ())

    @property
    def rows(self) -> int | None:
        """As of the table."""
        return self.tables.rows

    @property
    def fingerprint(self) -> str:
        """As of the table."""
        return f"frames of {self.tables.fingerprint}"


def _frame_blocks(frame: pd.DataFrame, where: str) -> Iterator[FrameBlock]:
    del where
    yield FrameBlock.of(frame)
