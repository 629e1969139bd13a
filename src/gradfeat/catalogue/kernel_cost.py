"""Work, time and memory of the kernel solvers to the same test error, against the rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import averaged, draw_series, marks_of, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, each, every, greater, lazy, ratio, slope, within
from gradfeat.lab.claims import Check
from gradfeat.maths.ranges import at_least, one_of, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Kernel
    from gradfeat.models.solvers.base import Progress, Solver, System

NAMES = {
    "direct": "direct",
    "richardson": "Richardson",
    "cg": "CG",
    "nystrom_cg": "preconditioned CG (PCG)",
    "streamed": "PCG, matrix not kept",
    "eigenpro": "EigenPro",
    "nystrom": "Nystrom centres",
}
#: Rows of a tile of float64.
TILE = 256
#: Residual that no solver reaches before its error is that of the direct one.
NEVER = 1e-12


def trial(
    solver: str,
    n: int,
    d: int = 20,
    bandwidth: float = 6.0,
    penalty: float = 3e-5,
    margin: float = 0.05,
    noise: float = 0.5,
    n_test: int = 1_000,
    *,
    seed: int,
) -> dict[str, float]:
    """Solve (K + penalty n I) c = y until the test error is within `margin` of the full solution's.

    Gaussian kernel; target z + (z^2 - 1)/2 of one direction of d Gaussian inputs with noise; the
    error is measured against the target without noise, over its second moment. seconds are those of
    the processor, which other work on the machine disturbs less, without the measurements of the
    error; bytes are what the solver declares; passes and evaluations are in units of n^2; work
    counts multiplications. loss_direct is the error of the system solved to a residual of 1e-6.

    `loss` is the error reached, `ratio` that error over loss_direct, `reached` 1 where it is
    within the margin and 0 where not, `iterations` the last iteration of the solver.
    """
    one_of(NAMES, solver=solver)
    at_least(2, n=n)
    at_least(1, d=d, n_test=n_test)
    positive(bandwidth=bandwidth, margin=margin)
    system, error = problem(n, d, bandwidth, penalty, noise, n_test, seed)
    target = reference(n, d, bandwidth, penalty, noise, n_test, seed)
    method, watch = chosen(solver, system), _Watch(error, target * (1 + margin))
    start = time.process_time()
    last = method.solve(system, seed=seed, watch=watch).trace[-1]
    seconds = time.process_time() - start - watch.seconds
    return {
        "seconds": seconds,
        "work": work(solver, n, d, last),
        "passes": last.passes,
        "evaluations": last.evaluations,
        "iterations": last.iteration,
        "bytes": last.bytes,
        "loss": watch.loss,
        "loss_direct": target,
        "ratio": watch.loss / target,
        "reached": float(watch.loss <= target * (1 + margin)),
    }


class _Error:
    """Mean square distance of sum_j c_j k(., Z_j) + offset to the target on fresh rows."""

    def __init__(self, kernel: Kernel, X: Tensor, f: Tensor, offset: Tensor) -> None:
        self.kernel, self.X, self.f, self.offset = kernel, X, f, offset
        self._seen: tuple[Tensor, Tensor] | None = None

    def __call__(self, Z: Tensor, c: Tensor) -> float:
        if self._seen is None or self._seen[0] is not Z:
            self._seen = (Z, self.kernel(self.X, Z))
        f = self._seen[1] @ c + self.offset
        return float((f - self.f).square().sum() / self.f.square().sum())


class _Watch:
    """Ends a solve at the error wanted; counts the processor time of looking."""

    def __init__(self, error: _Error, enough: float) -> None:
        self.error, self.enough = error, enough
        self.loss, self.seconds = math.inf, 0.0

    def __call__(self, progress: Progress, Z: Tensor, c: Tensor) -> bool:
        del progress
        start = time.process_time()
        self.loss = self.error(Z, c)
        self.seconds += time.process_time() - start
        return self.loss <= self.enough


def problem(
    n: int, d: int, bandwidth: float, penalty: float, noise: float, n_test: int, seed: int
) -> tuple[lazy.System, _Error]:
    """Centred labels on n rows, and the error on fresh ones."""
    task = lazy.MultiIndex(d, lazy.he1_he2(), noise, seed=seed)
    train, test = (
        task.sample(n, lazy.stream(seed, "train")),
        task.sample(n_test, lazy.stream(seed, "test")),
    )
    kernel, offset = lazy.Gaussian(bandwidth), train.y.mean(0)
    system = lazy.System(kernel, train.X, train.y - offset, penalty * n)
    return system, _Error(kernel, test.X, task.target(test.X), offset)


@lru_cache(maxsize=64)
def reference(
    n: int, d: int, bandwidth: float, penalty: float, noise: float, n_test: int, seed: int
) -> float:
    """Error of the full solution, which the direct solver reaches too, at n^2 instead of n^3."""
    system, error = problem(n, d, bandwidth, penalty, noise, n_test, seed)
    solution = lazy.NystromCG(tolerance=1e-6).solve(system, seed=seed)
    return error(solution.Z, solution.c)


def subsample(n: int) -> int:
    """Rows of EigenPro's subsample: 10 sqrt(n); a tenth of them are the eigenpairs."""
    return min(n, int(10 * n**0.5))


def centres(n: int) -> int:
    """Nystrom centres: 20 sqrt(n), with which the error wanted can be reached."""
    return min(n, int(20 * n**0.5))


def chosen(solver: str, system: System) -> Solver:
    """The solver of a name; only the error ends an iteration."""
    match solver:
        case "direct":
            return lazy.Direct()
        case "richardson":
            return lazy.Richardson(NEVER, 20_000)
        case "cg":
            return lazy.ConjugateGradients(NEVER)
        case "nystrom_cg":
            return lazy.NystromCG(tolerance=NEVER)
        case "eigenpro":
            return lazy.EigenPro(subsample(len(system.X)), tolerance=NEVER)
        case "nystrom":
            return lazy.Nystrom(centres(len(system.X)), tolerance=NEVER)
        case _:
            least = lazy.NystromCG().bytes(system)
            return lazy.NystromCG(tolerance=NEVER, memory_limit=least)


def work(solver: str, n: int, d: int, last: Progress) -> float:
    """Multiplications: d an entry evaluated, one an entry of each product, and factorisations.

    n^3/3 for a Cholesky factorisation, 4.5 k^3 for eigenvectors (Golub & Van Loan 2013, section
    8.3), n k^2 for a factor of k columns and as much for its Gram matrix.
    """
    shared, steps = (d * last.evaluations + last.passes) * n**2, last.iteration
    match solver:
        case "direct":
            return shared + n**3 / 3
        case "richardson" | "cg":
            return shared
        case "nystrom":
            m = centres(n)
            return shared + m**3 + 3 * m**2 * steps
        case "eigenpro":
            s = subsample(n)
            return shared + 4.5 * s**3 + n * s * (s // 10) + 2 * n * (s // 10) * steps
        case _:
            k = lazy.NystromCG().columns(n)
            return shared + 4.5 * k**3 + 2 * n * k**2 + 2 * n * k * steps


def theory(solver: str, n: int, d: int) -> dict[str, float]:
    """The direct solver's n^3/3 and the matrix, formed and multiplied once; its bytes.

    8 n^2 of the matrix, those of 12 tiles of it, and of 12 vectors of n numbers.

    How many passes the others need is for the simulation to say.
    """
    if solver != "direct":
        return {"work": math.nan, "bytes": math.nan}
    return {"work": n**3 / 3 + (d + 1) * n**2, "bytes": 8.0 * (n**2 + 12 * TILE**2 + 12 * n)}


PANELS = {
    "seconds": ("Time", "processor seconds", 1.0),
    "work": ("Work", "multiplications", 1.0),
    "bytes": ("Memory", "MB that the solver declares", 1e-6),
    "passes": ("Passes", r"products with the matrix, in $n^2$", 1.0),
}

#: The slide: n, FLOPs, what they are of. Direct inversion is counted as n^3, one iteration as n^2.
TALK = ((1e4, 1e12, "$n^3$"), (1e7, 1e21, "$n^3$"), (1e7, 1e14, "$n^2$"))
#: The slide's GPU of 10^13 FLOPs a second, for a day.
DAY = 1e13 * 86_400


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Time, work, memory and passes against n, a colour a solver; work up to the talk's n."""
    _, axes = panels(5, 3, (4.2, 3.4))
    direct = marks_of(NAMES)["direct"]
    for ax, (metric, (title, label, unit)) in zip(axes, PANELS.items(), strict=False):
        style.dress(ax, title, "number of training rows n", label, "both")
        scaled = table.assign(**{metric: table[metric] * unit})
        known = ("direct",) if theory_table is not None and metric in theory_table else ()
        draw_series(ax, scaled, "solver", NAMES, "n", metric, connect=True, known=known)
        if known:
            n = np.geomspace(table["n"].min(), table["n"].max(), 50)
            values = [theory("direct", k, int(table["d"].iloc[0]))[metric] for k in n.tolist()]
            series.line(ax, n, unit * np.array(values), "", direct.color)
        style.tick_at(ax, table["n"], 2)
        style.logarithmic(ax, "y")
    _slopes(axes[0], table)
    _talk_sizes(axes[4], table)
    row = {name: float(table[name].iloc[0]) for name in ("bandwidth", "d", "penalty", "margin")}
    return finished(
        axes,
        f"Gaussian kernel, {int(row['d'])} inputs; each solver stops within "
        f"{100 * row['margin']:.3g} % of the direct solver's test error. Solid: direct solver by "
        "formula. Dashed: slopes 3, 2 and 3/2; stars: the talk's numbers. "
        f"Points: {over_seeds(table)}.{averaged(table, 'd', 'bandwidth', 'penalty', 'margin')}",
    )


def _talk_sizes(ax: Axes, table: DataFrame) -> None:
    """Multiplications at the measured n, and the talk's n^3 and n^2 up to its n = 10^7."""
    title = "Work up to the talk's n = $10^7$"
    style.dress(ax, title, "number of training rows n", "multiplications", "both")
    draw_series(ax, table, "solver", NAMES, "n", "work")
    n = np.geomspace(table["n"].min(), 1e7, 50)
    for power in (3, 2):
        ax.plot(n, n**power, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    for at, flops, name in TALK:
        ax.plot([at], [flops], marker="*", color=style.INK, markersize=8, linestyle="none")
        side = (-6, 0) if name == "$n^3$" else (-4, -11)
        ax.annotate(name, (at, flops), side, textcoords="offset points", ha="right",
                    va="center", fontsize=style.SMALL, color=style.INK)  # fmt: skip
    series.level(ax, DAY, "a day of $10^{13}$ a second")
    ax.set(xscale="log", yscale="log")


def _slopes(ax: Axes, table: DataFrame) -> None:
    """Short grey lines of slopes 3, 2 and 3/2 from one point below the data."""
    n = table["n"].to_numpy(float)
    x = np.array([(n.min() * n.max()) ** 0.5, n.max()])
    start = 0.6 * table["seconds"].to_numpy(float).min()
    for power, name in ((3.0, "3"), (2.0, "2"), (1.5, "3/2")):
        y = start * (x / x[0]) ** power
        ax.plot(x, y, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
        if y[-1] / y[0] > 10:  # else the names would stand on each other
            ax.annotate(name, (x[1], y[1]), fontsize=style.TINY, va="center", color=style.QUIET)


SIZES = [500, 1_000, 2_000, 4_000, 8_000]
MOST = {"n": 8_000}
FAST = [name for name in NAMES if name != "richardson"]
SOURCE = "The talk Feature learning and limitations of kernels, K a = y"


def _slopes_of(names: Sequence[str], metric: str, low: float, high: float) -> Check:
    """Slopes of each solver on n = 2,000 to 8,000."""
    return every(
        *(slope(metric, "n", low, high, {"solver": name, "n": SIZES[2:]}) for name in names)
    )


def _fewer(than: str, times: float, n: int) -> Check:
    """Are the passes of preconditioned CG at most those of another over `times`?"""
    own, other = {"solver": "nystrom_cg", "n": n}, {"solver": than, "n": n}
    return ratio("passes", other, own, times)


EXPERIMENT = Experiment(
    name="kernel-cost",
    question="What do kernel solvers cost to the same test error, as the sample grows?",
    about="""
The talk: direct inversion costs n^3, easy at n = 10^4 (10^12 FLOPs) and impossible at n = 10^7
(10^21), while one iteration of gradient descent costs n^2, feasible at n = 10^7 (10^14). Here
every solver runs until its test error is within 5 % of that of the full solution, and its
multiplications, processor time and declared bytes are counted. Points end at n = 8,000; the last
panel puts them beside the talk's numbers (stars), and the level of what a GPU of 10^13 FLOPs a
second does in a day.

At n = 10^4 the talk's n^3 = 10^12 takes such a GPU 0.1 seconds, and Cholesky does with n^3/3; at
n = 10^7 n^3 = 10^21 takes it three years and Cholesky one. One iteration at n = 10^7, n^2 =
10^14, takes 10 seconds. The matrix has 8 n^2 bytes: 0.8 GB at n = 10^4, 800 TB at 10^7, where its
entries have to be evaluated again in every pass. The talk closes with n iterations of n^2, which
would be n^3 again: what an iterative solver costs depends on how many it needs, and these are the
passes of the fourth panel.""",
    trial=trial,
    grids={
        "quick": [{"n": SIZES, "solver": FAST}, {"n": SIZES[:2], "solver": "richardson"}],
        "paper": [
            {"n": [*SIZES, 16_000], "solver": FAST},
            {"n": SIZES[:4], "solver": "richardson"},
        ],
    },
    small={"n": [60, 120], "d": 4, "bandwidth": 2.0, "penalty": 0.001, "n_test": 100},
    seeds={"quick": 3, "paper": 5},
    theory=theory,
    figure=figure,
    checks={
        "Every solver comes within 5 % of the error of the full solution, and the direct one has"
        " it."
        f" [{SOURCE}]": every(
            each("solver n", above("reached", 1.0)),
            within("ratio", 0.999, 1.001, {"solver": "direct"}),
        ),
        "The direct solver's cost grows like n^3: slope of work 2.8 to 3, of time 2.2 to 3.4 on n ="
        " 2,000 to 8,000."
        f" [{SOURCE}]": every(
            _slopes_of(["direct"], "work", 2.8, 3.0), _slopes_of(["direct"], "seconds", 2.2, 3.4)
        ),
        "That of CG, with and without a preconditioner, grows like n^2: slope of work 1.7 to 2.2,"
        " of time 1.2 to 2.5."
        f" [{SOURCE}]": every(
            _slopes_of(["cg", "nystrom_cg", "streamed"], "work", 1.7, 2.2),
            _slopes_of(["cg", "nystrom_cg", "streamed"], "seconds", 1.2, 2.5),
        ),
        "EigenPro, whose epochs fall, and 20 sqrt(n) Nystrom centres grow more slowly: slope of"
        " work 1.3 to 2."
        " [Ma & Belkin 2019; Rudi, Carratino & Rosasco 2017]": _slopes_of(
            ["eigenpro", "nystrom"], "work", 1.3, 2.0
        ),
        "The preconditioner saves passes: at most half of those of CG from n = 2,000 on, a"
        " hundredth of those of Richardson's iteration."
        f" [{SOURCE}]": every(
            *(_fewer("cg", 2, n) for n in SIZES[2:]),
            *(_fewer("richardson", 100, n) for n in SIZES[:2]),
        ),
        "At n = 8,000 it takes less processor time than the direct solver, and 400 MB less where no"
        " tile is kept."
        f" [{SOURCE}]": every(
            greater("seconds", {"solver": "direct", **MOST}, {"solver": "nystrom_cg", **MOST}),
            greater("bytes", {"solver": "direct", **MOST}, {"solver": "streamed", **MOST}, 4e8),
        ),
    },
)
