"""From rows of a table to numbers, the same way for every piece of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from gradfeat.maths.blocks import Block
from gradfeat.rows.errors import SourceError
from gradfeat.table.columns import as_text
from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError
from gradfeat.table.streamed.contents import column_of, frame_hash, has_value

Floats = NDArray[np.float64]

#: Bytes of encoded rows in a block, and rows that are encoded at once in any case.
BLOCK_BYTES, LEAST_ROWS = 2**26, 1024


@dataclass(frozen=True, eq=False)
class Coding:
    """What a row is turned into, and whether it is learned from.

    Attributes
    ----------
    encoder : TableEncoder
        Of the inputs.
    target : str
        Column to predict.
    classes : tuple of str
        Labels in the order of their codes; empty for numbers.
    seed : int
        Of the hash of rows.
    threshold : int
        Rows up to this hash are test rows.
    signature : str
        Of the rows that the encoder was fitted to.
    """

    encoder: TableEncoder
    target: str
    classes: tuple[str, ...]
    seed: int
    threshold: int
    signature: str

    def blocks(self, frame: pd.DataFrame, where: str) -> Iterator[Block]:
        """Training rows, so many at a time that they take at most `BLOCK_BYTES`.

        Raises
        ------
        SourceError
            As of :meth:`training`.
        """
        step = max(LEAST_ROWS, BLOCK_BYTES // (8 * len(self.encoder.feature_names_)))
        for start in range(0, len(frame), step):
            yield self.training(frame.iloc[start : start + step], where)

    def training(self, frame: pd.DataFrame, where: str) -> Block:
        """The training rows of a frame: those with a target that are not test rows.

        Raises
        ------
        SourceError
            For values that the columns did not have in the sample, such as text among numbers.
        """
        known = has_value(column_of(frame, self.target))
        frame = frame.loc[known & (frame_hash(frame, self.seed) > self.threshold)]
        try:
            # Fitted vectorizers keep notes while they work: threads must not share one.
            X = deepcopy(self.encoder).transform(frame)
        except TableError as error:
            raise SourceError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from error
        y = torch.from_numpy(self.values(column_of(frame, self.target)))[:, None]
        return Block(torch.from_numpy(X), y, torch.ones(len(X), dtype=torch.float64))

    def values(self, column: pd.Series) -> Floats:
        """Targets (n,), or codes of classes."""
        if self.classes:
            codes = {label: float(code) for code, label in enumerate(self.classes)}
            return np.array(as_text(column).map(codes), dtype=np.float64)
        return np.array(pd.to_numeric(column), dtype=np.float64)

    def inputs(self, frame: pd.DataFrame) -> Floats:
        """Encoded inputs (n, d)."""
        return self.encoder.transform(frame)
