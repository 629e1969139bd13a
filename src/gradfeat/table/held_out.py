"""Which rows of a table are tested on: the same ones wherever the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.row_sample import RowSample, frame_hash

#: Rows that are tested on, and rows by which columns are encoded and settings chosen, at most.
TEST_ROWS, SAMPLE_ROWS = 50_000, 22_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How many rows of each content are tested on; all others are learned from.

    Attributes
    ----------
    seed : int
        Of the hash of rows.
    hash : array (k,)
        Of contents that have test rows, increasing.
    tested, of : array (k,)
        How many of the rows with it are test rows, and how many there are.
    """

    seed: int
    hash: NDArray[np.int64]
    tested: NDArray[np.int64]
    of: NDArray[np.int64]

    @property
    def fingerprint(self) -> str:
        """Text that changes with the rows that are held out."""
        parts = (self.hash, self.tested, self.of)
        return blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()

    def weights(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The share (n,) of each row that is learned from: equal rows are interchangeable."""
        place, found = self._places(frame_hash(frame, self.seed))
        share = 1.0 - self.tested[place] / self.of[place]
        return np.where(found, share, 1.0)

    def training(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Positions of the rows of a whole table that are learned from, ordered by their hashes."""
        h = frame_hash(frame, self.seed)
        order = np.argsort(h, kind="stable")
        h = h[order]
        place, found = self._places(h)
        earlier = np.arange(len(h)) - np.searchsorted(h, h)
        return order[~found | (earlier >= self.tested[place])]

    def _places(self, h: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        place = np.searchsorted(self.hash, h).clip(max=len(self.hash) - 1)
        return place, self.hash[place] == h


def held_out(
    sample: RowSample, known: int, size: int, groups: Sequence[NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """How many of each row in a sample are tested on: about a quarter of the `known` rows.

    Of every group (a class, or all rows) the same share, at least one row on either side. Of a
    table with more distinct rows than the `size` of the sample so many that enough are left of it
    to choose settings by.
    """
    held, tested = int(sample.count.sum()), np.zeros(len(sample.count), np.int64)
    wanted = min(round(known / 4), TEST_ROWS)
    if len(sample.hash) == size:
        wanted = min(wanted, held * TEST_ROWS // (TEST_ROWS + SAMPLE_ROWS))
    for group in groups:
        count = np.where(group, sample.count, 0)
        rows = int(count.sum())
        share = max(1, min(round(wanted * rows / held), rows - 1))
        tested += sample.some(count, share)
    return tested
