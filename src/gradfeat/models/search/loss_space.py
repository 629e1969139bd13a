"""The last fit of an RFM on codes by squared or logistic loss, and the choice between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...maths.blocks import Block
from ..base import Kernel, Learner, Predictor
from ..kernel_logistic import KernelLogistic, logistic_coefficients
from ..kernel_machine import apply_metric
from ..kernels.named import kernel
from .calibration import calibrated_loss, two_sided
from .head_search import Split
from .logistic_head import LastRound, ShiftedLogistic, codes_of, share
from .rfm_space import RFMSpace, Stage, joined
from .search import Point, Space, Trial, deadline_passed

#: Penalties tried, from the largest down for as long as that helps; that of no search.
ALPHAS, START_ALPHA = (1.0, 1e-1, 1e-2, 1e-3, 1e-4), 1e-2
#: Training rows of a split that the penalties are tried on at most.
PATH_ROWS = 2500
#: Rows up to which the logistic loss is tried where the loss is to be chosen.
CHOICE_ROWS = 3000
#: Residual of the fits that penalties are compared by.
ROUGH = 1e-3


@dataclass(frozen=True)
class LossSpace(Space):
    """An RFM's search, whose last fit is then made with other losses.

    Attributes
    ----------
    rounds : RFMSpace
        The search, by squared loss.
    losses : sequence of "squared" and "logistic"
        Losses of the last fit: the first, or in a search that of least log loss once calibrated.
    memory_limit : int, optional
        Bytes that kernel matrices may take.
    """

    rounds: RFMSpace
    losses: Sequence[str]
    memory_limit: int | None

    @property
    def start(self) -> Point:  # type: ignore[override]
        """That of the rounds, with the first loss."""
        return _with_loss(self.rounds.start, self.losses[0])

    @property
    def open(self) -> bool:
        """The rounds, a choice of losses, or the penalty of a logistic fit."""
        return self.rounds.open or "logistic" in self.losses

    def learner(self, point: Point) -> Learner[Predictor]:
        """The rounds and the last fit by the loss named in the setting."""
        if point["head_loss"] == "squared":
            return self.rounds.learner(point)
        k, alpha = _kernel(point), point["head_alpha"]
        head = ShiftedLogistic(KernelLogistic(k, alpha, memory_limit=self.memory_limit))
        if "head_kernel" not in point:
            return LastRound(self.rounds.make(point), head)
        return self.rounds.inside(point, head)

    def best(self, data: Block, seed: int, rows: int, sweeps: int) -> Trial:
        """The rounds' best setting, its last fit made with the better of the losses."""
        trial, stage = self.rounds.chosen(data, seed, rows, sweeps)
        squared = replace(trial, point={**trial.point, "head_loss": "squared"})
        if "logistic" not in self.losses or (len(self.losses) > 1 and deadline_passed()):
            return squared
        logistic = best_logistic(trial.point, stage)
        losses = {"squared": squared, "logistic": logistic}
        return min((losses[name] for name in self.losses), key=log_loss)


def allowed_losses(loss: str | None, n: int) -> tuple[str, ...]:
    """Losses to choose from: of many rows only the squared one, unless the other was asked for.

    Examples
    --------
    >>> allowed_losses(None, 100), allowed_losses(None, 10_000), allowed_losses("logistic", 10_000)
    (('squared', 'logistic'), ('squared',), ('logistic',))
    """
    if loss is None:
        return ("squared", "logistic") if n <= CHOICE_ROWS else ("squared",)
    return (loss,)


def _with_loss(point: Point, loss: str) -> Point:
    alpha = {"head_alpha": START_ALPHA} if loss == "logistic" else {}
    return {**point, **alpha, "head_loss": loss}


def _kernel(point: Point) -> Kernel:
    """Of the last fit: one of its own, or the rounds'."""
    if "head_kernel" in point:
        return kernel(point["head_kernel"], point["head_bandwidth"])
    return kernel(point["kernel"], point["bandwidth"])


def log_loss(trial: Trial) -> float:
    """Held-out log loss of a setting's decisions once calibrated."""
    codes, shift = codes_of(trial.y)
    decisions, labels = (two_sided(t.double().cpu().numpy()) for t in (trial.predictions, codes))
    shifted = decisions + two_sided(shift[None].double().cpu().numpy())
    return calibrated_loss(shifted, labels.argmax(axis=1), trial.w.double().cpu().numpy())


def best_logistic(point: Point, stage: Stage) -> Trial:
    """The logistic last fit in a setting's metric, at the penalty of least log loss."""
    paths = [logistic_path(split, point, ALPHAS) for split in stage.splits]
    y, w = joined(stage.splits)
    best = Trial(point, math.inf, y, y, w)
    for alpha, predictions in zip(ALPHAS, zip(*paths, strict=True), strict=True):
        setting = {**point, "head_alpha": alpha, "head_loss": "logistic"}
        trial = Trial(setting, math.inf, torch.cat(predictions), y, w)
        trial = replace(trial, loss=log_loss(trial))
        if trial.loss >= best.loss:
            break
        best = trial
        if deadline_passed():
            break
    return best


def logistic_path(split: Split, point: Point, alphas: Sequence[float]) -> Iterator[Tensor]:
    """Held-out decisions at falling penalties, each fit begun at the last: one kernel matrix."""
    train = Block(*(t[:PATH_ROWS] for t in (split.train.X, split.train.y, split.train.w)))
    P, Q = _coordinates(replace(split, train=train), point)
    k = _kernel(point)
    K, across = k(P, P), k(Q, P)
    (codes, shift), half, start = codes_of(train.y), share(train.y.shape[1]), None
    for alpha in alphas:
        fit = logistic_coefficients(K, codes, alpha, weights=train.w, start=start, tolerance=ROUGH)
        start = fit.c, fit.offset
        yield half * (across @ fit.c + fit.offset) - shift


def _coordinates(split: Split, point: Point) -> tuple[Tensor, Tensor]:
    """Training and held-out rows as the last fit sees them."""
    train, held, A = split.train, split.held, split.A
    if "head_kernel" not in point:
        return apply_metric(train.X, A), apply_metric(held.X, A)
    B = split.projection(point["directions"], point["head_power"])
    return train.X @ B, held.X @ B
