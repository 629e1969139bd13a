"""The training rows of a table as blocks of numbers, the same way for every piece of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from gradfeat.maths.blocks import Block
from gradfeat.rows.errors import SourceError
from gradfeat.rows.source import Columns
from gradfeat.rows.sources.numeric import numbered
from gradfeat.rows.sources.tables import Convert, OverTables, Tables
from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError
from gradfeat.table.reading.cells import as_text
from gradfeat.table.row_sample import column_of, has_value
from gradfeat.table.split import HeldOut
from gradfeat.table.target_scale import AS_IS, TargetScale

Floats = NDArray[np.float64]

#: Bytes of encoded rows in a block, and rows that are encoded at once in any case.
BLOCK_BYTES, LEAST_ROWS = 2**26, 1024


def target_values(column: pd.Series, classes: tuple[str, ...]) -> Floats:
    """Targets (n,) of rows that have one, or codes of classes."""
    if classes:
        codes = {label: float(code) for code, label in enumerate(classes)}
        return np.array(as_text(column).map(codes), dtype=np.float64)
    return np.array(pd.to_numeric(column), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Coding:
    """What a row is turned into, and how much of it is learned from.

    `classes`: labels in the order of their codes; empty for numbers; `held_out`: rows that are
    tested on; `scale`: on which a quantity is learned.
    """

    encoder: TableEncoder
    target: str
    classes: tuple[str, ...]
    held_out: HeldOut
    scale: TargetScale = AS_IS

    @property
    def fingerprint(self) -> str:
        """Text that changes with what rows are turned into."""
        held = self.held_out
        return f"{self.target} {self.classes} {held.seed} {held.fingerprint} {self.scale}"

    def blocks(self, frame: pd.DataFrame, where: str) -> Iterator[Block]:
        """Training rows, so many at a time that they take at most `BLOCK_BYTES`."""
        step = max(LEAST_ROWS, BLOCK_BYTES // (8 * len(self.encoder.feature_names_)))
        for start in range(0, len(frame), step):
            yield self.training(frame.iloc[start : start + step], where)

    def training(self, frame: pd.DataFrame, where: str) -> Block:
        """The rows of a frame that have a target, with the share that is learned from as weight."""
        frame = frame.loc[has_value(column_of(frame, self.target))]
        w = self.held_out.weights(frame)
        frame, w = frame.loc[w > 0], w[w > 0]
        try:
            X = self.encoder.transform(frame)
        except TableError as error:
            raise SourceError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from error
        y = self.scale.learned(target_values(column_of(frame, self.target), self.classes))
        return Block(torch.from_numpy(X), torch.from_numpy(y)[:, None], torch.from_numpy(w))


class EncodedRows(OverTables):
    """Training rows of a table as a source of blocks, read as the encoder was fitted to them."""

    def __init__(self, tables: Tables, coding: Coding) -> None:
        self.tables = tables
        self.coding = coding

    @property
    def convert(self) -> Convert:
        return self.coding.blocks

    @property
    def columns(self) -> Columns:
        """Numbers in the place of names, as encoded rows in memory have."""
        return numbered(len(self.coding.encoder.feature_names_), 1)

    @property
    def fingerprint(self) -> str:
        """That of the table, and of what its rows are turned into."""
        return f"{self.tables.fingerprint}\nencoded {self.coding.fingerprint}"
