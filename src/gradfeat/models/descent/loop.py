"""The steps of gradient descent by phases: networks stacked, each on its rows; what is watched."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, final

import numpy as np
import torch

from ...maths.activations import Activation
from ...maths.smoothing import smoothed
from ..base import Predictor
from ..losses import Loss
from .layers import Layers
from .trained import Batch, Trained

#: m eta of step 1, eta of step 2, m eta of later steps, on inputs with E|x|^2 = 1.
SHI22_STEP_SIZES = (0.5, 12.0, 30.0)


@final
@dataclass(frozen=True)
class Phase:
    """`steps` steps v <- momentum v + g + 2 lambda theta, theta <- theta - eta v.

    These are the numbers of torch.optim.SGD, and they come to rest where the loss plus
    lambda |theta|^2 is stationary.

    `steps`: How many, at least 0.
    `step_size`: eta, at least 0.
    `decay_W, decay_a`: lambda of the penalties lambda |W|^2 and lambda |a|^2; "erase" is 1/(2 eta),
        which leaves nothing of the old weights: theta <- -eta (momentum v + g), exactly.
    `momentum`: Share of the last step's direction that is kept, in [0, 1).
    `noise`: Standard deviation of Gaussian noise before the activation (averaged in closed form).
    `batch`: Rows of a step; None takes all.

    Examples
    --------
    >>> Phase(1, 0.5, decay_W="erase").erases("W"), Phase(1, 0.5, decay_W=0.1).pull("W")
    (True, 0.2)
    """

    steps: int
    step_size: float
    decay_W: float | Literal["erase"] = 0.0
    decay_a: float | Literal["erase"] = 0.0
    momentum: float = 0.0
    noise: float = 0.0
    batch: int | None = None

    def __post_init__(self) -> None:
        numbers = [v for f in fields(self) if (v := getattr(self, f.name)) not in (None, "erase")]
        if not all(math.isfinite(v) and v >= 0 for v in numbers) or self.momentum >= 1:
            raise ValueError(f"{self}: numbers must be finite, at least 0, and momentum below 1.")
        if self.batch == 0:
            raise ValueError(f"{self}: batch must be at least 1, or None for all rows.")

    def pull(self, layer: Literal["W", "a"]) -> float:
        """2 lambda, the penalty's part of the gradient; 0 for "erase"."""
        decay = self._decay(layer)
        return 0.0 if decay == "erase" else 2 * decay

    def erases(self, layer: Literal["W", "a"]) -> bool:
        """Whether nothing of the old weights is left."""
        return self._decay(layer) == "erase"

    def _decay(self, layer: Literal["W", "a"]) -> float | Literal["erase"]:
        return self.decay_W if layer == "W" else self.decay_a


def shi22_phases(
    k: int,
    m: int,
    n_steps: int,
    *,
    step_sizes: tuple[float, float, float] = SHI22_STEP_SIZES,
    momentum: float = 0.9,
    first_batch: int | None = None,
    batch: int | None = None,
) -> tuple[Phase, Phase, Phase]:
    """Two steps that erase the old weights, under noise k^(-3/2), then ordinary ones.

    Step 1 keeps a (lambda_a = 0), step 2 erases both layers. The source gives the step sizes up to
    constants; those here keep the outputs small after step 1 (every row still has a slope), spread
    the neurons' corners over the counts after step 2, and do not depend on m.

    `k`: Relevant patterns (sets the noise).
    `n_steps`: Steps in all, at least 2.
    `step_sizes`: m eta of the first step, eta of the second, m eta of all later steps.
    `momentum`: Of the later steps.
    `first_batch, batch`: Rows of the first two steps, and of the later ones.

    Source: Shi22, section 3.1 and appendix on training.
    """
    if n_steps < 2:
        raise ValueError(f"n_steps is {n_steps}: two steps are special, give 2 or more.")
    one, two, later = step_sizes
    noise = k**-1.5
    return (
        Phase(1, one / m, decay_W="erase", noise=noise, batch=first_batch),
        Phase(1, two, decay_W="erase", decay_a="erase", noise=noise, batch=first_batch),
        Phase(n_steps - 2, later / m, momentum=momentum, batch=batch),
    )


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

    `start`: s networks of one shape.
    `rows`: ``rows(step, size)``: stacked rows of a step.
    `phases`: What the steps do.
    `loss, activation, trained`: What goes down, the nonlinearity, and which parameters move.
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


Measure = Callable[[Predictor], float]


def trace(
    path: Iterable[Predictor], measures: Mapping[str, Measure], at: Collection[int] | None = None
) -> dict[str, np.ndarray]:
    """Each measure of the predictor after each step, or after the steps of `at` alone.

    `path`: What ``fit_path`` yields: the predictors after steps 1, 2, ...
    `measures`: Numbers to take, by name.
    `at`: Steps to look at; those beyond the last are never reached.
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
