"""The rounds of a recursive feature machine at several settings, each followed round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed, tell
from ...rows.rows import of_block
from ..predictors import KernelMachine
from ..rfm import RFM
from .head_search import Split, held_out_loss
from .search import Effort, folds, gains

#: Of many rows: held out at most, and their share; training rows of a path, by sweeps: a share
#: of all within two numbers, of which the first is larger where predictions are calibrated.
HELD_ROWS, HELD_SHARE = 2000, 1 / 3
PATH_ROWS, PATH_SHARE = {1: (1500, 2500), 2: (10_000, 10_000)}, 1 / 6
CALIBRATED_ROWS = 2100
#: Folds of few rows: each takes a path of rounds and dozens of heads. A path is given up where a
#: round's loss is so many times that of the best path's same round.
FOLDS, HOPELESS = 3, 1.25
#: Share of the loss of the mean: a round that gains less ends its path, no more loss the search.
ENOUGH = 1e-3
#: Updates of the first path, whatever time is left.
LEAST_UPDATES = 2
#: Share of the loss of the mean below which targets have too little noise for large penalties.
LITTLE = 0.1


@dataclass(frozen=True)
class Rounds:
    """What the rounds of an RFM are made with, and how many updates of M they are (at most)."""

    kernel: str
    bandwidth: float
    alpha: float
    diagonal: bool
    agop_power: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class Round:
    """A round of an RFM on every split: the splits with its A, and predictions of held rows."""

    splits: list[Split]
    predictions: list[Tensor]
    loss: float

    @classmethod
    def of(cls, parts: list[tuple[Block, Block]], machines: Sequence[KernelMachine]) -> Round:
        """That of machines fitted to the first block of each part, judged on the second."""
        both = [*zip(parts, machines, strict=True)]
        splits = [Split(train, held, f.A.to(train.X)) for (train, held), f in both]
        predictions = [f(held.X) for (_, held), f in both]
        return cls(splits, predictions, held_out_loss(splits, predictions))


@dataclass(frozen=True, eq=False)
class Path:
    """All rounds at one setting."""

    setting: Rounds
    rounds: list[Round]

    @property
    def best(self) -> int:
        """The round with the least loss."""
        return min(range(len(self.rounds)), key=lambda i: self.rounds[i].loss)

    @property
    def loss(self) -> float:
        return self.rounds[self.best].loss

    def over(self, mean: float, rival: Path | None) -> bool:
        """Whether its rounds gain no more, or fall behind the rival's; `mean` is that of no fit."""
        losses = [one.loss for one in self.rounds]
        little = len(losses) > 1 and losses[-2] - losses[-1] < ENOUGH * mean
        behind = False
        if rival is not None and len(losses) > 1:
            same = rival.rounds[min(len(losses), len(rival.rounds)) - 1].loss
            behind = losses[-1] > HOPELESS * same
        late = deadline_passed() and (rival is not None or len(losses) > LEAST_UPDATES)
        return not gains(losses) or little or behind or late

    def until(self, number: int) -> Rounds:
        """The setting that ends with this round."""
        return replace(self.setting, n_iter=number)


def search_rounds(
    make: Callable[[Rounds], RFM],
    start: Rounds,
    axes: Mapping[str, Sequence[Any]],
    data: Block,
    seed: int,
    effort: Effort,
) -> list[Path]:
    """Paths of the settings tried, one axis at a time, the best first."""
    parts = splits(data, effort)
    mean = loss_of_mean([held for _, held in parts])
    paths: list[Path] = []
    for setting, rival in _settings(start, axes, paths, mean, effort.sweeps):
        runs = [make(setting).fit_path(of_block(train), seed=seed) for train, _ in parts]
        path = Path(setting, [])
        for machines in zip(*runs, strict=True):
            path.rounds.append(Round.of(parts, machines))
            tell(f"round {len(path.rounds)} of {setting.kernel}")
            if path.over(mean, rival):
                break
        paths.append(path)
    return sorted(paths, key=lambda path: path.loss)


def _settings(
    start: Rounds, axes: Mapping[str, Sequence[Any]], paths: list[Path], mean: float, sweeps: int
) -> Iterator[tuple[Rounds, Path | None]]:
    """The start, then the best of the `paths` so far with another value of an axis, and that path.

    Each once, until the time is over or no loss is left to be gained.
    """
    yield start, None
    seen = [start]
    tried = [(axis, value) for axis, values in axes.items() for value in values]
    for axis, value in sweeps * tried:
        best = min(paths, key=lambda path: path.loss)
        setting = replace(best.setting, **{axis: value})
        larger = setting.alpha > best.setting.alpha
        worth = best.loss > (LITTLE if larger else ENOUGH) * mean
        if worth and setting not in seen and not deadline_passed():
            seen.append(setting)
            yield setting, best


def splits(data: Block, effort: Effort) -> list[tuple[Block, Block]]:
    """The folds of few rows; of many one split that holds out a third, at most 2,000 rows."""
    n, (few, most) = len(data.X), PATH_ROWS[effort.sweeps]
    few = max(few, CALIBRATED_ROWS * effort.calibrated)
    held, taught = min(int(HELD_SHARE * n), HELD_ROWS), min(most, max(few, int(PATH_SHARE * n)))
    parts = [(slice(held, min(n, held + taught)), slice(0, held))]
    if n <= effort.rows:
        parts = folds(n, effort.rows, FOLDS)
    return [(data.at(train), data.at(held)) for train, held in parts]


def loss_of_mean(blocks: list[Block]) -> float:
    """Loss of the constant that suits these rows best."""
    y, w = torch.cat([b.y for b in blocks]), torch.cat([b.w for b in blocks])
    return float((w @ (y - (w @ y) / w.sum()).square()).sum() / w.sum())
