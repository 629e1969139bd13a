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
        """First piece."""
        return self.index << self.level

    @property
    def stop(self) -> int:
        """One after the last piece."""
        return (self.index + 1) << self.level


@dataclass(frozen=True)
class Segment:
    """Neighbouring pieces that are summed in one go: all of an aligned range, or its beginning."""

    first: int
    pieces: tuple[Piece[Any], ...]

    @property
    def name(self) -> str:
        """Where the rows are, in words."""
        names = self.pieces[0].name, self.pieces[-1].name
        return names[0] if len(self.pieces) == 1 else f"{names[0]} to {names[1]}"


def segmented(pieces: Iterator[Piece[Any]], first: int, level: int) -> Iterator[Segment]:
    """Pieces in aligned segments of at most ``2^level``.

    Parameters
    ----------
    pieces : iterator of Piece
    first : int
        Number of the first of them; segments are shorter until they are aligned.
    level : int

    Examples
    --------
    >>> from gradfeat.rows.source import Listed
    >>> pieces = [Listed(()) for _ in range(10)]
    >>> [(s.first, len(s.pieces)) for s in segmented(iter(pieces[1:]), 1, 2)]
    [(1, 1), (2, 2), (4, 4), (8, 2)]
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

    Parameters
    ----------
    statistic : Statistic
    nodes : iterable of Node
        Of disjoint pieces; they belong to the assembler from here on.

    Attributes
    ----------
    statistic : Statistic
        As given.
    whole : bool
        False while states are being merged, so also after an interruption in the middle of it.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.maths.blocks import Block
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> one = torch.ones(1, 1).double()
    >>> def state():
    ...     block = Block(one, one, one[0])
    ...     return Moments().update(Moments().init(block), block)
    >>> sums = Assembler(Moments(), [Node(0, i, state()) for i in (2, 0, 1)])
    >>> [(node.level, node.index) for node in sums.nodes], float(sums.total().weight)
    ([(1, 0), (0, 2)], 3.0)
    """

    def __init__(
        self, statistic: Statistic[Any, State, Any], nodes: Iterable[Node[State]] = ()
    ) -> None:
        self.statistic = statistic
        self._nodes: dict[int, Node[State]] = {}
        self.whole = True
        self.take(nodes)

    def take(self, nodes: Iterable[Node[State]]) -> None:
        """Add several nodes."""
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
        """What is there, in order."""
        return tuple(self._nodes[start] for start in sorted(self._nodes))

    @property
    def prefix(self) -> tuple[Node[State], ...]:
        """The nodes of the pieces up to the first that is missing."""
        found: list[Node[State]] = []
        while (node := self._nodes.get(found[-1].stop if found else 0)) is not None:
            found.append(node)
        return tuple(found)

    def total(self) -> State | None:
        """State of all pieces, merged from the last to the first; nothing is left here.

        Raises
        ------
        RuntimeError
            When a piece in between is missing.
        """
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
    """One segment, read and summed here and now.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.maths.blocks import Block
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
