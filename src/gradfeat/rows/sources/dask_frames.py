"""A Dask DataFrame as a table: one piece a partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import SourceError
from ..source import Piece
from .dask_graphs import Part, dask_module, parts, token
from .tables import Tables
from .words import refuse_repeated, refuse_unknown


@dataclass(frozen=True)
class PartitionPiece(Piece[pd.DataFrame]):
    """One partition: its tasks, not computed yet."""

    part: Part
    number: int

    @property
    def name(self) -> str:
        """The number of the partition."""
        return f"partition {self.number} of the Dask DataFrame"

    def read(self) -> Iterator[pd.DataFrame]:
        """The partition, computed in this thread.

        Raises
        ------
        SourceError
            Where a task fails.
        """
        yield self.part.compute(self.name)


class DaskTables(Tables):
    """Partitions of a Dask DataFrame; each is computed where its piece is read.

    A partition should fit in a worker's memory several times. Where one depends on all others (a
    shuffle), ``persist()`` first, or the shuffle is computed again for every piece.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows with names.

    Raises
    ------
    SourceError
        For anything else, and where Dask is not installed.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> table = DaskTables(dd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2))
    >>> [frame.x.tolist() for piece in table.pieces() for frame in piece.read()]
    [[0, 1], [2, 3]]
    """

    def __init__(self, frame: Any) -> None:
        dask = dask_module()
        match frame:
            case dask.dataframe.DataFrame():
                self.frame = frame
            case _:
                raise SourceError(
                    f"a {type(frame).__name__} came where a Dask DataFrame is wanted: give one, "
                    "for example from dask.dataframe.read_parquet."
                )
        refuse_repeated(self.name, self.names)

    @property
    def name(self) -> str:
        """A Dask DataFrame."""
        return "the Dask DataFrame"

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> None:
        """Not known."""
        return None

    @property
    def count(self) -> int:
        """Number of partitions."""
        return self.frame.npartitions

    @property
    def fingerprint(self) -> str:
        """Dask's own token of the graph."""
        return f"dask {token(self.frame)}"

    def select(self, columns: Sequence[str]) -> DaskTables:
        """The same rows with these columns alone."""
        refuse_unknown(self.name, columns, self.names)
        return DaskTables(self.frame[list(columns)])

    def pieces(self) -> Iterator[PartitionPiece]:
        """One for each partition."""
        for number, part in enumerate(parts(self.frame.optimize())):
            yield PartitionPiece(part, number)
