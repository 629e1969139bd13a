"""The distinct values of the first target, with their weights: the classes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic


@dataclass
class CountState:
    """Increasing values, and the total weight of each."""

    values: Float[Tensor, " k"]
    weights: Float[Tensor, " k"]


@dataclass(frozen=True)
class ValueCounts(Statistic[Block, CountState, CountState]):
    """Distinct values of y[:, 0] in rows of positive weight, each with its total weight.

    >>> from gradfeat.maths.blocks import collect
    >>> y = torch.tensor([[2.0], [0.0], [2.0]])
    >>> found = collect(ValueCounts(), [Block(y, y, torch.ones(3))])
    >>> found.values.tolist(), found.weights.tolist()
    ([0.0, 2.0], [1.0, 2.0])
    """

    #: Values that are kept; beyond them only that there are more is known (one more is kept).
    most: int = 1000

    def init(self, block: Block) -> CountState:
        del block
        return CountState(*(torch.zeros(0, dtype=torch.float64) for _ in range(2)))

    def update(self, state: CountState, block: Block) -> CountState:
        kept = block.w > 0
        y, w = block.y[kept, 0].double().cpu(), block.w[kept].double().cpu()
        return self.merge(state, CountState(y, w))

    def merge(self, one: CountState, other: CountState) -> CountState:
        every = torch.cat([one.values, other.values])
        values, group = torch.unique(every, return_inverse=True)
        weights = torch.zeros(len(values), dtype=torch.float64)
        weights.index_add_(0, group, torch.cat([one.weights, other.weights]))
        return CountState(values[: self.most + 1], weights[: self.most + 1])

    def finish(self, state: CountState) -> CountState:
        return state

    def pack(self, state: CountState) -> dict[str, Tensor]:
        return vars(state)

    def unpack(self, packed: Mapping[str, Tensor]) -> CountState:
        return CountState(**packed)
