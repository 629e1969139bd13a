"""Row blocks and mergeable statistics: a learner is passes over rows; room for large matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce as fold
from typing import Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .limits import row_blocks

#: Bytes of scratch in which a statistic works on some rows of a block: about a processor's cache.
CHUNK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Block:
    """Some rows of the data: inputs (n, d), targets (n, c), weights (n,)."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, "n c"]
    w: Float[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.X)

    @property
    def none(self) -> Block:
        """No row of it: the widths, types and device alone."""
        return self.at(slice(0))

    def at(self, rows: slice | Tensor | list[int]) -> Block:
        return Block(self.X[rows], self.y[rows], self.w[rows])

    def double(self) -> Block:
        return Block(self.X.double(), self.y.double(), self.w.double())

    def chunks(self, bytes_per_row: int, limit: int = CHUNK_BYTES) -> Iterator[Block]:
        """The block in pieces of rows, each within `limit` bytes of scratch (at least one row)."""
        return map(self.at, row_blocks(len(self.X), bytes_per_row, limit))


def unit_weights(X: Tensor, weights: Tensor | None) -> Tensor:
    return torch.ones(len(X), dtype=X.dtype, device=X.device) if weights is None else weights


Chunk = TypeVar("Chunk")
State = TypeVar("State")
Result_co = TypeVar("Result_co", covariant=True)


class Statistic(ABC, Generic[Chunk, State, Result_co]):
    """A sum over rows: the state of no rows, of some more rows, of two sets of rows; the result.

    A chunk is what rows come in: a :class:`Block` of numbers, a data frame of a table.
    ``merge`` is associative up to rounding, so blocks, files and workers may be combined in any
    grouping. A state belongs to whoever holds it: ``update`` and ``merge`` may write to the memory
    of their first argument, and callers go on with what is returned. States are accumulated in
    float64 whatever the float type of the rows.
    """

    @abstractmethod
    def init(self, block: Chunk) -> State:
        """The state of no rows, for rows like those of `block` (none of them is counted)."""

    @abstractmethod
    def update(self, state: State, block: Chunk) -> State:
        """The state with the rows of `block` added."""

    @abstractmethod
    def merge(self, one: State, other: State) -> State:
        """State of the union of two disjoint sets of rows."""

    @abstractmethod
    def finish(self, state: State) -> Result_co:
        """What the statistic is wanted for."""

    @abstractmethod
    def pack(self, state: State) -> dict[str, Tensor]:
        """The state as few numbers as it takes, by name: to send, and to keep on disk."""

    @abstractmethod
    def unpack(self, packed: Mapping[str, Tensor]) -> State:
        """Inverse of :meth:`pack`; owns its memory."""


def collect(statistic: Statistic[Chunk, State, Result_co], blocks: Iterable[Chunk]) -> Result_co:
    """The statistic of all blocks, here and now.

    >>> from gradfeat.maths.statistics.moments import Moments
    >>> one = Block(torch.ones(2, 1), torch.ones(2, 1), torch.ones(2))
    >>> float(collect(Moments(), [one, one]).weight)
    4.0
    """
    blocks = iter(blocks)
    first = next(blocks, None)
    if first is None:
        raise ValueError("there are no rows to fit on: give at least one block of rows.")
    state = statistic.update(statistic.init(first), first)
    return statistic.finish(fold(statistic.update, blocks, state))


def accumulator(*shape: int, like: Tensor) -> Tensor:
    """Zeros to add to: float64, on the device of `like`."""
    return torch.zeros(shape, dtype=torch.float64, device=like.device)


def check_accumulated(found: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError unless these are what accumulators of these shapes hold."""
    for name, shape in shapes.items():
        if found[name].dtype != torch.float64 or found[name].shape != shape:
            raise ValueError(f"{name!r} is {found[name].dtype} of shape {(*found[name].shape,)}")


def accumulated(packed: Mapping[str, Tensor], **shapes: tuple[int, ...]) -> list[Tensor]:
    """Copies of what accumulators hold; ValueError where they are of other shapes."""
    check_accumulated(packed, shapes)
    return [packed[name].clone() for name in shapes]


def unwritten(n: int, m: int, like: Tensor) -> Float[Tensor, "n m"]:
    """A matrix to be filled, of the type and device of `like`.

    On a CPU NumPy allocates it: it asks the system for huge pages, without which the first write of
    a large matrix costs as much as its exponentials.
    """
    if like.device.type != "cpu":
        return like.new_empty(n, m)
    return torch.from_numpy(np.empty((n, m), dtype=like.new_empty(0).numpy().dtype))
