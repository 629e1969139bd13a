"""Dask clusters: one that runs somewhere, or one on this machine."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .errors import EngineError

#: Seconds in which a scheduler must answer.
ANSWER = 5.0


def distributed() -> ModuleType:
    try:
        import distributed as found
    except ImportError as error:
        raise EngineError(
            f"Dask is not installed here ({error}): run `pip install 'gradfeat[dask]'`."
        ) from None
    return found


@contextlib.contextmanager
def client_of(cluster: Any) -> Iterator[Any]:
    """The client of a cluster; one that is opened here is closed here."""
    match cluster:
        case str():
            with contextlib.closing(_connected(cluster)) as client:
                yield client
        case _:
            yield cluster


def _connected(address: str) -> Any:
    client = distributed().Client
    try:
        with quiet():
            return client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address!r} ({error}): start one there with `dask "
            "scheduler`, or name the address that it prints, such as 'tcp://host:8786'."
        ) from None


@contextlib.contextmanager
def local_cluster(n: int) -> Iterator[Any]:
    """The client of a Dask cluster of `n` processes of one thread each, on this machine.

    In a script, call it under ``if __name__ == "__main__":``.
    """
    if n < 1:
        raise EngineError(f"a cluster of {n} workers was asked for: give 1 or more.")
    dask = distributed()
    workers = dask.LocalCluster(
        n_workers=n,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",  # a scheduler has no password: nobody else may reach this one
        dashboard_address="127.0.0.1:0",  # any free port: for metrics, which no option stops
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL,
    )
    with workers, dask.Client(workers, set_as_default=False) as client:
        yield client


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What Dask's client has to say comes as one error of ours, so its log is still meanwhile."""
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "comm", "core")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
