"""Passes on workers: processes of this machine, a Dask cluster, any executor."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from .dask_client import client_of, quiet
from .dask_executor import DaskExecutor
from .engine import Engine, Work
from .errors import EngineError
from .processors import processors
from .tree import Folded, Segment, fold_segment
from .wire import dumps, loads, pack_folded, segment_bytes, unpack_folded
from .workers import Flight, GivenWorkers, Processes, Workers

#: Workers that may die of a segment.
DEATHS = 3

#: Segments for each worker of a cluster: fewer than on one machine, as their sums travel.
EACH_ON_CLUSTER = 4


def folds_on(workers: Workers, work: Work, level: int) -> Generator[Folded[Any], None, None]:
    """Segments of at most ``2^level`` pieces as workers finish them, whoever these are."""
    segments = work.segments(level)
    start = workers.share(dumps(work.statistic, "the statistic"))

    def sent(segment: Segment) -> tuple[Any, ...]:
        return fold_bytes, segment_bytes(segment, work.source.parallel)

    flight = Flight(workers, start, DEATHS, sent=sent)
    while True:
        while flight.room and _near(flight.items) and (segment := next(segments, None)) is not None:
            flight.start(segment)
        if not flight.busy:
            return
        for segment, future in flight.finished():
            folded = unpack_folded(work.statistic, _sum(segment, future))
            del future
            yield folded
            del folded


def fold_bytes(statistic: bytes, segment: bytes) -> Folded[Any]:
    """A segment summed by a worker, all in bytes and arrays."""
    summand = loads(statistic, "the statistic")
    return pack_folded(summand, fold_segment(summand, loads(segment, "the source")))


def _near(flying: list[Segment]) -> bool:
    """Whether the oldest in flight is not too far behind: states that wait for it are few."""
    firsts = [segment.first for segment in flying]
    spread = sum(len(segment.pieces) for segment in flying)
    return not firsts or max(firsts) - min(firsts) <= 4 * spread


def _sum(segment: Segment, future: Future[Any]) -> Folded[Any]:
    try:
        return future.result()
    except BrokenExecutor:
        raise EngineError(
            f"workers died {DEATHS} times while they summed {segment.name}: look there, or give "
            "fewer jobs, more memory or smaller pieces if memory ran out; the checkpoint, if there "
            "is one, is kept."
        ) from None


@dataclass(frozen=True)
class ExecutorEngine(Engine):
    """Computes on any `concurrent.futures.Executor`; it is not shut down.

    Pieces are read by the workers; rows that this process holds in memory are sent to them.

    `n`: About how many workers the executor has; left out: one for each processor that this process
        may use.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     ExecutorEngine(executor, 2).state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    executor: Executor
    n: int = field(default_factory=processors)

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        yield from folds_on(GivenWorkers(self.executor, self.n), work, work.level_for(self.n))


@dataclass(frozen=True)
class Pool(Engine):
    """Computes in `jobs` processes of this machine, with one BLAS and torch thread each.

    The processes start at the first pass and serve until :meth:`close`, or the end of a ``with``;
    they are ended when a pass fails or is interrupted. Pieces are read by the workers; rows that
    this process holds in memory are sent to them. In a script, call it under
    ``if __name__ == "__main__":``.

    `jobs`: Processes; left out: one for each processor that this process may use.

    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> with Pool(1) as pool:
    ...     pool.state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    jobs: int = field(default_factory=processors)
    #: None, or the one that has started.
    _started: list[Processes] = field(default_factory=list, init=False, repr=False, compare=False)

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        if self.jobs < 1:
            raise EngineError(f"jobs is {self.jobs}: give 1 process or more.")
        if not self._started:
            self._started.append(Processes(self.jobs))
        done = False
        try:
            yield from folds_on(self._started[0], work, work.level_for(self.jobs))
            done = True
        finally:
            if not done:
                self.close()

    def close(self) -> None:
        while self._started:
            self._started.pop().close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class DaskEngine(Engine):
    """Computes on the workers of a Dask cluster, who sum several pieces each before they answer.

    Few segments are in flight, and each is forgotten when its sum has come here, so the memory of
    the scheduler does not grow with the number of pieces. Dask computes again what was lost with a
    worker. Pieces are read by the workers, who must see the files; rows in memory are sent to them.

    `cluster`: A ``distributed.Client``, or the address of a scheduler.
    `patience`: Seconds that a cluster may be without any worker.

    >>> from gradfeat.rows.dask_client import local_cluster
    >>> with local_cluster(2) as client:  # doctest: +SKIP
    ...     DaskEngine(client).state(statistic, source)
    """

    cluster: Any
    patience: float = 300.0

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        with (
            client_of(self.cluster) as client,
            quiet(),
            closing(DaskExecutor(client, self.patience)) as workers,
        ):
            level = work.level_for(workers.in_flight // 2, EACH_ON_CLUSTER)
            yield from folds_on(workers, work, level)
