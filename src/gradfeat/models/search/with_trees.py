"""The weighted mean of a method's fit and boosted trees, where held-out rows gain by that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed, tell
from ...rows.rows import Rows, of_block
from ..base import Learner, Predictor
from ..local_machines import ONE_MACHINE, gathered
from ..stacked import Stack, Stacked
from ..trees import Boosting, Trees
from .rfm_losses import judged_log_loss
from .rounds import splits
from .search import Effort, FinishedFit, MethodSetting, SettingT, Space, Trial

#: Rounds of boosting at most, of many rows too, trees of all outputs at most, after how many rounds
#: each time what they say is judged, and rounds that show whether they gain anything.
ROUNDS, MORE_ROUNDS, MOST_TREES, STEP, GLANCE = 105, 300, 900, 15, 30
#: Rows beyond those of one machine that are kept out to judge the fits themselves, within.
FEWEST_KEPT_OUT, MOST_KEPT_OUT = 500, 2000
#: Shares of the trees that are tried, and the share of the loss that they must gain.
SHARES, GAIN = tuple(i / 10 for i in range(1, 10)), 0.005


@final
@dataclass(frozen=True)
class TreesSetting(MethodSetting, Generic[SettingT]):
    """The setting of a method, what share so many rounds of boosting have, and by held-out rows?"""

    method: SettingT
    rounds: int = 0
    share: float = 0.0
    judged: bool = False

    def named(self) -> dict[str, Any]:
        return self.method.named()

    def told(self) -> dict[str, str]:
        """The trees in words, where there are any."""
        words = f"a weight of {self.share:.2f} on {self.rounds} rounds of boosted trees"
        return {"trees": words} if self.rounds else {}


@final
@dataclass(frozen=True)
class WithTrees(Space[TreesSetting[SettingT]]):
    """A method's search, and then whether the mean of its fit and of boosted trees is better.

    `method`: The search, whose trials are on the held-out rows of :func:`.rounds.splits`.
    `logistic`: The loss is that of calibrated class codes, else the squared one.
    """

    start: TreesSetting[SettingT]
    method: Space[SettingT]
    logistic: bool

    @property
    def open(self) -> bool:
        return self.method.open

    def learner(self, setting: TreesSetting[SettingT]) -> Learner[Predictor]:
        """The method, or the mean of it and of boosting."""
        method, v = self.method.learner(setting.method), setting.share
        if not setting.rounds:
            return method
        return Stack((method, self._boosting(setting.rounds)), (1 - v, v))

    def fit(self, setting: TreesSetting[SettingT], rows: Rows, seed: int) -> FinishedFit:
        """All rows; of very many some judge the two fits, which see the others, once more."""
        rows = gathered(rows, seed)
        block = rows.block("boosted trees") if rows.sample is None else rows.sample
        beyond = min(len(block.X) - ONE_MACHINE, MOST_KEPT_OUT)
        if setting.judged and beyond >= FEWEST_KEPT_OUT:
            return self._judged_again(setting, block, beyond, seed)
        found = self.method.fit(setting.method, rows, seed)
        if not setting.rounds:
            return found
        return _mean(found, self._boosting(setting.rounds).fit(rows, seed=seed), setting)

    def _judged_again(
        self, setting: TreesSetting[SettingT], block: Block, kept: int, seed: int
    ) -> FinishedFit:
        held, others = block.at(slice(kept)), block.at(slice(kept, None))
        few = of_block(others)
        found = self.method.fit(setting.method, few, seed)
        trees = self._boosting(self._most(block, MORE_ROUNDS)).fit(few, seed=seed)
        plain = replace(setting, rounds=0, share=0.0)
        own = Trial(plain, math.nan, found.predictor(held.X), held.y, held.w)
        best = self._joined(own, trees.staged(held.X, STEP))
        found = replace(found, held=(best.predictions, held.y, held.w))
        if not best.setting.rounds:
            return found
        return _mean(found, trees.first(best.setting.rounds), best.setting)

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[TreesSetting[SettingT]]:
        """The best of the method, with the share of trees of least loss where that gains enough.

        By few rounds on the first split, and then, where these gain, by all rounds on all splits.
        """
        effort = replace(effort, calibrated=self.logistic)
        found = self.method.best(data, seed, effort)
        setting = TreesSetting(found.setting, judged=not deadline_passed())
        own = Trial(setting, found.loss, found.predictions, found.y, found.w)
        if not setting.judged:
            return own
        tell("boosted trees")
        parts = splits(data, effort)
        boosting = self._boosting(self._most(data, ROUNDS))
        glance = replace(boosting, glance=min(GLANCE, boosting.trees))
        path = glance.fit_path(of_block(parts[0][0]), seed=seed)
        few = next(path).staged(parts[0][1].X, STEP)
        n = few.shape[1]
        first = replace(own, predictions=own.predictions[:n], y=own.y[:n], w=own.w[:n])
        if not self._joined(first, few, 0.0).setting.rounds:
            return own
        fits = [*path, *(boosting.fit(of_block(train), seed=seed) for train, _ in parts[1:])]
        stages = [f.staged(held.X, STEP) for f, (_, held) in zip(fits, parts, strict=True)]
        return self._joined(own, torch.cat(stages, 1))

    def _joined(
        self, own: Trial[TreesSetting[SettingT]], stages: Float[Tensor, "s n c"], gain: float = GAIN
    ) -> Trial[TreesSetting[SettingT]]:
        """The trial, or its mean with what trees say after the best number of rounds."""
        alone = [replace(own, predictions=f) for f in stages]
        rounds = min(range(len(alone)), key=lambda i: self._judged(alone[i])[0])
        (loss, size), (_, other) = self._judged(own), self._judged(alone[rounds])
        best, bound = own, (1 - gain) * loss
        for u in SHARES:
            v = u * other / ((1 - u) * size + u * other)
            f = (1 - v) * own.predictions + v * alone[rounds].predictions
            setting = replace(own.setting, rounds=STEP * (rounds + 1), share=v)
            trial = replace(own, setting=setting, predictions=f)
            trial = replace(trial, loss=self._judged(trial)[0])
            if trial.loss < bound:
                best, bound = trial, trial.loss
        return best

    def _boosting(self, rounds: int) -> Boosting:
        return Boosting(rounds, logistic=self.logistic)

    def _most(self, data: Block, rounds: int) -> int:
        """So many rounds, or as many as trees allow."""
        return min(rounds, max(STEP, MOST_TREES // data.y.shape[1] // STEP * STEP))

    def _judged(self, trial: Trial[Any]) -> tuple[float, float]:
        """The loss of decisions, and the factor by which they are comparable with others."""
        if self.logistic:
            return judged_log_loss(trial)
        error, w = (trial.predictions - trial.y).double(), trial.w.double()
        return float((w @ error.square()).sum() / w.sum()), 1.0


def _mean(found: FinishedFit, trees: Trees, setting: TreesSetting[Any]) -> FinishedFit:
    v = trees.offset.new_tensor([1 - setting.share, setting.share])
    f = Stacked((found.predictor, trees), v)
    return replace(found, predictor=f, used={**found.used, **setting.told()})
