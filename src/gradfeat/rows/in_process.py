"""Passes in this process: one thread reads while the caller's computes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from .ahead import Ahead
from .engine import Engine, Work
from .folding import Folded, fold, read


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
    >>> from gradfeat.rows.sources.open import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> InProcess(prefetch=1).state(Moments(), rows).mean_x.tolist()
    [2.0, 3.0]
    """

    prefetch: int = 2

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        """Piece after piece."""
        with Ahead(read(work.segments(0)), self.prefetch) as items:
            yield from fold(work.statistic, items)
