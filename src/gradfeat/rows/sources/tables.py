"""Tables of named columns: what all of them can say and do, and all of their rows at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, cast

import pandas as pd

from ...maths.blocks import Block
from ..source import Piece, Source
from .numeric import NumericSource
from .text_options import TextOptions

#: What the cells of a column of text are read as.
Cells = Literal["numbers", "truth values", "text"]

#: A data frame and where its rows are, to blocks; picklable where pieces are sent.
Convert = Callable[[pd.DataFrame, str], Iterator[Block]]


class Tables(Source[pd.DataFrame]):
    """A table of named columns in pieces; its chunks are data frames with these columns."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the table is, in words: ``'a.parquet'``."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""

    @property
    def rows(self) -> int | None:
        """How many rows there are; None where only reading tells."""
        return None

    @abstractmethod
    def select(self, columns: Sequence[str]) -> Tables:
        """The same pieces with these columns alone, in this order; others are not read."""

    def place(self, row: int) -> str:
        """Where a row (from 0) is, in words: ``row 17``, or the line of a text."""
        return f"row {row + 1:,}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found of how the table is written, in sentences; nothing where it is plain."""
        return ()

    @property
    def text(self) -> TextOptions:
        """How its text is written, which further files of its kind may be told."""
        return TextOptions()

    @property
    def cells(self) -> Mapping[str, Cells]:
        """What the cells of each column are read as, where they are text without types."""
        return {}

    def read_as(self, cells: Mapping[str, Cells]) -> Tables:
        """The same rows with cells of text read as told; other columns as before.

        A cell is read by itself. A chunk with a cell that cannot be read so has the whole column
        as text, which is for the caller to judge.
        """
        del cells
        return self


def selected(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return cast(pd.DataFrame, frame[list(columns)])


def unlike(cells: Mapping[str, Cells], chunk: pd.DataFrame) -> list[str]:
    """Columns of a chunk that hold text where something else was to be read."""
    text = {str(name) for name, dtype in chunk.dtypes.items() if dtype == "str"}
    return [name for name, kind in cells.items() if kind != "text" and name in text]


def held(table: Tables, imposed: Mapping[str, Cells] | None = None) -> pd.DataFrame:
    """All rows in one frame; a column of text is one of numbers where every cell of it is one.

    What the cells of `imposed` columns are read as was decided before.
    """
    imposed = imposed or {}
    cells: dict[str, Cells] = {n: k for n, k in table.cells.items() if n not in imposed}
    chunks = _chunks(table.read_as({**cells, **imposed}))
    text = list(dict.fromkeys(name for chunk in chunks for name in unlike(cells, chunk)))
    frame = _joined(chunks)
    del chunks
    if text:
        as_text: dict[str, Cells] = dict.fromkeys(text, "text")
        frame[text] = _joined(_chunks(table.select(text).read_as(as_text)))
    return frame


def _chunks(table: Tables) -> list[pd.DataFrame]:
    return [chunk for piece in table.pieces() for chunk in piece.read()]


def _joined(chunks: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if len(chunks) == 1:
        return chunks[0].reset_index(drop=True)
    return pd.concat(chunks, ignore_index=True)


class OverTables(NumericSource):
    """Blocks made of the data frames of `tables`, one piece for each of theirs."""

    tables: Tables

    @property
    @abstractmethod
    def convert(self) -> Convert:
        """What a data frame is turned into."""

    @property
    def count(self) -> int | None:
        return self.tables.count

    @property
    def parallel(self) -> bool:
        return self.tables.parallel

    def pieces(self) -> Iterator[Piece[Block]]:
        for piece in self.tables.pieces():
            yield Piece(piece.name, partial(_converted, piece, self.convert))


def _converted(piece: Piece[pd.DataFrame], convert: Convert) -> Iterator[Block]:
    for frame in piece.read():
        yield from convert(frame, piece.name)
