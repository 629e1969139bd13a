"""Test accuracy against gradient step: the network, its linearisation, its random features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import draw_series, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.lab.claims import Claim, above, below, each, every, within
from gradfeat.lab.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import Tensor

    from gradfeat.models.base import Predictor
    from gradfeat.models.descent.gradient_descent import GradientDescent
    from gradfeat.models.descent.layers import Layers
    from gradfeat.models.descent.loop import Source
    from gradfeat.tasks.base import Sample, Task


NAMES = {"network": "network", "ntk": "NTK", "random features": "random features"}


def batch(
    method: str,
    structure: str,
    d: int = 500,
    D: int = 100,
    k: int = 5,
    p_o: float = 0.5,
    m: int = 600,
    steps: int = 300,
    n_first: int = 10_000,
    n_batch: int = 1_000,
    n_fixed: int = 8_000,
    n_test: int = 20_000,
    dtype: str = "float32",
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[dict[str, float | np.ndarray]]:
    """Train on fresh rows, test on the way; fixed features are also fitted by ridge.

    m neurons are m/2 pairs, the source's m = 300. `n_first` rows in each of steps 1 and 2,
    `n_batch` in later ones, `n_fixed` for the ridge fits, whose penalty is chosen.
    """
    from gradfeat.catalogue.shared.descent_training import (
        accuracy,
        evaluation_steps,
        float_type,
        fresh_rows,
        instance,
        learner_of,
        starts,
    )

    learner = learner_of(method, k, D, p_o, m, steps, n_first, n_batch)
    tasks = [instance(structure, d, D, k, p_o, seed) for seed in seeds]
    start = starts(learner, d, seeds, float_type(dtype), device)
    tests = _rows(tasks, seeds, n_test, "test", start.W)
    path = _train(learner, start, fresh_rows(tasks, seeds, float_type(dtype), device), tests)
    best = [math.nan] * len(seeds)
    if method != "network":
        trains = _rows(tasks, seeds, n_fixed, "fixed", start.W)
        fits = [_ridge(learner, start, i, s, trains[i]) for i, s in enumerate(seeds)]
        best = [accuracy(f, test) for f, test in zip(fits, tests, strict=True)]
    steps_seen = np.array(evaluation_steps(steps), dtype=float)
    return [
        {"accuracy": seen[-1], "accuracy_ridge": ridge, "step": steps_seen, "path": np.array(seen)}
        for seen, ridge in zip(path, best, strict=True)
    ]


def _rows(
    tasks: Sequence[Task], seeds: Sequence[int], n: int, name: str, like: Tensor
) -> list[Sample]:
    """A sample of each task from a stream of its seed, on the device and in the type of `like`."""
    from gradfeat.catalogue.shared.descent_training import placed
    from gradfeat.maths.streams import stream

    pairs = zip(tasks, seeds, strict=True)
    return [placed(task.sample(n, stream(seed, name)), like) for task, seed in pairs]


def _train(
    learner: GradientDescent, start: Layers, rows: Source, tests: Sequence[Sample]
) -> list[list[float]]:
    """Accuracy at the evaluation steps, a list a network."""
    from gradfeat.catalogue.shared.descent_training import accuracy, evaluation_steps
    from gradfeat.maths.activations import TruncatedReLU
    from gradfeat.models.descent.gradient_descent import trained
    from gradfeat.models.descent.loop import descend
    from gradfeat.models.losses import Hinge

    steps = sum(phase.steps for phase in learner.phases)
    wanted, seen = set(evaluation_steps(steps)), [[] for _ in tests]
    what = trained(learner.trains, start)
    for state in descend(start, rows, learner.phases, Hinge(), TruncatedReLU(), what):
        if state.step in wanted:
            for i, test in enumerate(tests):
                seen[i].append(accuracy(learner.predictor(start, state.layers, i), test))
    return seen


def _ridge(learner: GradientDescent, start: Layers, i: int, seed: int, train: Sample) -> Predictor:
    """The best ridge fit of the same fixed features."""
    from gradfeat.models.head import RidgeHead
    from gradfeat.models.tangent_ridge import TangentRidge
    from gradfeat.rows.rows import in_memory

    if learner.trains == "linearisation":
        ntk = TangentRidge(learner.width, learner.activation, learner.start)
        return ntk.fit(in_memory(train.X, train.y), seed=seed)
    net = start.network(i, learner.activation)
    a, offset, _ = RidgeHead().fit(in_memory(net.features(train.X).double(), train.y.double()))
    return replace(net, a=a.to(net.a), offset=offset.to(net.a))


def theory(structure: str, k: int, p_o: float) -> dict[str, float]:
    """What the best linear function of the patterns reaches: 27/32 at k = 5, p_o = 1/2."""
    from gradfeat.theory.patterns import best_linear_accuracy

    return {"best_linear": best_linear_accuracy(k, p_o) if structure == "yes" else 0.5}


def _panel(ax: Axes, table: pd.DataFrame, structure: str, level: float) -> None:
    own = only(table, structure=structure)
    draw_series(ax, own, "method", NAMES, "step", "path", connect=True, apart=3)
    series.level(ax, level, f"best linear: {level:.4g}")


def figure(table: pd.DataFrame, theory_table: pd.DataFrame | None) -> Figure:
    """Two panels: with structure and without."""
    from gradfeat.catalogue.shared.descent_training import described

    fig, axes = panels(2, 2, (4.6, 3.4))
    titles = {"yes": "Inputs with structure", "no": "Uniform patterns: no structure"}
    predicted = {} if theory_table is None else _levels(theory_table)
    for ax, (structure, title) in zip(axes, titles.items(), strict=True):
        style.dress(ax, title, "gradient step", "test accuracy", "y")
        ax.set_ylim(0.4, 1.03)
        _panel(ax, table, structure, predicted.get(structure, math.nan))
    return finished(fig, axes, f"{described(table)} Points: {over_seeds(table)}.")


def _levels(theory_table: pd.DataFrame) -> dict[str, float]:
    return dict(zip(theory_table["structure"], theory_table["best_linear"], strict=True))


FIXED = {"method": ["ntk", "random features"], "structure": "yes"}

EXPERIMENT = Experiment(
    name="shi22-accuracy",
    question="Does a trained network learn what no method with fixed features can?",
    batch=batch,
    batch_size=4,
    grids={
        "quick": {
            "method": list(NAMES),
            "structure": ["yes", "no"],
            "d": 100,
            "m": 300,
            "steps": 300,
            "n_first": 10_000,
            "n_batch": 500,
            "n_fixed": 1_500,
            "n_test": 10_000,
        },
        "paper": {"method": list(NAMES), "structure": ["yes", "no"]},
    },
    small={
        "d": 24,
        "D": 16,
        "k": 3,
        "m": 32,
        "steps": 6,
        "n_first": 200,
        "n_batch": 50,
        "n_fixed": 100,
        "n_test": 200,
    },
    seeds={"quick": 4, "paper": 10},
    theory=theory,
    figure=figure,
    claims=(
        Claim(
            "With structure in the inputs the network's accuracy reaches 1 (above 0.99).",
            "Shi22, Theorem 1 and the synthetic experiments",
            above("accuracy", 0.99, {"method": "network", "structure": "yes"}),
        ),
        Claim(
            "Fixed features do not beat the best linear rule, 27/32 at k = 5, p_o = 1/2, by more"
            " than half a point, neither by descent nor by ridge.",
            "Shi22, Theorem 2 and the synthetic experiments",
            every(
                each("method", below("accuracy", 27 / 32 + 0.005, FIXED), FIXED),
                each("method", below("accuracy_ridge", 27 / 32 + 0.005, FIXED), FIXED),
            ),
        ),
        Claim(
            "Without structure every method stays at chance (0.48 to 0.52).",
            "Shi22, Theorem 3 and the synthetic experiments",
            each("method", within("accuracy", 0.48, 0.52, {"structure": "no"})),
        ),
    ),
)
