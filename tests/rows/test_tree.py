"""Whoever sums which pieces, and in whatever order: the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import torch
from engine_rows import drawn
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gradfeat.maths.blocks import Block, Statistic
from gradfeat.rows.tree import Assembler, Node, fold_segment, segmented


@dataclass(frozen=True)
class Total(Statistic[Block, Tensor, float]):
    """A sum that gives another number for every grouping, and knows its left from its right."""

    def init(self, block: Block) -> Tensor:
        return block.X.new_zeros(())

    def update(self, state: Tensor, block: Block) -> Tensor:
        return state.add_(block.X.sum())

    def merge(self, one: Tensor, other: Tensor) -> Tensor:
        return one.add_(other, alpha=0.5)

    def finish(self, state: Tensor) -> float:
        return float(state)

    def pack(self, state: Tensor) -> dict[str, Tensor]:
        return {"sum": state}

    def unpack(self, packed: Mapping[str, Tensor]) -> Tensor:
        return packed["sum"].clone()


def by_definition(values: list[float]) -> float:
    """The sum as the tree defines it: the largest aligned ranges, halved; the last come first."""

    def full(start: int, size: int) -> float:
        if size == 1:
            return values[start]
        return full(start, size // 2) + 0.5 * full(start + size // 2, size // 2)

    def rest(start: int) -> float:
        size = 1 << ((len(values) - start).bit_length() - 1)
        if start + size == len(values):
            return full(start, size)
        return full(start, size) + 0.5 * rest(start + size)

    return rest(0)


values = st.lists(st.integers(-(2**53), 2**53).map(float), min_size=1, max_size=40)


def leaves(numbers: list[float]) -> list[Node[Tensor]]:
    return [Node(0, i, torch.tensor(x, dtype=torch.float64)) for i, x in enumerate(numbers)]


@given(values, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_bits(numbers, random):
    nodes = leaves(numbers)
    random.shuffle(nodes)
    total = Assembler(Total(), nodes).total()
    assert total is not None
    assert float(total) == by_definition(numbers)


@given(values, st.integers(0, 40), st.randoms(use_true_random=False))
def test_any_grouping_after_any_checkpoint_gives_the_same_bits(numbers, first, random):
    first = min(first, len(numbers))
    nodes = leaves(numbers)
    sums = Assembler(Total(), nodes[:first])
    groups = []
    while first < len(numbers):  # aligned groups of random sizes
        aligned = first & -first or 64
        size = min(aligned, 1 << random.randint(0, 5))
        groups.append(Assembler(Total(), nodes[first : first + size]).nodes)
        first += size
    random.shuffle(groups)
    for group in groups:
        sums.take(group)
    total = sums.total()
    assert total is not None
    assert float(total) == by_definition(numbers)


def test_the_order_matters_to_this_statistic():
    assert by_definition([1.0, 2.0, 3.0]) != by_definition([2.0, 1.0, 3.0])


@pytest.mark.parametrize("level", [0, 1, 3, 6])
def test_segments_of_any_level_give_the_same_bits(level):
    source = drawn(13)
    one = fold_segment(Total(), next(segmented(source.pieces(), 0, 6)))
    sums = Assembler(Total(), one.nodes)
    again = Assembler(Total())
    for segment in segmented(source.pieces(), 0, level):
        again.take(fold_segment(Total(), segment).nodes)
    assert [(n.level, n.index) for n in sums.nodes] == [(3, 0), (2, 2), (0, 12)]
    assert sums.total() == again.total()


def test_neighbours_join_to_one_segment():
    source = drawn(7)
    parts = [fold_segment(Total(), s) for s in segmented(source.pieces(), 0, 2)]
    whole = fold_segment(Total(), next(segmented(source.pieces(), 0, 3)))
    assert Assembler(Total(), [node for part in parts for node in part.nodes]).nodes == whole.nodes
    assert sum(part.rows for part in parts) == whole.rows == 7 * 13
    assert sum(part.pieces for part in parts) == whole.pieces == 7


def test_prefix_ends_at_the_first_gap():
    sums = Assembler(Total(), [leaves([0.0] * 8)[i] for i in (0, 1, 2, 4, 5, 6, 7)])
    assert [(n.level, n.index) for n in sums.prefix] == [(1, 0), (0, 2)]
    with pytest.raises(RuntimeError, match="gaps"):
        sums.total()


def test_a_piece_does_not_count_twice():
    node = leaves([1.0])[0]
    with pytest.raises(RuntimeError, match="twice"):
        Assembler(Total(), [node, node])


def test_no_rows_are_no_state():
    assert Assembler(Total()).total() is None
    sums = Assembler(Total(), [Node(0, 0, None), *leaves([0.0, 2.0, 3.0])[1:]])
    assert sums.total() == 2.0 + 0.5 * 3.0


def test_interrupted_merges_are_known():
    @dataclass(frozen=True)
    class Interrupted(Total):
        def merge(self, one: Tensor, other: Tensor) -> Tensor:
            super().merge(one, other)
            raise KeyboardInterrupt

    sums = Assembler(Interrupted())
    sums.add(leaves([1.0])[0])
    assert sums.whole
    with pytest.raises(KeyboardInterrupt):
        sums.add(leaves([1.0, 2.0])[1])
    assert not sums.whole
