"""Gradient descent on both layers as a learner of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

import torch
from torch import Tensor

from ...maths.activations import Activation, ReLU
from ...maths.blocks import Block
from ...maths.streams import stream
from ...rows.rows import Rows
from ..base import Predictor, Staged
from ..losses import Loss, Squared
from ..predictors import Linearised
from .layers import Layers, Start
from .loop import Source, descend
from .phases import Phase
from .trained import AllLayers, Batch, HeadOnly, Linearisation, Trained

Trains = Literal["all", "head", "linearisation"]


@final
@dataclass(frozen=True)
class GradientDescent(Staged[Predictor]):
    """f(x) = a^T sigma(W x + b) by gradient descent on (1/n) sum_i l(f(x_i), y_i) + penalties.

    `loss`: Squared for real targets; hinge or logistic for +-1.
    `phases`: Steps, step sizes, weight decay, momentum, noise, batches.
    `start`: How W, b and a are drawn.
    `trains`: Both layers, the head alone (random features), or the expansion at the start (the
        neural tangent kernel's function).

    Source: Shi22, section 3 (hinge loss, two special steps); plain training otherwise.

    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 40).double()[:, None]
    >>> learner = GradientDescent(40, start=Start(std_b=1.0))
    >>> bool((learner.fit(in_memory(X, X**2))(X) - X**2).abs().mean() < 0.02)
    True
    """

    width: int = 256
    activation: Activation = field(default_factory=ReLU)
    loss: Loss = field(default_factory=Squared)
    phases: tuple[Phase, ...] = (Phase(500, 0.05, momentum=0.9),)
    start: Start = field(default_factory=Start)
    trains: Trains = "all"

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[Predictor]:
        """The predictor after each step; the start where there is no step."""
        block = rows.block("gradient descent")
        X, y = block.X, block.y
        start = self.start.draw(
            self.width, X.shape[1], y.shape[1], seed, dtype=X.dtype, device=X.device
        )
        source = batches(block, seed)
        path = descend(
            start, source, self.phases, self.loss, self.activation, trained(self.trains, start)
        )
        if not any(phase.steps for phase in self.phases):
            yield self.predictor(start, start)
        for state in path:
            yield self.predictor(start, state.layers)

    def predictor(self, start: Layers, now: Layers, i: int = 0) -> Predictor:
        """Function number `i` of stacked parameters."""
        if self.trains == "linearisation":
            return Linearised(start.network(i, self.activation), now.W[i], now.b[i], now.a[i])
        return now.network(i, self.activation)


def trained(trains: Trains, start: Layers) -> Trained:
    match trains:
        case "all":
            return AllLayers()
        case "head":
            return HeadOnly()
        case "linearisation":
            return Linearisation(start)
    raise ValueError(f"trains was {trains!r}; give 'all', 'head' or 'linearisation'.")


def batches(block: Block, seed: int) -> Source:
    """Rows of one table by step: all, or the next of a random order, drawn anew each time round.

    Rows of weight 0 never come up; the last batch of an order may be short.
    """
    kept = block.w > 0
    X, y, w = block.X[kept], block.y[kept], block.w[kept]
    whole = _rows(X, y, w)
    generator, order = stream(seed, "batches"), torch.empty(0, dtype=torch.long)

    def rows(_: int, size: int | None) -> Batch:
        nonlocal order
        if size is None or size >= len(X):
            return whole
        if len(order) == 0:
            order = torch.randperm(len(X), generator=generator)
        chosen, order = order[:size], order[size:]
        return _rows(X[chosen], y[chosen], w[chosen])

    return rows


def _rows(X: Tensor, y: Tensor, w: Tensor) -> Batch:
    return Batch(X[None], y[None], (w / w.sum())[None, :, None])
