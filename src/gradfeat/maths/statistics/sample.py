"""A random sample of the rows by their hash, whatever their order and their blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..blocks import Block, Statistic
from ..streams import column_hash, started


@dataclass
class SampleState:
    """Distinct rows with the least hashes, in increasing order, each with its total weight."""

    hash: Int[Tensor, " k"]
    X: Float[Tensor, "k d"]
    y: Float[Tensor, "k c"]
    w: Float[Tensor, " k"]


@dataclass(frozen=True)
class RowSample(Statistic[Block, SampleState, Block]):
    """The `size` distinct rows (x, y) of least hash, weights of equal rows summed.

    A hash of the values is as good as a random number drawn for each distinct row, so this is a
    simple random sample of them; and since "the least of" is associative, blocks in any order and
    grouping give the same rows. All rows where there are no more than `size` distinct ones.

    Source: Broder 1997 (bottom-k sketches).
    """

    size: int
    seed: int = 0  # varies the hash, and with it the sample

    def init(self, block: Block) -> SampleState:
        empty = torch.zeros(0, dtype=torch.int64)
        return SampleState(empty, block.X[:0].cpu(), block.y[:0].cpu(), block.w[:0].double().cpu())

    def update(self, state: SampleState, block: Block) -> SampleState:
        h = row_hash(block.X, block.y, self.seed)
        wanted = block.w.cpu() > 0
        if len(state.hash) >= self.size:
            wanted &= h <= state.hash[-1]
        few = wanted.nonzero().flatten()
        X, y, w = (t[few.to(t.device)].cpu() for t in (block.X, block.y, block.w))
        return self._least(state, SampleState(h[few], X, y, w.double()))

    def merge(self, one: SampleState, other: SampleState) -> SampleState:
        return self._least(one, other)

    def _least(self, one: SampleState, other: SampleState) -> SampleState:
        h = torch.cat([one.hash, other.hash])
        distinct, group = torch.unique(h, return_inverse=True)
        if not len(distinct):
            return one
        kept = distinct[: self.size]
        # Weights of equal rows add up; which of them stands for all does not matter.
        w = torch.zeros(len(distinct), dtype=torch.float64)
        w.index_add_(0, group, torch.cat([one.w, other.w]))
        first = torch.empty(len(distinct), dtype=torch.int64)
        first[group.flip(0)] = torch.arange(len(h) - 1, -1, -1)
        rows = first[: len(kept)]
        X, y = torch.cat([one.X, other.X])[rows], torch.cat([one.y, other.y])[rows]
        return SampleState(kept, X, y, w[: len(kept)])

    def finish(self, state: SampleState) -> Block:
        """The rows, in the order of their hashes."""
        return Block(state.X, state.y, state.w.to(state.X.dtype))

    def pack(self, state: SampleState) -> dict[str, Tensor]:
        return vars(state)

    def unpack(self, packed: Mapping[str, Tensor]) -> SampleState:
        state = SampleState(**packed)
        n = len(state.hash)
        if state.X.ndim != 2 or any(len(part) != n for part in (state.X, state.y, state.w)):
            raise ValueError("rows, targets, weights and hashes of a sample differ in number")
        return state


def row_hash(X: Float[Tensor, "n d"], y: Float[Tensor, "n c"], seed: int) -> Int[Tensor, " n"]:
    """Hash (n,) of the values of each row (x, y), uniform on 0 to 2^63 - 1; on the CPU."""
    h = started(len(X), seed)
    for part in (X, y):
        for column in part.double().cpu().numpy().T:
            h = column_hash(column, h)
    return torch.from_numpy((h >> np.uint64(1)).astype(np.int64))
