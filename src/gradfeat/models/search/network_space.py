"""What a search of networks by gradient steps, and of ridge on the inputs, varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from ...rows.rows import Rows
from ..base import Learner
from ..first_gradient import first_gradient_test
from ..gradient_step import GradientStep, Whitened
from ..two_layer import TwoLayer
from .search import FinishedFit, GridSpace, MethodSetting, Stages

#: Most first-layer steps that a search tries.
MAX_STEPS = 8


@final
@dataclass(frozen=True)
class NoSetting(MethodSetting):
    """Of methods in which nothing is searched: their head chooses its penalty itself."""

    def named(self) -> dict[str, Any]:
        return {}


def fixed_space(learner: Learner[TwoLayer]) -> GridSpace[NoSetting]:
    return GridSpace(lambda _: learner, NoSetting())


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
    return FinishedFit(learner.fit(rows, seed=seed), test)
