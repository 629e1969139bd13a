"""Loss against the number of rows: one gradient step, random features, the infinite-width NTK."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import averaged, draw_series, marks_of, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, agrees, below, each, every, greater, lazy, within
from gradfeat.lab.claims import Check
from gradfeat.maths.ranges import LARGEST, MOST_DEGREE, MOST_ROWS, at_least, at_most, one_of, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor
    from gradfeat.theory.zonal_spectrum import ZonalSpectrum

NAMES = {
    "gradient step": "one gradient step",
    "ntk": "NTK, infinite width",
    "random features": "random features",
    "ntk without bias": "NTK without bias",
    "both layers": "both layers by SGD",
}


def trial(
    method: str,
    n: int,
    d: int = 10,
    p: int = 4,
    m: int = 512,
    noise: float = 0.0,
    ridge: float = 1e-3,
    n_test: int = 10_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """E (f - f*)^2 / E f*^2 on fresh rows, f* = He_2/2 + He_p/sqrt(2 p!) of one direction.

    Both means are over the same rows: E f*^2 = 1, but the tails of f* make its mean over rows vary,
    and that of the error with it.

    Both networks have m neurons, biases N(0, 1) and a head by ridge with leave-one-out penalty.
    The NTK is that of a ReLU network with biases N(0, 1), its penalty chosen by leave-one-out;
    without bias it has the penalty `ridge`, so that theory knows it. Both layers: m/2 neurons with
    trained biases, `STEPS` of stochastic gradient descent. Labels have noise uniform on
    {-noise, noise}.
    """
    one_of(NAMES, method=method)
    paired(m)
    at_least(1, n=n, n_test=n_test)
    at_least(0, ridge=ridge)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    at_most(MOST_DEGREE, p=p)
    at_most(LARGEST, noise=noise, ridge=ridge)
    task = lazy.MultiIndex(d, lazy.he2_hep(p), noise, "sign", seed=seed)
    train = task.sample(n, lazy.stream(seed, "train"))
    f = _fit(method, m, ridge, train.X.to(device), train.y.to(device), seed)
    X = task.sample(n_test, lazy.stream(seed, "test")).X.to(device)
    target = task.target(X)
    return {"loss": float((f(X) - target).square().mean() / target.square().mean())}


def _fit(method: str, m: int, ridge: float, X: Tensor, y: Tensor, seed: int) -> Predictor:
    from gradfeat.catalogue.shared.kernel_training import tuned_ridge

    match method:
        case "gradient step":
            return lazy.GradientStep(m).fit(lazy.in_memory(X, y), seed=seed)
        case "random features":
            return lazy.RandomFeatures(m).fit(lazy.in_memory(X, y), seed=seed)
        case "ntk":
            return tuned_ridge([lazy.NetworkKernel(bias=1.0)], X, y, seed)
        case "both layers":
            return _jointly(m // 2 + m // 2 % 2, X, y, seed)
        case _:
            return lazy.KernelRidge(lazy.NetworkKernel(), ridge).fit(lazy.in_memory(X, y))


#: Steps of a tenth of the step size come after those of 0.01; momentum 0.9, batches of 128 rows.
STEPS = (4_000, 1_000)


def _jointly(m: int, X: Tensor, y: Tensor, seed: int) -> Predictor:
    """The network of m neurons whose layers are trained together: the talk's outlook."""
    phases = tuple(
        lazy.Phase(steps, size, momentum=0.9, batch=min(128, len(X)))
        for steps, size in zip(STEPS, (0.01, 0.001), strict=True)
    )
    return lazy.GradientDescent(m, phases=phases).fit(lazy.in_memory(X, y), seed=seed)


def theory(method: str, n: int, d: int, p: int, noise: float, ridge: float) -> dict[str, float]:
    """The learning curve of the NTK without bias, d > 1; nothing is known of the others."""
    if method != "ntk without bias" or d < 2:
        return {"loss": math.nan}
    return {"loss": float(kernel_loss(np.array([n]), d, p, noise, ridge)[0])}


def kernel_loss(n: np.ndarray, d: int, p: int, noise: float, ridge: float) -> np.ndarray:
    """E (f - f*)^2 of ridge with the ReLU's NTK without bias at each n: eigenvalues and shares."""
    shares, beyond = lazy.homogeneous_shares(_target(p), d)
    return lazy.ridge_risk(_spectrum(d), shares, n, ridge=ridge, noise=noise, beyond=beyond)


def _spectrum(d: int) -> ZonalSpectrum:
    """Of k(x, z)/(|x||z|/d) = [sin t + 2 (pi - t) cos t]/(2 pi), t the angle of x and z."""

    def h(cosine: np.ndarray) -> np.ndarray:
        t = np.arccos(cosine)
        return (np.sin(t) + 2 * (math.pi - t) * np.cos(t)) / (2 * math.pi)

    return lazy.zonal_spectrum(h, d)


def _target(p: int) -> lazy.HermiteSeries:
    return lazy.HermiteSeries(
        (0.0, 0.0, 0.5, *[0.0] * (p - 3), 1 / math.sqrt(2 * math.factorial(p)))
    )


def _theory_line(ax: Axes, table: DataFrame, color: str) -> None:
    for _, row in only(table, method="ntk without bias").iloc[:1].iterrows():
        d, p = int(row["d"]), int(row["p"])
        if d < 2:  # no angles, no spectrum
            return
        n = np.geomspace(table["n"].min(), table["n"].max(), 200)
        curve = kernel_loss(n, d, p, float(row["noise"]), float(row["ridge"]))
        series.line(ax, n, curve, "theory of the NTK without bias", color)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss against n, a colour a method; edges d^2 and d^p of the kernels' staircase."""
    _, (ax,) = panels(1, 1, (6.4, 4.2))
    loss = r"test loss $E(f-f^*)^2 / E f^{*2}$"
    style.dress(ax, "Test error against sample size", "number of training rows n", loss, "both")
    draw_series(ax, table, "method", NAMES, "n", "loss", connect=True)
    if theory_table is not None:
        _theory_line(ax, table, marks_of(NAMES)["ntk without bias"].color)
    style.logarithmic(ax, "x")
    ax.set_ylim(0, 1.2)
    series.key_level(ax, 0.5, "degree 2 learned, no more")
    _edges(ax, int(table["d"].iloc[0]), int(table["p"].iloc[0]))
    row = table.iloc[0]
    d, p = int(row["d"]), int(row["p"])
    return finished(
        [ax],
        rf"$f^* = He_2/2 + He_{p}/\sqrt{{2\cdot {p}!}}$ of one of {d} directions; "
        f"{int(row['m'])} neurons. Points: {over_seeds(table)}."
        f"{averaged(table, 'd', 'p', 'm', 'noise', 'ridge')}",
    )


def _edges(ax: Axes, d: int, p: int) -> None:
    """Sample sizes d^2 and d^p, between which rotation-invariant kernels learn degree 2 alone."""
    low, high = ax.get_xlim()
    for power in (2, p):
        if low < d**power < high * 1.05:
            ax.axvline(d**power, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1)
            ax.annotate(
                f"$d^{power}$", (d**power, 1.2), (2, -2), va="top", fontsize=style.SMALL,
                textcoords="offset points", color=style.QUIET
            )  # fmt: skip


LATE = {"n": [3_162, 10_000]}
FROM_1000 = {"n": [1_000, 3_162, 10_000]}


def _exceeds(more: str, less: str) -> Check:
    return every(
        *(greater("loss", {"method": more, "n": n}, {"method": less, "n": n}) for n in LATE["n"])
    )


EXPERIMENT = Experiment(
    name="damian22-samples",
    question="How many samples does one gradient step need, and how many do fixed features?",
    about="""
The talk's figure: loss against n for Algorithm 1, random features and the NTK; d = 10, p = 4.
Dashed verticals: d^2, from where one gradient step and kernels see degree 2, and d^p, from where
Ghorbani et al. 2021 let rotation-invariant kernels learn degree p. Both are rates: with constants
of order one (10^4/4! functions of degree 4 in 10 inputs) a kernel starts on degree 4 well before
10^4 rows.

There are two NTKs. That without bias has a ReLU kernel of which no odd degree above 1 is
positive; its penalty is fixed, and its learning curve follows from its eigenvalues without free
constants. It behaves as the talk's NTK: near 1/2, as it learns the quadratic part alone. The
infinite-width NTK with biases N(0, 1) and a penalty chosen by leave-one-out is a better kernel
than the talk's, and at n = 10^4 it has learned part of degree 4 (a loss near 0.2): still far
behind one gradient step.

The talk ends on networks whose layers are trained together: those are the points of both layers
by SGD, step size 0.01, then 0.001, momentum 0.9, batches of 128 rows, no early stopping. No
theory of the talks covers them; their steps and step sizes were chosen by hand, as were no others
here.""",
    trial=trial,
    grids={
        "quick": [
            {"method": [*NAMES][:4], "n": [100, 316, 1_000, 3_162]},
            {"method": [*NAMES][:3], "n": 10_000},
            {"method": "both layers", "n": [1_000, 3_162, 10_000]},
        ],
        "paper": {
            "method": list(NAMES),
            "n": [32, 100, 316, 1_000, 1_778, 3_162, 5_623, 10_000, 17_783],
        },
    },
    small={"n": [40, 80], "d": 4, "m": 20, "n_test": 100},
    seeds={"quick": 6, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "After one gradient step the loss is below 0.1 at n = 10^4."
        " [Damian22, Theorem 1 and the experiments]": below(
            "loss", 0.1, {"method": "gradient step", "n": 10_000}
        ),
        "Random features stay near 1/2 from n = 10^3.5 on (median between 0.35 and 0.8)."
        " [Damian22, the experiments]": each(
            "n",
            within("loss", 0.35, 0.8, {"method": "random features"}, "median"),
            {"method": "random features", **LATE},
        ),
        "From n = 10^3.5 on the infinite-width NTK lies between the two."
        " [Damian22, the experiments]": every(
            _exceeds("ntk", "gradient step"), _exceeds("random features", "ntk")
        ),
        "At n = 10^4 a network whose layers are trained together loses less than the infinite-width"
        " NTK, by 0.05 or more."
        " [Damian22, the outlook on joint training]": greater(
            "loss", {"method": "ntk", "n": 10_000}, {"method": "both layers", "n": 10_000}, 0.05
        ),
        "From n = 10^3 on the NTK without bias loses what its eigenvalues predict, within 0.1."
        " [Simon et al. 2021; Damian22, section 1 on kernels]": agrees(
            "loss", theory, {"method": "ntk without bias", **FROM_1000}, 2.0, margin=0.1
        ),
    },
)
