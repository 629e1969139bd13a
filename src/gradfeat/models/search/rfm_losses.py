"""The last fit of an RFM on class codes: by squared or logistic loss, and which of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed
from ...rows.rows import Rows, in_memory
from ..base import Learner, OneStage, Predictor
from ..kernel_logistic import KernelLogistic, logistic_coefficients
from ..predictors import KernelMachine, apply_metric
from ..rfm import RFM
from .calibration import calibrated_loss, codes_of, logit_share, two_sided
from .head_search import Split
from .rfm_space import RFMSetting, RFMSpace, joined
from .rounds import Round, search_rounds
from .search import Effort, FinishedFit, MethodSetting, Space, Trial

#: Penalties tried, from the largest down for as long as that helps; that of no search.
ALPHAS, START_ALPHA = (1.0, 1e-1, 1e-2, 1e-3, 1e-4), 1e-2
#: Training rows of a split that the penalties are tried on at most.
PATH_ROWS = 2500
#: Rows up to which the logistic loss is tried where the loss is to be chosen.
CHOICE_ROWS = 3000
#: Residual of the fits that penalties are compared by.
ROUGH = 1e-3


@final
@dataclass(frozen=True)
class ShiftedLogistic(OneStage[KernelMachine]):
    """Kernel logistic regression on codes of which a constant was subtracted, as y - mean y.

    That constant is subtracted from the logits too, so that adding it gives logits: f of several
    classes, and (-f, f) those of two.

    `logistic`: The fit to the codes themselves.
    """

    logistic: KernelLogistic

    def fit(self, rows: Rows, *, seed: int = 0) -> KernelMachine:
        block = rows.block("logistic loss")
        codes, shift = codes_of(block.y)
        f = self.logistic.fit(in_memory(block.X, codes, block.w), seed=seed)
        half = logit_share(codes.shape[1])
        return replace(f, c=half * f.c, offset=half * f.offset - shift).in_float64()


@final
@dataclass(frozen=True)
class LogisticLastRound(OneStage[KernelMachine]):
    """Learn M = A^2 by `rfm`, then fit `head` on A x in place of its last round.

    `rfm`: How M is learnt. `head`: What is fitted.
    """

    rfm: RFM
    head: Learner[KernelMachine]

    def fit(self, rows: Rows, *, seed: int = 0) -> KernelMachine:
        block = rows.block("an RFM with another last round")
        *_, A = self.rfm.metrics(rows, seed=seed)
        last = in_memory(apply_metric(block.X, A), block.y, block.w)
        f = self.head.fit(last, seed=seed)
        return replace(f, Z=block.X.to(f.Z), A=A.to(f.Z))


@final
@dataclass(frozen=True)
class RFMLossSetting(MethodSetting):
    """An RFM, and the penalty of a logistic last fit; None: its last fit is of squared loss."""

    rfm: RFMSetting
    logistic_alpha: float | None

    def named(self) -> dict[str, Any]:
        if self.logistic_alpha is None:
            return self.rfm.named() | {"head_loss": "squared"}
        return self.rfm.named() | {"head_alpha": self.logistic_alpha, "head_loss": "logistic"}


@final
@dataclass(frozen=True)
class RFMLossSpace(Space[RFMLossSetting]):
    """An RFM's search, whose last fit is then made with other losses.

    `start`: That of the rounds, with the first loss.
    `rounds`: The search, by squared loss.
    `losses`: Losses of the last fit: the first, or in a search that of least log loss once
        calibrated.
    """

    start: RFMLossSetting
    rounds: RFMSpace
    losses: Sequence[str]

    @property
    def open(self) -> bool:
        """The rounds, a choice of losses, or the penalty of a logistic fit."""
        return self.rounds.open or "logistic" in self.losses

    def learner(self, setting: RFMLossSetting) -> Learner[Predictor]:
        """The rounds, and the last fit by the loss of the setting."""
        rfm, alpha = setting.rfm, setting.logistic_alpha
        if alpha is None:
            return self.rounds.learner(rfm)
        limit = self.rounds.memory_limit
        last = ShiftedLogistic(KernelLogistic(rfm.last_kernel, alpha, memory_limit=limit))
        if rfm.head is None:
            return LogisticLastRound(self.rounds.at(rfm.rounds), last)
        return self.rounds.inside(rfm.rounds, rfm.head, last)

    def fit(self, setting: RFMLossSetting, rows: Rows, seed: int) -> FinishedFit:
        if setting.logistic_alpha is None:
            return self.rounds.fit(setting.rfm, rows, seed)
        f = self.learner(setting).fit(rows, seed=seed)
        return FinishedFit(f, used=self.rounds.used(f, setting.rfm, rows))

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[RFMLossSetting]:
        """The rounds' best setting, its last fit made with the better of the losses."""
        rfm, effort = self.rounds, replace(effort, calibrated=True)
        paths = search_rounds(rfm.at, rfm.start.rounds, rfm.axes, data, seed, effort)
        found, last = rfm.chosen(paths, data, effort)
        squared = Trial(
            RFMLossSetting(found.setting, None), found.loss, found.predictions, found.y, found.w
        )
        if "logistic" not in self.losses or (len(self.losses) > 1 and deadline_passed()):
            return squared
        trials = {"squared": squared, "logistic": best_logistic(found.setting, last)}
        return min((trials[name] for name in self.losses), key=log_loss)


def rfm_loss_space(rounds: RFMSpace, loss: str | None, n: int) -> RFMLossSpace:
    """The search of `rounds`, with the losses that n rows are worth."""
    losses = allowed_losses(loss, n)
    start = RFMLossSetting(rounds.start, START_ALPHA if losses[0] == "logistic" else None)
    return RFMLossSpace(start, rounds, losses)


def allowed_losses(loss: str | None, n: int) -> tuple[str, ...]:
    """Losses to choose from: of many rows only the squared one, unless the other was asked for."""
    if loss is None:
        return ("squared", "logistic") if n <= CHOICE_ROWS else ("squared",)
    return (loss,)


def log_loss(trial: Trial[RFMLossSetting]) -> float:
    """Held-out log loss of a setting's decisions once calibrated."""
    return judged_log_loss(trial)[0]


def judged_log_loss(trial: Trial[Any]) -> tuple[float, float]:
    """Held-out log loss of decisions once calibrated, and the factor that calibrates them."""
    codes, shift = codes_of(trial.y)
    decisions, labels = (two_sided(t.double().cpu().numpy()) for t in (trial.predictions, codes))
    shifted = decisions + two_sided(shift[None].double().cpu().numpy())
    return calibrated_loss(shifted, labels.argmax(axis=1), trial.w.double().cpu().numpy())


def best_logistic(setting: RFMSetting, last: Round) -> Trial[RFMLossSetting]:
    """The logistic last fit in a setting's metric, at the penalty of least log loss."""
    setting = replace(setting, stack=())
    paths = [logistic_path(split, setting, ALPHAS) for split in last.splits]
    y, w = joined(last.splits)
    best = Trial(RFMLossSetting(setting, None), math.inf, y, y, w)
    for alpha, predictions in zip(ALPHAS, zip(*paths, strict=True), strict=True):
        trial = Trial(RFMLossSetting(setting, alpha), math.inf, torch.cat(predictions), y, w)
        trial = replace(trial, loss=log_loss(trial))
        if trial.loss >= best.loss:
            break
        best = trial
        if deadline_passed():
            break
    return best


def logistic_path(split: Split, setting: RFMSetting, alphas: Sequence[float]) -> Iterator[Tensor]:
    """Held-out decisions at falling penalties, each fit begun at the last: one kernel matrix."""
    train = split.train.at(slice(PATH_ROWS))
    P, Q = setting.coordinates(replace(split, train=train))
    k = setting.last_kernel
    K, across = k(P, P), k(Q, P)
    (codes, shift), half, start = codes_of(train.y), logit_share(train.y.shape[1]), None
    for alpha in alphas:
        fit = logistic_coefficients(K, codes, alpha, weights=train.w, start=start, tolerance=ROUGH)
        start = fit.c, fit.offset
        yield half * (across @ fit.c + fit.offset) - shift
