"""Tables of named columns: what all of them can say and do, and all of their rows at once."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import torch
from pandas.api.types import infer_dtype, is_complex_dtype
from pandas.core.util.hashing import hash_pandas_object

from ...errors import SourceError, TableError
from ...maths.blocks import Block
from ...wording import checked_piece_rows, listing, ranges, refuse_repeated, refuse_unknown
from ..source import PIECE_ROWS, Columns, Piece, Source, held_piece
from .numeric import (
    Numbers,
    NumericSource,
    array_piece,
    as_tensor,
    checked_dtype,
    checked_shapes,
    digest,
    numbered,
)
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

    def with_absent(self, names: Sequence[str]) -> Tables:
        """With those of `names` that it lacks as missing values, where rows need not name them all.

        Only objects of JSON leave names out; a table with a header lacks what is not in it.
        """
        del names
        return self

    def place(self, row: int) -> str:
        """Where a row (from 0) is, in words: ``row 17``, or the line of a text."""
        return f"row {row + 1:,}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found of how the table is written, in sentences; nothing where it is plain."""
        return ()

    @property
    def categories(self) -> tuple[str, ...]:
        """Columns that are stored as codes of categories."""
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


def of_64_bits(column: pd.Series) -> pd.Series:
    """Whole numbers beyond those of 64 bits as floating-point ones, which may be infinite."""
    if column.dtype != object or infer_dtype(column) not in ("integer", "mixed-integer-float"):
        return column
    if column.dropna().abs().max() < 2**63:
        return column
    return column.map(str, na_action="ignore").astype(np.float64)


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


class ArrayRows(NumericSource):
    """Slices of arrays in memory, `piece_rows` rows each; nothing is copied as a whole."""

    in_memory = True

    def __init__(
        self,
        X: Numbers,
        y: Numbers,
        w: Numbers | None = None,
        piece_rows: int = PIECE_ROWS,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        # Lists, series and frames are the arrays that they become; names of columns stay behind.
        X, y = (a if torch.is_tensor(a) else np.asarray(a) for a in (X, y))
        w = w if w is None or torch.is_tensor(w) else np.asarray(w)
        checked_shapes(X.shape, y.shape, None if w is None else w.shape)
        if not len(X):
            raise SourceError("X has no rows: give at least one.")
        self.X, self.y, self.w = X, y, w
        self.piece_rows, self.dtype = checked_piece_rows(piece_rows), checked_dtype(dtype)
        for what, values in (("X", X), ("y", y), ("w", w)):
            if values is not None:
                as_tensor(values[:1], what, dtype)

    @property
    def columns(self) -> Columns:
        return numbered(self.X.shape[1], 1 if self.y.ndim == 1 else self.y.shape[1])

    @property
    def count(self) -> int:
        return len(ranges(len(self.X), self.piece_rows))

    @property
    def fingerprint(self) -> str:
        """A digest of the contents: takes about a second a gigabyte."""
        held = [array for array in (self.X, self.y, self.w) if array is not None]
        return f"arrays {digest(held)} {self.piece_rows} {self.dtype}"

    def pieces(self) -> Iterator[Piece[Block]]:
        for rows, name in ranges(len(self.X), self.piece_rows):
            w = None if self.w is None else self.w[rows]
            yield array_piece(self.X[rows], self.y[rows], w, self.dtype, name)


class FrameTables(Tables):
    """Slices of data frames, at most `piece_rows` rows each; frames are not put together.

    `read_from` is what the frames were read from, which tells how it was written; `said` what else
    is to be said of how they were read.
    """

    in_memory = True

    def __init__(
        self,
        frames: pd.DataFrame | Sequence[pd.DataFrame],
        piece_rows: int = PIECE_ROWS,
        read_from: Tables | None = None,
        said: tuple[str, ...] = (),
    ) -> None:
        self.read_from, self.said = read_from, said
        match frames:
            case pd.DataFrame():
                self.frames: Sequence[pd.DataFrame] = (frames,)
            case _:
                self.frames = tuple(frames)
        self.piece_rows = checked_piece_rows(piece_rows)
        if not self.rows:
            raise SourceError("the data frames have no rows: give at least one row.")
        refuse_repeated("the data frame", self.names)
        for number, frame in enumerate(self.frames):
            if lacking := [name for name in self.names if name not in frame.columns]:
                raise SourceError(
                    f"data frame {number} has no column {listing(lacking)}, which data frame 0 "
                    "has: give frames with the same columns."
                )

    @property
    def name(self) -> str:
        return "the data frame" if len(self.frames) == 1 else f"{len(self.frames)} data frames"

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.said if self.read_from is None else self.read_from.remarks + self.said

    @property
    def categories(self) -> tuple[str, ...]:
        stored = () if self.read_from is None else self.read_from.categories
        return tuple(n for n, d in self.frames[0].dtypes.items() if d == "category" or n in stored)

    @property
    def text(self) -> TextOptions:
        return TextOptions() if self.read_from is None else self.read_from.text

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frames[0].columns)

    @property
    def rows(self) -> int:
        return sum(len(frame) for frame in self.frames)

    @property
    def count(self) -> int:
        return sum(len(ranges(len(frame), self.piece_rows)) for frame in self.frames)

    def read_as(self, cells: Mapping[str, Cells]) -> FrameTables:
        """Numbers that are to be text are read again, from where they were read."""
        there = self.read_from.cells if self.read_from is not None else {}
        text: dict[str, Cells] = {
            n: kind for n, kind in cells.items() if kind == "text" and n in there
        }
        if self.read_from is None or not text:
            return self
        frame = self.frames[0].copy(deep=False)
        frame[list(text)] = held(self.read_from.select([*text]), text)
        return FrameTables(frame, self.piece_rows, self.read_from, self.said)

    @property
    def fingerprint(self) -> str:
        summed = hashlib.blake2b(digest_size=16)
        for frame in self.frames:
            summed.update(repr([*frame.dtypes.astype(str).items()]).encode())
            summed.update(hash_pandas_object(frame, index=False).to_numpy().tobytes())
        return f"frames {summed.hexdigest()} {self.piece_rows}"

    def select(self, columns: Sequence[str]) -> FrameTables:
        refuse_unknown(self.name, columns, self.names)
        frames = [selected(frame, columns) for frame in self.frames]
        return FrameTables(frames, self.piece_rows, self.read_from, self.said)

    def place(self, row: int) -> str:
        return f"row {row + 1:,}" if self.read_from is None else self.read_from.place(row)

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for number, frame in enumerate(self.frames):
            for rows, name in ranges(len(frame), self.piece_rows):
                held = selected(frame.iloc[rows], self.names)
                yield held_piece((held,), f"data frame {number}, {name}")


def with_places(found: Iterable[Any], table: Tables) -> tuple[Any, ...]:
    """What was found in a row of the table each (`row`), with the place in words (`place`)."""
    return tuple(replace(one, place=table.place(one.row)) for one in found)


def refuse_complex(frame: pd.DataFrame) -> None:
    """Refuse a table with complex numbers."""
    for name, dtype in frame.dtypes.items():
        if is_complex_dtype(dtype):
            raise TableError(
                f"Column {name!r} holds complex numbers: give two columns of their parts."
            )
