"""What computes calls, and calls in flight: the one place where lost workers are treated."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, Generic, TypeAlias, TypeVar

from ..errors import EngineError

Item = TypeVar("Item")

#: Starts a call of a function with values.
Start: TypeAlias = Callable[..., Future[Any]]


class Workers(Executor, ABC):
    """An executor that says how much it wants in flight, and what is done after workers died.

    A call whose worker died ends with `BrokenExecutor`.
    """

    @property
    @abstractmethod
    def in_flight(self) -> int:
        """How many calls keep all workers busy: about two for each."""

    @abstractmethod
    def share(self, data: bytes) -> Start:
        """Starts calls that take `data` first, which is sent once where workers can keep it."""

    @abstractmethod
    def restart(self) -> None:
        """Be ready for calls again after a `BrokenExecutor`."""

    @abstractmethod
    def close(self) -> None:
        """Drop what is in flight, and give back what is ours."""


class SendingWorkers(Workers):
    """Workers that are sent what is shared with each call: a pipe takes a gigabyte a second."""

    def share(self, data: bytes) -> Start:
        return lambda call, *values: self.submit(call, data, *values)


class Here(SendingWorkers):
    """Computes at once, in the thread that submits; thread settings stay as they are."""

    @property
    def in_flight(self) -> int:
        return 1  # it is finished when it has been submitted

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn`` now; Ctrl-C goes through, other errors wait in the future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def restart(self) -> None:
        """Nothing: no worker can die."""

    def close(self) -> None:
        pass  # nothing is in flight


class GivenWorkers(SendingWorkers):
    """An executor of someone else, with about `n` workers: used, never shut down."""

    def __init__(self, executor: Executor, n: int) -> None:
        self._executor = executor
        self._n = n

    @property
    def in_flight(self) -> int:
        return 2 * self._n

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(fn, *args, **kwargs)

    def restart(self) -> None:
        raise EngineError(
            "the executor given broke down (a worker died): what was finished is kept; start the "
            "executor again and run again to go on."
        )

    def close(self) -> None:
        """Nothing: it stays with its owner."""


class Processes(SendingWorkers):
    """A pool of fresh ("spawn") processes with one BLAS and torch thread each.

    They ignore Ctrl-C, and die when this process closes its end of a pipe or dies itself. `instead`
    says what to do where they cannot be started, for the error.
    """

    def __init__(self, jobs: int, instead: str = "compute with InProcess or Threads") -> None:
        self._jobs = jobs
        self._instead = instead
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._leash, self._hand = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(self._jobs, context, _enter_worker, (self._leash,))
        try:
            self.submit(os.getpid).result()
        except BrokenExecutor as error:
            self.close()
            raise EngineError(
                "worker processes could not start: in a script, begin the work under "
                f'`if __name__ == "__main__":`; elsewhere {self._instead}.'
            ) from error

    @property
    def in_flight(self) -> int:
        return 2 * self._jobs

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call, and a process for it where there are too few."""
        with interrupts_held():
            return self._pool.submit(fn, *args, **kwargs)

    def restart(self) -> None:
        self.close()
        self._start()

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._hand.close()
        self._pool.shutdown(wait=True)
        self._leash.close()


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes started inside get no Ctrl-C while they start; for us it comes afterwards."""
    came = False

    def note(*_: object) -> None:
        nonlocal came
        came = True

    # Threads that do not hold the signal back, as those of a BLAS, get it instead, and Python then
    # interrupts the main thread all the same: halfway through starting a process.
    handler = signal.getsignal(signal.SIGINT)  # None where it is not one of Python
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, note)
    before = _masked("SIG_BLOCK", {signal.SIGINT})
    try:
        yield
    finally:
        _masked("SIG_SETMASK", before)
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _masked(how: str, signals: Iterable[int]) -> set[Any]:
    """Change which signals wait, and say which did; Windows holds none back."""
    try:
        return signal.pthread_sigmask(getattr(signal, how), signals)
    except AttributeError:
        return set()


#: How libraries of threads are told how many, when they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _enter_worker(leash: connection.Connection) -> None:
    """Set up a fresh worker process; it is ours alone, so its settings are too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _masked("SIG_UNBLOCK", {signal.SIGINT})
    import torch  # here, so that commands that start no worker do without
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    os.environ.update(dict.fromkeys(THREADS, "1"))  # of what is loaded later, as SciPy's own BLAS
    torch.set_num_threads(1)
    threading.Thread(target=_die_with, args=(leash,), daemon=True).start()


def _die_with(leash: connection.Connection) -> None:
    connection.wait([leash])
    os._exit(1)


def _whole(item: Item) -> tuple[Item]:
    return (item,)


@dataclass(eq=False)
class Flight(Generic[Item]):
    """Items that workers compute. Those lost with a worker fly again, one at a time.

    Flying alone tells the culprit from its neighbours: an item that dies alone, `deaths` times in
    all (2 or more), comes back with its `BrokenExecutor`, and the others go on. `apart` gives what
    flies again in the place of a lost item, `sent` the values of an item's call.
    """

    workers: Workers
    call: Start
    deaths: int
    apart: Callable[[Item], Iterable[Item]] = _whole
    sent: Callable[[Item], tuple[Any, ...]] = _whole

    def __post_init__(self) -> None:
        self._broken = False
        self._flying: dict[Future[Any], tuple[Item, int]] = {}
        self._suspects: deque[tuple[Item, int]] = deque()
        self._landed: deque[tuple[Item, Future[Any]]] = deque()

    @property
    def busy(self) -> bool:
        return bool(self._flying or self._suspects or self._landed)

    @property
    def room(self) -> bool:
        """Whether one more item may be started: not while suspects fly alone."""
        free = not (self._suspects or self._landed)
        return free and len(self._flying) < self.workers.in_flight

    @property
    def items(self) -> list[Item]:
        return [item for item, _ in self._flying.values()]

    def start(self, item: Item, deaths: int = 0) -> None:
        """Start an item of which workers died so often, and workers anew where they broke down."""
        if self._broken:
            self.workers.restart()
            self._broken = False
        try:
            self._flying[self.call(*self.sent(item))] = item, deaths
        except BrokenExecutor as error:
            lost: Future[Any] = Future()
            lost.set_exception(error)
            self._flying[lost] = item, deaths

    def finished(self, timeout: float | None = None) -> Iterator[tuple[Item, Future[Any]]]:
        """Wait for the first that is finished, or `timeout`; give all that are."""
        if self._suspects and not self._flying:
            self.start(*self._suspects.popleft())
        wait(self._flying, timeout, FIRST_COMPLETED)
        if any(map(_died, filter(Future.done, self._flying))):
            self._recover()
        for future in [future for future in self._flying if future.done()]:
            self._landed.append((self._flying.pop(future)[0], future))
            del future
        while self._landed:
            yield self._landed.popleft()

    def _recover(self) -> None:
        """All that was in flight either lands or flies again, alone."""
        self._broken = True
        wait(self._flying)
        lost = [future for future in self._flying if _died(future)]
        for future in lost:
            item, deaths = self._flying.pop(future)
            if len(lost) == 1 and deaths + 1 >= self.deaths:
                self._landed.append((item, future))
            else:
                self._suspects.extend((part, deaths + 1) for part in self.apart(item))

    def dropped(self) -> Iterator[tuple[Item, Future[Any]]]:
        """Cancel what can be cancelled; give what is finished without error."""
        while self._landed:
            yield self._landed.popleft()
        for future in self._flying:
            future.cancel()
        for future, (item, _) in self._flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield item, future


def _died(future: Future[Any]) -> bool:
    try:
        future.result()
    except BrokenExecutor:
        return True
    except BaseException:
        return False
    return False
