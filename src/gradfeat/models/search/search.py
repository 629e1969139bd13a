"""One small validated search for every method: coordinate-wise, over a grid of settings."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...rows.rows import in_memory
from ..base import Learner, Predictor

Point = dict[str, Any]

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def search_deadline(seconds: float) -> Iterator[None]:
    """Within the block, a search stops trying new settings `seconds` after its start.

    For callers with a time budget; without it the result of a search depends on the data only.

    Examples
    --------
    >>> with search_deadline(10.0):
    ...     pass
    """
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline_passed() -> bool:
    """Whether the time of :func:`search_deadline` is over."""
    return time.monotonic() > _deadline.get()


#: Rows a search may train on, for ``search="fast"`` and ``"full"``.
SEARCH_ROWS = {"fast": 1500, "full": 4000}


class Space(ABC):
    """Settings of a method: where a search begins, and how it finds the best."""

    #: Setting that is used where nothing is searched.
    start: Point
    #: Whether the method rests on the first gradient step, so that it is tested.
    first_gradient: bool = False

    @property
    @abstractmethod
    def open(self) -> bool:
        """Whether there is anything to search."""

    @abstractmethod
    def learner(self, point: Point) -> Learner[Predictor]:
        """The method at one setting."""

    def given(self, data: Block, seed: int, rows: int) -> Trial:
        """The start, as it is with all of its stages, on held-out rows."""
        plain = SearchSpace(self.learner, self.start, {}, stages=None)
        return evaluate(plain, self.start, data, seed, rows)

    @abstractmethod
    def best(self, data: Block, seed: int, rows: int, sweeps: int) -> Trial:
        """The best setting found."""


@dataclass(frozen=True)
class SearchSpace(Space):
    """One axis at a time over a grid of settings.

    Attributes
    ----------
    make : callable (point) -> Learner
        The method at one setting.
    start : dict
        Setting to begin with; contains every axis.
    axes : mapping of name to values
        Tried one axis at a time, in this order, the others held at the best so far.
    stages : (str, int) or None
        Where the number of stages (iterations, steps) is chosen too: the name it has in a
        setting, and the number that the first stage of the path stands for.
    first_gradient : bool
        Whether the method rests on the first gradient step, so that it is tested.
    """

    make: Callable[[Point], Learner[Predictor]]
    start: Point
    axes: Mapping[str, Sequence[Any]]
    stages: tuple[str, int] | None
    first_gradient: bool = False

    @property
    def open(self) -> bool:
        """Axes, or a number of stages."""
        return bool(self.axes) or self.stages is not None

    def learner(self, point: Point) -> Learner[Predictor]:
        """What `make` makes."""
        return self.make(point)

    def best(self, data: Block, seed: int, rows: int, sweeps: int) -> Trial:
        """By :func:`search`."""
        return search(self, data, seed, rows=rows, sweeps=sweeps)


@dataclass(frozen=True)
class Trial:
    """One setting (its best stage included) on held-out rows: its loss and predictions.

    ``predictions``, ``y`` and ``w`` (n_held, c), (n_held, c), (n_held,) are those of all folds.
    """

    point: Point
    loss: float
    predictions: Tensor
    y: Tensor
    w: Tensor


def folds(n: int, rows: int, most: int = 5) -> list[tuple[slice | list[int], slice]]:
    """Training and held-out rows: 5 folds to 600 rows (or `most`), 3 to `rows`, then one split.

    Consecutive rows are a fair sample of the targets (estimators.rows.spread).

    Examples
    --------
    >>> [(held.start, held.stop) for _, held in folds(10, 1500)]
    [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    """
    if n > rows:
        held = min(n // 4, rows)
        return [(slice(held, min(n, held + rows)), slice(0, held))]
    k = min(n, most if n <= 600 else 3)
    edges = [n * i // k for i in range(k + 1)]
    return [([i for i in range(n) if not a <= i < b], slice(a, b)) for a, b in pairwise(edges)]


def evaluate(space: SearchSpace, point: Point, data: Block, seed: int, rows: int) -> Trial:
    """Held-out loss of one setting, at its best stage."""
    learner = space.make(point)
    by_fold: list[list[Tensor]] = []
    held_rows = []
    for train, held in folds(len(data.X), rows):
        held_rows.append(held)
        path = learner.fit_path(in_memory(data.X[train], data.y[train], data.w[train]), seed=seed)
        stages = _predictions(path, data, held, early=space.stages is not None)
        by_fold.append(stages)
    y = torch.cat([data.y[held] for held in held_rows])
    w = torch.cat([data.w[held] for held in held_rows])
    stages = [torch.cat(parts) for parts in zip(*by_fold, strict=False)]
    losses = [float((w @ (p - y).square()).sum() / w.sum()) for p in stages]
    if space.stages is None:
        return Trial(point, losses[-1], stages[-1], y, w)
    stage = min(range(len(losses)), key=losses.__getitem__)
    name, first = space.stages
    return Trial({**point, name: first + stage}, losses[stage], stages[stage], y, w)


def _predictions(
    path: Iterator[Predictor], data: Block, held: slice, *, early: bool
) -> list[Tensor]:
    """Held-out predictions of each stage; `early` ends with stages that :func:`gains` no more."""
    out, losses = [], []
    for predictor in path:
        out.append(predictor(data.X[held]))
        losses.append(float((data.w[held] @ (out[-1] - data.y[held]).square()).sum()))
        if early and not gains(losses):
            break
    return out


def gains(losses: Sequence[float]) -> bool:
    """Whether stages still help: not 5 % above the best, nor twice within .2 % of a best before.

    Examples
    --------
    >>> gains([1.0, 0.9]), gains([1.0, 1.06]), gains([1.0, 1.0, 0.999])
    (True, False, False)
    """
    if losses[-1] > 1.05 * min(losses):
        return False
    return len(losses) < 3 or min(losses[-2:]) < 0.998 * min(losses[:-2])


def search(
    space: SearchSpace, data: Block, seed: int, *, rows: int = 1500, sweeps: int = 1
) -> Trial:
    """Best setting found by `sweeps` passes over the axes, one axis at a time.

    Each setting is fitted once; ties go to the setting tried first.
    """
    best = evaluate(space, space.start, data, seed, rows)
    seen = {_key(space.start)}
    for _ in range(sweeps):
        for axis, values in space.axes.items():
            for value in values:
                point = {name: best.point[name] for name in space.start} | {axis: value}
                if _key(point) in seen or deadline_passed():
                    continue
                seen.add(_key(point))
                trial = evaluate(space, point, data, seed, rows)
                best = trial if trial.loss < best.loss else best
    return best


def _key(point: Point) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(point.items()))
