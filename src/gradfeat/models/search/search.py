"""One small validated search for every method: coordinate-wise, over a grid of settings.

And what one of networks by gradient steps, and of ridge on the inputs, varies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar, final

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed, tell
from ...rows.rows import Rows, of_block
from ..base import Learner, Predictor
from ..gradient_features.found_features import FoundFeatures
from ..gradient_step import GradientStep, GradientTest, Whitened, first_gradient_test
from ..predictors import TwoLayer


@dataclass(frozen=True)
class MethodSetting(ABC):
    """The hyper-parameters of a method that a search may vary."""

    @abstractmethod
    def named(self) -> dict[str, Any]:
        """Their values by the names that users know them by."""


SettingT = TypeVar("SettingT", bound=MethodSetting)


@dataclass(frozen=True)
class Effort:
    """How much a search may do.

    `rows`: Rows that one fit may train on. `sweeps`: Passes over the axes. `calibrated`: Held-out
    predictions calibrate probabilities too, which are then those of fits to more rows.
    """

    rows: int
    sweeps: int
    calibrated: bool = False


@dataclass(frozen=True, eq=False)
class FinishedFit:
    """A predictor, and what else its fit tells.

    `predictor`: Fitted to all rows.
    `first_gradient`: Of methods that rest on the first gradient step: is it beyond chance?
    `gradient_features`: Of methods made of them: the gradient feature set of the rows.
    `used`: What the fit itself decided, such as how many rows a part of it had.
    `held`: Predictions, targets and weights of rows that were kept out of the fit, if any.
    """

    predictor: Predictor
    first_gradient: GradientTest | None = None
    gradient_features: FoundFeatures | None = None
    used: Mapping[str, Any] = field(default_factory=dict)
    held: tuple[Tensor, Tensor, Tensor] | None = None


#: Effort of ``search="fast"`` and ``"full"``.
FAST, FULL = Effort(1500, 1), Effort(4000, 2)


@dataclass(frozen=True)
class Trial(Generic[SettingT]):
    """One setting (its best stage included) on held-out rows: its loss and predictions.

    ``predictions``, ``y`` and ``w`` (n_held, c), (n_held, c), (n_held,) are those of all folds.
    """

    setting: SettingT
    loss: float
    predictions: Tensor
    y: Tensor
    w: Tensor


class Space(ABC, Generic[SettingT]):
    """Settings of a method: where a search begins, and how it finds the best."""

    #: The setting that is used where nothing is searched.
    start: SettingT

    @property
    @abstractmethod
    def open(self) -> bool:
        """Whether there is anything to search."""

    @abstractmethod
    def learner(self, setting: SettingT) -> Learner[Predictor]:
        """The method at one setting."""

    @abstractmethod
    def fit(self, setting: SettingT, rows: Rows, seed: int) -> FinishedFit:
        """The method at one setting, fitted to all rows."""

    @abstractmethod
    def best(self, data: Block, seed: int, effort: Effort) -> Trial[SettingT]:
        """The best setting found."""

    def given(self, data: Block, seed: int, rows: int) -> Trial[SettingT]:
        """The start, as it is with all of its stages, on held-out rows."""
        return first_trial(GridSpace(self.learner, self.start), self.start, data, seed, rows)


@dataclass(frozen=True)
class Stages:
    """Where the number of stages of a fit (iterations, steps) is chosen too.

    `name`: The field of the setting that it is.
    `first`: The number that the first stage of the path stands for.
    """

    name: str
    first: int


def plain_fit(learner: Learner[Predictor], rows: Rows, seed: int) -> FinishedFit:
    return FinishedFit(learner.fit(rows, seed=seed))


@final
@dataclass(frozen=True)
class GridSpace(Space[SettingT]):
    """One axis at a time over a grid of settings.

    `make`: The method at one setting.
    `start`: Setting to begin with.
    `axes`: Fields of the setting, tried one at a time in this order, the others held at the best so
        far.
    `stages`: Where the number of stages is chosen too.
    `finish`: The fit to all rows, with what else it tells.
    """

    make: Callable[[SettingT], Learner[Predictor]]
    start: SettingT
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    stages: Stages | None = None
    finish: Callable[[Any, Rows, int], FinishedFit] = plain_fit

    @property
    def open(self) -> bool:
        return bool(self.axes) or self.stages is not None

    def learner(self, setting: SettingT) -> Learner[Predictor]:
        return self.make(setting)

    def fit(self, setting: SettingT, rows: Rows, seed: int) -> FinishedFit:
        return self.finish(self.make(setting), rows, seed)

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[SettingT]:
        """By passes over the axes; each setting is fitted once, ties go to the one tried first."""
        return self.after(
            first_trial(self, self.start, data, seed, effort.rows), data, seed, effort
        )

    def after(
        self, best: Trial[SettingT], data: Block, seed: int, effort: Effort
    ) -> Trial[SettingT]:
        """The same, with the trial of the start as it is known."""
        seen = {self.start}
        for _ in range(effort.sweeps):
            for axis, values in self.axes.items():
                for value in values:
                    setting = self._at_all_stages(replace(best.setting, **{axis: value}))
                    if setting in seen or deadline_passed():
                        continue
                    seen.add(setting)
                    tell(f"setting {len(seen)}")
                    trial = evaluate(self, setting, data, seed, effort.rows)
                    best = trial if trial is not None and trial.loss < best.loss else best
        return best

    def _at_all_stages(self, setting: SettingT) -> SettingT:
        if self.stages is None:
            return setting
        return replace(setting, **{self.stages.name: getattr(self.start, self.stages.name)})


def folds(n: int, rows: int, most: int = 5) -> list[tuple[slice | list[int], slice]]:
    """Training and held-out rows: 5 folds to 600 rows (or `most`), 3 to `rows`, then one split.

    Consecutive rows are a fair sample of the targets (estimators.training.spread).
    """
    if n > rows:
        held = min(n // 4, rows)
        return [(slice(held, min(n, held + rows)), slice(0, held))]
    k = min(n, most if n <= 600 else 3)
    edges = [n * i // k for i in range(k + 1)]
    return [([i for i in range(n) if not a <= i < b], slice(a, b)) for a, b in pairwise(edges)]


def first_trial(
    space: GridSpace[SettingT], setting: SettingT, data: Block, seed: int, rows: int
) -> Trial[SettingT]:
    """Held-out loss of one setting, at its best stage.

    Where the time is over, on the folds so far, and at the stages so far: at least one of each.
    """
    done, learner, early = [], space.make(setting), space.stages is not None
    for train, held in folds(len(data.X), rows):
        done.append((held, _fold(learner, data, seed, (train, held), early=early)))
        if deadline_passed():
            break
    return _trial(space, setting, data, done)


def evaluate(
    space: GridSpace[SettingT], setting: SettingT, data: Block, seed: int, rows: int
) -> Trial[SettingT] | None:
    """The same on all folds; None where the time is over before, as it compares with no other."""
    done, learner, early = [], space.make(setting), space.stages is not None
    for train, held in folds(len(data.X), rows):
        if deadline_passed():
            return None
        done.append((held, _fold(learner, data, seed, (train, held), early=early)))
    return _trial(space, setting, data, done)


def _trial(
    space: GridSpace[SettingT],
    setting: SettingT,
    data: Block,
    done: Sequence[tuple[slice, list[Tensor]]],
) -> Trial[SettingT]:
    y = torch.cat([data.y[held] for held, _ in done])
    w = torch.cat([data.w[held] for held, _ in done])
    stages = [torch.cat(parts) for parts in zip(*(parts for _, parts in done), strict=False)]
    losses = [float((w @ (p - y).square()).sum() / w.sum()) for p in stages]
    if space.stages is None:
        return Trial(setting, losses[-1], stages[-1], y, w)
    stage = min(range(len(losses)), key=losses.__getitem__)
    chosen = replace(setting, **{space.stages.name: space.stages.first + stage})
    return Trial(chosen, losses[stage], stages[stage], y, w)


def _fold(
    learner: Any, data: Block, seed: int, fold: tuple[slice | list[int], slice], *, early: bool
) -> list[Tensor]:
    """Held-out predictions of each stage; `early` ends with stages that :func:`gains` no more."""
    train, held = fold
    out, losses = [], []
    for predictor in learner.fit_path(of_block(data.at(train)), seed=seed):
        out.append(predictor(data.X[held]))
        losses.append(float((data.w[held] @ (out[-1] - data.y[held]).square()).sum()))
        if early and (not gains(losses) or deadline_passed()):
            break
    return out


def gains(losses: Sequence[float]) -> bool:
    """Whether stages still help: not 5 % above the best, nor twice within .2 % of a best before."""
    if losses[-1] > 1.05 * min(losses):
        return False
    return len(losses) < 3 or min(losses[-2:]) < 0.998 * min(losses[:-2])


#: Most first-layer steps that a search tries.
MAX_STEPS = 8


@final
@dataclass(frozen=True)
class NoSetting(MethodSetting):
    """Of methods in which nothing is searched: their head chooses its penalty itself."""

    def named(self) -> dict[str, Any]:
        return {}


def fixed_space(learner: Learner[TwoLayer]) -> GridSpace[NoSetting]:
    return GridSpace(lambda _: learner, NoSetting(), finish=_with_penalty)


def head_used(net: TwoLayer) -> dict[str, float]:
    """The penalty of the head, where ridge found it, by the name that users know it by."""
    return {} if net.penalty is None else {"alpha": net.penalty}


def _with_penalty(learner: Learner[TwoLayer], rows: Rows, seed: int) -> FinishedFit:
    net = learner.fit(rows, seed=seed)
    return FinishedFit(net, used=head_used(net))


@final
@dataclass(frozen=True)
class StepSetting(MethodSetting):
    """Whether steps are taken in whitened inputs, and how many; None: as many as are allowed."""

    whiten: bool
    n_steps: int | None = None

    def named(self) -> dict[str, Any]:
        chosen = {} if self.n_steps is None else {"n_steps": self.n_steps}
        return {"whiten": self.whiten, **chosen}


def gradient_step_space(
    inner: GradientStep, n_steps: int | None, whiten: bool | None
) -> GridSpace[StepSetting]:
    """Number of steps and whitening where they are None; the head chooses its penalty itself."""
    most = MAX_STEPS if n_steps is None else n_steps

    def make(setting: StepSetting) -> Learner[TwoLayer]:
        steps = most if setting.n_steps is None else setting.n_steps
        learner = replace(inner, n_steps=steps)
        return Whitened(learner) if setting.whiten else learner

    axes: dict[str, Sequence[Any]] = {"whiten": (False,)} if whiten is None else {}
    start = StepSetting(True if whiten is None else whiten)
    stages = Stages("n_steps", 1) if n_steps is None else None
    return GridSpace(make, start, axes, stages, _with_gradient_test)


def _with_gradient_test(learner: Learner[TwoLayer], rows: Rows, seed: int) -> FinishedFit:
    """The net, and whether the first gradient of the rows (or of a sample of them) is noise."""
    block = rows.held or rows.sample
    if block is None:
        block = rows.block("a test of the first gradient")
    test = first_gradient_test(block.X, block.y, weights=block.w, seed=seed)
    net = learner.fit(rows, seed=seed)
    return FinishedFit(net, test, used=head_used(net))
