"""Neurons after one and two gradient steps: how close to the truth, and how clear the signal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.catalogue.shared.curves import draw_metric, only, over_seeds, settings
from gradfeat.drawing import series, style
from gradfeat.drawing.neuron_map import ColorScale, draw_neuron_maps
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, each, every, greater, lazy, ratio, within
from gradfeat.maths.ranges import at_least

if TYPE_CHECKING:
    from gradfeat.drawing.style import Mark
    from gradfeat.models.descent.layers import Layers
    from gradfeat.tasks.sparse_coding import SparseCoding
    from gradfeat.theory.shi22_moments import GradientMoments

#: Theory at n.
Predicted = Callable[[float], Mapping[str, float]]

#: Neurons that are compared one by one with theory.
COMPARED = 50
STAGES = ("at the start", "after step 1", "after step 2")


def trial(
    n: int,
    structure: str = "yes",
    d: int = 500,
    D: int = 100,
    k: int = 5,
    p_o: float = 0.5,
    m: int = 600,
    map_neurons: int = 300,
    dtype: str = "float32",
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float | np.ndarray]:
    """Two steps on n fresh rows each: median |cos| with the truth, T_j in and outside A.

    `leading_ratio` is T_j in A of step 1 over Lemma 5's leading term, neuron by neuron. The map of
    `map_neurons` neurons is made for seed 0 alone (0 makes none).

    After step i = 0, 1, 2 `cosine_*` is the median |cos|; in steps 1 and 2 `signal_*` is the
    mean |T_j| in A, `noise_*` the root mean square of T_j outside, and `ratio_*` their ratio, each
    the median over neurons.
    """
    from gradfeat.catalogue.shared.descent_training import (
        float_type,
        fresh_rows,
        instance,
        learner_of,
        starts,
    )

    at_least(1, n=n)
    at_least(0, map_neurons=map_neurons)
    task = instance(structure, d, D, k, p_o, seed)
    learner = learner_of("network", k, D, p_o, m, 2, n, n)
    start = starts(learner, d, [seed], float_type(dtype), device)
    rows = fresh_rows([task], [seed], float_type(dtype), device)
    stages, found = [start], {"cosine_0": _median_cosine(start, task)}
    for state in lazy.descend(
        start, rows, learner.phases, lazy.Hinge(), lazy.TruncatedReLU(), lazy.AllLayers()
    ):
        head = stages[-1].a[0, :, 0].double()
        signal = lazy.pattern_signal(
            -state.gradient.W[0].double(), head, task.dictionary.to(head), range(k)
        )
        stages.append(state.layers)
        found = {
            f"cosine_{state.step}": _median_cosine(state.layers, task),
            f"signal_{state.step}": float(signal.inside.nanmedian()),
            f"noise_{state.step}": float(signal.outside.nanmedian()),
            f"ratio_{state.step}": signal.median_ratio,
        } | found
        if state.step == 1:
            found["leading_ratio"] = _to_leading(start, task, signal.inside.numpy(force=True))
    drawn = seed == 0 and map_neurons > 0
    return found | (_maps(stages, task, map_neurons) if drawn else {})


def _to_leading(start: Layers, task: SparseCoding, inside: np.ndarray) -> float:
    """Median over 50 neurons of T_j in A over the leading term; nan where gamma = 0."""
    if not task.gamma > 0:
        return float("nan")
    law = lazy.PatternLaw.hard_instance(task.D, task.k, task.p_o)
    W, b = start.W[0, :COMPARED].double().cpu(), start.b[0, :COMPARED].double().cpu()
    leading = lazy.leading_signal(law, (W @ task.dictionary).numpy(), b.numpy(), task.k**-1.5)
    return float(np.median(inside[:COMPARED] / leading))


def _median_cosine(layers: Layers, task: SparseCoding) -> float:
    W = layers.W[0].double()
    return float(lazy.cosines(W, task.directions.to(W)).median())


def _maps(stages: list[Layers], task: SparseCoding, size: int) -> dict[str, np.ndarray]:
    """Positions of neurons and stars in each stage, and the neurons' |cos| with the truth."""
    import torch

    truth = task.directions
    weights = [stage.W[0].double().cpu() for stage in stages]
    maps = lazy.neuron_maps(weights, truth, size=size)
    shades = [
        lazy.cosines(W, truth)[found.indices, 0] for W, found in zip(weights, maps, strict=True)
    ]
    return {
        "map_points": np.stack([found.points for found in maps]),
        "map_stars": np.stack([found.stars for found in maps]),
        "map_cosines": torch.stack(shades).numpy(),
    }


def theory(n: float, structure: str, D: int, k: int, p_o: float, m: int) -> dict[str, float]:
    """Medians over 200 neurons of a fixed draw, from the exact moments of the gradient.

    Regime: step 2 from the population's step 1, with all rows counting (f nearly 0).
    """
    first, second = _steps(structure, D, k, p_o, m)
    return _predicted(first, 1, n) | _predicted(second, 2, n)


@lru_cache(64)
def _steps(
    structure: str, D: int, k: int, p_o: float, m: int
) -> tuple[GradientMoments, GradientMoments]:
    """The moments of both steps, which do not depend on the number of rows."""
    odd = range(1, k + 1, 2)
    hard = lazy.PatternLaw.hard_instance(D, k, p_o)
    law = hard if structure == "yes" else lazy.PatternLaw.uniform(D, k, odd)
    draw = np.random.default_rng(0)
    Q, b = draw.standard_normal((200, D)) / k, draw.standard_normal(200) / k**2
    a = draw.standard_normal(200) * hard.sigma**2 / (hard.gamma * k**2)
    first = lazy.gradient_moments(law, Q, b, k**-1.5)
    Q, b = lazy.population_step(law, Q, b, a, k**-1.5, lazy.SHI22_STEP_SIZES[0] / m)
    second = lazy.gradient_moments(law, Q, b, k**-1.5)
    return first, second


def _predicted(moments: GradientMoments, step: int, n: float) -> dict[str, float]:
    inside = np.abs(moments.T[:, : moments.k]).mean(1)
    outside = np.sqrt((moments.T**2 + moments.variance / n)[:, moments.k :].mean(1))
    return {
        f"cosine_{step}": float(np.nanmedian(lazy.predicted_cosine(moments, n))),
        f"signal_{step}": float(np.nanmedian(inside)),
        f"noise_{step}": float(np.nanmedian(outside)),
        f"ratio_{step}": float(np.nanmedian(inside / outside)),
    }


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Above the map of neurons at three stages, below angles and T_j against n.

    The maps are left out where no row has one, what needs structure where no row has it.
    """
    from gradfeat.catalogue.shared.descent_training import described

    mapped, structured = len(_with_map(table)) > 0, only(table, **YES)
    sizes = settings(structured, "D", "k")[:2]
    fig, axes = panels(3 * mapped + 1 + len(sizes), 3, (3.6, 3.2))
    if mapped:
        _draw_maps(fig, axes[:3], table)
    lines = theory_table is not None
    first = settings(table, "D", "k")[0]
    below = axes[3 * mapped :]
    _angles(below[0], _sized(table, first), lines)
    for ax, size in zip(below[1:], sizes, strict=True):
        _signals(ax, _sized(structured, size), lines)
    maps = ""
    if mapped:
        n = _drawn(_with_map(table))["n"]
        maps = f" Maps: neurons placed by pairwise cosines, one seed, n = {n:,}."
    return finished(
        below, f"{described(table, first)} Points: {over_seeds(table)}; lines: theory.{maps}"
    )


def _sized(table: DataFrame, size: tuple[object, ...]) -> DataFrame:
    return only(table, D=size[0], k=size[1])


def _angles(ax: Axes, table: DataFrame, lines: bool) -> None:
    """1 - |cos| with the truth after each step, with structure and without."""
    style.dress(ax, "Misalignment with the truth", "samples in a gradient", "1 - median |cos|")
    names = {"yes 1": "step 1", "yes 2": "step 2", "no 2": "step 2, no structure"}
    missing = {f"gap_{s}": 1 - table[f"cosine_{s}"] for s in (1, 2)}
    _curves(ax, table.assign(**missing), "gap", names, style.class_marks(tuple(names.values())))
    if lines:
        _lines(ax, table, "gap", style.class_marks(tuple(names.values())))
    _logarithmic(ax)


def _signals(ax: Axes, table: DataFrame, lines: bool) -> None:
    """T_j in A and outside, of both steps; the theory of each."""
    D, k = settings(table, "D", "k")[0]
    title = f"Gradient along $M_j$: D = {D}, k = {k}"
    style.dress(ax, title, "samples in a gradient", r"size of $T_j$")
    marks = style.class_marks(("step 1, in A", "step 2, in A"))
    hollow = style.class_marks(("", "", "", "step 1, outside A", "step 2, outside A"))[3:]
    for metric, own in (("signal", marks), ("noise", hollow)):
        _curves(ax, table, metric, {"yes 1": own[0].label, "yes 2": own[1].label}, own)
        if lines:
            _lines(ax, table, metric, own)
    _logarithmic(ax)


def _curves(
    ax: Axes, table: DataFrame, metric: str, names: Mapping[str, str], marks: Sequence[Mark]
) -> None:
    """A metric of each step against n, with structure and without."""
    for place, (key, mark) in enumerate(zip(names, marks, strict=True)):
        structure, step = key.split()
        own = only(table, structure=structure)
        draw_metric(ax, own, "n", f"{metric}_{step}", mark, shift=4 * place - 2)


def _lines(ax: Axes, table: DataFrame, metric: str, marks: Sequence[Mark]) -> None:
    """The theory of both steps along n."""
    rows = only(table, **YES)
    if rows.empty:
        return
    n = np.geomspace(rows["n"].min(), rows["n"].max(), 40)
    predicted = list(map(_along(rows), n))
    for step, mark in zip((1, 2), marks, strict=False):
        y = np.array([one[f"{metric}_{step}"] for one in predicted])
        series.line(ax, n, y, "theory" if step == 1 else "", mark.color)


def _logarithmic(ax: Axes) -> None:
    if ax.containers:
        ax.set(xscale="log", yscale="log")
    style.grid(ax)


def _along(table: DataFrame) -> Predicted:
    """The theory against n with structure, the mean over the settings that points are means of."""
    names = ("D", "k", "p_o", "m")
    rows = settings(table, *names)
    cells: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]

    def predicted(n: float) -> dict[str, float]:
        found = [theory(n, "yes", **cell) for cell in cells]
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        return mean | {f"gap_{s}": 1 - mean[f"cosine_{s}"] for s in (1, 2)}

    return predicted


def _with_map(table: DataFrame) -> DataFrame:
    rows = only(table, seed=0, structure="yes")
    return rows.dropna(subset="map_points") if "map_points" in rows else rows.iloc[:0]


def _draw_maps(fig: Figure, axes: list[Axes], table: DataFrame) -> None:
    row = _drawn(_with_map(table))
    cosines = ColorScale(list(row["map_cosines"]), "|cos| with the truth")
    titles = [f"Neurons {stage}" for stage in STAGES]
    draw_neuron_maps(fig, axes, list(row["map_points"]), titles, cosines, list(row["map_stars"]))
    for i, ax in enumerate(axes):
        words = f"median |cos| {row[f'cosine_{i}']:.3f}"
        ax.text(0.5, 0.03, words, transform=ax.transAxes, ha="center", fontsize=style.SMALL)


def _drawn(rows: DataFrame) -> dict[str, Any]:
    """The least n of 1,000 or more: with many samples all neurons of a side are one point."""
    enough = rows.loc[rows["n"] >= 1_000]
    chosen = enough if len(enough) else rows
    return chosen.iloc[int(np.argmin(chosen["n"]))].to_dict()


YES = {"structure": "yes"}
ENOUGH = {"structure": "yes", "n": 10_000, "D": 100}
FROM_1000 = {"structure": "yes", "D": 100, "n": [1_000, 3_000, 10_000, 30_000]}
#: Few patterns: the bias of T_j outside A is above the sampling noise of 400,000 rows in step 1.
FEW: dict[str, Any] = {"structure": "yes", "d": 12, "D": 12, "k": 3, "m": 20, "map_neurons": 0}
MANY_ROWS = {"D": 12, "n": 400_000}

ABOUT = """Sparse coding with structure (the hard instance) or without, the schedule of Shi22, n
fresh rows in each of steps 1 and 2. With -dL/dw_i = a_i sum_j M_j T_j, Lemma 5 says that T_j is
of the size of gamma for the patterns that decide the label (in A) and small outside, Lemma 6 that
it is much smaller still outside A in the second step. The talk shows neurons by multidimensional
scaling of their cosines at the start, after step 1 and after step 2, with the true directions
+-sum_A M_j as stars.

Above: the same maps. Below: the angle that is left to the truth, and the sizes of T_j (the mean of
|T_j| in A, the root mean square outside; the median over neurons) as points, with the exact moments
of the gradient as lines. Outside A a sampled T_j is a bias (what the lemmas bound) and sampling
noise of the order n^(-1/2). At D = 100 the bias is 2e-5 in step 1 and below 1e-12 in step 2, so
that noise hides both below n = 10^7; at D = 12 it is 1e-3 in step 1: there step 1 comes to rest at
its bias while step 2 goes on as n^(-1/2)."""

EXPERIMENT = Experiment(
    name="shi22-emergence",
    question="Do the first two gradient steps turn random neurons into the true feature?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": [
            {"n": [1_000, 3_000, 10_000], "structure": ["yes", "no"], "d": 200, "m": 300},
            {"n": [1_000, 10_000, 100_000, 400_000], **FEW},
        ],
        "paper": [
            {"n": [300, 1_000, 3_000, 10_000, 30_000], "structure": ["yes", "no"]},
            {"n": [1_000, 10_000, 100_000, 400_000], **FEW},
        ],
    },
    small={"n": [200, 1000], "d": 24, "D": 16, "k": 3, "m": 40},
    seeds={"quick": 8, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "Neurons are closer to the truth after step 2 than after step 1, at every n."
        " [Shi22, Lemmas 5 and 6]": each(
            "n", greater("cosine_2", YES, YES, than_metric="cosine_1"), YES
        ),
        "With enough samples the median |cos| passes 0.99 after step 2 (n = 10,000)."
        " [Shi22, Lemma 6 and the figures of neurons]": above("cosine_2", 0.99, ENOUGH),
        "The signal-to-noise ratio of T_j grows from step 1 to step 2."
        " [Shi22, Lemmas 5 and 6]": each(
            "n", greater("ratio_2", YES, YES, than_metric="ratio_1"), YES
        ),
        "After step 1 T_j in A is Lemma 5's leading term, (gamma/sigma~) Pr[neuron active], within"
        " 3 % (n = 10,000, neuron by neuron)."
        " [Shi22, Lemma 5]": within("leading_ratio", 0.97, 1.03, ENOUGH),
        "Outside A, |T_j| of step 2 is below half of that of step 1 (D = 12, n = 400,000, where the"
        " bias of step 1 is above the sampling noise)."
        " [Shi22, Lemma 6]": ratio(
            "noise_2", MANY_ROWS, MANY_ROWS, high=0.5, than_metric="noise_1"
        ),
        "Cosines are those of the exact moments of the gradient, within 0.02, from n = 1,000 on."
        " [derived from Shi22, Lemmas 5 and 6]": every(
            agrees("cosine_1", theory, FROM_1000, margin=0.02),
            agrees("cosine_2", theory, FROM_1000, margin=0.02),
        ),
        "Without structure the truth does not emerge: median |cos| after step 2 below 0.2 (one"
        " random direction among D = 100 has 0.08)."
        " [Shi22, the figures of neurons]": below("cosine_2", 0.2, {"structure": "no"}),
    },
)
