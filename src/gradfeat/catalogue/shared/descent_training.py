"""What experiments on descent share: instances, starts, fresh rows; what is right and what neurons
align with, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from gradfeat.catalogue.shared.curves import averaged, only, values_of
from gradfeat.diagnostics.alignment import cosines, coverage
from gradfeat.maths.activations import ReLU, TruncatedReLU
from gradfeat.maths.ranges import at_least, one_of, paired
from gradfeat.maths.streams import stream
from gradfeat.models.base import Predictor
from gradfeat.models.descent.gradient_descent import GradientDescent, Trains
from gradfeat.models.descent.layers import Layers, Start, shi22_start, stack
from gradfeat.models.descent.loop import Source, descend
from gradfeat.models.descent.phases import Phase, shi22_phases
from gradfeat.models.descent.trained import AllLayers, Batch
from gradfeat.models.gradient_features.feature_set import LEAST_MASS, first_gradients
from gradfeat.models.losses import Hinge, Logistic
from gradfeat.tasks.base import Sample, Task
from gradfeat.tasks.sparse_coding import SparseCoding

#: How a method of the experiments trains the network.
TRAINS: dict[str, Trains] = {"network": "all", "ntk": "linearisation", "random features": "head"}


def instance(structure: str, d: int, D: int, k: int, p_o: float, seed: int) -> SparseCoding:
    """The hard instance, or uniform patterns with parity labels (p_o = 1/2).

    Raises ValueError when `structure` is neither "yes" nor "no".
    """
    one_of(("yes", "no"), structure=structure)
    at_least(1, k=k)
    if structure == "yes":
        return SparseCoding.hard(d, D, k, p_o, seed=seed)
    return SparseCoding.parity(d, D, k, 0.5, seed=seed)


def start_of(k: int, D: int, p_o: float) -> Start:
    """The source's initialisation with the constants of the hard instance, for both families.

    Raises ValueError when p_o = 1: then gamma = 0, and the start divides by it.
    """
    if p_o == 1:
        raise ValueError(f"p_o is {p_o}: the start divides by gamma = (1 - p_o)/2, give less.")
    hard = SparseCoding.hard(D, D, k, p_o)
    return shi22_start(k, hard.gamma, hard.sigma)


def learner_of(
    method: str, k: int, D: int, p_o: float, m: int, steps: int, first_batch: int, batch: int
) -> GradientDescent:
    """Descent as in the source for the network; one step size for the two linear models.

    Raises ValueError when the method is unknown, a number is too small, or `m` odd.
    """
    one_of(TRAINS, method=method)
    paired(m)
    at_least(1, k=k)
    at_least(2 if method == "network" else 1, steps=steps)
    at_least(1, n_first=first_batch, n_batch=batch)
    plain = {"ntk": 0.06 / m, "random features": 60 / m}
    phases = (
        shi22_phases(k, m, steps, first_batch=first_batch, batch=batch)
        if method == "network"
        else (Phase(steps, plain[method], momentum=0.9, batch=batch),)
    )
    start = start_of(k, D, p_o)
    return GradientDescent(m, TruncatedReLU(), Hinge(), phases, start, TRAINS[method])


def starts(
    learner: GradientDescent, d: int, seeds: Sequence[int], dtype: torch.dtype, device: str
) -> Layers:
    draw = learner.start.draw
    return stack([draw(learner.width, d, 1, s, dtype=dtype, device=device) for s in seeds])


def fresh_rows(
    tasks: Sequence[Task], seeds: Sequence[int], dtype: torch.dtype, device: str
) -> Source:
    """New rows at every step, each network's from the stream of its seed and the step.

    What a step reads does not depend on how many rows another step took.
    """

    def rows(step: int, size: int | None) -> Batch:
        if size is None:
            raise ValueError("fresh rows need a batch size: give every phase one.")
        drawn = [
            task.sample(size, stream(seed, f"step {step}"))
            for task, seed in zip(tasks, seeds, strict=True)
        ]
        X = torch.stack([sample.X for sample in drawn]).to(device=device, dtype=dtype)
        y = torch.stack([sample.y for sample in drawn]).to(device=device, dtype=dtype)
        return Batch(X, y, torch.full_like(y, 1 / size))

    return rows


def float_type(name: str) -> torch.dtype:
    """The torch type of that name.

    Raises ValueError when it is neither "float32" nor "float64".
    """
    kinds = {"float32": torch.float32, "float64": torch.float64}
    one_of(kinds, dtype=name)
    return kinds[name]


def described(table: pd.DataFrame, size: tuple[object, ...] = ()) -> str:
    """The setting of a table in words for a caption, and what is averaged over.

    `size` is a (D, k): the words are of its rows alone.
    """
    if size:
        table = only(table, D=size[0], k=size[1])
    pattern = ", ".join(f"{name} = {values_of(table, name)}" for name in ("d", "D", "k", "p_o"))
    text = f"Sparse coding, {pattern}, {values_of(table, 'm')} neurons."
    return f"{text}{averaged(table, 'd', 'D', 'k', 'p_o', 'm')}"


def placed(sample: Sample, like: Tensor) -> Sample:
    """The rows on the device and in the type of `like`."""
    return Sample(sample.X.to(like), sample.y.to(like))


def accuracy(f: Predictor, sample: Sample) -> float:
    """Share of rows whose output has the sign of the label; an output of 0 is wrong.

    Raises ValueError when outputs are not finite: training diverged.
    """
    return float((finite_outputs(f, sample).sign() == sample.y).double().mean())


def finite_outputs(f: Predictor, sample: Sample) -> Tensor:
    """f at the rows of a sample; ValueError where training diverged."""
    F = f(sample.X)
    if not bool(torch.isfinite(F).all()):
        raise ValueError("training diverged (outputs are not finite): give a smaller step_size.")
    return F


def evaluation_steps(steps: int, points: int = 12) -> list[int]:
    """Steps 1, 2 and about `points` evenly spaced ones, the last included."""
    every = max(1, steps // points)
    return sorted({1, min(2, steps), *range(every, steps + 1, every), steps})


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
    """The first step at which the path is at least `level`; the last step + 1 without one."""
    reached = np.flatnonzero(path >= level)
    return float(step[reached[0]]) if len(reached) else float(step[-1]) + 1


def settled_step(
    step: Float[np.ndarray, " t"], path: Float[np.ndarray, " t"], level: float
) -> float:
    """The first step from which the path stays at `level` or above; else the last step + 1."""
    below = np.flatnonzero(~(path >= level))
    after = below[-1] + 1 if len(below) else 0
    return float(step[after]) if after < len(step) else float(step[-1]) + 1


def spaced_steps(steps: int, points: int = 40) -> list[int]:
    """About `points` steps from 1 to `steps`, their ratios alike, both ends among them."""
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
