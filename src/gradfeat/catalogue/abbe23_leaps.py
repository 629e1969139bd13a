"""Staircases: rows that a network trained online needs for its second direction, by the leap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import draw_metric, law_line, only, over_seeds
from gradfeat.drawing import style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, lazy, ordered, slope
from gradfeat.maths.ranges import at_least, at_most, positive

if TYPE_CHECKING:
    from gradfeat.models.descent.loop import Source

#: Steps between two looks at the network; steps whose rows are drawn at once; points of a path.
EVERY, CHUNK, PLACES = 10, 20, 60


def batch(
    leap: int,
    d: int,
    c: float = 0.25,
    level: float = 0.3,
    m: int = 60,
    rows: int = 16,
    most: int = 3_000_000,
    *,
    seeds: Sequence[int],
) -> list[dict[str, float | np.ndarray]]:
    """y = x_1 (1 + He_L(x_2)/sqrt(L!))/sqrt 2, L the `leap`: x_1 first, then L factors x_2 at once.

    A ReLU network of `m` neurons, whose heads start at +-m^{-1/2}, all layers trained on the
    squared loss by fresh batches of `rows`, step size c d^{-max(1, L/2)} a row. share_i =
    sum_j a_j^2 w_ji^2/sum_j a_j^2 |w_j|^2; `needed` is the number of rows at which share_2 is
    `level`, nan beyond `most`, `needed_first` that of share_1, `waited` the difference, and the
    paths hold both shares over `rows_seen`.

    `per_d_log_d` is needed/(d log d).
    """
    import torch

    from gradfeat.catalogue.shared.descent_training import starts

    at_least(1, leap=leap, m=m, rows=rows)
    at_least(3, d=d)
    at_least(rows * EVERY, most=most)
    at_most(6, leap=leap)
    positive(c=c, level=level)
    at_most(0.9, level=level)
    eta = c * float(d) ** -max(1.0, leap / 2) * rows / 2
    scale = m**-0.5
    start = lazy.Start(scale * d**-0.5, scale, scale, antisymmetric=False)
    drawn = starts(lazy.GradientDescent(m, start=start), d, seeds, torch.float32, "cpu")
    layers = lazy.Layers(drawn.W, drawn.b, drawn.a.sign() * scale)
    phases = [lazy.Phase(most // rows, eta, batch=rows)]
    source, seen = _fresh(leap, d, seeds), []
    for state in lazy.descend(
        layers, source, phases, lazy.Squared(), lazy.ReLU(), lazy.AllLayers()
    ):
        if state.step % EVERY == 0:
            square = (state.layers.a * state.layers.W).square().sum(1)
            shares = (square[:, :2] / square.sum(1, keepdim=True)).numpy()
            seen.append((state.step * rows, shares))
            if state.step % (100 * EVERY) == 0 and (seen[-1][1][:, 1] > level).all():
                break
    n, shares = np.array([n for n, _ in seen], float), np.stack([s for _, s in seen], 1)
    return [_found(n, own, level, d * math.log(d)) for own in shares]


def _fresh(leap: int, d: int, seeds: Sequence[int]) -> Source:
    """New rows at every step, each network's from one generator."""
    import torch

    generators, held = [lazy.stream(seed, "rows") for seed in seeds], []

    def rows(step: int, size: int | None) -> lazy.Batch:
        n, place = size or 1, (step - 1) % CHUNK
        if place == 0:
            shape = (CHUNK, n, d)
            drawn = [torch.randn(shape, generator=g) for g in generators]
            held[:] = [torch.stack(drawn, 1)]
        X = held[0][place]
        factor = torch.from_numpy(
            lazy.orthonormal_hermite(leap, X[..., 1:2].numpy())[..., leap]
        ).to(X)
        y = X[..., :1] * (1 + factor) / math.sqrt(2)
        return lazy.Batch(X, y, torch.full_like(y, 1 / n))

    return rows


def _found(
    n: np.ndarray, shares: np.ndarray, level: float, law: float
) -> dict[str, float | np.ndarray]:
    """First rows at the level, and the paths, of a network: shares (looks, 2)."""
    from gradfeat.catalogue.shared.descent_training import spaced_steps

    kept = np.array(spaced_steps(len(n), PLACES)) - 1
    hit = shares >= level
    first, needed = (float(n[h.argmax()]) if h.any() else math.nan for h in hit.T)
    paths = {"rows_seen": n[kept], "share_1": shares[kept, 0], "share_2": shares[kept, 1]}
    return {
        "needed_first": first,
        "needed": needed,
        "waited": needed - first,
        "per_d_log_d": needed / law,
        **paths,
    }


COLORS = {1: style.BLUE, 2: style.GREEN, 3: style.VERMILLION}
LAWS = {1: "d", 2: "d log d", 3: "$d^2$"}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:  # noqa: ARG001
    """Rows needed over d with the laws' slopes; how both shares grow in the largest networks."""
    _, axes = panels(2, 2, (5.0, 4.0))
    style.dress(axes[0], "Rows until $x_2$ is found", "number of inputs d", "rows", "both")
    for leap, color in COLORS.items():
        mark = style.Mark(f"leap {leap}: {LAWS[leap]}", color, "oDs"[leap - 1])
        if found := draw_metric(axes[0], only(table, leap=leap), "d", "needed", mark):
            law_line(axes[0], found, partial(_law, leap), "", color)
    axes[0].set_yscale("log")
    style.tick_at(axes[0], table["d"], 2)
    _shares(axes[1], table)
    return finished(
        axes,
        f"ReLU network of {table['m'].iloc[0]} neurons, all layers trained online,"
        f" {over_seeds(table)}. Lines on the left: powers of theory at the height of the points.",
    )


def _law(leap: int, d: np.ndarray) -> np.ndarray:
    return d ** lazy.time_exponent(leap) * (np.log(d) if leap == 2 else 1.0)


def _shares(ax: Axes, table: DataFrame) -> None:
    """The second direction's share in one run of each leap, over rows divided by d."""
    style.dress(ax, "Shares of both directions", "rows / d", "share of the first layer", "both")
    for leap, color in COLORS.items():
        rows = only(table, leap=leap)
        if len(rows):
            row = rows.loc[rows["d"].idxmax()]
            x, name = row["rows_seen"] / row["d"], f"leap {leap}, d = {row['d']}"
            ax.plot(x, row["share_2"], color=color, linewidth=1.2, label=name)
            ax.plot(x, row["share_1"], color=color, linewidth=0.8, linestyle=style.DASHES)
    style.logarithmic(ax, "x")
    ax.plot([], [], color=style.QUIET, linewidth=0.8, linestyle=style.DASHES, label="direction 1")


EXPERIMENT = Experiment(
    name="abbe23-leaps",
    question="How many rows does a staircase target need, by the size of its largest leap?",
    about="""
y = x_1 (1 + He_L(x_2)/sqrt(L!))/sqrt 2 on Gaussian inputs: a network learns x_1 from about d rows,
and then x_2 through the product, in which L factors x_2 come at once. L is the leap, and online
SGD takes d^{max(1, L - 1)} rows, with a factor log d at L = 2 (Abbe et al. 2023): without the step
x_1 the target has the information exponent L + 1. All layers of a ReLU network are trained with
fresh rows. The squared weights of a neuron, times its squared head, say how much of the network
reads an input; the second input is found when its share comes to a level: 0.3, and 0.05 for leap
3, where the way from there on takes d^{3/2} rows, which at these d is not little beside d^2.""",
    batch=batch,
    batch_size=10,
    grids={
        "quick": [
            {"leap": [1, 2], "d": [64, 128, 256, 512]},
            {"leap": 3, "d": [64, 128, 256], "level": 0.05, "rows": 64},
        ],
        "paper": [
            {"leap": [1, 2], "d": [64, 128, 256, 512, 1_024]},
            {"leap": 3, "d": [64, 128, 256, 512], "level": 0.05, "rows": 64, "most": 20_000_000},
        ],
    },
    small={"leap": [1, 2], "d": [6, 10], "m": 6, "most": 4_000},
    seeds={"quick": 20, "paper": 24},
    figure=figure,
    checks={
        "A leap of 1 takes d rows: the slope is within 0.15 of 1."
        " [Abbe et al. 2023, Theorem 1]": slope("needed", "d", 0.85, 1.15, {"leap": 1}),
        "A leap of 2 takes d log d rows: rows/(d log d) has a slope within 0.15 of 0."
        " [Abbe et al. 2023, Theorem 1]": slope("per_d_log_d", "d", -0.15, 0.15, {"leap": 2}),
        "A leap of 3 takes d^2 rows after the first direction: the slope is within 0.15 of 2."
        " [Abbe et al. 2023, Theorem 1]": slope("waited", "d", 1.85, 2.15, {"leap": 3}),
        "The larger the leap, the more rows at the same d. [Abbe et al. 2023, section 1]": ordered(
            "needed", "leap", {"d": 256}
        ),
    },
)
