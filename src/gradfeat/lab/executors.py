"""Where trials are computed: here, in a pool of processes of ours, or in an executor given."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from gradfeat.lab.dask_executor import DaskExecutor
from gradfeat.lab.errors import ExperimentError
from gradfeat.rows.errors import EngineError
from gradfeat.rows.workers import Processes


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


class ClusterWorkers(Workers):
    """Workers of a Dask cluster, who come and go."""

    def __init__(self, executor: DaskExecutor) -> None:
        self.in_flight = 2
        self._executor = executor

    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call."""
        future = self._executor.submit(call, *values)
        self.in_flight = max(2, 2 * self._executor.threads)
        return future

    def restart(self) -> None:
        """Nothing: the cluster replaces workers that die."""

    def close(self) -> None:
        """Drop what is in flight; the cluster stays."""
        self._executor.drop()


class PoolWorkers(Workers):
    """A pool of fresh processes with one BLAS and torch thread each, that end with this one."""

    def __init__(self, jobs: int) -> None:
        self.in_flight = 2 * jobs
        with _one_sentence():
            self._processes = Processes(jobs, "use jobs=1")

    def submit(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Start a call, and a process for it where there are too few."""
        return self._processes.submit(call, *values)

    def restart(self) -> None:
        """Replace the pool."""
        with _one_sentence():
            self._processes.restart()

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        self._processes.close()


@contextlib.contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        raise ExperimentError(str(error)) from error


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
    found = _workers(executor, jobs)
    try:
        yield found
    finally:
        found.close()


def _workers(executor: Executor | None, jobs: int) -> Workers:
    match executor:
        case None:
            return PoolWorkers(jobs) if jobs > 1 else GivenWorkers(SerialExecutor(), 1)
        case DaskExecutor():
            return ClusterWorkers(executor)
        case _:
            return GivenWorkers(executor, 2 * max(jobs, os.cpu_count() or 1))
