"""Passes on the GPUs of this host: blocks are copied while those before them are computed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..maths.blocks import Block, Statistic
from .engine import Engine, Work
from .errors import EngineError
from .in_process import Lane, run_lanes
from .tree import Folded, Item, fold
from .wire import pack_folded, unpack_folded

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
