"""The first pass over a table: how many rows, what the target is, and a sample of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from gradfeat.maths.blocks import Block, Statistic
from gradfeat.table.streamed.contents import column_of, has_value
from gradfeat.table.streamed.frames import FrameBlock
from gradfeat.table.streamed.kept import from_numbers, to_numbers
from gradfeat.table.streamed.sketch import Sketch
from gradfeat.table.streamed.target_values import TargetValues


@dataclass(frozen=True, eq=False)
class Seen:
    """What the rows of a table are: their number, the target, and a sample of those with one."""

    rows: int
    target: TargetValues
    sample: Sketch

    @property
    def known(self) -> int:
        """Rows with a target."""
        return self.rows - self.target.missing


@dataclass(frozen=True)
class Look(Statistic[Seen, Seen]):
    """Counts, distinct targets, and the `size` distinct rows of least hash.

    A hash of the contents is as good as a random number for each distinct row, so the sample is a
    simple random sample; blocks in any order and grouping give the same.

    Attributes
    ----------
    target : str
        Column to predict.
    size : int
        Rows of the sample.
    seed : int
        Varies the hash.

    Examples
    --------
    >>> from gradfeat.maths.blocks import collect
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 3], "y": ["a", "b", None, None]})
    >>> seen = collect(Look("y", 10, 0), [FrameBlock.of(frame), FrameBlock.of(frame)])
    >>> seen.rows, seen.known, seen.sample.count.tolist()
    (8, 4, [2, 2])
    """

    target: str
    size: int
    seed: int

    def init(self, block: Block) -> Seen:
        """No row."""
        return self._of(_frame(block).iloc[:0])

    def update(self, state: Seen, block: Block) -> Seen:
        """Add the rows of a frame."""
        return self.merge(state, self._of(_frame(block)))

    def _of(self, frame: pd.DataFrame) -> Seen:
        column = column_of(frame, self.target)
        sample = Sketch.of(frame.loc[has_value(column)], self.seed, self.size)
        return Seen(len(frame), TargetValues.of(column), sample)

    def merge(self, one: Seen, other: Seen) -> Seen:
        """Both together."""
        sample = one.sample.union(other.sample, self.size)
        return Seen(one.rows + other.rows, one.target.union(other.target), sample)

    def finish(self, state: Seen) -> Seen:
        """As it is."""
        return state

    def pack(self, state: Seen) -> dict[str, Tensor]:
        """Counts, extremes, and tables as bytes."""
        target, sample = state.target, state.sample
        return {
            "counts": torch.tensor([state.rows, target.missing, target.infinite]),
            "ends": torch.tensor([target.least, target.greatest], dtype=torch.float64),
            "values": to_numbers(target.table),
            "hash": torch.from_numpy(sample.hash),
            "count": torch.from_numpy(sample.count),
            "sample": to_numbers(sample.frame),
        }

    def unpack(self, packed: Mapping[str, Tensor]) -> Seen:
        """Inverse of :meth:`pack`."""
        rows, missing, infinite = packed["counts"].tolist()
        least, greatest = packed["ends"].tolist()
        values, frame = (from_numbers(packed[name]) for name in ("values", "sample"))
        h, count = (packed[name].numpy().copy() for name in ("hash", "count"))
        target = TargetValues(missing, infinite, least, greatest, values)
        return Seen(rows, target, Sketch(h, count, frame))


def _frame(block: Block) -> pd.DataFrame:
    match block:
        case FrameBlock():
            return block.frame
    raise TypeError("a look takes blocks of data frames")
