"""The binary tree over piece numbers by which every engine sums, whoever computes what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from ..maths.blocks import Block, Statistic
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
    pieces: tuple[Piece[Block], ...]

    @property
    def name(self) -> str:
        """Where the rows are, in words."""
        names = self.pieces[0].name, self.pieces[-1].name
        return names[0] if len(self.pieces) == 1 else f"{names[0]} to {names[1]}"


def segmented(pieces: Iterator[Piece[Block]], first: int, level: int) -> Iterator[Segment]:
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

    def __init__(self, statistic: Statistic[State, Any], nodes: Iterable[Node[State]] = ()) -> None:
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
