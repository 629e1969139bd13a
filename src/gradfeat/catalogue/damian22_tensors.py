"""Sample sizes at which the first gradient shows the k-th derivative tensor C_k of the target."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gradfeat.catalogue.shared.adapt_training import steeper
from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    marks_of,
    only,
    over_seeds,
    theory_line,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, agrees, each, every, lazy
from gradfeat.maths.ranges import MOST_DEGREE, MOST_ROWS, at_least, at_most, paired

NAMES = {2: "k = 2", 3: "k = 3, bias 1", 4: "k = 4"}


def trial(
    k: int, d: int, ratio: float, bias: float = 0.0, m: int = 100, *, seed: int, device: str = "cpu"
) -> dict[str, float]:
    """First gradient G_n on n = ratio d^k rows of He_k(u.x)/sqrt(k!), whose C_k alone is not 0.

    alignment = <G_n, G>^2/(|G_n| |G|)^2 over m/2 neurons, G the population gradient by its series;
    rows_needed = n |G_n - G|^2/E |G|^2, the n at which noise and the mean signal over starts are
    equal. G is 0, and both are nan, where k is odd and the neurons have no bias.
    """
    from gradfeat.catalogue.shared.first_gradients import gradient_on

    paired(m)
    at_least(2, k=k, d=d)
    at_most(MOST_DEGREE, k=k)
    at_most(MOST_ROWS, **{"ratio d^k": ratio * d**k})
    n = round(ratio * d**k)
    at_least(2, **{"ratio d^k": n})
    task = lazy.MultiIndex(d, lazy.pure_hermite(k), seed=seed)
    rows = task.sample(n, lazy.stream(seed, "train"))
    start = lazy.GradientStep(m).start(lazy.in_memory(rows.X, rows.y), seed)
    W, a = start.W[: m // 2], start.a[: m // 2]
    G = lazy.population_gradient(
        task.g.series, task.directions.numpy(), W.numpy(), a[:, 0].numpy(), bias
    )
    found = gradient_on(lazy.Sample(rows.X.to(device), rows.y.to(device)), W, a, bias)
    size = float(np.square(G).sum())
    if size < 1e-20:
        return {"alignment": math.nan, "rows_needed": math.nan}
    return {
        "alignment": float((found * G).sum() ** 2 / (np.square(found).sum() * size)),
        "rows_needed": n * float(np.square(found - G).sum()) / (2 * m * signal(k, d, bias)),
    }


#: Neurons whose mean stands for that over all starts: S of k = 4 is a mean of sixth powers.
THEORY_NEURONS = 20_000
#: Of them, for V, which hardly varies.
THEORY_FEW = 500


def theory(k: int, d: int, ratio: float, bias: float) -> dict[str, float]:
    """n = V/S rows are needed, and 1/(1 + V/(n S)) is the alignment, V/n variance and S signal."""
    needed = rows_needed(k, d, bias)
    return {"alignment": 1 / (1 + needed / (ratio * d**k)), "rows_needed": needed}


@cache
def rows_needed(k: int, d: int, bias: float) -> float:
    """V/S of the mean over starts; nan where the series of the gradient is 0."""
    S = signal(k, d, bias)
    few = _starts(d)[:THEORY_FEW]
    V = float(lazy.sampling_variance(lazy.pure_hermite(k), np.eye(d)[:, :1], few, bias).mean())
    return V / S if S > 1e-20 else math.nan


@cache
def signal(k: int, d: int, bias: float) -> float:
    """S, the mean over starts of |G_j|^2/(4 a_j^2)."""
    g, U = lazy.pure_hermite(k), np.eye(d)[:, :1]
    return float(np.square(lazy.gradient_series(g, U, _starts(d), bias)).sum(1).mean())


def _starts(d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(THEORY_NEURONS, d)) / d**0.5


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Alignment over n/d^k at the largest d; n at which signal equals noise, over d."""
    _, axes = panels(2, 2, (5.2, 3.9))
    left = "Alignment of the gradient with its population value"
    style.dress(axes[0], left, "$n/d^k$", r"$\cos^2(G_n, G)$", "both")
    right = "Sample size at which signal equals noise"
    style.dress(axes[1], right, "number of inputs d", "n", "both")
    marks = marks_of({k: NAMES.get(k, f"k = {k}") for k in sorted({*table["k"]})})
    for k, mark in marks.items():
        rows = only(table, k=k).dropna(subset=["alignment"])
        if len(rows):
            _alignment(axes[0], only(rows, d=rows["d"].max()), mark, theory_table is not None)
            rows = only(rows, ratio=rows["ratio"].max())
            draw_metric(axes[1], rows, "d", "rows_needed", mark)
            if theory_table is not None:
                theory_line(axes[1], rows, "d", "rows_needed", theory, mark.color, "", 6)
                _power(axes[1], rows, k)
    style.logarithmic(axes[0], "x")
    axes[0].set_ylim(0, 1.05)
    axes[1].set_yscale("log")
    style.tick_at(axes[1], table["d"], 2)
    return finished(
        axes,
        rf"Target $He_k/\sqrt{{k!}}$ of one direction, {int(table['m'].iloc[0]) // 2} ReLU neurons "
        "at their start. Lines: exact sampling variance over signal; dashed: $d^k$. Points: "
        f"{over_seeds(table)}.{averaged(table, 'm')}",
    )


def _alignment(ax: Axes, rows: DataFrame, mark: style.Mark, lines: bool) -> None:
    draw_metric(ax, rows, "ratio", "alignment", mark)
    if lines:
        first = rows.iloc[0]
        ratios = np.geomspace(rows["ratio"].min(), rows["ratio"].max(), 40)
        cell = int(first["k"]), int(first["d"])
        values = [theory(*cell, r, float(first["bias"]))["alignment"] for r in ratios]
        series.line(ax, ratios, np.array(values), "", mark.color)


def _power(ax: Axes, rows: DataFrame, k: int) -> None:
    d = np.array([rows["d"].min(), rows["d"].max()], float)
    ax.plot(d, d**k, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)


RATIOS = [0.1, 0.3, 1.0, 3.0]
MANY = {"ratio": 3.0}

EXPERIMENT = Experiment(
    name="damian22-tensors",
    question="How many samples does it take to see the k-th derivative tensor of the target?",
    about="""
The population gradient of a neuron is a series in the expected derivatives C_k = E grad^k f*
(Damian22, equation 1). Its term in C_k has size d^(-(k-1)/2), sampling noise has size
(d/n)^(1/2), and from their ratio the talk concludes that C_k takes n ~ d^k rows. The target
He_k(u.x)/sqrt(k!) has C_k alone, so that the gradient is this term, and the sample size at which
signal equals noise is V/S with V/n the exact sampling variance.

The power d^k is that of large d: on d = 6 to 16 the exact V/S grows more slowly, as the second
moment of a polynomial of degree k along u adds to V a constant that d has to outgrow. Of ReLU
neurons without bias the coefficient c_3 is 0 (as are all odd ones from there on), so the term c_3
C_3(w, w) of the talk's equation vanishes at Algorithm 1's start and no sample size shows C_3;
with bias 1 it does not vanish, and that is what is drawn for k = 3.""",
    trial=trial,
    grids={
        "quick": [
            {"k": 2, "d": [8, 16, 32], "ratio": RATIOS},
            {"k": 3, "bias": 1.0, "d": [8, 12, 16], "ratio": RATIOS},
            {"k": 4, "d": [6, 8, 12], "ratio": RATIOS},
        ],
        "paper": [
            {"k": 2, "d": [6, 8, 12, 16, 32], "ratio": [*RATIOS, 10.0]},
            {"k": 3, "bias": 1.0, "d": [6, 8, 12, 16, 32], "ratio": [*RATIOS, 10.0]},
            {"k": 4, "d": [6, 8, 12, 16], "ratio": [*RATIOS, 10.0]},
        ],
    },
    small={"k": [2, 3], "d": [4, 6], "ratio": [1.0, 4.0], "bias": 1.0, "m": 20},
    seeds={"quick": 60, "paper": 40},
    theory=theory,
    figure=figure,
    checks={
        "The sample size at which signal equals noise is the exact V/S, within 30 %."
        " [Damian22, section 4: the Hermite expansion of the gradient; the delta method]": each(
            "k", near("rows_needed", theory, 0.3, MANY)
        ),
        "Gradients of n = 3 d^k rows align with the population gradient as V/(n S) says: cos^2"
        " within 0.15."
        " [Damian22, section 4: n of at least d^k for C_k]": agrees(
            "alignment", theory, MANY, 2.0, margin=0.15
        ),
        "Each further derivative costs a larger power of d: the exponent rises from k = 2 to 3 and"
        " from 3 to 4."
        " [Damian22, section 4: n of at least d^k for C_k]": every(
            *(steeper("rows_needed", "d", {"k": k, **MANY}, {"k": k + 1, **MANY}) for k in (2, 3))
        ),
    },
)
