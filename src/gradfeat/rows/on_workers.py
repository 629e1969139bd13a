"""Passes on workers: processes of this machine, a Dask cluster, any executor, the host's GPUs.

To a GPU blocks are copied while those before them are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing, nullcontext
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property, partial
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..errors import EngineError
from ..maths.blocks import Block, Statistic
from ..maths.limits import processors
from .dask_client import client_of, quiet
from .dask_executor import DaskExecutor
from .engine import Engine, Work
from .in_process import Lane, run_lanes
from .tree import Folded, Item, Segment, fold, fold_segment
from .wire import dumps, loads, pack_folded, segment_bytes, unpack_folded
from .workers import Flight, GivenWorkers, Processes, Workers

#: Workers that may die of a segment.
DEATHS = 3

#: Segments for each worker of a cluster: fewer than on one machine, as their sums travel.
EACH_ON_CLUSTER = 4


def folds_on(workers: Workers, work: Work, level: int) -> Generator[Folded[Any], None, None]:
    """Segments of at most ``2^level`` pieces as workers finish them, whoever these are."""
    segments = work.segments(level)
    start = workers.share(dumps(work.statistic, "the statistic"))

    def sent(segment: Segment) -> tuple[Any, ...]:
        return fold_bytes, segment_bytes(segment, work.source.parallel)

    flight = Flight(workers, start, DEATHS, sent=sent)
    while True:
        while flight.room and _near(flight.items) and (segment := next(segments, None)) is not None:
            flight.start(segment)
        if not flight.busy:
            return
        for segment, future in flight.finished():
            folded = unpack_folded(work.statistic, _sum(segment, future))
            del future
            yield folded
            del folded


def fold_bytes(statistic: bytes, segment: bytes) -> Folded[Any]:
    """A segment summed by a worker, all in bytes and arrays."""
    summand = loads(statistic, "the statistic")
    return pack_folded(summand, fold_segment(summand, loads(segment, "the source")))


def _near(flying: list[Segment]) -> bool:
    """Whether the oldest in flight is not too far behind: states that wait for it are few."""
    firsts = [segment.first for segment in flying]
    spread = sum(len(segment.pieces) for segment in flying)
    return not firsts or max(firsts) - min(firsts) <= 4 * spread


def _sum(segment: Segment, future: Future[Any]) -> Folded[Any]:
    try:
        return future.result()
    except BrokenExecutor:
        raise EngineError(
            f"workers died {DEATHS} times while they summed {segment.name}: look there, or give "
            "fewer jobs, more memory or smaller pieces if memory ran out; the checkpoint, if there "
            "is one, is kept."
        ) from None


@dataclass(frozen=True)
class ExecutorEngine(Engine):
    """Computes on any `concurrent.futures.Executor`; it is not shut down.

    Pieces are read by the workers; rows that this process holds in memory are sent to them.

    `n`: About how many workers the executor has; left out: one for each processor that this process
        may use.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     ExecutorEngine(executor, 2).state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    executor: Executor
    n: int = field(default_factory=processors)

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        yield from folds_on(GivenWorkers(self.executor, self.n), work, work.level_for(self.n))


@dataclass(frozen=True)
class Pool(Engine):
    """Computes in `jobs` processes of this machine, with one BLAS and torch thread each.

    The processes start at the first pass and serve until :meth:`close`, or the end of a ``with``;
    they are ended when a pass fails or is interrupted. Pieces are read by the workers; rows that
    this process holds in memory are sent to them. In a script, call it under
    ``if __name__ == "__main__":``.

    `jobs`: Processes; left out: one for each processor that this process may use.

    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> with Pool(1) as pool:
    ...     pool.state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    jobs: int = field(default_factory=processors)
    #: None, or the one that has started.
    _started: list[Processes] = field(default_factory=list, init=False, repr=False, compare=False)

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        if self.jobs < 1:
            raise EngineError(f"jobs is {self.jobs}: give 1 process or more.")
        if not self._started:
            self._started.append(Processes(self.jobs))
        done = False
        try:
            yield from folds_on(self._started[0], work, work.level_for(self.jobs))
            done = True
        finally:
            if not done:
                self.close()

    def close(self) -> None:
        while self._started:
            self._started.pop().close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class DaskEngine(Engine):
    """Computes on the workers of a Dask cluster, who sum several pieces each before they answer.

    Few segments are in flight, and each is forgotten when its sum has come here, so the memory of
    the scheduler does not grow with the number of pieces. Dask computes again what was lost with a
    worker. Pieces are read by the workers, who must see the files; rows in memory are sent to them.

    `cluster`: A ``distributed.Client``, or the address of a scheduler.
    `patience`: Seconds that a cluster may be without any worker.

    >>> from gradfeat.rows.dask_client import local_cluster
    >>> with local_cluster(2) as client:  # doctest: +SKIP
    ...     DaskEngine(client).state(statistic, source)
    """

    cluster: Any
    patience: float = 300.0

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        with (
            client_of(self.cluster) as client,
            quiet(),
            closing(DaskExecutor(client, self.patience)) as workers,
        ):
            level = work.level_for(workers.in_flight // 2, EACH_ON_CLUSTER)
            yield from folds_on(workers, work, level)


#: Pieces that are summed on a device before their state comes back, as a power of two.
LEVEL = 3


@dataclass(frozen=True)
class Devices(Engine):
    """Computes on several devices of this host; states are merged on the CPU.

    The statistic, with the maps of rows and the networks in it, is moved to each device once a
    pass. Each device has a thread that reads blocks into pinned memory, and one that copies a block
    on a stream of its own while the block before it is computed.

    `names`: Such as ``("cuda:0", "cuda:1")``.
    `prefetch`: Blocks read ahead for each device.

    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3), piece_rows=1)
    >>> Devices(("cpu", "cpu")).state(Moments(), rows.source).mean_x.tolist()
    [2.0, 3.0]
    """

    names: tuple[str, ...]
    prefetch: int = 2

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        devices = [_device(name) for name in self.names]
        # How blocks are prepared for a device, and computed on it.
        lanes: list[Lane] = [
            (_pinned if device.type == "cuda" else iter, partial(_on, device)) for device in devices
        ]
        if not lanes:
            raise EngineError('no device is named: give some, such as ("cuda:0",).')
        level = min(LEVEL, work.level_for(len(lanes)))
        yield from run_lanes(work.statistic, work.segments(level), self.prefetch, lanes)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        reason = str(error).splitlines()[0]
        raise EngineError(
            f"device {name!r} cannot be used ({reason}): name one that PyTorch sees here."
        ) from None
    return device


def _on(
    device: torch.device, statistic: Statistic[Any, Any, Any], items: Iterable[Item]
) -> Iterator[Folded[Any]]:
    cuda = device.type == "cuda"
    with torch.cuda.device(device) if cuda else nullcontext():
        there = moved(statistic, device)
        arriving = _streamed(items, device) if cuda else _blocks(items, lambda t: t.to(device))
        for folded in fold(there, arriving):
            yield unpack_folded(statistic, pack_folded(there, folded))


def _pinned(items: Iterable[Item]) -> Iterator[Item]:
    return _blocks(items, Tensor.pin_memory)


def _blocks(items: Iterable[Item], change: Callable[[Tensor], Tensor]) -> Iterator[Item]:
    """Blocks of changed tensors; marks as they are."""
    for item in items:
        match item:
            case Block(X, y, w):
                yield Block(change(X), change(y), change(w))
            case _:
                yield item


def _streamed(items: Iterable[Item], device: torch.device) -> Iterator[Item]:
    """Blocks on the device; the copy of the next is under way while one is computed."""
    side, ahead = torch.cuda.Stream(device), None
    for item in items:
        coming = _copy(item, device, side)
        if ahead is not None:
            yield _arrived(*ahead)
        ahead = coming
    if ahead is not None:
        yield _arrived(*ahead)


def _copy(item: Item, device: torch.device, side: torch.cuda.Stream) -> tuple[Item, Any]:
    match item:
        case Block():
            with torch.cuda.stream(side):
                parts = (t.to(device, non_blocking=True) for t in (item.X, item.y, item.w))
                return Block(*parts), side.record_event()
        case _:
            return item, None


def _arrived(item: Item, event: Any) -> Item:
    """The item, for the stream that computes: it waits for the copy, and keeps the memory."""
    match item:
        case Block() if event is not None:
            here = torch.cuda.current_stream(item.X.device)
            here.wait_event(event)
            for t in (item.X, item.y, item.w):
                t.record_stream(here)
    return item


Value = TypeVar("Value")


def moved(value: Value, device: torch.device) -> Value:
    """The value with every tensor on the device, and the device in the place of any that it names.

    Goes through dataclasses (what they have cached is forgotten), tuples, lists, dicts, bound
    methods and `functools.partial`. All else stays as it is; so does what is there already, which
    is not copied.
    """
    return _moved(value, device)


def _moved(value: Any, device: torch.device) -> Any:
    match value:
        case Tensor():
            return value.to(device)
        case torch.device():
            return value if value == device else device
        case tuple() | list() if type(value) in (tuple, list):
            parts = [_moved(each, device) for each in value]
            return value if _same(parts, value) else type(value)(parts)
        case dict() if type(value) is dict:
            new = {name: _moved(each, device) for name, each in value.items()}
            return value if _same(new.values(), value.values()) else new
        case MethodType():
            owner = _moved(value.__self__, device)
            return value if owner is value.__self__ else MethodType(value.__func__, owner)
        case partial():
            parts = value.func, value.args, value.keywords
            new = [_moved(part, device) for part in parts]
            return value if _same(new, parts) else partial(new[0], *new[1], **new[2])
        case type():
            return value
    return _dataclass(value, device) if is_dataclass(value) else value


def _same(new: Any, old: Any) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def _dataclass(value: Any, device: torch.device) -> Any:
    """A copy whose fields are moved and whose cached properties are computed anew."""
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _moved(each, device) for name, each in old.items()}
    if _same(new.values(), old.values()):
        return value
    made = copy(value)
    for name, each in new.items():
        object.__setattr__(made, name, each)
    for kind in type(made).__mro__:
        for name, member in vars(kind).items():
            match member:
                case cached_property():
                    vars(made).pop(name, None)
    return made
