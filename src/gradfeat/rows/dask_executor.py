"""An executor on the workers of a Dask cluster, which outlives them."""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, InvalidStateError
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from typing import Any

from ..errors import EngineError
from ..maths.limits import one_thread
from .dask_client import distributed
from .sending import call_bytes, made
from .workers import Start, Workers

#: Seconds after which the workers are counted again.
RECOUNT = 2.0

#: Seconds in which a result must arrive, before it is asked for again.
ARRIVAL = 60.0


class DaskExecutor(Workers):
    """Computes on the workers of a Dask cluster, each call with one BLAS and torch thread.

    Dask computes again what was lost with a worker. A call that workers die of again and again
    ends with `BrokenExecutor`, and others go on. Functions of the user's own files are sent with
    what they use of the files beside them; packages must be installed on the workers.

    `client`: A ``distributed.Client``, whose cluster computes; it is not closed.
    `patience`: Seconds that the cluster may be without any worker.

    >>> from gradfeat.lab import run
    >>> from gradfeat.rows.dask_client import local_cluster
    >>> with local_cluster(2) as client:  # doctest: +SKIP
    ...     run(experiment, store="results.sqlite", executor=DaskExecutor(client))
    """

    def __init__(self, client: Any, patience: float = 300.0) -> None:
        self._client = client
        self._patience = patience
        self._name = f"gradfeat-{uuid.uuid4().hex[:12]}"
        self._count = 0
        self._flying: dict[Future[Any], Any] = {}
        self._change = threading.Lock()
        self._dropped = threading.Event()
        self._looking: threading.Thread | None = None
        self._threads = 0

    @property
    def in_flight(self) -> int:
        """Two for each thread of the workers, who come and go."""
        self._look()
        return max(2, 2 * self._threads)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call; EngineError when it cannot be sent, or the scheduler is gone."""
        if kwargs:
            raise EngineError("calls on a cluster take no keywords: give values by position.")
        return self._start((), fn, *args)

    def share(self, data: bytes) -> Start:
        """As a task: unlike data that is sent to a worker, it outlives the worker."""
        self._look()
        return partial(self._start, (self._task(_same, data),))

    def _start(self, shared: tuple[Any, ...], fn: Callable[..., Any], *values: Any) -> Future[Any]:
        self._look()
        task = self._task(_computed, version("gradfeat"), call_bytes(fn, values), *shared)
        future: Future[Any] = Future()
        with self._change:
            self._flying[future] = task
        task.add_done_callback(lambda task: self._land(future, task))
        return future

    def _task(self, call: Callable[..., Any], *values: Any) -> Any:
        self._count += 1
        key = f"{self._name}-{self._count}"
        with warnings.catch_warnings():  # large values are sent once, rows in memory as asked
            warnings.filterwarnings("ignore", message="Sending large graph")
            try:
                return self._client.submit(call, *values, key=key, pure=False)
            except distributed().client.ClosedClientError:
                raise _gone() from None

    def restart(self) -> None:
        """Nothing: the cluster replaces workers that die."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop what is in flight; the cluster stays."""
        del wait, cancel_futures
        self.close()

    def close(self) -> None:
        """Cancel what is in flight; other calls may follow."""
        self._dropped.set()
        with self._change:
            flying, self._flying = self._flying, {}
        for future in flying:
            future.cancel()
        if flying and self._client.status == "running":
            with suppress(OSError, CancelledError, TimeoutError):
                self._client.cancel(list(flying.values()), force=True)
        if self._looking is not None:
            self._looking.join()
            self._looking = None

    def _land(self, future: Future[Any], task: Any) -> None:
        """Bring the result here; runs in the thread of Dask's callbacks."""
        with self._change:
            known = self._flying.pop(future, None) is not None
        if not known:
            return
        try:
            result = _result(task)
        except BaseException as error:
            _fail(future, self._in_words(error))
        else:
            with suppress(InvalidStateError):
                future.set_result(result)
        finally:
            task.release()

    def _in_words(self, error: BaseException) -> BaseException:
        dask = distributed()
        match error:
            case dask.KilledWorker():
                return BrokenExecutor("workers of the cluster died of this call again and again")
            case CancelledError() | dask.comm.CommClosedError():
                return _gone()
            case ImportError():
                return EngineError(
                    f"the workers of the cluster lack something ({error}): install gradfeat there "
                    "as here."
                )
        return error

    def _look(self) -> None:
        """Look at the workers now at the first call, and every few seconds from then on."""
        if self._client.status != "running":
            raise _gone()
        if self._looking is None:
            self._threads = self._count_threads()
            self._dropped.clear()
            self._looking = threading.Thread(
                target=self._watch, name="gradfeat-workers", daemon=True
            )
            self._looking.start()

    def _count_threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, CancelledError, TimeoutError):
            return 0

    def _watch(self) -> None:
        """End what is in flight when there has been no worker for too long."""
        seen = time.monotonic()
        while not self._dropped.wait(RECOUNT):
            self._threads = self._count_threads()
            if self._client.status != "running":
                self._give_up(_gone)
                return
            if self._threads:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                self._give_up(self._deserted)
                return

    def _give_up(self, why: Callable[[], EngineError]) -> None:
        with self._change:
            flying, self._flying = self._flying, {}
        for future in flying:
            _fail(future, why())

    def _deserted(self) -> EngineError:
        return EngineError(
            f"the Dask cluster has had no worker for {self._patience:.0f} seconds: what was "
            "finished is kept; start workers with `dask worker ADDRESS` and run again to go on."
        )


def _fail(future: Future[Any], error: BaseException) -> None:
    with suppress(InvalidStateError):
        future.set_exception(error)


def _result(task: Any) -> Any:
    """The result, on this machine; asked for again where it was lost on the way."""
    while True:
        failed = task.status == "error"  # nothing is on its way: its own error is raised
        try:
            return task.result(timeout=ARRIVAL)
        except TimeoutError:
            if failed:
                raise


def _gone() -> EngineError:
    return EngineError(
        "the Dask scheduler is gone or was restarted: what was finished is kept; start the cluster "
        "and run again to go on."
    )


def _same(data: bytes) -> bytes:
    return data


def _computed(wanted: str, data: bytes, *shared: bytes) -> Any:
    """What a worker does: numbers are the same only where the program is."""
    if (here := version("gradfeat")) != wanted:
        raise EngineError(
            f"a worker of the cluster has gradfeat {here}, and {wanted} is used here: install the "
            "same version on both."
        )
    with one_thread():
        return made(data, *shared)
