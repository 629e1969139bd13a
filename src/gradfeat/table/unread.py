"""Cells of a table that are not what their columns hold, counted over all rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from gradfeat.maths.blocks import Statistic
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError
from gradfeat.table.notes import strict_sentence
from gradfeat.table.results import UnreadCells


@dataclass(frozen=True)
class UnreadSoFar:
    """Some rows in order, and their cells that could not be read, a column at most once."""

    rows: int = 0
    cells: tuple[UnreadCells, ...] = ()

    def then(self, later: UnreadSoFar) -> UnreadSoFar:
        """With the rows that come after.

        Examples
        --------
        >>> one = UnreadSoFar(5, (UnreadCells("x", 1, "?", "number", 4),))
        >>> one.then(one).cells
        (UnreadCells(column='x', cells=2, example='?', what='number', row=4, place=''),)
        """
        found = {one.column: one for one in self.cells}
        for one in later.cells:
            first = found.get(one.column, replace(one, cells=0, row=self.rows + one.row))
            found[one.column] = replace(first, cells=first.cells + one.cells)
        return UnreadSoFar(self.rows + later.rows, tuple(found.values()))


@dataclass(frozen=True)
class CountUnread(Statistic[pd.DataFrame, UnreadSoFar, tuple[UnreadCells, ...]]):
    """Counts, with the first of each column and its row."""

    encoder: TableEncoder

    def init(self, block: pd.DataFrame) -> UnreadSoFar:
        """Neither rows nor cells, whatever the block."""
        del block
        return UnreadSoFar()

    def update(self, state: UnreadSoFar, block: pd.DataFrame) -> UnreadSoFar:
        """Add the rows of a frame, which come after."""
        return self.merge(state, UnreadSoFar(len(block), self.encoder.unread(block)))

    def merge(self, one: UnreadSoFar, other: UnreadSoFar) -> UnreadSoFar:
        return one.then(other)

    def finish(self, state: UnreadSoFar) -> tuple[UnreadCells, ...]:
        return state.cells

    def pack(self, state: UnreadSoFar) -> dict[str, Tensor]:
        """The state as bytes of JSON."""
        data = json.dumps(asdict(state)).encode()
        return {"unread": torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())}

    def unpack(self, packed: Mapping[str, Tensor]) -> UnreadSoFar:
        plain = json.loads(packed["unread"].numpy().tobytes())
        return UnreadSoFar(plain["rows"], tuple(UnreadCells(**one) for one in plain["cells"]))


def with_places(unread: Iterable[UnreadCells], table: Tables) -> tuple[UnreadCells, ...]:
    """The same, with the places of the first ones in words.

    Examples
    --------
    >>> from gradfeat.rows.sources.in_memory import FrameTables
    >>> table = FrameTables(pd.DataFrame({"x": ["1", "?"]}))
    >>> with_places([UnreadCells("x", 1, "?", "number", 1)], table)[0].place
    'row 2'
    """
    return tuple(replace(one, place=table.place(one.row)) for one in unread)


def refuse_unread(unread: Sequence[UnreadCells], table: Tables) -> None:
    """Refuse rows of which some cells could not be read.

    Raises
    ------
    TableError
        With their number by column, and the first of each with its place.

    Examples
    --------
    >>> from gradfeat.rows.sources.in_memory import FrameTables
    >>> refuse_unread([], FrameTables(pd.DataFrame({"x": ["1", "2"]})))
    """
    if unread:
        raise TableError(strict_sentence(with_places(unread, table)))
