"""The steps of gradient descent: networks stacked, each on its rows, and what is watched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ...maths.activations import Activation
from ...maths.smoothing import smoothed
from ..base import Predictor
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
    whichever others are stacked with it, up to the rounding of products: BLAS may sum those of a
    stack in another order than one alone.
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
    return g if momentum == 0 else g.each(lambda a, v: a.add(v, alpha=momentum), velocity)


def _penalised(g: Layers, at: Layers, phase: Phase, trained: Trained) -> Layers:
    """With the gradient of lambda |theta - anchor|^2."""
    W, a = phase.pull("W"), phase.pull("a")
    if W == a == 0:
        return g
    anchor = trained.anchor(at)
    return Layers(g.W + W * (at.W - anchor.W), g.b, g.a + a * (at.a - anchor.a))


def _move(at: Layers, velocity: Layers, phase: Phase, trained: Trained) -> Layers:
    W, a = phase.erases("W"), phase.erases("a")
    anchor = trained.anchor(at) if W or a else at
    start = Layers(anchor.W if W else at.W, at.b, anchor.a if a else at.a)
    return start.each(lambda x, v: torch.add(x, v, alpha=-phase.step_size), velocity)


Measure = Callable[[Predictor], float]


def trace(
    path: Iterable[Predictor], measures: Mapping[str, Measure], at: Collection[int] | None = None
) -> dict[str, np.ndarray]:
    """Each measure of the predictor after each step, or after the steps of `at` alone.

    `path` is what ``fit_path`` yields: the predictors after steps 1, 2, ...; steps of `at` beyond
        the last are never reached.
    """
    if "step" in measures:
        raise ValueError("a measure is called 'step', the name of the steps: call it otherwise.")
    steps: list[int] = []
    values: dict[str, list[float]] = {name: [] for name in measures}
    for step, predictor in enumerate(path, 1):
        if at is None or step in at:
            steps.append(step)
            for name, measure in measures.items():
                values[name].append(measure(predictor))
    taken = {name: np.array(found, dtype=float) for name, found in values.items()}
    return {"step": np.array(steps, dtype=int), **taken}
