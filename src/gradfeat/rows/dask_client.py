"""Dask clusters: one that runs somewhere, or one on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from ..errors import EngineError

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
    """A client, once a scheduler was greeted: one that is not answered leaves a half-made client.

    In a thread of its own, as a notebook has a loop in this one.
    """
    try:
        with quiet(), ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _greet(address)).result()
            return distributed().Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address!r} ({str(error) or 'silence'}): "
            "start one there with `dask scheduler`, or name the address that it prints, such as "
            "'tcp://host:8786'."
        ) from None


async def _greet(address: str) -> None:
    """Connect and take leave; what listens without an answer ends as a TimeoutError."""
    dask = distributed()
    how = dask.Security().get_connection_args("client")
    async with asyncio.timeout(1.2 * ANSWER):
        line = await dask.comm.connect(address, timeout=ANSWER, **how)
        await line.close()


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
