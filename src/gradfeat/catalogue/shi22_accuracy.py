"""Test accuracy against gradient step: the network, its linearisation, its random features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.catalogue.shared.curves import draw_series, only, over_seeds, settings
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, each, every, lazy, within

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor
    from gradfeat.models.descent.gradient_descent import GradientDescent
    from gradfeat.models.descent.layers import Layers
    from gradfeat.models.descent.loop import Source
    from gradfeat.tasks.base import Sample, Task

#: delta and epsilon of Theorem 1.
RISK = 0.01
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

    `over_linear` is the accuracy less that of the best linear function of the patterns,
    `accuracy_ridge` the accuracy of fixed features with a head by ridge.
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
    linear = lazy.best_linear_accuracy(k, p_o) if structure == "yes" else 0.5
    return [
        {
            "accuracy": seen[-1],
            "over_linear": seen[-1] - linear,
            "accuracy_ridge": ridge,
            "step": steps_seen,
            "path": np.array(seen),
        }
        for seen, ridge in zip(path, best, strict=True)
    ]


def _rows(
    tasks: Sequence[Task], seeds: Sequence[int], n: int, name: str, like: Tensor
) -> list[Sample]:
    """A sample of each task from a stream of its seed, on the device and in the type of `like`."""
    from gradfeat.catalogue.shared.descent_training import placed

    pairs = zip(tasks, seeds, strict=True)
    return [placed(task.sample(n, lazy.stream(seed, name)), like) for task, seed in pairs]


def _train(
    learner: GradientDescent, start: Layers, rows: Source, tests: Sequence[Sample]
) -> list[list[float]]:
    """Accuracy at the evaluation steps, a list a network."""
    from gradfeat.catalogue.shared.descent_training import accuracy, evaluation_steps

    steps = sum(phase.steps for phase in learner.phases)
    wanted, seen = set(evaluation_steps(steps)), [[] for _ in tests]
    what = lazy.trained(learner.trains, start)
    for state in lazy.descend(
        start, rows, learner.phases, lazy.Hinge(), lazy.TruncatedReLU(), what
    ):
        if state.step in wanted:
            for i, test in enumerate(tests):
                seen[i].append(accuracy(learner.predictor(start, state.layers, i), test))
    return seen


def _ridge(learner: GradientDescent, start: Layers, i: int, seed: int, train: Sample) -> Predictor:
    """The best ridge fit of the same fixed features."""
    if learner.trains == "linearisation":
        ntk = lazy.TangentRidge(learner.width, learner.activation, learner.start)
        return ntk.fit(lazy.in_memory(train.X, train.y), seed=seed)
    net = start.network(i, learner.activation)
    a, offset, _ = lazy.RidgeHead().fit(
        lazy.in_memory(net.features(train.X).double(), train.y.double())
    )
    return replace(net, a=a.to(net.a), offset=offset.to(net.a))


def theory(structure: str, D: int, k: int, p_o: float, m: int) -> dict[str, float]:
    """The best linear accuracy (27/32 at k = 5, p_o = 1/2); Theorem 1's conditions, constants 1."""
    if structure == "no":
        return {"best_linear": 0.5}
    sizes = lazy.guarantee_sizes(D, k, m, gamma=(1 - p_o) / 2, delta=RISK, eps=RISK)
    return {"best_linear": lazy.best_linear_accuracy(k, p_o)} | sizes


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Accuracy by step with structure and without, and the network's over k and p_o."""
    from gradfeat.catalogue.shared.descent_training import described

    first = settings(table, "D", "k", "p_o")[0]
    own, swept = _curves_of(table, first), settings(only(table, structure="yes"), "k", "p_o")
    fig, axes = panels(2 + (len(swept) > 1), 3, (4.6, 3.5))
    titles = {"yes": "Inputs with structure", "no": "Uniform patterns: no structure"}
    for ax, (structure, title) in zip(axes, titles.items(), strict=False):
        style.dress(ax, title, "gradient step", "test accuracy", "y")
        ax.set_ylim(0.4, 1.06)
        level = _level(theory_table, structure, *first)
        _panel(ax, only(own, structure=structure), "best linear function", level)
    if len(swept) > 1:
        _sweep(fig, axes[2], only(table, method="network", structure="yes"), theory_table)
    text = f"{described(own)} Points: {over_seeds(table)}."
    return finished(axes[:2], text + (SWEPT if len(swept) > 1 else ""))


SWEPT = " Right: accuracy at the last step, in brackets the best linear one."


def _curves_of(table: DataFrame, first: tuple[object, ...]) -> DataFrame:
    """The rows of one D, k and p_o, of the schedule that most methods have."""
    rows = only(table, **dict(zip(("D", "k", "p_o"), first, strict=True)))
    return only(rows, steps=rows["steps"].iloc[0])


def _panel(ax: Axes, rows: DataFrame, words: str, level: float) -> None:
    draw_series(ax, rows, "method", NAMES, "step", "path", connect=True, apart=3)
    series.key_level(ax, level, words)
    last = int(np.max(rows["steps"].to_numpy())) if len(rows) else 300
    ax.set_xscale("symlog", linthresh=2)
    ax.set_xlim(0.7, 1.3 * last)
    ticks = [*(step for step in (1, 2, 5, 10, 30, 100) if step < last), last]
    ax.set_xticks(ticks, [str(step) for step in ticks])
    ax.set_xticks([], minor=True)


def _level(theory_table: DataFrame | None, structure: str, D: Any, k: Any, p_o: Any) -> float:
    if theory_table is None:
        return math.nan
    found = only(theory_table, structure=structure, D=D, k=k, p_o=p_o)["best_linear"]
    return float(found.iloc[0]) if len(found) else math.nan


def _sweep(fig: Figure, ax: Axes, rows: DataFrame, theory_table: DataFrame | None) -> None:
    """Accuracy of the network as colours over p_o and k."""
    ks, shares = sorted({*rows["k"]}), sorted({*rows["p_o"]})
    means = np.full((len(ks), len(shares)), np.nan)
    style.dress(ax, "Network by k and $p_o$", "$p_o$, weight of the parity part", "k")
    for i, k in enumerate(ks):
        for j, p_o in enumerate(shares):
            found = only(rows, k=k, p_o=p_o)
            if found.empty:
                continue
            # Where a cell was also trained for fewer steps, the longest run counts.
            found = only(found, steps=found["steps"].max())
            means[i, j] = np.mean(found["accuracy"].tolist())
            linear = _level(theory_table, "yes", found["D"].iloc[0], k, p_o)
            words = f"{means[i, j]:.3f}" + ("" if math.isnan(linear) else f"\n({linear:.3f})")
            ax.text(j, i, words, ha="center", va="center", fontsize=style.SMALL)
    # The darkest half of the colours is left out: numbers stand on them.
    shown = ax.imshow(means, cmap="Blues", vmin=0.5, vmax=1.5, origin="lower", aspect="auto")
    ax.set_xticks(range(len(shares)), [f"{p:g}" for p in shares])
    ax.set_yticks(range(len(ks)), [str(k) for k in ks])
    bar = fig.colorbar(shown, ax=ax, fraction=0.05, pad=0.02)
    style.color_bar(bar, "test accuracy")
    bar.ax.set_ylim(0.5, 1.0)


ABOUT = """Sparse coding: x = M phi, the label depends on how many of the k patterns in A are
present. With structure (the hard instance) the label is the parity of that number with weight
p_o, and otherwise all k patterns (label 1) or none (label -1) are present; without structure all
patterns are independent and uniform and the label is the parity. The network, its linearisation
(NTK) and its random features are trained by the hinge loss from the same start on fresh rows; the
fixed features are fitted by ridge too. The talk shows test accuracy against steps with and
without structure.

Theorem 1 promises a loss below epsilon if k >= log^2(D m/(delta gamma)), p_o >= k^2/D and m >=
max(k^12/epsilon^(3/2), D), each up to a constant that it leaves open. With these constants 1 and
delta = epsilon = 0.01, k = 5, p_o = 1/2, D = 100, m = 300 the numbers are k >= 266, p_o >= 0.25,
m >= 2.4 x 10^11: no network that can be trained meets them, and the condition on k contradicts k
<= D. The theorem's message, a wide range of p_o and k, is tested as such: on the right the
network's accuracy over both, far outside of the conditions. At k = 7 it stays at 0.94 to 0.99
within 600 steps of 300 neurons: above the best linear function, but not at 1."""

FIXED = {"method": ["ntk", "random features"], "structure": "yes"}

QUICK = {
    "d": 100,
    "m": 300,
    "steps": 300,
    "n_first": 10_000,
    "n_batch": 500,
    "n_fixed": 1_500,
    "n_test": 10_000,
}
SWEEP = {"method": "network", "structure": "yes", "k": [3, 5, 7], "p_o": [0.1, 0.25, 0.5]}
SWEPT_CELLS: dict[str, Any] = {"method": "network", "structure": "yes"}
#: The talk's cell.
TALK = {"k": 5, "p_o": 0.5}

EXPERIMENT = Experiment(
    name="shi22-accuracy",
    question="Does a trained network learn what no method with fixed features can?",
    about=ABOUT,
    batch=batch,
    batch_size=4,
    grids={
        "quick": [
            {"method": list(NAMES), "structure": ["yes", "no"], **QUICK},
            {**SWEEP, **QUICK, "steps": 600},
        ],
        "paper": [
            {"method": list(NAMES), "structure": ["yes", "no"]},
            {**SWEEP, "k": [3, 5, 7, 9], "steps": 1_000},
        ],
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
    checks={
        "With structure in the inputs the network's accuracy reaches 1 (above 0.99)."
        " [Shi22, Theorem 1 and the synthetic experiments]": above(
            "accuracy", 0.99, {"method": "network", "structure": "yes", **TALK}
        ),
        "For k = 3 and 5 and every p_o from 0.1 to 0.5 the network's accuracy is above 0.99."
        " [Shi22, Theorem 1: a wide range of p_o and k]": each(
            "k p_o", above("accuracy", 0.99), SWEPT_CELLS | {"k": [3, 5]}
        ),
        "There and for k = 7 no linear function of the patterns reaches the network's accuracy: the"
        " best one is below."
        " [Shi22, Theorems 1 and 2]": each("k p_o", above("over_linear", 0.0), SWEPT_CELLS),
        "Fixed features do not beat the best linear rule, 27/32 at k = 5, p_o = 1/2, by more than"
        " half a point, neither by descent nor by ridge."
        " [Shi22, Theorem 2 and the synthetic experiments]": every(
            each("method", below("accuracy", 27 / 32 + 0.005, FIXED), FIXED),
            each("method", below("accuracy_ridge", 27 / 32 + 0.005, FIXED), FIXED),
        ),
        "Without structure every method stays at chance (0.48 to 0.52)."
        " [Shi22, Theorem 3 and the synthetic experiments]": each(
            "method", within("accuracy", 0.48, 0.52, {"structure": "no"})
        ),
    },
)
