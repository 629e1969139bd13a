"""From lazy to rich: one network and target over the scale of its output, and over its width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import draw_metric, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, every, greater, lazy, ordered, slope
from gradfeat.maths.ranges import at_least, at_most, paired, positive

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from gradfeat.models.predictors import TwoLayer

#: Rows at which kernels are compared; scale from which on the step size follows it.
KERNEL_ROWS, STEADY = 100, 2.0


def batch(
    alpha: float,
    m: int = 128,
    gamma: float = 1.0,
    n: int = 150,
    d: int = 20,
    steps: int = 4_000,
    eta: float = 0.5,
    n_test: int = 2_000,
    *,
    seeds: Sequence[int],
) -> list[dict[str, float | np.ndarray]]:
    """Full-batch descent of f = alpha/m^gamma sum_j a_j relu(w_j.x + b_j), step size eta/alpha^2.

    y = (He_1 + He_2/sqrt 2)(u.x)/sqrt 2, x uniform on the sphere of radius sqrt(d), f = 0 at the
    start; gamma = 1/2 is the NTK's scaling, 1 the mean field's. The same path is that of weights
    times sqrt(A/m), A = alpha m^{1-gamma}, at step size eta/A, or eta/2 below A = 2, where the
    kernel grows. `loss` is E (f - y)^2/E y^2 on new rows, `train` on the rows; `moved` =
    |K_T - K_0|/|K_0| of the tangent kernel, `growth` = tr K_T/tr K_0 and `above_bound` growth less
    its bound; `share` of sum_j a_j^2 |w_j|^2 along u.
    """
    import torch

    from gradfeat.catalogue.shared.descent_training import starts

    paired(m)
    positive(alpha=alpha, eta=eta)
    at_least(2, n=n, d=d, n_test=n_test)
    at_least(1, steps=steps)
    at_least(0, gamma=gamma)
    at_most(2, gamma=gamma)
    A = alpha * m ** (1 - gamma)
    std = math.sqrt(A / m)
    learner = lazy.GradientDescent(m, start=lazy.Start(std / math.sqrt(d), 0.0, std))
    first = starts(learner, d, seeds, torch.float32, "cpu")
    X = torch.stack([_sphere(n, d, lazy.stream(seed, "train")) for seed in seeds])
    y = _target(X[..., :1])
    rows = lazy.Batch(X, y, torch.full_like(y, 1 / n))
    phases, last = [lazy.Phase(steps, eta / max(A, STEADY))], first
    for state in lazy.descend(
        first, lambda *_: rows, phases, lazy.Squared(), lazy.ReLU(), lazy.AllLayers()
    ):
        last = state.layers
    found = []
    for i, seed in enumerate(seeds):
        start, end = (layers.network(i, lazy.ReLU()) for layers in (first, last))
        Z = _sphere(n_test, d, lazy.stream(seed, "test"))
        left = float((end(X[i]) - y[i]).square().mean() / y[i].square().mean())
        found.append({"train": left, **_measured(start, end, Z, A)})
    return found


def _sphere(n: int, d: int, generator: torch.Generator) -> Tensor:
    import torch

    X = torch.randn(n, d, generator=generator)
    return X * math.sqrt(d) / X.norm(dim=1, keepdim=True)


def _target(z: Tensor) -> Tensor:
    return (z + (z * z - 1) / math.sqrt(2)) / math.sqrt(2)


def _measured(start: TwoLayer, end: TwoLayer, Z: Tensor, A: float) -> dict[str, float]:
    f, y, some = end(Z), _target(Z[:, :1]), Z[:KERNEL_ROWS]
    before, after = (lazy.TwoLayerTangent(net)(some, some) for net in (start, end))
    traces = [float(lazy.TwoLayerTangent(net).diagonal(Z).mean()) for net in (start, end)]
    growth = traces[1] / traces[0]
    weight = (end.a * end.W).square().sum(0)
    bound = lazy.kernel_growth_bound(Z.shape[1], A, float(f.abs().mean()))
    return {
        "loss": float((f - y).square().mean() / y.square().mean()),
        "moved": float((after - before).norm() / before.norm()),
        "growth": growth,
        "above_bound": growth - float(bound),
        "share": float(weight[0] / weight.sum()),
    }


def theory(n: int, d: int, steps: int, eta: float) -> dict[str, float]:
    """The loss at the lazy end, by the tangent kernel's learning curve; nothing fitted."""

    def g(z: np.ndarray) -> np.ndarray:
        return (z + (z * z - 1) / math.sqrt(2)) / math.sqrt(2)

    return {"loss": lazy.lazy_loss(g, d, n, eta * steps)}


DIAL, WIDTHS = {"gamma": 1.0, "m": 128}, {"alpha": 1.0, "m": [32, 128, 512]}
RICH, LAZY = {**DIAL, "alpha": 0.0625}, {**DIAL, "alpha": 256.0}
NAMES = {0.5: "NTK, $m^{-1/2}$", 0.75: "between, $m^{-3/4}$", 1.0: "mean field, $m^{-1}$"}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss, share of the true direction and kernel over the output's scale; kernel over width."""
    _, axes = panels(4, 2, (4.8, 3.4))
    law = theory_table is not None
    m = max(
        {*table["m"]}, key=lambda one: len({*only(table, gamma=1.0, m=one)["alpha"]}), default=0
    )
    rows = only(table, gamma=1.0, m=m, steps=table["steps"].max())
    parts = (
        ("loss", "Test loss", "loss / loss of f = 0"),
        ("share", "Weight along the true direction", "share of the first layer"),
        ("growth", "Growth of the tangent kernel", "tr K at the end / at the start"),
    )
    for ax, (metric, title, words) in zip(axes, parts, strict=False):
        style.dress(ax, title, r"output scale $\alpha$: rich to lazy", words, "both")
        mark = style.Mark(f"{m} neurons", style.BLUE, "o")
        draw_metric(ax, rows, "alpha", metric, mark, connect=True)
        ax.set_xscale("log")
    wide = only(table, gamma=1.0, alpha=table["alpha"].max(), m=table["m"].max())
    if len(wide) and wide["m"].iloc[0] > m:  # what theory is about
        mark = style.Mark(f"{wide['m'].iloc[0]:,} neurons", style.BLACK, "v")
        draw_metric(axes[0], wide, "alpha", "loss", mark)
    row = table.iloc[0]
    if law:
        lazy = theory(row["n"], row["d"], row["steps"], row["eta"])["loss"]
        series.key_level(axes[0], lazy, "theory of the lazy end of wide networks")
        _bound(axes[2], rows)
    series.key_level(axes[1], 1 / row["d"], "at the start, 1/d", dotted=True)
    axes[2].set_yscale("log")
    _widths(axes[3], only(table, alpha=1.0))
    return finished(
        axes,
        f"ReLU network, {m} neurons, {row['n']:g} rows in {row['d']:g} inputs, He$_1$ + He$_2$ of"
        f" one direction, {over_seeds(table)}. Orange: no network fits it with less growth.",
    )


def _bound(ax: Axes, rows: DataFrame) -> None:
    z, w = lazy.gauss_hermite(200)
    size = float(w @ abs(z + (z * z - 1) / math.sqrt(2))) / math.sqrt(2)
    alphas = np.geomspace(rows["alpha"].min(), rows["alpha"].max(), 40)
    bound = lazy.kernel_growth_bound(rows["d"].iloc[0], alphas, size)
    kept = bound >= bound.max() if bound.max() < 1 else bound >= 1
    series.line(ax, alphas[kept], bound[kept], "lower bound", style.ORANGE)


def _widths(ax: Axes, rows: DataFrame) -> None:
    style.dress(
        ax, "Movement of the kernel over width", "neurons m", r"$|K - K_0|\,/\,|K_0|$", "both"
    )
    colors = (style.VERMILLION, style.GREEN, style.PURPLE)
    for (gamma, name), color, marker in zip(NAMES.items(), colors, "Ds^", strict=True):
        mark = style.Mark(name, color, marker)
        draw_metric(ax, only(rows, gamma=gamma), "m", "moved", mark, connect=True)
    ax.set_yscale("log")
    style.tick_at(ax, rows["m"] if len(rows) else [1.0], 2)


EXPERIMENT = Experiment(
    name="chizat19-dial",
    question="When does a network learn features, and when is it the kernel of its start?",
    about="""
The talks' opening contrast as a curve. A network f = alpha/m^gamma sum_j a_j relu(w_j.x + b_j),
centred at the start, is trained at step size 1/alpha^2 (Chizat, Oyallon and Bach 2019). With a
large output scale the weights hardly move and the tangent kernel stays: the loss is that of kernel
regression, whose learning curve follows from eigenvalues, and which does not see that one
direction matters; narrow networks, whose kernel is drawn and not its mean, lose more. With a small
scale the kernel has to move (a bound says by how much, of any network that fits the target),
weights gather along the direction, and the loss falls. Width acts as the scale does: alpha
m^{1-gamma} is what counts. In the NTK's scaling, gamma = 1/2, wider networks move less; in the
mean field's, gamma = 1, all widths move alike. Kernels are compared at new rows.""",
    batch=batch,
    batch_size=8,
    grids={
        "quick": [
            {"alpha": [0.0625, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0]},
            {"alpha": 1.0, "gamma": [0.5, 0.75, 1.0], "m": [32, 128, 512]},
            {"alpha": 256.0, "m": 1_024, "steps": 2_000},
        ],
        "paper": [
            {"alpha": [0.03125, 0.0625, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0], "m": [128, 1_024]},
            {"alpha": 1.0, "gamma": [0.5, 0.75, 1.0], "m": [32, 128, 512, 2_048]},
            {"alpha": 256.0, "m": 2_048, "steps": 2_000},
        ],
    },
    small={"alpha": [0.5, 1.0], "m": 8, "gamma": 1.0, "n": 20, "d": 4, "steps": 20, "n_test": 50},
    seeds={"quick": 16, "paper": 32},
    theory=theory,
    figure=figure,
    checks={
        "At the lazy end wide networks have the loss of the tangent kernel's learning curve, within"
        " 25 %."
        " [Chizat, Oyallon & Bach 2019, Theorem 2.2; Simon et al. 2021]": near(
            "loss", theory, 0.25, {"alpha": 256.0, "m": [1_024, 2_048]}
        ),
        "At the rich end the loss of a network of as many neurons is lower by at least 0.2."
        " [Chizat, Oyallon & Bach 2019, section 3; Ghorbani et al. 2021]": greater(
            "loss", LAZY, RICH, 0.2
        ),
        "The weights gather along the true direction at the rich end (share above 0.6), and do not"
        " at the lazy end."
        " [Chizat, Oyallon & Bach 2019; Damian22, introduction]": every(
            above("share", 0.6, RICH), greater("share", RICH, LAZY, 0.5)
        ),
        "The kernel moves less the larger the scale."
        " [Chizat, Oyallon & Bach 2019, Theorem 2.2]": ordered(
            "moved", "alpha", DIAL, increasing=False
        ),
        "The kernel grows at least as the bound says, and like 1/alpha at the rich end: the slope"
        " from alpha = 1/16 to 1/4 is within 0.15 of -1."
        " [Chizat, Oyallon & Bach 2019; the bound is derived here]": every(
            above("above_bound", 0.0, DIAL),
            slope("growth", "alpha", -1.15, -0.85, {**DIAL, "alpha": [0.0625, 0.25]}),
        ),
        "In the NTK's scaling wider networks move less (slope below -0.25); in the mean field's the"
        " movement is free of the width (slope within 0.15 of 0)."
        " [Chizat, Oyallon & Bach 2019, section 1; Mei, Montanari & Nguyen 2018]": every(
            slope("moved", "m", -math.inf, -0.25, {**WIDTHS, "gamma": 0.5}),
            slope("moved", "m", -0.15, 0.15, {**WIDTHS, "gamma": 1.0}),
        ),
    },
)
