"""The steps themselves: stacked networks go down the gradient of their own rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from ...maths.activations import Activation
from ...maths.smoothing import smoothed
from ..losses import Loss
from .layers import Layers
from .phases import Phase
from .trained import Batch, Trained

#: Rows of step t (from 1), as many as asked for; None asks for all.
Source = Callable[[int, int | None], Batch]


@dataclass(frozen=True, eq=False)
class Descended:
    """The networks after a step, the gradient it took and the loss before it, for each network."""

    step: int
    layers: Layers
    gradient: Layers
    loss: torch.Tensor


def descend(
    start: Layers,
    rows: Source,
    phases: Sequence[Phase],
    loss: Loss,
    activation: Activation,
    trained: Trained,
) -> Iterator[Descended]:
    """Gradient descent of all networks of `start` at once, one yield a step.

    Each network reads its own rows and draws nothing here, so a network comes out the same
    whichever others are stacked with it: bit for bit on a CPU where the numbers of rows, inputs and
    neurons are multiples of 8, up to the rounding of products elsewhere.

    Parameters
    ----------
    start : Layers
        s networks of one shape.
    rows : callable
        ``rows(step, size)``: stacked rows of a step.
    phases : sequence of Phase
        What the steps do.
    loss, activation, trained
        What goes down, the nonlinearity, and which parameters move.

    Examples
    --------
    >>> from gradfeat.maths.activations import ReLU
    >>> from gradfeat.models.descent.layers import Start
    >>> from gradfeat.models.descent.trained import AllLayers
    >>> from gradfeat.models.losses import Squared
    >>> X = torch.linspace(-1, 1, 20).double()[None, :, None]
    >>> data = Batch(X, X.abs(), torch.full_like(X, 1 / 20))
    >>> start = Start(std_b=0.5).draw(20, 1, 1, seed=0)
    >>> *_, last = descend(
    ...     start, lambda step, size: data, [Phase(300, 0.1)], Squared(), ReLU(), AllLayers()
    ... )
    >>> bool(last.loss < 0.01)
    True
    """
    layers, velocity, step = start, start.zeros(), 0
    for phase in phases:
        sigma = smoothed(activation, phase.noise)
        for _ in range(phase.steps):
            step += 1
            g, value = trained.gradients(layers, rows(step, phase.batch), loss, sigma)
            velocity = _add(velocity, phase.momentum, _penalised(g, layers, phase, trained))
            layers = _move(layers, velocity, phase, trained)
            yield Descended(step, layers, g, value)


def _add(velocity: Layers, momentum: float, g: Layers) -> Layers:
    if momentum == 0:
        return g
    return Layers(
        g.W.add(velocity.W, alpha=momentum),
        g.b.add(velocity.b, alpha=momentum),
        g.a.add(velocity.a, alpha=momentum),
    )


def _penalised(g: Layers, at: Layers, phase: Phase, trained: Trained) -> Layers:
    """With the gradient of lambda |theta - anchor|^2."""
    W, a = phase.pull("W"), phase.pull("a")
    if W == a == 0:
        return g
    anchor = trained.anchor(at)
    return Layers(g.W + W * (at.W - anchor.W), g.b, g.a + a * (at.a - anchor.a))


def _move(at: Layers, velocity: Layers, phase: Phase, trained: Trained) -> Layers:
    W, a, eta = phase.erases("W"), phase.erases("a"), phase.step_size
    anchor = trained.anchor(at) if W or a else at
    return Layers(
        torch.add(anchor.W if W else at.W, velocity.W, alpha=-eta),
        torch.add(at.b, velocity.b, alpha=-eta),
        torch.add(anchor.a if a else at.a, velocity.a, alpha=-eta),
    )
