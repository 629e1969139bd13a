"""How well a function predicts targets, or probabilities classes: sums that scores come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic, accumulated, accumulator
from .moments import MomentState

#: Spread relative to the mean up to which a target is constant.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Scores:
    """Of predictions f of targets y, column by column."""

    weight: float  # sum of the row weights
    mse: Float[Tensor, " c"]  # weighted mean of (y - f)^2
    r2: Float[Tensor, " c"]  # 1 - sum w (y - f)^2 / sum w (y - mean y)^2; nan where y does not vary


@dataclass(frozen=True)
class Residuals:
    """Squared residuals of `predict`, which is in the units of y, as inputs beside the targets."""

    predict: Callable[[Tensor], Tensor]

    def __call__(self, rows: Block) -> Block:
        return Block((rows.y - self.predict(rows.X)).square(), rows.y, rows.w)


def scores_of(m: MomentState) -> Scores:
    """Mean squared error and R^2 by moments of :class:`Residuals`; nan where no row has weight."""
    # What rounding leaves of a constant target is no spread.
    varies = m.yy > ROUNDING**2 * m.weight * m.mean_y.square()
    spread = torch.where(varies, m.yy, 1.0) / m.weight
    r2 = torch.where(varies, 1 - m.mean_x / spread, torch.nan)
    some = m.weight > 0
    mse, r2 = (torch.where(some, values, torch.nan) for values in (m.mean_x, r2))
    return Scores(float(m.weight), mse, r2)


#: Least probability of a label, for a log-loss that stays finite.
LEAST = 1e-15


@runtime_checkable
class Probabilities(Protocol):
    """Log-probabilities of classes at rows."""

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n K"]: ...

    def labels(self) -> Float[Tensor, " K"]:
        """The labels of the classes, as numbers."""
        ...


@dataclass(frozen=True)
class ClassScores:
    weight: float  # sum of the row weights
    accuracy: float  # weighted share of rows whose most probable class is theirs
    log_loss: float  # weighted mean of -log p(label); a label that is no class has 1e-15


@dataclass(frozen=True)
class ClassSums(Statistic[Block, Tensor, ClassScores]):
    """Accuracy and log-loss of `said` on rows whose first target is the label, as a number."""

    said: Probabilities  # log-probabilities of classes
    row_bytes: int  # scratch that it takes for one row

    def init(self, block: Block) -> Tensor:
        """Zeros: weight, hits, log-loss."""
        del block
        return accumulator(3, like=torch.zeros(0))

    def update(self, state: Tensor, block: Block) -> Tensor:
        labels = self.said.labels()
        for rows in block.chunks(max(self.row_bytes, 16 * len(labels))):
            logp, w = self.said(rows.X), rows.w.double().cpu()
            truth = rows.y[:, :1].cpu() == labels.to("cpu", rows.y.dtype)
            hit = truth[torch.arange(len(truth)), logp.argmax(1)]
            p = (logp.exp() * truth).sum(1).clamp(min=LEAST)
            state += torch.stack([w.sum(), w @ hit.double(), -(w @ p.log())])
        return state

    def merge(self, one: Tensor, other: Tensor) -> Tensor:
        return one.add_(other)

    def finish(self, state: Tensor) -> ClassScores:
        """Means; nan where no row has a weight."""
        weight = float(state[0])
        if weight == 0:
            return ClassScores(0.0, math.nan, math.nan)
        return ClassScores(weight, float(state[1]) / weight, float(state[2]) / weight)

    def pack(self, state: Tensor) -> dict[str, Tensor]:
        return {"sums": state}

    def unpack(self, packed: Mapping[str, Tensor]) -> Tensor:
        return accumulated(packed, sums=(3,))[0]
