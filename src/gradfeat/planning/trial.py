"""A kind of pass tried on random rows: seconds a row, and of a state."""

from __future__ import annotations

import time
from typing import Any

import torch

from ..maths.blocks import CHUNK_BYTES, Block, Statistic
from ..rows.wire import pack, unpack
from .figures import PassFigures
from .kinds import Kind, Shape
from .measure import timed
from .network_kinds import FirstPass, numbers

#: Numbers of a trial's rows at most, and rows of a first pass that fill its sample.
MOST_NUMBERS, FULL = 2**24, 2**15


def rows_of(s: Shape, n: int) -> Block:
    """n rows."""
    return Block(numbers(n, s.d), numbers(n, s.c), torch.ones(n, dtype=torch.float64))


def try_kind(kind: Kind, s: Shape, piece_rows: int, seconds: float, peak: float) -> PassFigures:
    """Time a kind of pass at a shape, in the threads that are set.

    Parameters
    ----------
    kind, s : Kind, Shape
        What to try.
    piece_rows : int
        Rows of a piece: no more are tried at once.
    seconds : float
        To take, about.
    peak : float
        Of matrix products, operations a second: for the share that is reached.
    """
    statistic = kind.statistic(s)
    most = max(1, min(piece_rows, MOST_NUMBERS // s.d))
    chunk = min(most, max(1, CHUNK_BYTES // (4 * s.d * 8)))
    if kind == FirstPass():  # takes a piece at once
        most = chunk = min(most, FULL)
    first = rows_of(s, chunk)
    start = time.thread_time()
    state = statistic.update(statistic.init(first), first)
    once = time.thread_time() - start
    start = time.thread_time()
    state = statistic.update(state, first)
    again = time.thread_time() - start
    n = min(most, chunk * max(1, int(seconds / 4 / max(again, 1e-9))))
    block = first if n <= chunk else rows_of(s, n)
    row = min(again / chunk, timed(lambda: statistic.update(state, block)) / len(block.X))
    merge, packed, unpacked = _state_times(statistic, state)
    share = kind.flops(s) / row / peak
    return PassFigures(row, max(0.0, once - again), merge, packed, unpacked, share)


def _state_times(statistic: Statistic[Any, Any], state: Any) -> tuple[float, float, float]:
    packed = pack(statistic, state)
    other = unpack(statistic, packed)
    to_pack = timed(lambda: pack(statistic, state))
    to_unpack = timed(lambda: unpack(statistic, packed))
    start = time.thread_time()
    statistic.merge(state, other)
    return time.thread_time() - start, to_pack, to_unpack
