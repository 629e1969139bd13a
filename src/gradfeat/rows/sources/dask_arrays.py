"""Dask arrays as a source of blocks: one piece a block of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ...maths.blocks import Block
from ..errors import SourceError
from ..source import Columns, Piece
from .dask_graphs import Part, dask_module, parts, token
from .numeric import (
    NumericSource,
    as_tensor,
    checked_block,
    checked_dtype,
    checked_shapes,
    numbered,
)


@dataclass(frozen=True)
class ChunkPiece(Piece[Block]):
    """One block of rows of each array: their tasks, not computed yet."""

    X: Part
    y: Part
    w: Part | None
    number: int
    dtype: torch.dtype

    @property
    def name(self) -> str:
        """The number of the block of rows."""
        return f"row chunk {self.number} of the Dask arrays"

    def read(self) -> Iterator[Block]:
        """The block, computed in this thread.

        Raises
        ------
        SourceError
            Where a task fails, for chunks that do not go together, and values missing or infinite.
        """
        X, y = (part.compute(self.name) for part in (self.X, self.y))
        w = None if self.w is None else self.w.compute(self.name)
        checked_shapes(X.shape, y.shape, None if w is None else w.shape)
        weights = None if w is None else as_tensor(w, "w", self.dtype)
        inputs, targets = as_tensor(X, "X", self.dtype), as_tensor(y, "y", self.dtype)
        yield checked_block(inputs, targets, weights, self.name)


class DaskArrayRows(NumericSource):
    """Dask arrays in chunks of rows; each is computed where its piece is read.

    Columns are put into one chunk, and y and w into the row chunks of X. Numbers of rows may be
    unknown (nan), with as many chunks in each array.

    Parameters
    ----------
    X, y, w : dask.array.Array (n, d), (n,) or (n, c), and (n,)
        Inputs, targets and weights (left out: 1).
    dtype : torch.dtype
        float64 or float32, of the blocks.

    Raises
    ------
    SourceError
        For anything else, shapes that do not go together, and where Dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> source = DaskArrayRows(da.ones((5, 2), chunks=(2, 1)), da.ones(5))
    >>> [len(block.X) for piece in source.pieces() for block in piece.read()]
    [2, 2, 1]
    """

    def __init__(self, X: Any, y: Any, w: Any = None, dtype: torch.dtype = torch.float64) -> None:
        for what, array in (("X", X), ("y", y), *([] if w is None else [("w", w)])):
            _refuse_other(what, array)
        _checked_shapes(X, y, w)
        self.dtype = checked_dtype(dtype)
        self.X = X.rechunk({1: -1})
        self.y = _aligned(y, self.X, "y")
        self.w = None if w is None else _aligned(w, self.X, "w")

    @property
    def columns(self) -> Columns:
        """x0, x1, ... and y."""
        return numbered(self.X.shape[1], 1 if self.y.ndim == 1 else self.y.shape[1])

    @property
    def rows(self) -> int | None:
        """Rows of X, where they are known."""
        return None if math.isnan(self.X.shape[0]) else self.X.shape[0]

    @property
    def count(self) -> int:
        """Number of row chunks."""
        return self.X.numblocks[0]

    @property
    def fingerprint(self) -> str:
        """Dask's own token of the graphs."""
        return f"dask {token([self.X, self.y, self.w])} {self.dtype}"

    def pieces(self) -> Iterator[ChunkPiece]:
        """One for each chunk of rows."""
        weights = iter(()) if self.w is None else parts(self.w)
        for number, (X, y) in enumerate(zip(parts(self.X), parts(self.y), strict=True)):
            yield ChunkPiece(X, y, next(weights, None), number, self.dtype)


def _refuse_other(what: str, array: Any) -> None:
    dask = dask_module()
    match array:
        case dask.array.Array():
            return
        case _:
            raise SourceError(
                f"{what} is a {type(array).__name__} where a Dask Array is wanted: wrap it with "
                "dask.array.from_array, or name a target= of a Dask DataFrame."
            )


def _checked_shapes(X: Any, y: Any, w: Any) -> None:
    """As for arrays in memory; rows that are not known pass."""
    arrays = [array for array in (X, y, w) if array is not None]
    shapes = [array.shape for array in arrays]
    if any(math.isnan(n) for shape in shapes for n in shape[:1]):
        shapes = [(0, *shape[1:]) if shape else shape for shape in shapes]
    checked_shapes(shapes[0], shapes[1], None if w is None else shapes[2])


def _aligned(array: Any, X: Any, what: str) -> Any:
    """In the row chunks of X."""
    array = array if array.ndim == 1 else array.rechunk({1: -1})
    if math.isnan(array.shape[0]) or math.isnan(X.shape[0]):
        if array.numblocks[0] != X.numblocks[0]:
            raise SourceError(
                f"X has {X.numblocks[0]} row chunks and {what} has {array.numblocks[0]}, of "
                "unknown lengths: call compute_chunk_sizes() on both."
            )
        return array
    return array.rechunk({0: X.chunks[0]})
