"""Pieces read one after the other, and folded into the nodes of their segment."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from ..maths.blocks import Block, Statistic
from .tree import Assembler, Node, Segment

State = TypeVar("State")


@dataclass(frozen=True)
class PieceEnd:
    """All rows of a piece have come."""

    number: int


@dataclass(frozen=True)
class SegmentEnd:
    """All pieces of the segment that begins with piece `first` have come."""

    first: int


#: What reading gives, in order.
Item: TypeAlias = Block | PieceEnd | SegmentEnd


def read(segments: Iterable[Segment]) -> Generator[Item, None, None]:
    """The blocks of all pieces, with marks where pieces and segments end; empty blocks left out."""
    for segment in segments:
        for number, piece in enumerate(segment.pieces, segment.first):
            for block in piece.read():
                if len(block.X):
                    yield block
            yield PieceEnd(number)
        yield SegmentEnd(segment.first)


@dataclass(frozen=True)
class Folded(Generic[State]):
    """A segment summed: its nodes (one, where it is complete), and how much went into them."""

    first: int
    nodes: tuple[Node[State], ...]
    rows: int
    pieces: int


@dataclass
class _Sum(Generic[State]):
    """A segment on its way."""

    statistic: Statistic[State, Any]
    nodes: Assembler[State] = field(init=False)
    state: State | None = None
    rows: int = 0
    pieces: int = 0

    def __post_init__(self) -> None:
        self.nodes = Assembler(self.statistic)

    def add(self, block: Block) -> None:
        state = self.statistic.init(block) if self.state is None else self.state
        self.state = self.statistic.update(state, block)
        self.rows += len(block.X)

    def end(self, number: int) -> None:
        node, self.state = Node(0, number, self.state), None
        self.nodes.add(node)
        self.pieces += 1

    def folded(self, first: int) -> Folded[State]:
        return Folded(first, self.nodes.nodes, self.rows, self.pieces)


def fold(statistic: Statistic[State, Any], items: Iterable[Item]) -> Iterator[Folded[State]]:
    """Segments summed, as they end. At most ``level + 2`` states of a segment live at once."""
    part = _Sum(statistic)
    for item in items:
        match item:
            case Block():
                part.add(item)
            case PieceEnd(number):
                part.end(number)
            case SegmentEnd(first):
                folded, part = part.folded(first), _Sum(statistic)
                yield folded
                del folded


def fold_segment(statistic: Statistic[State, Any], segment: Segment) -> Folded[State]:
    """One segment, read and summed here and now.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows.source import Listed
    >>> one = torch.ones(2, 1).double()
    >>> segment = Segment(4, (Listed([Block(one, one, one[:, 0])]),) * 3)
    >>> folded = fold_segment(Moments(), segment)
    >>> [(node.level, node.index) for node in folded.nodes], folded.rows
    ([(1, 2), (0, 6)], 6)
    """
    (folded,) = fold(statistic, read([segment]))
    return folded


def joined(
    statistic: Statistic[State, Any], one: Folded[State], other: Folded[State]
) -> Folded[State]:
    """Two neighbouring segments as one."""
    nodes = Assembler(statistic, (*one.nodes, *other.nodes)).nodes
    return Folded(
        min(one.first, other.first), nodes, one.rows + other.rows, one.pieces + other.pieces
    )
