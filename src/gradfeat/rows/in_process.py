"""Passes in this process: in the thread that calls, or in several."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..maths.blocks import Statistic
from .engine import Engine, Work
from .errors import EngineError
from .lanes import Ahead, Lane, run_lanes
from .processors import in_this_thread, one_thread, processors
from .tree import Folded, Item, fold, read


@dataclass(frozen=True)
class InProcess(Engine):
    """Computes in the thread that calls, while another thread reads the next blocks.

    Attributes
    ----------
    prefetch : int
        Blocks read ahead.
    report : callable (Tick) -> None
        Told after each piece.
    checkpoint : Checkpoint, optional
        Where the pass is kept.

    Examples
    --------
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

    Attributes
    ----------
    n : int
        Threads that compute; left out: one for each processor that this process may use.
    prefetch : int
        Blocks read ahead for each.
    report : callable (Tick) -> None
        Told after each piece.
    checkpoint : Checkpoint, optional
        Where the pass is kept.

    Examples
    --------
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
