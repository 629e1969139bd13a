"""Several statistics in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..blocks import Block, Statistic


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
        return [part.unpack(_under(f"{i}.", packed)) for i, part in enumerate(self.parts)]


def _under(start: str, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(start): t for n, t in packed.items() if n.startswith(start)}
