"""What the experiments on adaptivity share: rows, kernel and its theory, network, loss, panel."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradfeat.catalogue.shared.curves import Drawn, draw_series
from gradfeat.drawing import style
from gradfeat.drawing.types import Axes, DataFrame
from gradfeat.lab import lazy
from gradfeat.lab.claims import Check, Verdict, slopes_by_seed
from gradfeat.lab.intervals import decided, over
from gradfeat.lab.rows import Where, described
from gradfeat.maths.ranges import LARGEST, MOST_ROWS, at_least, at_most, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.maths.hermite import RealFunction
    from gradfeat.models.base import Predictor
    from gradfeat.tasks.base import Task

#: Bandwidths between which the kernel chooses, times the root-mean-square norm of the inputs.
BANDWIDTHS: Final = (0.5, 1.0)

#: What theory does not know.
UNKNOWN: Final = {"loss": math.nan}
AXES: Final = {"d": "number of inputs d", "n": "number of training rows n"}


def check_rows(n: int, n_test: int, m: int, **sizes: float) -> None:
    """Refuse rows and neurons that cannot be, and other sizes beyond those of a sum of squares."""
    paired(m)
    at_least(2, n=n)
    at_least(1, n_test=n_test)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    at_most(LARGEST, **sizes)


def training_rows(task: Task, n: int, seed: int, device: str) -> tuple[Tensor, Tensor]:
    train = task.sample(n, lazy.stream(seed, "train"))
    return train.X.to(device), train.y.to(device)


def fresh_loss(f: Predictor, task: Task, n: int, seed: int, device: str) -> dict[str, float]:
    """E (f - f*)^2 on fresh rows."""
    X = task.sample(n, lazy.stream(seed, "test")).X.to(device)
    return {"loss": float((f(X) - task.target(X)).square().mean())}


def loss_panel(
    ax: Axes,
    rows: DataFrame,
    x: str,
    series_of: tuple[str, Mapping[Any, str]],
    title: str,
    *,
    base: float = 2,
    connect: bool = True,
    apart: float = 0.0,
    known: Container[Any] = (),
) -> Drawn:
    """Loss against numbers of inputs or rows, logarithmic axes, a series a value of a factor."""
    style.dress(ax, title, AXES[x], r"test loss $E(f-f^*)^2$", "both")
    drawn = draw_series(ax, rows, *series_of, x, "loss", connect=connect, apart=apart, known=known)
    ax.set_yscale("log")
    style.tick_at(ax, rows[x], base)
    return drawn


def shifted_sines(r: int, frequency: float) -> lazy.SumOfSines:
    """Sines at phase pi/4: H has full rank, so nothing hides a direction from a gradient step."""
    return lazy.SumOfSines(r, frequency, math.pi / 4)


def tuned_gaussian(size: float, X: Tensor, y: Tensor, seed: int) -> Predictor:
    """Ridge with the Gaussian kernel; bandwidth (times `size`) and penalty by leave-one-out."""
    from gradfeat.catalogue.shared.kernel_training import tuned_ridge

    return tuned_ridge([lazy.Gaussian(size * b) for b in BANDWIDTHS], X, y, seed)


def network(m: int, steps: int, X: Tensor, y: Tensor, seed: int) -> Predictor:
    """A gradient step on m ReLU neurons, then `steps` - 1 updates by AGOP; the head by ridge."""
    return lazy.GradientStep(m, n_steps=steps).fit(lazy.in_memory(X, y), seed=seed)


@cache
def gaussian_risk(
    g: RealFunction, r: int, d: int, n: int, size: float, noise: float, ambient: float = 1.0
) -> float:
    """E (f - f*)^2 of `tuned_gaussian`, f* = sum_{i <= r} g(x_i)/sqrt(r), n rows.

    x ~ N(0, I_r) x N(0, ambient^2 I_{d-r}).
    """
    laws = [lazy.gaussian_law(g, r, d, size * b, ambient=ambient) for b in BANDWIDTHS]
    return float(lazy.tuned_risk(laws, n, noise))


def steeper(
    metric: str, factor: str, where: Where, than_where: Where, margin: float = 0.0
) -> Check:
    """Does log metric fall faster along log factor in some cells than in others, by `margin`?

    Rule: the difference of the least-squares slopes of a seed; holds if the lower one-sided 95 %
    limit over seeds (Student's t) is at least the margin, fails if the upper one is below it.
    """

    def check(table: DataFrame) -> Verdict:
        fast = slopes_by_seed(table, metric, factor, where)
        slow = slopes_by_seed(table, metric, factor, than_where)
        values = np.array([slow[s] - fast[s] for s in fast.index if s in slow.index])
        label = (
            f"slope of log {metric} on log {factor} ({described(than_where)}) - slope "
            f"({described(where)})"
        )
        return decided(values, "mean", label, f"bound {margin:g}", over(margin))

    return check
