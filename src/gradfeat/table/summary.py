"""The first pass over a table: how many rows, what the target is, and a sample of the rows."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from jaxtyping import UInt8
from torch import Tensor

from gradfeat.maths.blocks import Statistic
from gradfeat.rows.sources.tables import Cells, unlike
from gradfeat.table.reading.cells import as_text, content
from gradfeat.table.row_sample import RowSample, column_of, has_value
from gradfeat.table.target_values import TargetValues


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What the rows of a table are.

    Attributes
    ----------
    rows : int
        All of them.
    target : TargetValues
        The values of the target.
    sample : RowSample
        Some of the rows that have one.
    as_text : frozenset of str
        Columns with cells that are not what cells of them were to be read as.
    """

    rows: int
    target: TargetValues
    sample: RowSample
    as_text: frozenset[str] = frozenset()

    @property
    def known(self) -> int:
        return self.rows - self.target.missing


@dataclass(frozen=True)
class Summarise(Statistic[pd.DataFrame, TableSummary, TableSummary]):
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
    cells : tuple of (str, Cells)
        What cells of text are to be read as.

    Examples
    --------
    >>> from gradfeat.maths.blocks import collect
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 3], "y": ["a", "b", None, None]})
    >>> found = collect(Summarise("y", 10, 0), [frame, frame])
    >>> found.rows, found.known, found.sample.count.tolist()
    (8, 4, [2, 2])
    """

    target: str
    size: int
    seed: int
    cells: tuple[tuple[str, Cells], ...] = ()

    def init(self, block: pd.DataFrame) -> TableSummary:
        """No row."""
        return self._of(block.iloc[:0])

    def update(self, state: TableSummary, block: pd.DataFrame) -> TableSummary:
        """Add the rows of a frame."""
        return self.merge(state, self._of(block))

    def _of(self, frame: pd.DataFrame) -> TableSummary:
        column = column_of(frame, self.target)
        sample = RowSample.of(frame.loc[has_value(column)], self.seed, self.size)
        as_text = frozenset(unlike(dict(self.cells), frame)) if len(frame) else frozenset()
        return TableSummary(len(frame), TargetValues.of(column), sample, as_text)

    def merge(self, one: TableSummary, other: TableSummary) -> TableSummary:
        sample = one.sample.union(other.sample, self.size)
        target = one.target.union(other.target)
        return TableSummary(one.rows + other.rows, target, sample, one.as_text | other.as_text)

    def finish(self, state: TableSummary) -> TableSummary:
        return state

    def pack(self, state: TableSummary) -> dict[str, Tensor]:
        """Counts, extremes, and tables as bytes."""
        target, sample = state.target, state.sample
        return {
            "counts": torch.tensor([state.rows, target.missing, target.infinite]),
            "ends": torch.tensor([target.least, target.greatest], dtype=torch.float64),
            "values": _frame_bytes(target.table),
            "hash": torch.from_numpy(sample.hash),
            "count": torch.from_numpy(sample.count),
            "sample": _frame_bytes(sample.frame),
            "as_text": _numbers(json.dumps(sorted(state.as_text)).encode()),
        }

    def unpack(self, packed: Mapping[str, Tensor]) -> TableSummary:
        rows, missing, infinite = packed["counts"].tolist()
        least, greatest = packed["ends"].tolist()
        values, frame = (_frame_of(packed[name]) for name in ("values", "sample"))
        h, count = (packed[name].numpy().copy() for name in ("hash", "count"))
        target = TargetValues(missing, infinite, least, greatest, values)
        as_text = frozenset(json.loads(packed["as_text"].numpy().tobytes()))
        return TableSummary(rows, target, RowSample(h, count, frame), as_text)


def _numbers(data: bytes) -> UInt8[Tensor, " b"]:
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def _frame_bytes(frame: pd.DataFrame) -> UInt8[Tensor, " b"]:
    """The bytes of a frame in Arrow's format; numbers among texts, of chunks before, are text."""
    mixed = [name for name, c in frame.items() if content(c) in ("mixed", "mixed-integer")]
    frame = frame.assign(**{str(name): as_text(column_of(frame, str(name))) for name in mixed})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return _numbers(out.getvalue())


def _frame_of(numbers: UInt8[Tensor, " b"]) -> pd.DataFrame:
    return pa.ipc.open_stream(pa.py_buffer(numbers.numpy().tobytes())).read_all().to_pandas()
