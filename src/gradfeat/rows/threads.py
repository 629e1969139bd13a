"""Passes in several threads of this process."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..maths.blocks import Statistic
from .blas import in_this_thread, one_thread
from .engine import Engine, Work
from .errors import EngineError
from .folding import Folded, Item, fold
from .lanes import Lane, run_lanes
from .processors import processors


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
    >>> from gradfeat.rows.sources.open import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3), piece_rows=1)
    >>> Threads(2).state(Moments(), rows).mean_x.tolist()
    [2.0, 3.0]
    """

    n: int = field(default_factory=processors)
    prefetch: int = 1

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        """Pieces as they are finished."""
        if self.n < 1:
            raise EngineError(f"n is {self.n}: give 1 thread or more.")
        with one_thread():
            lanes: list[Lane] = [(iter, _compute)] * self.n
            yield from run_lanes(work.statistic, work.segments(0), self.prefetch, lanes)


def _compute(statistic: Statistic[Any, Any], items: Iterable[Item]) -> Iterator[Folded[Any]]:
    in_this_thread()
    return fold(statistic, items)
