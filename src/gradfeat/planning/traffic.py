"""How a pass is divided among workers, and what they send: the rules of the engines themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..maths.blocks import Block
from ..maths.statistics.moments import Moments
from ..rows.engine import Work
from ..rows.on_workers import EACH_ON_CLUSTER
from ..rows.source import Piece, Source
from .job import Job
from .rehearsal import RehearsedPass


class _Numbered(Source[Block]):
    """So many pieces, of which nothing else is known."""

    def __init__(self, count: int) -> None:
        self._count = count

    def pieces(self) -> Iterator[Piece[Block]]:
        return iter(())

    @property
    def count(self) -> int:
        return self._count

    @property
    def fingerprint(self) -> str:
        return ""


@dataclass(frozen=True)
class Traffic:
    """Segments, merges, bytes and tasks of a pass."""

    level: int  # a segment, which is summed in one go, has 2^level pieces
    folds: int  # segments
    groups: int  # sums that arrive where the plan is made
    merges: int  # of two states, wherever
    #: Bytes between workers at most, to the driver, and of the statistic to workers.
    moved: int
    arriving: int
    sent: int
    tasks: int  # that the scheduler of a cluster handles

    @property
    def network(self) -> int:
        return self.moved + self.arriving + self.sent


def traffic_of(job: Job, one: RehearsedPass) -> Traffic:
    pieces = job.pieces
    if not job.on_cluster:
        return Traffic(0, pieces, pieces, pieces - 1, 0, 0, 0, 0)
    level = Work(Moments(), _Numbered(pieces), 0).level_for(job.slots, EACH_ON_CLUSTER)
    folds = _blocks(pieces, level)
    packed, sent = round(one.sizes.packed), round(one.sizes.sent)
    return Traffic(
        level,
        folds,
        folds,
        pieces - 1,
        0,
        folds * packed,
        sent * job.workers,
        1 + folds,
    )


def _blocks(pieces: int, level: int) -> int:
    return -(-pieces // (1 << level))
