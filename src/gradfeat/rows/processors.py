"""How many processors there are, and one BLAS and torch thread where several of ours compute."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Literal

import torch
from threadpoolctl import OpenBLASController, ThreadpoolController


def _one(kind: Literal["blas", "openmp"]) -> contextlib.AbstractContextManager[object]:
    """Limits of these libraries alone; those of others are not touched on leaving either."""
    return ThreadpoolController().select(user_api=kind).limit(limits=1)


def _let_any_thread() -> None:
    """Let this thread set OpenBLAS: threadpoolctl 3.7 leaves it to the first thread that did."""
    with contextlib.suppress(AttributeError):  # older ones let all
        OpenBLASController.clear_controlling_thread(force=True)


class _Process:
    """Settings of the process: the first block that opens changes them, the last restores them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._restore = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._open:
                _let_any_thread()
                self._restore.callback(_let_any_thread)
                self._restore.enter_context(_one("blas"))
                self._restore.callback(torch.set_num_threads, torch.get_num_threads())
                self._restore.callback(_let_any_thread)
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._restore.close()


_PROCESS = _Process()

#: One thread is taken where it is not slower than all of them by more than this.
SEVERAL = 1.3


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Products inside take one thread each; outside as before.

    The settings are those of the process, and of this thread for OpenMP: a thread that computes
    calls :func:`in_this_thread` first. Blocks may overlap in several threads: the settings of the
    process are restored when the last of them ends. This is the one place where library code
    changes thread settings of the process that it was called in, because several threads were
    asked for: two threads of one BLAS thread each do far more than one of two.
    """
    with _PROCESS, _one("openmp"):
        in_this_thread()
        yield


@contextlib.contextmanager
def quickest_threads() -> Iterator[None]:
    """One thread within the block where more of them pay nothing, which some products tell.

    Threads that wait for each other on a machine with other work take twenty times the processor
    seconds of one. Where torch has one thread there is nothing to tell.
    """
    with one_thread() if torch.get_num_threads() == 1 or _one_pays() else contextlib.nullcontext():
        yield


def _one_pays() -> bool:
    with one_thread():
        alone = min(_taken() for _ in range(5))
    return alone < SEVERAL * min(_taken() for _ in range(5))


def _taken() -> float:
    """Seconds of products of sizes of which a fit to few rows has many."""
    start = time.perf_counter()
    F = torch.ones(200, 512, dtype=torch.float64)
    for _ in range(3):
        torch.linalg.qr((F @ F.T).relu() + torch.eye(200, dtype=torch.float64))
    return time.perf_counter() - start


def in_this_thread() -> None:
    """One torch thread for what this thread computes."""
    torch.set_num_threads(1)


def processors() -> int:
    """Processors that this process may use: those it is bound to, where the system says so."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
