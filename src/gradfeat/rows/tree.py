"""The binary tree over piece numbers by which every engine sums, and segments of it summed."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

from ..maths.blocks import Statistic
from .source import Piece

State = TypeVar("State")


@dataclass(frozen=True)
class Node(Generic[State]):
    """State of the pieces [index 2^level, (index + 1) 2^level); None where they have no rows."""

    level: int
    index: int
    state: State | None

    @property
    def start(self) -> int:
        return self.index << self.level

    @property
    def stop(self) -> int:
        return (self.index + 1) << self.level


@dataclass(frozen=True)
class Segment:
    """Neighbouring pieces that are summed in one go: all of an aligned range, or its beginning."""

    first: int
    pieces: tuple[Piece[Any], ...]

    @property
    def name(self) -> str:
        names = self.pieces[0].name, self.pieces[-1].name
        return names[0] if len(self.pieces) == 1 else f"{names[0]} to {names[1]}"


def segmented(pieces: Iterator[Piece[Any]], first: int, level: int) -> Iterator[Segment]:
    """Pieces in aligned segments of at most ``2^level``.

    `first` is the number of the first of them; segments are shorter until they are aligned.
    """
    while True:
        aligned = first & -first or 1 << level
        taken = tuple(islice(pieces, min(aligned, 1 << level)))
        if not taken:
            return
        yield Segment(first, taken)
        first += len(taken)
        del taken


class Assembler(Generic[State]):
    """Merges nodes as they come, in any order: two siblings as soon as both are there.

    Nodes are of disjoint pieces, and belong to the assembler once it has them. `whole` is False
    while states are being merged, so also after an interruption in the middle of it.
    """

    def __init__(
        self, statistic: Statistic[Any, State, Any], nodes: Iterable[Node[State]] = ()
    ) -> None:
        self.statistic = statistic
        self._nodes: dict[int, Node[State]] = {}
        self.whole = True
        self.take(nodes)

    def take(self, nodes: Iterable[Node[State]]) -> None:
        for node in nodes:
            self.add(node)

    def add(self, node: Node[State]) -> None:
        """Take a node, and merge what can be merged."""
        self.whole = False
        while (sibling := self._nodes.get((node.index ^ 1) << node.level)) is not None:
            if sibling.level != node.level:
                break
            del self._nodes[sibling.start]
            node = self._parent(node, sibling)
        if node.start in self._nodes:
            raise RuntimeError(f"piece {node.start} came twice.")
        self._nodes[node.start] = node
        self.whole = True

    def _parent(self, node: Node[State], sibling: Node[State]) -> Node[State]:
        left, right = (sibling, node) if node.index & 1 else (node, sibling)
        return Node(node.level + 1, node.index >> 1, self._merged(left.state, right.state))

    def _merged(self, one: State | None, other: State | None) -> State | None:
        if one is None or other is None:
            return other if one is None else one
        return self.statistic.merge(one, other)

    @property
    def nodes(self) -> tuple[Node[State], ...]:
        return tuple(self._nodes[start] for start in sorted(self._nodes))

    @property
    def prefix(self) -> tuple[Node[State], ...]:
        """The nodes of the pieces up to the first that is missing."""
        found: list[Node[State]] = []
        while (node := self._nodes.get(found[-1].stop if found else 0)) is not None:
            found.append(node)
        return tuple(found)

    def total(self) -> State | None:
        """State of all pieces, merged from the last to the first; nothing is left here."""
        if len(self.prefix) < len(self._nodes):
            raise RuntimeError(f"{len(self._nodes)} nodes have gaps between them.")
        self.whole = False
        total: State | None = None
        while self._nodes:
            total = self._merged(self._nodes.pop(max(self._nodes)).state, total)
        return total


@dataclass(frozen=True)
class PieceEnd:
    """All rows of a piece have come."""

    number: int


@dataclass(frozen=True)
class SegmentEnd:
    """All pieces of the segment that begins with piece `first` have come."""

    first: int


#: What reading gives, in order: chunks of rows, and marks.
Item: TypeAlias = Any | PieceEnd | SegmentEnd


def read(segments: Iterable[Segment]) -> Generator[Item, None, None]:
    """The blocks of all pieces, with marks where pieces and segments end; empty blocks left out."""
    for segment in segments:
        for number, piece in enumerate(segment.pieces, segment.first):
            for block in piece.read():
                if len(block):
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

    statistic: Statistic[Any, State, Any]
    nodes: Assembler[State] = field(init=False)
    state: State | None = None
    rows: int = 0
    pieces: int = 0

    def __post_init__(self) -> None:
        self.nodes = Assembler(self.statistic)

    def add(self, block: Any) -> None:
        state = self.statistic.init(block) if self.state is None else self.state
        self.state = self.statistic.update(state, block)
        self.rows += len(block)

    def end(self, number: int) -> None:
        node, self.state = Node(0, number, self.state), None
        self.nodes.add(node)
        self.pieces += 1

    def folded(self, first: int) -> Folded[State]:
        return Folded(first, self.nodes.nodes, self.rows, self.pieces)


def fold(statistic: Statistic[Any, State, Any], items: Iterable[Item]) -> Iterator[Folded[State]]:
    """Segments summed, as they end. At most ``level + 2`` states of a segment live at once."""
    part = _Sum(statistic)
    for item in items:
        match item:
            case PieceEnd(number=number):
                part.end(number)
            case SegmentEnd(first=first):
                folded, part = part.folded(first), _Sum(statistic)
                yield folded
                del folded
            case chunk:
                part.add(chunk)


def fold_segment(statistic: Statistic[Any, State, Any], segment: Segment) -> Folded[State]:
    (folded,) = fold(statistic, read([segment]))
    return folded
