"""Passes in a pool of processes; a worker that dies costs its segments a second time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from .engine import Engine, Work
from .errors import EngineError
from .folding import Folded, fold_segment
from .processors import processors
from .tree import Segment
from .wire import dumps, loads, pack_folded, segment_bytes, unpack_folded
from .workers import Processes

#: Workers that may die of a segment.
DEATHS = 3


class _Staff:
    """Processes, started when they are first wanted."""

    def __init__(self) -> None:
        self._processes: Processes | None = None

    def at_work(self, jobs: int) -> Processes:
        if self._processes is None:
            self._processes = Processes(jobs)
        return self._processes

    def close(self) -> None:
        processes, self._processes = self._processes, None
        if processes is not None:
            processes.close()


@dataclass(frozen=True)
class Pool(Engine):
    """Computes in `jobs` processes of this machine, with one BLAS and torch thread each.

    The processes start at the first pass and serve until :meth:`close`, or the end of a ``with``;
    they are ended when a pass fails or is interrupted. Pieces are read by the workers; rows that
    this process holds in memory are sent to them. In a script, call it under
    ``if __name__ == "__main__":``.

    Attributes
    ----------
    jobs : int
        Processes; left out: one for each processor that this process may use.
    report : callable (Tick) -> None
        Told after each segment.
    checkpoint : Checkpoint, optional
        Where the pass is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows.sources.open import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> with Pool(1) as pool:
    ...     pool.state(Moments(), rows).mean_x.tolist()
    [2.0, 3.0]
    """

    jobs: int = field(default_factory=processors)
    _staff: _Staff = field(default_factory=_Staff, init=False, repr=False, compare=False)

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        """Segments as they are finished."""
        if self.jobs < 1:
            raise EngineError(f"jobs is {self.jobs}: give 1 process or more.")
        run = _Run(self._staff.at_work(self.jobs), work, self.jobs)
        done = False
        try:
            yield from run.folds()
            done = True
        finally:
            if not done:
                self.close()

    def close(self) -> None:
        """End the processes."""
        self._staff.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fold_bytes(statistic: bytes, segment: bytes) -> Folded[Any]:
    """A segment summed by a worker, all in bytes and arrays."""
    summand = loads(statistic, "the statistic")
    return pack_folded(summand, fold_segment(summand, loads(segment, "the source")))


class _Run:
    """One pass: what is in flight, and what was lost with a worker."""

    def __init__(self, processes: Processes, work: Work, jobs: int) -> None:
        self._processes = processes
        self._work = work
        self._segments = work.segments(work.level_for(jobs))
        self._statistic = dumps(work.statistic, "the statistic")
        self._most = 2 * jobs
        self._flying: dict[Future[Folded[Any]], Segment] = {}
        self._suspects: deque[Segment] = deque()
        self._deaths: Counter[int] = Counter()

    def folds(self) -> Generator[Folded[Any], None, None]:
        """Submit and collect until nothing is left."""
        while self._fill():
            wait(self._flying, None, FIRST_COMPLETED)
            yield from self._landed()

    def _fill(self) -> bool:
        """Keep enough in flight; a suspect of killing its worker flies alone."""
        if self._suspects:
            if not self._flying:
                self._submit(self._suspects.popleft())
            return True
        while len(self._flying) < self._most and self._near():
            if (segment := next(self._segments, None)) is None:
                break
            self._submit(segment)
        return bool(self._flying or self._suspects)

    def _near(self) -> bool:
        """Whether the oldest in flight is not too far behind: states that wait for it are few."""
        firsts = [segment.first for segment in self._flying.values()]
        spread = sum(len(segment.pieces) for segment in self._flying.values())
        return not firsts or max(firsts) - min(firsts) <= 4 * spread

    def _submit(self, segment: Segment) -> None:
        data = segment_bytes(segment, self._work.source.parallel)
        try:
            future = self._processes.submit(fold_bytes, self._statistic, data)
        except BrokenExecutor:
            self._recover([segment])
        else:
            self._flying[future] = segment

    def _landed(self) -> Generator[Folded[Any], None, None]:
        lost: list[Segment] = []
        for future in [future for future in self._flying if future.done()]:
            segment = self._flying.pop(future)
            match future.exception():
                case None:
                    yield unpack_folded(self._work.statistic, future.result())
                case BrokenExecutor():
                    lost.append(segment)
                case error:
                    raise error
        if lost:
            self._recover(lost)

    def _recover(self, lost: list[Segment]) -> None:
        """A worker died: what was in flight flies again, one segment at a time."""
        wait(self._flying)
        for future in [future for future in self._flying if future.exception() is not None]:
            lost.append(self._flying.pop(future))
        for segment in lost:
            self._deaths[segment.first] += 1
            if self._deaths[segment.first] >= DEATHS and len(lost) == 1:
                raise EngineError(
                    f"a worker process died {DEATHS} times while it summed {segment.name}: look "
                    "there, or give fewer jobs or smaller pieces if memory ran out."
                )
        self._suspects.extend(sorted(lost, key=lambda segment: segment.first))
        self._processes.restart()
