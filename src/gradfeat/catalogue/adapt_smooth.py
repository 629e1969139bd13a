"""Loss against rows for targets of growing smoothness on one input: a kernel and a network."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.adapt_training import (
    UNKNOWN,
    check_rows,
    fresh_loss,
    loss_panel,
    steeper,
    training_rows,
)
from gradfeat.catalogue.shared.curves import averaged, draw_metric, marks_of, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, agrees, every, lazy, slope
from gradfeat.lab.claims import Check, slopes_by_seed
from gradfeat.maths.ranges import MOST_DEGREE, at_most, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Kernel, Predictor
    from gradfeat.theory.kernel_curve import KernelLaw

TITLES = {"kernel": "Matérn-5/2 kernel", "network": "Network after a gradient step"}
TARGETS = {
    0: "s = 0: f* jumps",
    1: "s = 1: f' jumps",
    2: "s = 2: f'' jumps",
    3: "s = 3: f⁽³⁾ jumps",
}
TALK = "The talk Feature learning and limitations of kernels, smoothness"
CENTRES = 400
FINEST = 1e-11


def trial(
    method: str,
    s: int,
    n: int,
    noise: float = 0.3,
    m: int = 256,
    n_test: int = 4_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """E (f - f*)^2 on fresh rows, x uniform on [-1, 1], f* = max(x, 0)^s at mean 0, variance 1.

    The kernel is Matern's of smoothness 5/2 and bandwidth 1, whose own space has order 3: more
    than any target is smooth but the last. Its penalty is chosen by leave-one-out. So is that of
    the head of the network: m ReLU neurons after one gradient step. Labels have Gaussian noise.
    """
    one_of(TITLES, method=method)
    check_rows(n, n_test, m, noise=noise)
    at_most(MOST_DEGREE, s=s)
    task = lazy.OneDimensional(lazy.TruncatedPower(s), noise=noise)
    X, y = training_rows(task, n, seed, device)
    if method == "kernel":
        f = centred_ridge(lazy.Matern(1.0, 2.5), X, y)
    else:
        f = lazy.GradientStep(m).fit(lazy.in_memory(X, y), seed=seed)
    return fresh_loss(f, task, n_test, seed, device)


def centred_ridge(kernel: Kernel, X: Tensor, y: Tensor) -> Predictor:
    """Ridge on the span of `CENTRES` kernels on a grid of [-1, 1], penalty by leave-one-out.

    Without eigenvalues below `FINEST` of the largest, which rounding would spoil and no penalty
    chosen from noisy rows lets through: the kernel machine at the cost of a linear fit.
    """
    import torch

    Z = torch.linspace(-1, 1, CENTRES, dtype=X.dtype, device=X.device)[:, None]
    e, V = torch.linalg.eigh(kernel(Z, Z))
    kept = e > FINEST * e[-1]
    root = V[:, kept] / e[kept].sqrt()
    a, offset, _ = lazy.RidgeHead().fit(lazy.in_memory(kernel(X, Z) @ root, y))
    return lazy.KernelMachine(kernel, Z, root @ a, offset, X.new_ones(1))


def theory(method: str, s: int, n: int, noise: float) -> dict[str, float]:
    """The kernel's learning curve at the best penalty; of the network only the slope is known."""
    if method != "kernel":
        return UNKNOWN
    return {"loss": float(lazy.tuned_risk([_law(s)], n, noise))}


@cache
def _law(s: int) -> KernelLaw:
    """Of exp(-t)(1 + t + t^2/3), t = sqrt(5) |x - z|."""

    def matern(distance: np.ndarray) -> np.ndarray:
        t = math.sqrt(5) * distance
        return np.exp(-t) * (1 + t + t**2 / 3)

    return lazy.interval_law(matern, lazy.TruncatedPower(s))


def rate(s: int) -> float:
    """2 t/(2 t + 1), t = s + 1/2: the loss falls like n to minus this.

    Source: Stone 1982, the minimax rate (`theory.input_spectra.minimax_exponent`).
    """
    return (2 * s + 1) / (2 * s + 2)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """A panel a method, a colour a target, losses times n; the fitted exponents over s."""
    _, axes = panels(3, 3, (4.2, 3.7))
    for ax, (method, title) in zip(axes, TITLES.items(), strict=False):
        rows = only(table, method=method)
        scaled = rows.assign(loss=rows["loss"] * rows["n"])
        drawn = loss_panel(ax, scaled, "n", ("s", TARGETS), title, base=10, connect=False, apart=3)
        ax.set_ylabel(r"n × test loss $E(f-f^*)^2$")
        for found, own in drawn if theory_table is not None else []:
            _theory_line(ax, own, found.mark.color)
    _exponents(axes[2], table)
    row = table.iloc[0]
    return finished(
        axes,
        rf"$f^* = \max(x, 0)^s$, variance 1, noise {row['noise']:g}; {int(row['m'])} neurons. "
        "Solid: eigenvalues of the kernel; dotted: minimax slope at the height of the points. "
        f"Points: {over_seeds(table)}.{averaged(table, 'noise', 'm')}",
    )


def _exponents(ax: Axes, table: DataFrame) -> None:
    """Least-squares slopes of each seed over s, beside the minimax exponent."""
    style.dress(ax, "Fitted exponents", "smoothness s", "exponent of 1/n", "both")
    short = {"kernel": "kernel", "network": "network"}
    marks = marks_of({**{f"{s}": "" for s in TARGETS}, **short})
    for place, method in enumerate(TITLES):
        slopes = _exponent_table(only(table, method=method))
        draw_metric(ax, slopes, "s", "exponent", marks[method], shift=4.0 * place - 2)
    s = np.linspace(min(TARGETS), max(TARGETS), 40)
    series.line(ax, s, (2 * s + 1) / (2 * s + 2), "minimax exponent", style.BLACK)
    ax.set_xticks(list(TARGETS))


def _exponent_table(rows: DataFrame) -> DataFrame:
    """seed, s and minus the slope of log loss on log n."""
    import pandas as pd

    found = [
        (s, seed, -slope_of)
        for s, own in rows.groupby("s")
        for seed, slope_of in slopes_by_seed(own, "loss", "n").items()
    ]
    return pd.DataFrame(found, columns=["s", "seed", "exponent"]).dropna()


def _theory_line(ax: Axes, rows: DataFrame, color: str) -> None:
    """The kernel's curve; for the network the power law through the middle of the points."""
    row = rows.iloc[0]
    s, n = int(row["s"]), np.geomspace(rows["n"].min(), rows["n"].max(), 40)
    if row["method"] == "kernel":
        series.line(ax, n, n * lazy.tuned_risk([_law(s)], n, float(row["noise"])), "", color)
        return
    if n[0] == n[-1]:
        return  # a slope through one point
    best = lazy.minimax_exponent(s + 0.5) - 1
    middle = np.exp(np.mean(np.log(rows["loss"]) + best * np.log(rows["n"])))
    series.line(ax, n, middle * n**-best, "", color).set_linestyle((0, (1, 1.2)))


def _steeper(margin: float) -> Check:
    """Than the step, for each other target and method."""
    steps = (
        steeper("loss", "n", {"s": s, "method": method}, {"s": 0, "method": method}, margin)
        for method in TITLES
        for s in TARGETS
        if s > 0
    )
    return every(*steps)


def _slopes(method: str) -> Check:
    return every(
        *(
            slope("loss", "n", -rate(s) - 0.25, -rate(s) + 0.25, {"method": method, "s": s})
            for s in TARGETS
        )
    )


EACH = {"method": list(TITLES), "s": list(TARGETS)}

EXPERIMENT = Experiment(
    name="adapt-smooth",
    question="Do kernel ridge and the network adapt to unknown smoothness?",
    about="""
The talk's second kind of adaptivity. f*(x) = max(x, 0)^s on [-1, 1]: s = 0 is the Heaviside
function, and derivative s of f* jumps, so that f* has t = s + 1/2 derivatives in the mean square.
The best exponent of the loss in n is 2 t/(2 t + 1) = (2 s + 1)/(2 s + 2): 1/2, 3/4, 5/6, 7/8.
Neither method is told s: the kernel's penalty and the network's are chosen by leave-one-out.
Losses are drawn times n, as all exponents are near 1; the right panel has the fitted ones.

A jump (s = 0) stands apart in every panel. The exponents of s = 1, 2, 3 are 0.75, 0.83 and 0.875,
and the kernel's own learning curve from its eigenvalues has 0.81, 0.89 and 0.89 on n = 128 to
2,048; the intervals of the fitted ones overlap. So s = 3 cannot be told from s = 2 by a slope at
these n, and s = 1 from s = 2 with many more seeds only. Fits of a kernel to the Heaviside
function by the number of iterations are in kernel-iterations.""",
    trial=trial,
    grids={
        "quick": {**EACH, "n": [128, 256, 512, 1_024, 2_048]},
        "paper": {**EACH, "n": [128, 256, 512, 1_024, 2_048, 4_096], "m": 512},
    },
    small={"s": [0, 2], "n": [30, 60], "m": 20, "n_test": 100},
    seeds={"quick": 32, "paper": 60},
    theory=theory,
    figure=figure,
    checks={
        "The loss falls faster with n where the target is continuous than at a step, by 0.1 or more"
        " in the slope, for kernel and network."
        f" [{TALK}; Stone 1982]": _steeper(0.1),
        "The kernel's slopes are those of n^(-2t/(2t+1)), t = s + 1/2, within 0.25."
        " [Stone 1982; Caponnetto & De Vito 2007]": _slopes("kernel"),
        "The network's slopes are those of n^(-2t/(2t+1)), t = s + 1/2, within 0.25."
        f" [{TALK}; Stone 1982]": _slopes("network"),
        "The kernel loses what its eigenvalues predict, within a factor of 2."
        " [Simon et al. 2021, the eigenlearning equations]": agrees(
            "loss", theory, {"method": "kernel"}, margin=2.0, by="factor"
        ),
    },
)
