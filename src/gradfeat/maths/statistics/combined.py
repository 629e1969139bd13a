"""Statistics made of others: of rows that are mapped first, and several in one pass."""

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
class Around(Statistic[Block, State, Result]):
    """The sums of `inner`; how rows come to it is told by the classes below."""

    inner: Statistic[Block, State, Result]

    def merge(self, one: State, other: State) -> State:
        return self.inner.merge(one, other)

    def finish(self, state: State) -> Result:
        return self.inner.finish(state)

    def pack(self, state: State) -> dict[str, Any]:
        return self.inner.pack(state)

    def unpack(self, packed: Mapping[str, Tensor]) -> State:
        return self.inner.unpack(packed)


@dataclass(frozen=True)
class OnMapped(Around[State, Result]):
    """`inner` of map(rows), in chunks that stay in the processor's cache.

    A map that makes rows much larger belongs into `inner`, which knows what it makes of them.
    """

    map: RowMap

    def init(self, block: Block) -> State:
        """For mapped rows, of which none is needed: widths and types are those of no row mapped."""
        return self.inner.init(self.map(block.none))

    def update(self, state: State, block: Block) -> State:
        for chunk in block.chunks(4 * block.X.shape[1] * block.X.element_size()):
            state = self.inner.update(state, self.map(chunk))
        return state


@dataclass(frozen=True)
class Chain:
    """One row map after another."""

    maps: tuple[Any, ...]

    def __call__(self, rows: Any) -> Any:
        for each in self.maps:
            rows = each(rows)
        return rows


@dataclass(frozen=True)
class Joint(Statistic[Block, list[Any], list[Any]]):
    """The statistics `parts` of the same rows, which are read once."""

    parts: tuple[Statistic[Any, Any, Any], ...]

    def init(self, block: Block) -> list[Any]:
        return [part.init(block) for part in self.parts]

    def update(self, state: list[Any], block: Block) -> list[Any]:
        return [part.update(s, block) for part, s in zip(self.parts, state, strict=True)]

    def merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        return [p.merge(a, b) for p, a, b in zip(self.parts, one, other, strict=True)]

    def finish(self, state: list[Any]) -> list[Any]:
        return [part.finish(s) for part, s in zip(self.parts, state, strict=True)]

    def pack(self, state: list[Any]) -> dict[str, Tensor]:
        packed = [part.pack(s) for part, s in zip(self.parts, state, strict=True)]
        return {f"{i}.{name}": t for i, of in enumerate(packed) for name, t in of.items()}

    def unpack(self, packed: Mapping[str, Tensor]) -> list[Any]:
        return [part.unpack(under(f"{i}.", packed)) for i, part in enumerate(self.parts)]


def under(start: str, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(start): t for n, t in packed.items() if n.startswith(start)}
