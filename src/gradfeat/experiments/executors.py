"""Where trials are computed: here, in a pool of processes of ours, or in an executor given."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from gradfeat.experiments.errors import ExperimentError


class SerialExecutor(Executor):
    """Computes at once, in the thread that submits; thread settings stay as they are.

    Examples
    --------
    >>> SerialExecutor().submit(abs, -2).result()
    2
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn`` now; Ctrl-C goes through, other errors wait in the future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Workers(ABC):
    """What computes: how many calls to keep in flight, and what to do when a worker dies."""

    in_flight: int

    @abstractmethod
    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call."""

    @abstractmethod
    def restart(self) -> None:
        """Start anew after a worker died."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is ours; work in flight is dropped."""


class GivenWorkers(Workers):
    """An executor of someone else: used, never shut down."""

    def __init__(self, executor: Executor, in_flight: int) -> None:
        self.in_flight = in_flight
        self._executor = executor

    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call."""
        return self._executor.submit(call, *values)

    def restart(self) -> None:
        """Refuse: it is not ours to start."""
        raise ExperimentError(
            "the executor given broke down (a worker died): what was finished is kept; start the "
            "executor again and run again to go on."
        )

    def close(self) -> None:
        """Leave it to its owner."""


class PoolWorkers(Workers):
    """A pool of fresh ("spawn") processes with one BLAS and torch thread each.

    Workers ignore Ctrl-C, and die when this process closes its end of a pipe or dies itself.
    """

    def __init__(self, jobs: int) -> None:
        self.in_flight = 2 * jobs
        self._jobs = jobs
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._leash, self._hand = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(self._jobs, context, _enter_worker, (self._leash,))
        try:
            self.submit(os.getpid).result()
        except BrokenExecutor as error:
            self.close()
            raise ExperimentError(
                "worker processes could not start: in a script, call run under "
                '`if __name__ == "__main__":`; elsewhere use jobs=1.'
            ) from error

    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call, and a process for it where there are too few."""
        with _interrupts_held():
            return self._pool.submit(call, *values)

    def restart(self) -> None:
        """Replace the pool."""
        self.close()
        self._start()

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._hand.close()
        self._pool.shutdown(wait=True)
        self._leash.close()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started inside get no Ctrl-C while they start; for us it comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _enter_worker(leash: Connection) -> None:
    """Set up a fresh worker process; it is ours alone, so its settings are too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threadpool_limits(1)
    torch.set_num_threads(1)
    threading.Thread(target=_die_with, args=(leash,), daemon=True).start()


def _die_with(leash: Connection) -> None:
    wait([leash])
    os._exit(1)


def check_picklable(name: str, *functions: Callable[..., Any] | None) -> None:
    """Refuse functions that cannot be sent to another process.

    Raises
    ------
    ExperimentError
        One sentence.

    Examples
    --------
    >>> check_picklable("demo", abs, None)
    """
    for function in functions:
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ExperimentError(
                f"the trial of {name!r} cannot be sent to worker processes ({error}): define it at "
                "the top level of a module, or use jobs=1."
            ) from None
        typed_in = "__file__" not in vars(sys.modules["__main__"])
        if function is not None and function.__module__ == "__main__" and typed_in:
            raise ExperimentError(
                f"the trial of {name!r} was typed in and worker processes cannot import it: put "
                "it in a file, or use jobs=1."
            )


@contextlib.contextmanager
def workers(executor: Executor | None, jobs: int) -> Iterator[Workers]:
    """Give the workers of a run, and end those that are ours.

    Parameters
    ----------
    executor : Executor, optional
        Used as it is.
    jobs : int
        Processes of a pool of ours; with `executor`, about how many workers it has.
    """
    if executor is not None:
        found: Workers = GivenWorkers(executor, 2 * max(jobs, os.cpu_count() or 1))
    else:
        found = PoolWorkers(jobs) if jobs > 1 else GivenWorkers(SerialExecutor(), 1)
    try:
        yield found
    finally:
        found.close()
