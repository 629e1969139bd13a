"""Training looked at by step: which given directions the neurons align with, and what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from gradfeat.diagnostics.alignment import cosines, coverage
from gradfeat.maths.activations import ReLU
from gradfeat.models.base import Predictor
from gradfeat.models.descent.layers import Layers
from gradfeat.models.descent.loop import Phase, Source, descend
from gradfeat.models.descent.trained import AllLayers
from gradfeat.models.gradient_features.feature_set import LEAST_MASS, first_gradients
from gradfeat.models.losses import Logistic
from gradfeat.tasks.base import Sample

#: What is measured of a network at a snapshot, by name.
Measures = Callable[[Predictor], dict[str, float]]


@dataclass(frozen=True, eq=False)
class Watched:
    """What is followed of one network: directions (d, r), one name each, and other measures."""

    directions: Float[Tensor, "d r"]
    names: tuple[str, ...]
    measures: Measures


def aligned_shares(
    net: Layers, i: int, directions: Float[Tensor, "d r"], cosine: float = 0.9
) -> Float[Tensor, " r"]:
    """sum_j |a_j||w_j| 1{|cos(w_j, u)| > cosine} / sum_j |a_j||w_j| for each direction u.

    The share of the network's weight, not of its neurons: those that stay where they started and
    say nothing do not count.

    >>> import torch
    >>> net = Layers(torch.eye(2)[None], torch.zeros(1, 2), torch.tensor([[[3.0], [-1.0]]]))
    >>> aligned_shares(net, 0, torch.eye(2)).tolist()
    [0.75, 0.25]
    """
    weight = net.a[i].abs().sum(1) * net.W[i].norm(dim=1)
    inside = (cosines(net.W[i], directions.to(net.W)) > cosine).to(weight)
    return weight @ inside / weight.sum()


def followed(
    start: Layers,
    rows: Source,
    phases: Sequence[Phase],
    watched: Sequence[Watched],
    steps: Iterable[int],
) -> list[dict[str, np.ndarray]]:
    """Train all layers by the logistic loss; for each network, every measure at these steps.

    Returns "step" (t,), "aligned_" + name (t,) for each direction, and the measures (t,) of each;
    step 0 is the start.
    """
    wanted = set(steps)
    seen = [[_measured(start, i, 0, one)] for i, one in enumerate(watched)]
    for state in descend(start, rows, phases, Logistic(), ReLU(), AllLayers()):
        if state.step in wanted:
            for i, one in enumerate(watched):
                seen[i].append(_measured(state.layers, i, state.step, one))
    return [{name: np.array([row[name] for row in own]) for name in own[0]} for own in seen]


def _measured(net: Layers, i: int, step: int, one: Watched) -> dict[str, float]:
    shares = aligned_shares(net, i, one.directions).tolist()
    named = {f"aligned_{name}": share for name, share in zip(one.names, shares, strict=True)}
    return {"step": float(step)} | named | one.measures(net.network(i, ReLU()))


def first_step(step: Float[np.ndarray, " t"], path: Float[np.ndarray, " t"], level: float) -> float:
    """The first step at which the path is at least `level`; the last step + 1 where there is none.

    >>> first_step(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.6, 0.4]), 0.5)
    1.0
    """
    reached = np.flatnonzero(path >= level)
    return float(step[reached[0]]) if len(reached) else float(step[-1]) + 1


def settled_step(
    step: Float[np.ndarray, " t"], path: Float[np.ndarray, " t"], level: float
) -> float:
    """The first step from which the path stays at `level` or above; the last step + 1 without one.

    >>> settled_step(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.6, 0.4, 0.6, 0.7]), 0.5)
    2.0
    """
    below = np.flatnonzero(~(path >= level))
    after = below[-1] + 1 if len(below) else 0
    return float(step[after]) if after < len(step) else float(step[-1]) + 1


def spaced_steps(steps: int, points: int = 40) -> list[int]:
    """About `points` steps from 1 to `steps`, their ratios alike, both ends among them.

    >>> spaced_steps(8, 4)
    [1, 2, 4, 8]
    """
    return sorted({round(float(s)) for s in np.geomspace(1, steps, points)})


def start_masses(
    sample: Sample,
    directions: Float[Tensor, "d r"],
    *,
    neurons: int,
    weight_scale: float,
    bias_scale: float,
    seed: int,
    p: float = LEAST_MASS,
    width: float = 0.1,
) -> list[float]:
    """Mass of (D, +1) and (D, -1) together for each direction D, at neurons before training.

    The share of neurons whose simplified gradient has |cos| > 1 - width with D and a length above
    what a sample without structure shows (of mass p).

    Source: Shi23, the gradient feature set.

    >>> import torch
    >>> X = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)).double()
    >>> one = Sample(X, X[:, :1].sign())
    >>> law = {"weight_scale": 0.5, "bias_scale": 0.5, "seed": 0}
    >>> [mass > 0.8 for mass in start_masses(one, torch.eye(4)[:, :2], neurons=400, **law)]
    [True, False]
    """
    first = first_gradients(
        sample.X.double(),
        sample.y.double(),
        p=p,
        neurons=neurons,
        weight_scale=weight_scale,
        bias_scale=bias_scale,
        seed=seed,
    )
    found = coverage(first.G[0], first.b, directions, widths=[width], norms=first.least_norm)
    return (found[:, 0, 0, 0] + found[:, 1, 0, 1]).tolist()
