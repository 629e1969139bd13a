"""Sources of data frames: what all of them can say and do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

import pandas as pd

from ..source import Source


class Tables(Source[pd.DataFrame]):
    """A table of named columns in pieces; its chunks are data frames with these columns."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the table is, in words: ``'a.parquet'``."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """How many rows there are; None where only reading tells."""

    @abstractmethod
    def select(self, columns: Sequence[str]) -> Tables:
        """The same pieces with these columns alone, in this order; others are not read.

        Raises
        ------
        SourceError
            For a column that is not there.
        """


def selected(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns of a frame, in this order.

    Examples
    --------
    >>> selected(pd.DataFrame({"a": [1], "b": [2]}), ["b"]).columns.tolist()
    ['b']
    """
    return cast(pd.DataFrame, frame[list(columns)])
