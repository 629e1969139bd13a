"""Sources of rows: numbered pieces that can be read again, anywhere, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeVar

Chunk = TypeVar("Chunk")
Chunk_co = TypeVar("Chunk_co", covariant=True)

#: Rows of a piece, unless a source is told otherwise: large enough that sums cost nothing.
PIECE_ROWS = 2**16


@dataclass(frozen=True)
class Piece(Generic[Chunk_co]):
    """Some rows of a source, not read yet: what a worker is sent, and computes again when lost."""

    name: str  # where the rows are, in words: ``'a.parquet', row group 3``
    #: Gives the rows, in one or several chunks that each fit in memory; at each call the same.
    read: Callable[[], Iterable[Chunk_co]]


def held_piece(chunks: Iterable[Chunk], name: str = "rows in memory") -> Piece[Chunk]:
    """A piece of chunks that are there, such as a list: each call of `read` gives them again."""
    return Piece(name, partial(iter, chunks))


@dataclass(frozen=True)
class Columns:
    """What the rows of a numeric source consist of: names of inputs and targets."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]


class Source(ABC, Generic[Chunk_co]):
    """Rows in numbered pieces. The sum over rows is defined by this numbering alone.

    Sources are picklable where their pieces are read by other processes. Chunks are
    :class:`gradfeat.maths.blocks.Block` of a numeric source, data frames of a table.
    """

    @abstractmethod
    def pieces(self) -> Iterator[Piece[Chunk_co]]:
        """All pieces in order; at each call the same."""

    @property
    def count(self) -> int | None:
        """How many pieces there are; None where only reading tells."""
        return None

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Text that changes when the rows may have changed (paths, sizes, times, columns)."""

    #: Whether the rows are held by this process.
    in_memory: ClassVar[bool] = False

    @property
    def parallel(self) -> bool:
        """Whether pieces are cheap to send: files are, rows held in memory are not."""
        return not self.in_memory
