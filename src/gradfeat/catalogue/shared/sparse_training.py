"""What the Shi22 experiments on sparse coding share: instances, fresh rows, measures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

from gradfeat.catalogue.shared.checks import at_least, paired
from gradfeat.catalogue.shared.curves import averaged, values_of
from gradfeat.maths.activations import TruncatedReLU
from gradfeat.maths.streams import stream
from gradfeat.models.base import Predictor
from gradfeat.models.descent.gradient_descent import GradientDescent, Trains
from gradfeat.models.descent.layers import Layers, Start, shi22_start, stack
from gradfeat.models.descent.loop import Phase, Source, shi22_phases
from gradfeat.models.descent.trained import Batch
from gradfeat.models.losses import Hinge
from gradfeat.tasks.base import Sample, Task
from gradfeat.tasks.sparse_coding import SparseCoding

#: How a method of the experiments trains the network.
TRAINS: dict[str, Trains] = {"network": "all", "ntk": "linearisation", "random features": "head"}


def instance(structure: str, d: int, D: int, k: int, p_o: float, seed: int) -> SparseCoding:
    """The hard instance, or uniform patterns with parity labels (p_o = 1/2).

    Raises ValueError when `structure` is neither "yes" nor "no".
    """
    match structure:
        case "yes":
            return SparseCoding.hard(d, D, k, p_o, seed=seed)
        case "no":
            return SparseCoding.parity(d, D, k, 0.5, seed=seed)
    raise ValueError(f"structure is {structure!r}: give 'yes' or 'no'.")


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
    if method not in TRAINS:
        raise ValueError(f"method is {method!r}: give one of {', '.join(TRAINS)}.")
    paired(m)
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
    match name:
        case "float32":
            return torch.float32
        case "float64":
            return torch.float64
    raise ValueError(f"dtype is {name!r}: give 'float32' or 'float64'.")


def described(table: pd.DataFrame) -> str:
    """The setting of a table in words for a caption, and what is averaged over."""
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
