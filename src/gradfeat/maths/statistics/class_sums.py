"""How well probabilities predict the classes of rows: sums from which scores follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic, accumulator

#: Least probability of a label, for a log-loss that stays finite.
LEAST = 1e-15


@runtime_checkable
class Probabilities(Protocol):
    """Log-probabilities of classes at rows."""

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n K"]:
        """At the rows of X."""
        ...

    def labels(self) -> Float[Tensor, " K"]:
        """The labels of the classes, as numbers."""
        ...


@dataclass(frozen=True)
class ClassScores:
    """Of probabilities of classes.

    Attributes
    ----------
    weight : float
        Sum of the row weights.
    accuracy : float
        Weighted share of rows whose most probable class is theirs.
    log_loss : float
        Weighted mean of -log p(label); a label that is no class has 1e-15.
    """

    weight: float
    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class ClassSums(Statistic[Tensor, ClassScores]):
    """Accuracy and log-loss of `said` on rows whose first target is the label, as a number.

    Attributes
    ----------
    said : Probabilities
        Log-probabilities of classes.
    row_bytes : int
        Scratch that it takes for one row.
    """

    said: Probabilities
    row_bytes: int

    def init(self, block: Block) -> Tensor:
        """Zeros: weight, hits, log-loss."""
        del block
        return accumulator(3, like=torch.zeros(0))

    def update(self, state: Tensor, block: Block) -> Tensor:
        """Add rows, chunk by chunk."""
        labels = self.said.labels()
        for rows in block.chunks(max(self.row_bytes, 16 * len(labels))):
            logp, w = self.said(rows.X), rows.w.double().cpu()
            truth = rows.y[:, :1].cpu() == labels.to("cpu", rows.y.dtype)
            hit = truth[torch.arange(len(truth)), logp.argmax(1)]
            p = (logp.exp() * truth).sum(1).clamp(min=LEAST)
            state += torch.stack([w.sum(), w @ hit.double(), -(w @ p.log())])
        return state

    def merge(self, one: Tensor, other: Tensor) -> Tensor:
        """Sum."""
        return one.add_(other)

    def finish(self, state: Tensor) -> ClassScores:
        """Means; nan where no row has a weight."""
        weight = float(state[0])
        if weight == 0:
            return ClassScores(0.0, math.nan, math.nan)
        return ClassScores(weight, float(state[1]) / weight, float(state[2]) / weight)

    def pack(self, state: Tensor) -> dict[str, Tensor]:
        """As it is."""
        return {"sums": state}

    def unpack(self, packed: Mapping[str, Tensor]) -> Tensor:
        """As it was."""
        return packed["sums"].clone()
