"""Passes in this process: threads that read ahead, and pairs of them over one stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

import torch

from ..errors import EngineError
from ..maths.blocks import Statistic
from ..maths.limits import in_this_thread, one_thread, processors
from .engine import Engine, Work
from .tree import Folded, Item, Segment, fold, read

Read = TypeVar("Read")

#: What a lane makes of the items that it reads; runs in the thread of the lane.
Compute: TypeAlias = Callable[[Statistic[Any, Any, Any], Iterable[Item]], Iterator[Folded[Any]]]

#: What is done to the items as they are read; runs in the reading thread.
Prepare: TypeAlias = Callable[[Iterator[Item]], Iterator[Item]]

Lane: TypeAlias = tuple[Prepare, Compute]


@dataclass(frozen=True)
class _End:
    """No more items; what ended them, where it was an error."""

    error: BaseException | None


class Ahead(AbstractContextManager["Ahead[Read]"], Generic[Read]):
    """The items of a generator, at most `size` of them read and not yet taken.

    An error of the generator comes out where the items are taken, after those before it.
    :meth:`close` ends the thread after the item that it is reading, and whoever waits for an item.
    """

    def __init__(self, items: Generator[Read, None, None], size: int) -> None:
        if size < 1:
            raise EngineError(f"prefetch is {size}: give 1 or more.")
        self._items = items
        self._free = threading.Semaphore(size)
        self._taken = SimpleQueue[tuple[Read] | _End]()
        self._closed = False
        self._thread = threading.Thread(target=self._read, name="gradfeat-reader", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        error = None
        try:
            while self._free.acquire() and not self._closed:
                self._taken.put((next(self._items),))
        except StopIteration:
            pass
        except BaseException as raised:
            error = raised
        self._items.close()
        self._taken.put(_End(error))

    def __iter__(self) -> Iterator[Read]:
        """Take the items; once."""
        while True:
            match self._taken.get():
                case _End(error=error):
                    if error is not None:
                        raise error
                    return
                case _ if self._closed:
                    return
                case (item,):
                    self._free.release()
                    yield item
                    del item

    def close(self) -> None:
        self._closed = True
        self._free.release()
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self.close()


class Feed:
    """Segments handed out in order to several threads, not too far ahead of the last one finished.

    Fewer than `width` follow the oldest of those that are handed out and unfinished.
    """

    def __init__(self, segments: Iterator[Segment], width: int) -> None:
        self._segments = segments
        self._width = width
        self._out: dict[int, int] = {}  # by first piece: how many segments came before
        self._count = 0
        self._stopped = False
        self._change = threading.Condition()

    def __iter__(self) -> Iterator[Segment]:
        """Segments for one of the threads; waits while others are too far behind."""
        while (segment := self._next()) is not None:
            yield segment
            del segment

    def _next(self) -> Segment | None:
        with self._change:
            self._change.wait_for(self._open)
            if self._stopped or (segment := next(self._segments, None)) is None:
                return None
            self._out[segment.first] = self._count
            self._count += 1
            return segment

    def _open(self) -> bool:
        oldest = min(self._out.values(), default=self._count)
        return self._stopped or self._count - oldest < self._width

    def done(self, first: int) -> None:
        """The segment that begins with this piece is finished."""
        with self._change:
            del self._out[first]
            self._change.notify_all()

    def stop(self) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()


def _start(
    compute: Callable[[Iterable[Item]], Iterator[Folded[Any]]],
    items: Ahead[Item],
    out: SimpleQueue[Any],
) -> threading.Thread:
    """A thread that computes what another one reads for it."""
    gradients = torch.is_grad_enabled()  # each thread has its own

    def run() -> None:
        end: BaseException | None = None
        try:
            with torch.set_grad_enabled(gradients):
                for folded in compute(items):
                    out.put((folded, None))
                    del folded
        except BaseException as error:
            end = error
        out.put((None, end))

    thread = threading.Thread(target=run, name="gradfeat-lane", daemon=True)
    thread.start()
    return thread


def run_lanes(
    statistic: Statistic[Any, Any, Any],
    segments: Iterator[Segment],
    prefetch: int,
    lanes: list[Lane],
) -> Generator[Folded[Any], None, None]:
    """Segments summed by several lanes, as they are finished; no thread is left at the end.

    Each lane reads `prefetch` blocks ahead.
    """
    feed = Feed(segments, width=4 * len(lanes))
    out, threads = SimpleQueue[Any](), list[threading.Thread]()
    with ExitStack() as stack:
        stack.callback(lambda: [thread.join() for thread in threads])
        for prepare, compute in lanes:
            items = Ahead(_prepared(feed, prepare), prefetch)
            stack.callback(items.close)
            stack.callback(feed.stop)  # called before any lane is closed
            threads.append(_start(partial(compute, statistic), items, out))
        yield from _arrivals(feed, out, len(lanes))


def _prepared(feed: Feed, prepare: Prepare) -> Generator[Item, None, None]:
    yield from prepare(read(feed))


def _arrivals(
    feed: Feed, out: SimpleQueue[Any], running: int
) -> Generator[Folded[Any], None, None]:
    while running:
        folded, error = out.get()
        if error is not None:
            raise error
        if folded is None:
            running -= 1
            continue
        first = folded.first
        yield folded
        del folded
        feed.done(first)


@dataclass(frozen=True)
class InProcess(Engine):
    """Computes in the thread that calls, while another thread reads the next blocks.

    `prefetch`: Blocks read ahead.

    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> InProcess(prefetch=1).state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    prefetch: int = 2

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        with Ahead(read(work.segments(0)), self.prefetch) as items:
            yield from fold(work.statistic, items)


@dataclass(frozen=True)
class Threads(Engine):
    """Computes in `n` threads of this process, with one BLAS and torch thread each.

    Thread settings of the process are changed for the duration of a pass, and restored. Each thread
    has one that reads for it. In memory are one block for each thread, and `prefetch` more.

    `n`: Threads that compute; left out: one for each processor that this process may use.
    `prefetch`: Blocks read ahead for each.

    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3), piece_rows=1)
    >>> Threads(2).state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    n: int = field(default_factory=processors)
    prefetch: int = 1

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        if self.n < 1:
            raise EngineError(f"n is {self.n}: give 1 thread or more.")
        with one_thread():
            lanes: list[Lane] = [(iter, _compute)] * self.n
            yield from run_lanes(work.statistic, work.segments(0), self.prefetch, lanes)


def _compute(statistic: Statistic[Any, Any, Any], items: Iterable[Item]) -> Iterator[Folded[Any]]:
    in_this_thread()
    return fold(statistic, items)
