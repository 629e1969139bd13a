"""What takes a statistic over a source, and the loop that all engines share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from ..errors import SourceError
from ..maths.blocks import Statistic
from .checkpoint import Checkpoint, Kept
from .source import Source
from .tree import Assembler, Folded, Segment, segmented
from .wire import pack, unpack

State = TypeVar("State")

#: Most pieces of a segment that is sent to a worker, as a power of two.
MOST_LEVEL = 6

#: Segments for each worker that are aimed at, so that none waits long for the last one.
SEGMENTS_EACH = 8


@dataclass(frozen=True)
class Tick:
    """How far a pass is."""

    label: str  # name of the pass
    pieces: int  # pieces whose rows are in the sum
    of: int | None  # all pieces, where that is known
    seconds: float  # since the start of the pass
    #: Rows summed so far in this process's pass (those taken over from a checkpoint left out).
    rows: int


#: Told after each piece or group of pieces.
Report = Callable[[Tick], None]


def silent(tick: Tick) -> None:
    del tick


@dataclass(frozen=True)
class Work:
    """What an engine is to sum: the pieces of a source from number `first` on."""

    statistic: Statistic[Any, Any, Any]
    source: Source[Any]
    first: int

    def segments(self, level: int) -> Iterator[Segment]:
        """The pieces in segments of at most ``2^level``."""
        return segmented(islice(self.source.pieces(), self.first, None), self.first, level)

    def level_for(self, workers: int, segments_each: int = SEGMENTS_EACH) -> int:
        """Level that gives each worker several segments; the sum does not depend on it."""
        count = self.source.count
        return 0 if count is None else level_for(count - self.first, workers, segments_each)


def level_for(pieces: int, workers: int, segments_each: int) -> int:
    """:meth:`Work.level_for` of so many pieces."""
    each = max(1, pieces // (segments_each * workers))
    return min(MOST_LEVEL, each.bit_length() - 1)


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """Sums statistics over sources: here, in threads, in processes, on a cluster.

    Every engine merges the states of pieces in one binary tree over their numbers (see
    :mod:`gradfeat.rows.tree`), so the result does not depend on who computed what, or when.

    `report`: Told how far a pass is, of every engine.
    `checkpoint`: Where passes are kept, to go on after an interruption.
    """

    report: Report = silent
    checkpoint: Checkpoint | None = None

    @abstractmethod
    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        """Segments summed, in any order; closing the generator ends all that it started."""

    def state(
        self, statistic: Statistic[Any, State, Any], source: Source[Any], label: str = "pass"
    ) -> State:
        """State of all rows (not finished), on the CPU.

        Raises SourceError when rows cannot be read, or there are none; EngineError when workers,
        cluster or checkpoint fail, where what the checkpoint has is kept.
        """
        kept = self.checkpoint and self.checkpoint.record(statistic, source, label)
        if kept is not None and (total := kept.total()) is not None:
            self.report(Tick(label, source.count or 0, source.count, 0.0, 0))
            return total
        sums = Assembler(statistic, () if kept is None else kept.nodes())
        total = self._computed(sums, kept, source, label)
        total = unpack(statistic, pack(statistic, total))
        if kept is not None:
            kept.finish(total)
        return total

    def _computed(
        self, sums: Assembler[State], kept: Kept[State] | None, source: Source[Any], label: str
    ) -> State:
        start, rows = time.monotonic(), 0
        pieces = sums.prefix[-1].stop if sums.prefix else 0
        self.report(Tick(label, pieces, source.count, 0.0, 0))
        try:
            with closing(self.folds(Work(sums.statistic, source, pieces))) as folds:
                for folded in folds:
                    sums.take(folded.nodes)
                    rows, pieces = rows + folded.rows, pieces + folded.pieces
                    del folded
                    if kept is not None:
                        kept.keep(sums)
                    self.report(Tick(label, pieces, source.count, time.monotonic() - start, rows))
        except BaseException as error:
            if kept is not None:
                kept.rescue(sums, error)
            raise
        if (total := sums.total()) is None:
            raise SourceError("there are no rows to sum: give a source with at least one row.")
        return total
