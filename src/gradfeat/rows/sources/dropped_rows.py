"""How many rows a source leaves out for want of a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ...maths.blocks import Block, Statistic


@dataclass(frozen=True)
class Dropped:
    """Counts of rows: those left out, and all."""

    dropped: int
    rows: int


@dataclass(frozen=True)
class DroppedRows(Statistic[Tensor, Dropped]):
    """Sum over rows of (missing, 1), for the source :meth:`TableRows.gaps`.

    Examples
    --------
    >>> import pandas as pd
    >>> from gradfeat.maths.blocks import collect
    >>> from gradfeat.rows.sources.frames import FrameTables
    >>> from gradfeat.rows.sources.table_rows import TableRows
    >>> frame = pd.DataFrame({"x": [1.0, 2.0], "y": [5.0, None]})
    >>> gaps = TableRows(FrameTables(frame), "y", missing="drop").gaps()
    >>> collect(DroppedRows(), (block for piece in gaps.pieces() for block in piece.read()))
    Dropped(dropped=1, rows=2)
    """

    def init(self, block: Block) -> Tensor:
        """Zeros."""
        del block
        return torch.zeros(2, dtype=torch.int64)

    def update(self, state: Tensor, block: Block) -> Tensor:
        """Add rows."""
        return state + torch.tensor([int(block.X.sum(dtype=torch.float64)), len(block.X)])

    def merge(self, one: Tensor, other: Tensor) -> Tensor:
        """Sum."""
        return one + other

    def finish(self, state: Tensor) -> Dropped:
        """As two numbers."""
        return Dropped(int(state[0]), int(state[1]))

    def pack(self, state: Tensor) -> dict[str, Tensor]:
        """As it is."""
        return {"counts": state}

    def unpack(self, packed: Mapping[str, Tensor]) -> Tensor:
        """As it was."""
        return packed["counts"].clone()
