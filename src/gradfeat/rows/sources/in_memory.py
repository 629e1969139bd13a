"""Arrays and data frames in memory, as slices of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import pandas as pd
import torch
from pandas.core.util.hashing import hash_pandas_object

from ...maths.blocks import Block
from ..errors import SourceError
from ..source import PIECE_ROWS, Columns, Piece
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
from .tables import Tables, selected
from .text_options import TextOptions
from .words import checked_piece_rows, held_piece, listing, ranges, refuse_repeated, refuse_unknown


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
