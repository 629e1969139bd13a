"""A kernel machine fitted to a step by gradient descent: what more iterations bring."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import draw_series, only, over_seeds, theory_line
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, agrees, lazy, ratio
from gradfeat.lab.claims import Check
from gradfeat.maths.ranges import MOST_DEGREE, at_least, at_most, one_of, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.maths.hermite import RealFunction
    from gradfeat.theory.kernel_curve import KernelLaw

TARGETS = {"step": "Heaviside function", "sine": "sin(πx)"}
#: Points at which fits are drawn.
GRID = 201
#: Rows of a kernel matrix whose eigenvectors take seconds.
MOST_ROWS = 4_000


def trial(
    target: str,
    iterations: int,
    n: int = 500,
    bandwidth: float = 0.3,
    m: int = 256,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float | np.ndarray]:
    """E (f - f*)^2 of c <- c - (K c - y)/e_1 after so many iterations; x uniform on [-1, 1].

    Gaussian kernel; e_1 the largest eigenvalue of K; no noise; f* of variance 1. Iterations are
    summed exactly, (1 - (1 - e/e_1)^t)/e on the eigenvectors. `fit` is f on a grid of [-1, 1].
    `network` and `network_fit` are loss and fit of m ReLU neurons after one gradient step with a
    head by ridge, on the same rows; `without_step` is the loss of random features, m ReLU neurons
    without the step.
    """
    import torch

    one_of(TARGETS, target=target)
    at_least(1, iterations=iterations)
    at_least(2, n=n)
    at_most(MOST_ROWS, n=n)
    positive(bandwidth=bandwidth)
    at_most(10.0**MOST_DEGREE, iterations=iterations)
    task = lazy.OneDimensional(_function(target))
    drawn = task.sample(n, lazy.stream(seed, "train"))
    X, y = drawn.X.to(device), drawn.y.to(device)
    Z = torch.linspace(-1, 1, GRID, dtype=X.dtype, device=X.device)[:, None]
    kernel = lazy.Gaussian(bandwidth)
    c = descended(kernel(X, X), y, iterations)
    rows = lazy.in_memory(X, y)
    net, random = (lazy.GradientStep(m, n_steps=k).fit(rows, seed=seed) for k in (1, 0))
    fits = (kernel(Z, X) @ c, net(Z), random(Z))
    losses = [float((f - task.target(Z)).square().mean()) for f in fits]
    fit, network = (f[:, 0].cpu().numpy() for f in fits[:2])
    return {
        "loss": losses[0],
        "network": losses[1],
        "without_step": losses[2],
        "fit": fit,
        "network_fit": network,
    }


def descended(K: Tensor, y: Tensor, iterations: int) -> Tensor:
    """c after so many steps c <- c - (K c - y)/e_1 from 0, by the eigenvectors of K."""
    import torch

    e, V = torch.linalg.eigh(K)
    share = (e / e[-1]).clamp(1e-15, 1)
    moved = -torch.expm1(iterations * torch.log1p(-share.clamp(max=1 - 1e-15)))
    return V @ ((moved / (share * e[-1]))[:, None] * (V.T @ y))


def _function(target: str) -> RealFunction:
    return lazy.heaviside() if target == "step" else _sine


def _sine(x: np.ndarray) -> np.ndarray:
    return math.sqrt(2) * np.sin(math.pi * x)


def theory(target: str, iterations: int, bandwidth: float) -> dict[str, float]:
    """sum_k (1 - e_k/e_1)^(2 t) (part of f* in the k-th eigenfunction)^2: many rows, t iterations.

    Eigenvalues of the kernel's integral operator on [-1, 1]; those below rounding count as 0.
    """
    law = _law(target, bandwidth)
    e = np.array(law.spectrum.eigenvalues)
    left = np.clip(1 - e / e[0], 0, 1) ** (2.0 * iterations)
    loss = float(left @ np.array(law.shares)) + law.beyond
    return {"loss": loss}


@cache
def _law(target: str, bandwidth: float) -> KernelLaw:
    return lazy.interval_law(lambda t: np.exp(-(t**2) / (2 * bandwidth**2)), _function(target))


#: Iterations after which fits are drawn.
DRAWN = (10, 1_000, 100_000, 10_000_000)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Left: fits of the first seed to the step. Right: loss against iterations."""
    _, axes = panels(2, 2, (5.4, 4.0))
    _fits(axes[0], only(table, target="step", seed=table["seed"].min()))
    style.dress(
        axes[1],
        "Loss against the number of iterations",
        "iterations of gradient descent",
        r"test loss $E(f-f^*)^2$",
        "both",
    )
    drawn = draw_series(axes[1], table, "target", TARGETS, "iterations", "loss")
    for found, own in drawn if theory_table is not None else []:
        theory_line(
            axes[1], own, "iterations", "loss", theory, found.mark.color, "infinitely many rows", 30
        )
    for ax in axes[1:]:
        ax.set(xscale="log", yscale="log")
        step = only(table, target="step")
        if len(step):
            mean = float(step["network"].to_numpy(float).mean())
            series.level(ax, mean, "network, Heaviside", below=True)
    row, step = table.iloc[0], only(table, target="step")
    random = (
        f" (without it the loss on the jump is {step['without_step'].mean():.2g})"
        if len(step)
        else ""
    )
    return finished(
        axes,
        f"Gaussian kernel of bandwidth {row['bandwidth']:g}, {int(row['n'])} rows without noise. "
        "Lines on the right: its eigenvalues, infinitely many rows. Network: "
        f"{int(row['m'])} neurons, one gradient step{random}. Points: {over_seeds(table)}.",
    )


def _fits(ax: Axes, rows: DataFrame) -> None:
    """A colour from light to dark for more and more iterations; the network's fit; the step."""
    import matplotlib as mpl

    style.dress(ax, "Fits to the Heaviside function", "x", "f(x)")
    x = np.linspace(-1, 1, GRID)
    seen = [t for t in DRAWN if t in set(rows["iterations"])]
    shades = mpl.colormaps["viridis_r"](np.linspace(0.15, 0.95, max(len(seen), 1)))
    ax.plot(x, np.sign(x), color=style.QUIET, linewidth=1.0, linestyle=style.DASHES)
    for t, shade in zip(seen, shades, strict=False):
        fit = only(rows, iterations=t)["fit"].iloc[0]
        ax.plot(x, fit, color=shade, linewidth=1.4, label=f"after {t:,} iterations")
    if len(rows):
        ax.plot(
            x,
            rows["network_fit"].iloc[0],
            color=style.PURPLE,
            linewidth=1.4,
            label="network, one step",
        )


TALK = "The talk Feature learning and limitations of kernels"
LADDER = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
MOST = {"target": "step", "iterations": 10**7}


def _fall(target: str, low: float, high: float) -> Check:
    """Is the loss at 10^3 iterations between `low` and `high` times that at 10^7?"""
    few, many = ({"iterations": t, "target": target} for t in (10**3, 10**7))
    return ratio("loss", few, many, low, high)


EXPERIMENT = Experiment(
    name="kernel-iterations",
    question="Do more iterations of gradient descent let a kernel machine fit a discontinuity?",
    about="""
The talk on the limitations of kernels shows fits of a kernel machine to the Heaviside function
that stay smooth "even taking lots of iterations". Here c <- c - eta (K c - y), eta one over the
largest eigenvalue, is run for 1 to 10^7 iterations, exactly, on the eigenvectors of K. After t
iterations the part of f* along an eigenfunction of relative eigenvalue e is left with the factor
(1 - e)^t, and eigenvalues of a Gaussian kernel fall faster than any power. So ten times as many
iterations add about one more eigenfunction, which a jump hardly notices and a smooth function
needs none of. A network of one gradient step loses less, and so do random features of as many
neurons: on one input there is no direction to learn, and their kernel's eigenvalues fall like a
power. The line is the same sum with the eigenvalues of the integral operator: infinitely
many rows. The points of n rows lie a little above, the more iterations the more.""",
    trial=trial,
    grids={
        "quick": {"target": list(TARGETS), "iterations": LADDER},
        "paper": {"target": list(TARGETS), "iterations": LADDER, "n": 2_000},
    },
    small={"iterations": [10, 1_000], "n": 40, "m": 20},
    seeds={"quick": 10, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "From 10^3 to 10^7 iterations the kernel's loss on the Heaviside function falls by less"
        " than a factor of 2."
        f" [{TALK}: even taking lots of iterations]": _fall("step", 0.0, 2.0),
        "On a smooth target the same iterations lower it by more than a factor of 100."
        f" [{TALK}, smoothness]": _fall("sine", 100.0, math.inf),
        "On the Heaviside function the loss after 10 to 10^5 iterations is what the kernel's"
        " eigenvalues predict for infinitely many rows, within a factor of 1.1."
        " [Mercer's theorem; Ma & Belkin 2017]": agrees(
            "loss", theory, {"target": "step", "iterations": LADDER[1:6]}, margin=1.1, by="factor"
        ),
        "A network of one gradient step loses less than half of what the kernel loses after 10^7"
        " iterations."
        f" [{TALK}, networks and smoothness]": ratio(
            "loss", MOST, MOST, 2.0, than_metric="network"
        ),
        "Random features of as many neurons lose less than half of that too: the kernel differs,"
        " and no feature is learned."
        f" [a control beside {TALK[0].lower()}{TALK[1:]}]": ratio(
            "loss", MOST, MOST, 2.0, than_metric="without_step"
        ),
    },
)
