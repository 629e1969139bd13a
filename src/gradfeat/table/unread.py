"""Cells of a table that are not what their columns hold, counted over all rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.errors import TableError
from gradfeat.maths.blocks import Statistic
from gradfeat.rows.sources.tables import FrameTables, Tables, with_places
from gradfeat.table.encode import TableEncoder
from gradfeat.table.other_rows import names_sums
from gradfeat.table.results import UnreadCells
from gradfeat.wording import counted


@dataclass(frozen=True)
class NotFinite:
    """Some rows in order, and those whose predictions are no finite numbers.

    `lost` of `rows` have such a prediction, the first of them at `first`.
    """

    rows: int = 0
    lost: int = 0
    first: int = 0

    @classmethod
    def of(cls, f: NDArray[np.float64]) -> NotFinite:
        """Of predictions (n,), or probabilities (n, K)."""
        wrong = ~np.isfinite(f if f.ndim == 1 else f.sum(axis=1))
        return cls(len(f), int(wrong.sum()), int(wrong.argmax()) if len(f) else 0)

    def then(self, later: NotFinite) -> NotFinite:
        """With the rows that come after."""
        first = self.first if self.lost else self.rows + later.first
        return NotFinite(self.rows + later.rows, self.lost + later.lost, first)

    def refuse(self, table: Tables) -> None:
        """Nothing where all predictions are finite."""
        if not self.lost:
            return
        raise TableError(
            f"The predictions of {counted(self.lost, 'row')} of {self.rows:,} are no finite "
            f"numbers (the first is {table.place(self.first)}): values there are too far from "
            "those of the training rows; mend them, or leave these rows out."
        )


@dataclass(frozen=True)
class UnreadSoFar:
    """Some rows in order, and their cells that could not be read, once a column and reason."""

    rows: int = 0
    cells: tuple[UnreadCells, ...] = ()

    def then(self, later: UnreadSoFar) -> UnreadSoFar:
        """With the rows that come after."""
        found = {(one.column, one.what): one for one in self.cells}
        for one in later.cells:
            key = one.column, one.what
            first = found.get(key, replace(one, cells=0, row=self.rows + one.row))
            found[key] = replace(first, cells=first.cells + one.cells)
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


def refuse_unread(unread: Sequence[UnreadCells], table: Tables) -> None:
    """Refuse rows of which some cells could not be read."""
    if unread:
        raise TableError(strict_sentence(with_places(unread, table)))


def unread_sentence(unread: Sequence[UnreadCells]) -> str:
    """What could not be read, by column.

    >>> unread_sentence([UnreadCells("age", 2, "?", "number", 15, "line 17")])
    "Taken as missing: 2 cells of 'age' that are no number (the first: '?', line 17)."
    """
    begins = {"Read, though most training rows are otherwise": True, "Taken as missing": False}
    each = {
        how: [_unread(one) for one in unread if one.read == read] for how, read in begins.items()
    }
    said = " ".join(f"{how}: {'; '.join(cells)}." for how, cells in each.items() if cells)
    sums = [one for one in unread if names_sums(one.example)]
    if not sums:
        return said
    where = f" ({sums[0].place})" if sums[0].place else ""
    return f"{said} The row of {sums[0].example!r}{where} sums up others: take it out of the table."


def warn_of_unread(unread: Sequence[UnreadCells], frame: pd.DataFrame, level: int) -> None:
    """A warning of cells taken as missing, by column, so many calls above."""
    if unread:
        said = unread_sentence(with_places(unread, FrameTables(frame)))
        warnings.warn(said, UserWarning, stacklevel=level)


def _unread(one: UnreadCells) -> str:
    cells = "1 cell" if one.cells == 1 else f"{one.cells:,} cells"
    verb, first = ("is", "") if one.cells == 1 else ("are", "the first: ")
    place = f", {one.place}" if one.place else ""
    what = one.what if one.read else f"that {verb} no {one.what}"
    return f"{cells} of {one.column!r} {what} ({first}{one.example!r}{place})"


def strict_sentence(unread: Sequence[UnreadCells]) -> str:
    """Why nothing is done with rows whose cells could not all be read, by column."""
    each = "; ".join(_unread(one) for one in unread)
    return (
        f"Strict, and not all cells are as training rows have them: {each}. Mend them, or leave "
        "strict out."
    )
