"""Sample sizes at which a target is learned, over inputs d and directions r, with their powers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.adapt_training import steeper
from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    law_line,
    only,
    over_seeds,
    theory_line,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, lazy, slope
from gradfeat.maths.ranges import (
    MOST_DEGREE,
    MOST_ROWS,
    MOST_SIZES,
    at_least,
    at_most,
    one_of,
    paired,
)

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor

NAMES = {"gradient step": "one gradient step", "kernel": "NTK, infinite width"}
#: Two neighbouring sample sizes differ by this factor.
FACTOR = 2**0.5
#: The loss that counts as learned: below the 1/2 that degree 2 alone leaves.
LEARNED = 0.25
#: Rows of a kernel matrix that is solved in seconds.
MOST_KERNEL_ROWS = 8_000


def trial(
    method: str,
    d: int,
    r: int = 1,
    p: int = 3,
    m: int = 256,
    least: float = 1.0,
    sizes: int = 9,
    n_test: int = 4_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float | np.ndarray]:
    """Loss of f* = sum_i [He_2(u_i.x)/2 + He_p(u_i.x)/sqrt(2 p!)]/sqrt(r) over growing n.

    n = least d^2 2^(i/2), i = 0 ... `sizes` - 1, each sample a part of the next. `losses` are
    E (f - f*)^2/E f*^2 at the `rows`; `needed` is the n where log loss, linear in log n between
    them, comes to `LEARNED` for good, nan where the ladder ends before, and `aligned` that where
    |W U|^2/|W|^2 comes to 1/2. Methods: Algorithm 1 with m neurons; ridge with the NTK of a ReLU
    network with biases N(0, 1), penalty by leave-one-out, which has no W.
    """
    one_of(NAMES, method=method)
    paired(m)
    at_least(1, d=d, n_test=n_test)
    at_least(2, sizes=sizes)
    at_most(MOST_DEGREE, p=p)
    at_most(MOST_SIZES, sizes=sizes)
    most = MOST_KERNEL_ROWS if method == "kernel" else MOST_ROWS
    n = [round(least * d**2 * FACTOR**i) for i in range(sizes)]
    at_least(2, **{"least d^2": n[0]})
    at_most(most, **{"the largest n": n[-1]})
    task = lazy.MultiIndex(d, lazy.he2_hep(p, r), seed=seed)
    train, test = (
        task.sample(n[-1], lazy.stream(seed, "train")),
        task.sample(n_test, lazy.stream(seed, "test")),
    )
    X, y = train.X.to(device), train.y.to(device)
    Z, target = test.X.to(device), test.y.to(device)
    U = task.directions.to(device)
    size = float(target.square().mean())
    fits = (_fit(method, m, X[:k], y[:k], U, seed) for k in n)
    found = [(float((f(Z) - target).square().mean()) / size, 1 - share) for f, share in fits]
    losses, astray = np.array(found).T
    return {
        "rows": np.array(n, float),
        "losses": losses,
        "needed": crossing(n, losses),
        "aligned": math.nan if method == "kernel" else crossing(n, astray, 0.5),
    }


def _fit(
    method: str, m: int, X: Tensor, y: Tensor, U: Tensor, seed: int
) -> tuple[Predictor, float]:
    """The fitted function, and the part of |W|^2 that lies in the span of U."""
    from gradfeat.catalogue.shared.kernel_training import tuned_ridge

    if method == "kernel":
        return tuned_ridge([lazy.NetworkKernel(bias=1.0)], X, y, seed), math.nan
    net = lazy.GradientStep(m).fit(lazy.in_memory(X, y), seed=seed)
    return net, float((net.W @ U).square().sum() / net.W.square().sum())


def crossing(n: list[int], losses: np.ndarray, level: float = LEARNED) -> float:
    """The n after which all losses are below the level, between two sizes on logarithmic scales.

    >>> round(crossing([1, 4, 16], np.array([1.0, 0.5, 0.125])), 9)
    8.0
    """
    above = np.flatnonzero(losses > level)
    if not len(above):
        return float(n[0])
    last = int(above[-1])
    if last + 1 == len(n):
        return math.nan
    x, v = np.log(n[last : last + 2]), np.log(losses[last : last + 2])
    return float(np.exp(x[0] + (math.log(level) - v[0]) * (x[1] - x[0]) / (v[1] - v[0])))


#: Neurons whose mean stands for that over all starts.
THEORY_NEURONS = 2_000


def theory(method: str, d: int, r: int, p: int) -> dict[str, float]:
    """n where (S_U + V_U/n)/(S + V/n) = 1/2: gradient squared S, sampling variance V/n, parts in U.

    A coordinate outside of U and of the neuron adds B to V, which is linear in d at fixed overlap
    of neuron and U; so V_U = V - (d - r) B, but for the direction of the neuron. Nothing is known
    of the losses' constants.
    """
    if method == "kernel" or d <= r:
        return {"aligned": math.nan}
    g, U = lazy.he2_hep(p, r), np.eye(d + 1)[:, :r]
    W = np.random.default_rng(0).normal(size=(THEORY_NEURONS, d)) / d**0.5
    V = float(lazy.sampling_variance(g, U[:d], W).sum())
    B = float(lazy.sampling_variance(g, U, np.pad(W, ((0, 0), (0, 1)))).sum()) - V
    G = lazy.gradient_series(g, U[:d], W)
    S, inside = float(np.square(G).sum()), float(np.square(G[:, :r]).sum())
    return {"aligned": (V - 2 * (V - (d - r) * B)) / (2 * inside - S)}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss as a colour over (d, n) and over (r, n), with the sample sizes needed on top."""
    fig, axes = panels(4, 2, (5.0, 3.7))
    one, most = min(table["r"]), max(table["d"][table["r"] > 1], default=0)
    step = only(table, method="gradient step")
    law = theory_table is not None
    parts = (
        (only(step, r=one), "d", "One gradient step over d", 2),
        (only(table, method="kernel"), "d", "NTK, infinite width, over d", int(table["p"].iloc[0])),
        (only(step, d=most), "r", f"One gradient step over r, d = {most}", 0),
    )
    for ax, (rows, x, title, power) in zip(axes, parts, strict=False):
        _diagram(ax, rows, x, title, power, law)
    _directions(axes[3], only(step, r=one), law)
    shown = next((ax for ax in axes if ax.collections), None)
    if shown is not None:
        bar = fig.colorbar(shown.collections[0], ax=axes, shrink=0.8, pad=0.01)
        style.color_bar(bar, r"test loss $E(f-f^*)^2/E f^{*2}$")
    p = int(table["p"].iloc[0])
    return finished(
        axes,
        rf"$f^*$: He$_2$ and He$_{p}$ of r directions, equal variances; {int(table['m'].iloc[0])} "
        f"neurons. Black: n at which the loss is {LEARNED:g}, {over_seeds(table)}. Lines: powers "
        f"of theory at the height of the points.{averaged(table, 'p', 'm')}",
    )


def _directions(ax: Axes, rows: DataFrame, law: bool) -> None:
    title = "Sample size at which the direction is found"
    style.dress(ax, title, "number of inputs d", r"n at $|Wu|^2/|W|^2$ = 1/2", "both")
    mark = style.Mark("direction found", style.BLUE, "s")
    if draw_metric(ax, rows, "d", "aligned", mark) and law:
        seen = rows.dropna(subset=["aligned"])
        theory_line(ax, seen, "d", "aligned", theory, style.BLUE, "theory, no free constant")
    ax.set_yscale("log")
    style.tick_at(ax, rows["d"], 2)


def _diagram(ax: Axes, rows: DataFrame, x: str, title: str, power: int, law: bool) -> None:
    """Squares coloured by loss, points where it is `LEARNED`, the law n ~ d^power or Theorem 1."""
    names = {"d": "number of inputs d", "r": "number of directions r"}
    style.dress(ax, title, names[x], "number of training rows n")
    if len(rows):
        parts = [part for _, part in rows.groupby(x)]
        names = ("rows", "losses")
        means = [[np.mean(np.stack([*part[k]]), 0) for k in names] for part in parts]
        n, loss = (np.concatenate([mean[k] for mean in means]) for k in (0, 1))
        places = np.repeat([part[x].iloc[0] for part in parts], [len(m[0]) for m in means])
        ax.scatter(places, n, c=loss, marker="s", s=170, cmap="viridis_r", vmin=0, vmax=1)
        mark = style.Mark(f"n at loss {LEARNED:g}", style.BLACK, "o")
        found = draw_metric(ax, rows, x, "needed", mark)
        if found and law and len(found.x) > 1:
            _law(ax, rows, found, power)
    ax.set_yscale("log")
    style.tick_at(ax, rows[x] if len(rows) else [1.0], 2)
    ax.margins(0.12)


def _law(ax: Axes, rows: DataFrame, found: series.Series, power: int) -> None:
    d, p = int(rows["d"].iloc[0]), int(rows["p"].iloc[0])

    def law(x: np.ndarray) -> np.ndarray:
        return x**power if power else np.array([lazy.network_samples(d, r, p) for r in x])

    name = rf"n ∝ $d^{power}$" if power else "n ∝ $d^2r + dr^p$"
    color = {2: style.VERMILLION, 0: style.PURPLE}.get(power, style.ORANGE)
    law_line(ax, found, law, name, color)


#: Slope of log(d^2 r + d r^3) on log r at d = 16, r = 1, 2, 4.
STEEPEST_IN_R = 1.46
STEP, KERNEL = {"method": "gradient step", "r": 1}, {"method": "kernel"}

EXPERIMENT = Experiment(
    name="damian22-phases",
    question="How does the sample size that a target needs grow with inputs and directions?",
    about="""
The loss of one gradient step (Damian22, Algorithm 1) and of the infinite-width NTK over a ladder
of sample sizes n, for f* = sum_i [He_2(u_i.x)/2 + He_p(u_i.x)/sqrt(2 p!)]/sqrt(r). The quadratic
part alone leaves a loss of 1/2; the target counts as learned where the loss stays below 1/4. Each
seed gives one exponent: the least-squares slope of the log of the sample size on log d or log r.

Theorem 1 says that n ~ d^2 r + d r^p rows suffice for one gradient step, Ghorbani et al. that
rotation-invariant kernels need d^p. The lines of the diagrams have these powers and the height of
the points, as the theorems leave constants open; both are laws for large d. The exponents fitted
to the loss are smaller at the d that fit a table (about 1.5 and 2.2 for p = 3): the head needs
rows that do not grow with d, and the kernel learns degree p little by little, where C(d+p-1, p)
grows more slowly than d^p. The sample size at which the first layer finds the direction has a
formula without free constants, from signal and sampling variance of the gradient, and there d^2
is seen. The theorem is an upper bound: in r a slower growth is no contradiction.""",
    trial=trial,
    grids={
        "quick": [
            {"method": "gradient step", "d": 8, "sizes": 12},
            {"method": "gradient step", "d": [16, 32], "sizes": 8},
            {"method": "gradient step", "d": 16, "r": [2, 4], "sizes": 10},
            {"method": "kernel", "d": [5, 7, 10], "least": 2.0, "sizes": 8},
        ],
        "paper": [
            {"method": "gradient step", "d": [8, 16, 32, 64], "m": 512},
            {"method": "gradient step", "d": 16, "r": [2, 4, 8], "sizes": 13, "m": 512},
            {"method": "kernel", "d": [5, 7, 10, 14], "least": 2.0, "m": 512},
        ],
    },
    small={"d": [3, 4], "r": [1, 2], "m": 20, "sizes": 3, "n_test": 100},
    seeds={"quick": 16, "paper": 30},
    theory=theory,
    figure=figure,
    checks={
        "The direction is found from n ~ d^2 rows: the fitted exponent is within 0.5 of 2, half of"
        " its distance from the kernel's 3."
        " [Damian22, Lemma 1 and Theorem 1]": slope("aligned", "d", 1.5, 2.5, STEP),
        "The direction is found at the sample size that signal and sampling variance of the"
        " gradient predict, within 30 % at d = 32."
        " [Damian22, Lemma 1; the delta method]": near("aligned", theory, 0.3, {**STEP, "d": 32}),
        "The loss of one gradient step needs no more than n ~ d^2: the exponent is below 2."
        " [Damian22, Theorem 1]": slope("needed", "d", -math.inf, 2.0, STEP),
        "The NTK's sample size grows with d by a larger power than that of one gradient step."
        " [Damian22, Theorem 1; Ghorbani et al. 2021, Theorem 4]": steeper(
            "needed", "d", STEP, KERNEL
        ),
        "More directions need more rows, and no faster than d^2 r + d r^p: the exponent on r = 1 to"
        f" 4 is between 0.5 and {STEEPEST_IN_R}."
        " [Damian22, Theorem 1]": slope(
            "needed", "r", 0.5, STEEPEST_IN_R, {"method": "gradient step", "d": 16}
        ),
    },
)
