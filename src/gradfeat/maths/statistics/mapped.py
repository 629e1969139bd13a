"""A statistic of rows that are mapped first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

from ..blocks import Block, Statistic
from .moments import RowMap

State = TypeVar("State")
Result = TypeVar("Result")


@dataclass(frozen=True)
class OnMapped(Statistic[Block, State, Result]):
    """`inner` of map(rows), in chunks that stay in the processor's cache.

    A map that makes rows much larger belongs into `inner`, which knows what it makes of them.
    """

    inner: Statistic[Block, State, Result]
    map: RowMap

    def init(self, block: Block) -> State:
        """For mapped rows, of which none is needed: widths and types are those of no row mapped."""
        return self.inner.init(self.map(block.none))

    def update(self, state: State, block: Block) -> State:
        for chunk in block.chunks(4 * block.X.shape[1] * block.X.element_size()):
            state = self.inner.update(state, self.map(chunk))
        return state

    def merge(self, one: State, other: State) -> State:
        return self.inner.merge(one, other)

    def finish(self, state: State) -> Result:
        return self.inner.finish(state)

    def pack(self, state: State) -> dict[str, Any]:
        return self.inner.pack(state)

    def unpack(self, packed: Mapping[str, Tensor]) -> State:
        return self.inner.unpack(packed)


@dataclass(frozen=True)
class Chain:
    """One row map after another."""

    maps: tuple[Any, ...]

    def __call__(self, rows: Any) -> Any:
        for each in self.maps:
            rows = each(rows)
        return rows
