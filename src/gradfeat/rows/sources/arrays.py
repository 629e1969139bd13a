"""Arrays in memory as a source of blocks."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ..errors import SourceError
from ..source import PIECE_ROWS, Columns
from .numeric import (
    BlockPiece,
    Numbers,
    NumericSource,
    as_tensor,
    checked_dtype,
    checked_shapes,
    digest,
    numbered,
    range_count,
    ranges,
)
from .words import checked_piece_rows


class ArrayRows(NumericSource):
    """Slices of arrays in memory, `piece_rows` rows each; nothing is copied as a whole.

    Parameters
    ----------
    X : array or Tensor (n, d)
        Inputs.
    y : array or Tensor (n,) or (n, c)
        Targets.
    w : array or Tensor (n,), optional
        Weights; left out: 1.
    piece_rows : int
        Rows of a piece.
    dtype : torch.dtype
        float64 or float32, of the blocks.

    Raises
    ------
    SourceError
        For shapes that do not go together, no rows, or what is not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArrayRows(np.ones((5, 2)), np.ones(5), piece_rows=2)
    >>> [len(block.X) for piece in source.pieces() for block in piece.read()]
    [2, 2, 1]
    """

    def __init__(
        self,
        X: Numbers,
        y: Numbers,
        w: Numbers | None = None,
        piece_rows: int = PIECE_ROWS,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        checked_shapes(tuple(X.shape), tuple(y.shape), None if w is None else tuple(w.shape))
        if not len(X):
            raise SourceError("X has no rows: give at least one.")
        self.X, self.y, self.w = X, y, w
        self.piece_rows, self.dtype = checked_piece_rows(piece_rows), checked_dtype(dtype)
        for what, values in (("X", X), ("y", y), ("w", w)):
            if values is not None:
                as_tensor(values[:1], what, dtype)

    @property
    def columns(self) -> Columns:
        """x0, x1, ... and y."""
        return numbered(self.X.shape[1], 1 if self.y.ndim == 1 else self.y.shape[1])

    @property
    def rows(self) -> int:
        """Length of the arrays."""
        return len(self.X)

    @property
    def count(self) -> int:
        """Number of slices."""
        return range_count(self.rows, self.piece_rows)

    @property
    def fingerprint(self) -> str:
        """A digest of the contents: takes about a second a gigabyte."""
        held = [array for array in (self.X, self.y, self.w) if array is not None]
        return f"arrays {digest(held)} {self.piece_rows} {self.dtype}"

    @property
    def parallel(self) -> bool:
        """No: rows would have to be sent."""
        return False

    def pieces(self) -> Iterator[BlockPiece]:
        """Slices."""
        for rows in ranges(self.rows, self.piece_rows):
            w = None if self.w is None else self.w[rows.of]
            yield BlockPiece(self.X[rows.of], self.y[rows.of], w, self.dtype, rows.name)
