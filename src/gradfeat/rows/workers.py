"""Fresh processes that compute for this one, and end with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from .errors import EngineError


class Processes:
    """A pool of fresh ("spawn") processes with one BLAS and torch thread each.

    They ignore Ctrl-C, and die when this process closes its end of a pipe or dies itself.

    Parameters
    ----------
    jobs : int
        How many.
    instead : str
        What to do where processes cannot be started, for the error.

    Raises
    ------
    EngineError
        When they cannot start.
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

    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call, and a process for it where there are too few."""
        with interrupts_held():
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
def interrupts_held() -> Iterator[None]:
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
