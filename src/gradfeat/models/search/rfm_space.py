"""The search of a recursive feature machine: paths of metrics, then the fit in the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...rows.rows import of_block
from ..base import Learner, Predictor
from ..kernel_machine import KernelMachine
from ..kernel_ridge import KernelRidge
from ..kernels.named import kernel
from ..rfm import RFM
from ..solvers.adaptive import Adaptive
from ..solvers.base import Solver
from ..subspace_refit import SubspaceRefit
from .head_search import (
    ALPHAS,
    Head,
    HeadSearch,
    HeadTrial,
    Split,
    candidate_directions,
    first_rows,
    fit_head,
    held_out_loss,
    is_learnt,
)
from .search import Point, Space, Trial, deadline_passed, folds, gains

#: Of many rows: held out at most, and their share; training rows of a path at most.
HELD_ROWS, HELD_SHARE = 2000, 1 / 3
PATH_ROWS = {1: 2500, 2: 10_000}
#: Least penalty of a last fit in float32: below it rounding of the kernel leads.
LEAST_ALPHA = 1e-3
#: Folds of few rows: each takes a path of rounds and dozens of heads.
FOLDS = 3
#: Rows that the many small fits of a head search train on, and are held out, at most.
HEAD_ROWS = {1: 700, 2: 2000}
#: Paths up to so many times the least loss have their heads searched.
WORTH_A_HEAD = 1.25
#: A path is given up where a round's loss is so many times that of the best path's same round.
HOPELESS = 1.25
#: A round that gains less than this share of the loss of the mean is the last of its path, and
#: with no more loss than that no other path is tried.
ENOUGH = 1e-3
#: Share of the loss of the mean below which the targets have too little noise for large penalties.
LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class Stage:
    """A round of an RFM on every split: the splits with its A, and predictions of held rows."""

    splits: list[Split]
    predictions: list[Tensor]
    loss: float


@dataclass(frozen=True, eq=False)
class Path:
    """The rounds at one setting."""

    point: Point
    stages: list[Stage]

    @property
    def best(self) -> int:
        """The round with the least loss."""
        return min(range(len(self.stages)), key=lambda i: self.stages[i].loss)

    @property
    def loss(self) -> float:
        """Of the best round."""
        return self.stages[self.best].loss


@dataclass(frozen=True)
class RFMSpace(Space):
    """Paths of rounds on nearly all rows at few settings, then heads in the best metrics.

    Attributes
    ----------
    make : callable (point) -> RFM
        The rounds at one setting.
    rounds : Point
        The setting to begin with.
    axes : mapping of name to values
        Tried one axis at a time.
    n_iter : int
        Updates at most.
    directions : "auto", int or None
        In how many leading directions of M the last fit is made; "auto" chooses, and may choose the
        RFM's own last round; None is that round.
    solver : Solver
        Of the last fit.
    metric_rows : int, optional
        Rows that M is learnt from at most, where the last fit is another than the RFM's own.
    """

    make: Callable[[Point], RFM]
    rounds: Point
    axes: Mapping[str, Sequence[Any]]
    n_iter: int
    directions: int | str | None
    solver: Solver
    metric_rows: int | None

    @property
    def start(self) -> Point:  # type: ignore[override]
        """Of the rounds; a given number of directions with the head's own start."""
        if self.directions in ("auto", None):
            return {**self.rounds, "n_iter": self.n_iter}
        return {**self.rounds, "n_iter": self.n_iter, **named(Head(int(self.directions)))}

    @property
    def open(self) -> bool:
        """Anything of the rounds, or of the head."""
        return bool(self.axes) or self.n_iter > 0 or self.directions is not None

    def learner(self, point: Point) -> Learner[Predictor]:
        """RFM, or an RFM and the fit inside its directions."""
        if "head_kernel" not in point:
            return self.make(point)
        k = kernel(point["head_kernel"], point["head_bandwidth"])
        return self.inside(point, KernelRidge(k, point["head_alpha"], self.solver))

    def inside(self, point: Point, head: Learner[KernelMachine]) -> SubspaceRefit:
        """The rounds of a setting, and `head` in its directions."""
        rfm = replace(self.make(point), metric_rows=self.metric_rows)
        return SubspaceRefit(rfm, head, point["directions"], point["head_power"])

    def best(self, data: Block, seed: int, rows: int, sweeps: int) -> Trial:
        """The best of the paths' rounds and of the heads in the metrics of the two best paths."""
        return self.chosen(data, seed, rows, sweeps)[0]

    def chosen(self, data: Block, seed: int, rows: int, sweeps: int) -> tuple[Trial, Stage]:
        """The best setting, and the round whose metric it is in."""
        parts = [
            (_part(data, train), _part(data, held)) for train, held in _splits(data, rows, sweeps)
        ]
        paths = self._paths(parts, seed, sweeps)
        top = paths[0]
        own = _trial({**top.point, "n_iter": top.best}, top.stages[top.best])
        if self.directions is None:
            return own, top.stages[top.best]
        heads = [
            self._finalist(path, number, sweeps) for path, number in _candidates(paths, sweeps)
        ]
        stage, point, found = min(heads, key=lambda one: one[2].loss)
        found = self._settled(stage, found, HEAD_ROWS[sweeps])
        sampled = self.metric_rows is not None and self.metric_rows < len(data.X)
        if self.directions == "auto" and not found.loss < own.loss and not sampled:
            return own, top.stages[top.best]
        return _trial({**point, **named(found.head)}, stage, found), stage

    def _finalist(self, path: Path, number: int, sweeps: int) -> tuple[Stage, Point, HeadTrial]:
        """The best head in the metric of a round, fitted to all training rows of its splits."""
        stage = path.stages[number]
        rows = HEAD_ROWS[sweeps]
        found = _with_all_rows(stage.splits, self._head(stage, rows), rows)
        return stage, {**path.point, "n_iter": number}, found

    def _settled(self, stage: Stage, found: HeadTrial, rows: int) -> HeadTrial:
        """Kernel and penalty once more with all training rows, where the search used some."""
        if not _has_more(stage.splits, rows) or not math.isfinite(found.loss):
            return found
        search = HeadSearch(stage.splits, [found.head.directions], _penalties(stage.splits[0].A))
        return search.around(found.head)

    def _paths(self, parts: list[tuple[Block, Block]], seed: int, sweeps: int) -> list[Path]:
        """Paths of the settings tried, the best first."""
        first = self._path(self.rounds, parts, seed, None)
        paths, seen = [first], [self.rounds]
        for _ in range(sweeps):
            for axis, values in self.axes.items():
                for value in values:
                    best = min(paths, key=lambda path: path.loss)
                    point = {**best.point, axis: value}
                    if point in seen or deadline_passed() or not _worth(axis, value, best):
                        continue
                    seen.append(point)
                    paths.append(self._path(point, parts, seed, best))
        return sorted(paths, key=lambda path: path.loss)

    def _path(
        self, point: Point, parts: list[tuple[Block, Block]], seed: int, rival: Path | None
    ) -> Path:
        """Rounds on every split, until they gain no more or fall behind the rival's."""
        rfm = self.make({**point, "n_iter": self.n_iter})
        runs = [rfm.fit_path(of_block(t), seed=seed) for t, _ in parts]
        stages: list[Stage] = []
        mean = _loss_of_mean([held for _, held in parts])
        for machines in zip(*runs, strict=True):
            splits = [Split(t, h, f.A) for (t, h), f in zip(parts, machines, strict=True)]
            predictions = [f(h.X) for (_, h), f in zip(parts, machines, strict=True)]
            stages.append(Stage(splits, predictions, held_out_loss(splits, predictions)))
            losses = [stage.loss for stage in stages]
            if not gains(losses) or _little(losses, mean) or _behind(stages, rival):
                break
        return Path(point, stages)

    def _head(self, stage: Stage, rows: int) -> HeadTrial:
        """The best head on at most `rows` training and held-out rows of a split."""
        small = [
            Split(first_rows(s.train, rows), first_rows(s.held, 2 * rows), s.A.double())
            for s in stage.splits
        ]
        A = stage.splits[0].A
        if self.directions == "auto":
            tried = candidate_directions(len(A), is_learnt(A))
        else:
            tried = [int(str(self.directions))]
        return HeadSearch(small, tried, _penalties(A)).run()


def _candidates(paths: list[Path], sweeps: int) -> list[tuple[Path, int]]:
    """Rounds whose metrics get heads: best and last of the best path, the best of those close."""
    top = paths[0]
    close = [path for path in paths[1 : 1 + sweeps] if path.loss <= WORTH_A_HEAD * top.loss]
    last = [(top, len(top.stages) - 1)] if top.best < len(top.stages) - 1 else []
    return [(top, top.best), *last, *((path, path.best) for path in close)]


def _part(data: Block, rows: slice | list[int]) -> Block:
    return Block(data.X[rows], data.y[rows], data.w[rows])


def _splits(data: Block, rows: int, sweeps: int) -> list[tuple[slice | list[int], slice]]:
    """The folds of few rows; of many one split that holds out a third, at most 2,000 rows."""
    n = len(data.X)
    if n <= rows:
        return list(folds(n, rows, FOLDS))
    held = min(int(HELD_SHARE * n), HELD_ROWS)
    return [(slice(held, min(n, held + PATH_ROWS[sweeps])), slice(0, held))]


def _worth(axis: str, value: Any, best: Path) -> bool:
    """Nothing where all is explained; larger penalties where noise may be left to smooth."""
    mean = _loss_of_mean([split.held for split in best.stages[0].splits])
    larger = axis == "alpha" and value > best.point["alpha"]
    return best.loss > (LITTLE if larger else ENOUGH) * mean


def _loss_of_mean(blocks: list[Block]) -> float:
    """Loss of the constant that suits these rows best."""
    y, w = torch.cat([b.y for b in blocks]), torch.cat([b.w for b in blocks])
    return float((w @ (y - (w @ y) / w.sum()).square()).sum() / w.sum())


def _little(losses: list[float], mean: float) -> bool:
    """Whether the last round gained less than a thousandth of what there is to explain."""
    return len(losses) > 1 and losses[-2] - losses[-1] < ENOUGH * mean


def _behind(stages: list[Stage], rival: Path | None) -> bool:
    """Whether the last round is hopelessly worse than the rival's was at the same number."""
    if rival is None or len(stages) < 2:
        return False
    same = rival.stages[min(len(stages), len(rival.stages)) - 1].loss
    return stages[-1].loss > HOPELESS * same


def _with_all_rows(splits: Sequence[Split], found: HeadTrial, rows: int) -> HeadTrial:
    """The head fitted to all training rows of its splits, where the search used `rows`."""
    if not _has_more(splits, rows) or not math.isfinite(found.loss):
        return found
    predictions = tuple(fit_head(split, found.head, Adaptive()) for split in splits)
    return HeadTrial(found.head, held_out_loss(splits, predictions), predictions)


def _has_more(splits: Sequence[Split], rows: int) -> bool:
    """Whether splits have more training rows than these."""
    return any(len(split.train.X) > rows for split in splits)


def _penalties(A: Tensor) -> list[float]:
    """Those of the last fit that its float type allows."""
    return [a for a in ALPHAS if a >= LEAST_ALPHA or A.dtype == torch.float64]


def _trial(point: Point, stage: Stage, found: HeadTrial | None = None) -> Trial:
    y, w = joined(stage.splits)
    if found is None:
        return Trial(point, stage.loss, torch.cat(stage.predictions), y, w)
    return Trial(point, found.loss, torch.cat(found.predictions), y, w)


def joined(splits: Sequence[Split]) -> tuple[Tensor, Tensor]:
    """Targets (n, c) and weights (n,) of the held-out rows of all splits."""
    return torch.cat([s.held.y for s in splits]), torch.cat([s.held.w for s in splits])


def named(head: Head) -> dict[str, Any]:
    """Settings of a head under the names that they have beside those of the rounds.

    Examples
    --------
    >>> list(named(Head(3)))
    ['directions', 'head_power', 'head_kernel', 'head_bandwidth', 'head_alpha']
    """
    values = asdict(head)
    return {"directions": values.pop("directions"), **{f"head_{k}": v for k, v in values.items()}}
