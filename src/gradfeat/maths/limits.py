"""What work may take: memory, refused before it starts, time, at whose end it stops, and threads.

Blocks of rows within so many bytes; what the system gives this process (one heap, buffers of
libraries, what was refused); one deadline for a piece of work, and shares of it; how many
processors there are, and one BLAS and torch thread where several of ours compute.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, final

import psutil
from threadpoolctl import OpenBLASController, ThreadpoolController

#: Bytes of scratch that one block of rows may use unless the caller says otherwise.
BLOCK_BYTES = 256 * 2**20


def available_memory() -> int:
    """Bytes of physical memory that are free now, on the machine the call runs on."""
    return psutil.virtual_memory().available


def readable(n_bytes: float) -> str:
    """`n_bytes` in the largest unit that keeps it above one: 12.5 TB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.3g} {unit}"


def allowed_bytes(limit: int | None) -> int:
    """`limit`, or 80 % of the memory that is free now where it is None."""
    return int(0.8 * available_memory()) if limit is None else limit


def refuse_beyond(needed: int, limit: int | None, what: str, instead: str) -> None:
    """Refuse, before allocating, what needs more than `limit` bytes (None: 80 % of what is free).

    `instead` ends the sentence: what to use in its place.
    """
    allowed = allowed_bytes(limit)
    if needed > allowed:
        raise MemoryError(
            f"{what} needs {readable(needed)} and {readable(allowed)} are allowed: {instead}."
        )


def rows_per_block(bytes_per_row: int, limit: int) -> int:
    """How many rows fit in `limit` bytes, at least one."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n: int, bytes_per_row: int, limit: int = BLOCK_BYTES) -> list[slice]:
    """Consecutive slices of `n` rows, each within `limit` bytes of scratch."""
    return slices(n, rows_per_block(bytes_per_row, limit))


def slices(n: int, step: int) -> list[slice]:
    """Consecutive slices of `n` rows, at most `step` of them each."""
    starts = range(0, n, step)
    return [*map(slice, starts, (*starts[1:], n))]


#: Option of glibc's `mallopt`: how many heaps the threads of a process take memory from.
_HEAPS = -8

#: Bytes that the OpenBLAS of NumPy and that of SciPy take at the first product.
_PRODUCT_BUFFERS = 2 * 2**25 + 2**22

#: What libraries say whose memory was refused.
_REFUSED = (
    "allocate memory",
    "Unable to allocate",
    "failed to map segment",
    "can't start new thread",
    "out of memory",
    "bad_alloc",
)

#: The sentence on it.
USED_UP = "the memory is used up: give less at once, or let the process take more (ulimit -v)."


def share_one_heap() -> None:
    """Let the threads of this process take memory from one heap, called before there are any.

    With a heap each, as glibc has it, what a thread freed stays with its heap, and a pass in two
    threads took 120 MB more. Other systems, and MALLOC_ARENA_MAX, are left as they are.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    try:
        ctypes.CDLL(None).mallopt(_HEAPS, 1)
    except (AttributeError, OSError, TypeError):  # macOS and musl, Windows
        return


def reserve_for_products() -> None:
    """Let OpenBLAS take its buffers now, where the system limits the memory of this process.

    At its first product a library asks for 32 MB, and where there are none it asks for ever.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    import numpy as np
    from scipy.linalg import cholesky

    np.empty(_PRODUCT_BUFFERS, dtype=np.uint8)
    cholesky(np.eye(128) @ np.eye(128))


def memory_was_refused(error: BaseException) -> bool:
    """Whether an error of some library says that the system gave no memory.

    >>> memory_was_refused(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    return any(words in str(error) for words in _REFUSED)


#: Seconds that may be asked for at most: a week.
LONGEST = 604_800.0


@final
@dataclass(frozen=True)
class Deadline:
    """A moment by a clock that never goes back."""

    end: float  # the moment, in seconds of the clock; infinite: never
    clock: Callable[[], float] = time.monotonic  # tells the seconds; tests give their own

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    @property
    def left(self) -> float:
        """Seconds until it; 0 where it has passed."""
        return max(0.0, self.end - self.clock())

    @property
    def passed(self) -> bool:
        return self.clock() >= self.end

    def part(self, share: float) -> Deadline:
        """When this share of the seconds that are left is over."""
        return self if math.isinf(self.end) else Deadline.after(share * self.left, self.clock)

    def before(self, seconds: float) -> Deadline:
        """The deadline of what must leave so many seconds for something after it."""
        return Deadline(self.end - seconds, self.clock)


#: Of work that may take as long as it does.
NEVER = Deadline(math.inf)


@dataclass(frozen=True)
class _WithinTime:
    deadline: Deadline
    told: Callable[[str], None]


_NOBODY = _WithinTime(NEVER, lambda _: None)
_watch: ContextVar[_WithinTime] = ContextVar("watch", default=_NOBODY)


@contextmanager
def within(deadline: Deadline, told: Callable[[str], None] | None = None) -> Iterator[None]:
    """Within the block, what can stop early does so at the deadline, and tells how far it is.

    For callers with a time budget; without it the result of a search depends on the data only.
    """
    token = _watch.set(_WithinTime(deadline, told or _watch.get().told))
    try:
        yield
    finally:
        _watch.reset(token)


def deadline_passed() -> bool:
    """Whether the time of :func:`within` is over."""
    return _watch.get().deadline.passed


def tell(words: str) -> None:
    """How far it is, to whoever asked with :func:`within`."""
    _watch.get().told(words)


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
        import torch  # here and below: the command line reads this file, and lists without torch

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


@contextmanager
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


@contextmanager
def quickest_threads() -> Iterator[None]:
    """One thread within the block where more of them pay nothing, which some products tell.

    Threads that wait for each other on a machine with other work take twenty times the processor
    seconds of one. Where torch has one thread there is nothing to tell.
    """
    import torch

    with one_thread() if torch.get_num_threads() == 1 or _one_pays() else contextlib.nullcontext():
        yield


def _one_pays() -> bool:
    with one_thread():
        alone = min(_taken() for _ in range(5))
    return alone < SEVERAL * min(_taken() for _ in range(5))


def _taken() -> float:
    """Seconds of products of sizes of which a fit to few rows has many."""
    import torch

    start = time.perf_counter()
    F = torch.ones(200, 512, dtype=torch.float64)
    for _ in range(3):
        torch.linalg.qr((F @ F.T).relu() + torch.eye(200, dtype=torch.float64))
    return time.perf_counter() - start


def in_this_thread() -> None:
    """One torch thread for what this thread computes."""
    import torch

    torch.set_num_threads(1)


def processors() -> int:
    """Processors that this process may use: those it is bound to, where the system says so."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
