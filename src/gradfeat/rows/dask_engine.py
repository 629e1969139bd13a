"""Passes on a Dask cluster."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Generator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from .blas import one_thread
from .dask_client import ANSWER, client_of, distributed, quiet
from .engine import Engine, Work
from .errors import EngineError
from .folding import Folded, joined
from .pool import fold_bytes
from .tree import Segment, segmented
from .wire import dumps, loads, pack_folded, segment_bytes, unpack_folded

#: Levels of the tree that are merged on the workers, above those of a segment.
GROUP_LEVEL = 2

#: Seconds in which the sum of a group must arrive, before it is asked for again.
ARRIVAL = 60.0


@dataclass(frozen=True)
class DaskEngine(Engine):
    """Computes on the workers of a Dask cluster, who also merge; one group of pieces after another.

    Few groups are in flight, and each is forgotten when its sum has come here, so the memory of the
    scheduler does not grow with the number of pieces. Dask computes again what was lost with a
    worker. Pieces are read by the workers, who must see the files; rows in memory are sent to them.

    Attributes
    ----------
    cluster : distributed.Client or str
        A client, or the address of a scheduler.
    patience : float
        Seconds that a cluster may be without any worker.
    report : callable (Tick) -> None
        Told after each group.
    checkpoint : Checkpoint, optional
        Where the pass is kept.

    Examples
    --------
    >>> from gradfeat.rows.dask_client import local_cluster
    >>> with local_cluster(2) as client:  # doctest: +SKIP
    ...     DaskEngine(client).state(statistic, source)
    """

    cluster: Any
    patience: float = 300.0

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        """Groups of segments as they are finished."""
        with client_of(self.cluster) as client, quiet():
            yield from _Run(client, work, self.patience).folds()


def _same(data: bytes) -> bytes:
    """The statistic, as a task: unlike data that is sent to a worker, it outlives the worker."""
    return data


def _fold(statistic: bytes, segment: bytes) -> Folded[Any]:
    with one_thread():
        return fold_bytes(statistic, segment)


def _join(statistic: bytes, one: Folded[Any], other: Folded[Any]) -> Folded[Any]:
    summand = loads(statistic, "the statistic")
    one, other = unpack_folded(summand, one), unpack_folded(summand, other)
    return pack_folded(summand, joined(summand, one, other))


class _Run:
    """One pass: the groups in flight."""

    def __init__(self, client: Any, work: Work, patience: float) -> None:
        self._dask = distributed()
        self._client = client
        self._work = work
        self._patience = patience
        self._name = f"gradfeat-{uuid.uuid4().hex[:12]}"
        self._flying: dict[Any, Segment] = {}
        self._seen = time.monotonic()  # when there were workers
        self._level = work.level_for(max(1, self._threads()))
        self._groups = work.segments(self._level + GROUP_LEVEL)
        self._statistic = self._submit("statistic", _same, dumps(work.statistic, "the statistic"))

    def folds(self) -> Generator[Folded[Any], None, None]:
        """Submit and collect until nothing is left."""
        try:
            while self._fill():
                for future in self._done():
                    if (folded := self._arrived(future)) is not None:
                        del self._flying[future]
                        future.release()
                        yield unpack_folded(self._work.statistic, folded)
                        del folded
        finally:
            for future in (*self._flying, self._statistic):
                future.release()

    def _fill(self) -> bool:
        """Keep about two segments for each worker in flight."""
        most = 2 + (2 * self._threads() >> GROUP_LEVEL)
        while len(self._flying) < most and (group := next(self._groups, None)) is not None:
            self._flying[self._sum_of(group)] = group
        return bool(self._flying)

    def _sum_of(self, group: Segment) -> Any:
        """The tasks of a group; the future of its sum keeps all of them until it has come."""
        sums = [
            self._submit(
                f"fold-{segment.first}",
                _fold,
                self._statistic,
                segment_bytes(segment, self._work.source.parallel),
            )
            for segment in segmented(iter(group.pieces), group.first, self._level)
        ]
        height = 0
        while len(sums) > 1:
            height += 1
            pairs = list(zip_longest(sums[::2], sums[1::2]))
            sums = [
                one if other is None else self._merge(f"{group.first}-{height}-{i}", one, other)
                for i, (one, other) in enumerate(pairs)
            ]
        return sums[0]

    def _merge(self, name: str, one: Any, other: Any) -> Any:
        return self._submit(f"merge-{name}", _join, self._statistic, one, other)

    def _submit(self, name: str, call: Any, *values: Any) -> Any:
        self._check()
        with warnings.catch_warnings():  # a large statistic is sent once, rows in memory as asked
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(call, *values, key=f"{self._name}-{name}", pure=False)

    def _done(self) -> set[Any]:
        """Futures that are finished; waits for the first."""
        while True:
            self._check()
            try:
                with self._client.as_current():
                    done = self._dask.wait(list(self._flying), ANSWER, "FIRST_COMPLETED").done
                self._seen = time.monotonic()
                return done
            except TimeoutError:
                self._wait_for_workers()
            except CancelledError:
                raise self._gone() from None

    def _arrived(self, future: Any) -> Folded[Any] | None:
        """The sum of a group, on this machine; None when it was lost on the way, and is due again.

        Raises
        ------
        EngineError
            When the scheduler is gone, or workers die of this group.
        """
        failed = future.status == "error"  # nothing is on its way: its own error is raised
        try:
            return future.result(timeout=ARRIVAL)
        except TimeoutError:
            if failed:
                raise
            return None
        except (CancelledError, self._dask.comm.CommClosedError):
            raise self._gone() from None
        except self._dask.KilledWorker:
            raise EngineError(
                f"workers of the cluster died again and again while they summed "
                f"{self._flying[future].name}: look there, or give workers more memory; the "
                "checkpoint, if there is one, is kept."
            ) from None
        except ImportError as error:
            raise EngineError(
                f"the workers of the cluster lack something ({error}): install gradfeat there as "
                "here."
            ) from None

    def _check(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> EngineError:
        return EngineError(
            "the Dask scheduler is gone or was restarted: the checkpoint, if there is one, is "
            "kept; start the cluster and run again to go on."
        )

    def _threads(self) -> int:
        """Threads of all workers."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, CancelledError):
            raise self._gone() from None

    def _wait_for_workers(self) -> None:
        if self._threads():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > self._patience:
            raise EngineError(
                f"the Dask cluster has had no worker for {self._patience:.0f} seconds: start "
                "workers with `dask worker ADDRESS` and run again to go on."
            )
