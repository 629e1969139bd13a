"""A random sample of the rows of a table that does not depend on their order or their files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.streamed.contents import frame_hash


@dataclass(frozen=True, eq=False)
class Sketch:
    """Distinct rows with the least hashes.

    Attributes
    ----------
    hash : array (k,)
        Increasing.
    count : array (k,)
        How many rows are equal to each.
    frame : DataFrame of k rows
        The rows.
    """

    hash: NDArray[np.int64]
    count: NDArray[np.int64]
    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, seed: int, size: int) -> Sketch:
        """The `size` distinct rows of least hash.

        Source: Broder 1997 (bottom-k sketches).

        Examples
        --------
        >>> found = Sketch.of(pd.DataFrame({"x": [1, 2, 1]}), seed=0, size=5)
        >>> sorted(zip(found.frame["x"].tolist(), found.count.tolist()))
        [(1, 2), (2, 1)]
        """
        return cls(frame_hash(frame, seed), np.ones(len(frame), np.int64), frame).least(size)

    def least(self, size: int) -> Sketch:
        """Equal rows once, and the `size` of least hash."""
        distinct, first, group = np.unique(self.hash, return_index=True, return_inverse=True)
        count = np.zeros(len(distinct), np.int64)
        np.add.at(count, group, self.count)
        frame = self.frame.iloc[first[:size]].reset_index(drop=True)
        return Sketch(distinct[:size], count[:size], frame)

    def union(self, other: Sketch, size: int) -> Sketch:
        """The least of both."""
        if not len(self.hash):
            return other
        if not len(other.hash):
            return self
        frame = pd.concat([self.frame, other.frame], ignore_index=True)
        both = (np.concatenate([self.hash, other.hash]), np.concatenate([self.count, other.count]))
        return Sketch(*both, frame).least(size)

    def rows(self, start: int, stop: int, most: int) -> pd.DataFrame:
        """Rows `start` to `stop`, each as often as it occurs, the first `most`."""
        places = np.repeat(np.arange(start, stop), np.minimum(self.count[start:stop], most))
        return cast(pd.DataFrame, self.frame.iloc[places[:most]]).reset_index(drop=True)
