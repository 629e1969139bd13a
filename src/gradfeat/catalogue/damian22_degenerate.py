"""Degenerate targets: below d^{p/2} rows one step finds a direction by the quadratic part alone."""

from __future__ import annotations

import math

import numpy as np

from gradfeat.catalogue.shared.curves import averaged, draw_metric, marks_of, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, each, every, greater, lazy, ordered
from gradfeat.maths.ranges import MOST_DEGREE, MOST_ROWS, at_least, at_most, one_of, paired

NAMES = {"quadratic part": "He₂ + Heₚ", "degenerate": "Heₚ alone"}


def trial(
    target: str,
    d: int,
    ratio: float,
    p: int = 4,
    m: int = 512,
    n_test: int = 10_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Algorithm 1 on n = ratio d^2 rows of one direction u: loss over E f*^2, median |cos(w, u)|.

    Both are means over the same test rows, as f*^2 has heavy tails. The target is He_2/2 +
    He_p/sqrt(2 p!), or He_p/sqrt(p!) alone, whose H = E grad^2 f* is zero.

    `cosine` is the median |cos(w, u)| of the neurons, `rows` is n.
    """
    one_of(NAMES, target=target)
    paired(m)
    at_least(1, d=d, n_test=n_test)
    at_least(3, p=p)
    at_most(MOST_DEGREE, p=p)
    at_most(MOST_ROWS, n_test=n_test, **{"ratio d^2": ratio * d**2})
    n = round(ratio * d**2)
    at_least(2, **{"ratio d^2": n})
    task = lazy.MultiIndex(
        d, lazy.he2_hep(p) if target != "degenerate" else lazy.pure_hermite(p), seed=seed
    )
    rows, test = (task.sample(k, lazy.stream(seed, s)) for k, s in ((n, "train"), (n_test, "test")))
    net = lazy.GradientStep(m).fit(lazy.in_memory(rows.X.to(device), rows.y.to(device)), seed=seed)
    cosines = (net.W @ task.directions.to(device)).abs().squeeze(1) / net.W.norm(dim=1)
    loss = (net(test.X.to(device)) - test.y.to(device)).square().mean()
    return {
        "loss": float(loss) / float(test.y.square().mean()),
        "cosine": float(cosines.nanmedian()),
        "rows": float(n),
    }


def theory(target: str, d: int) -> dict[str, float]:
    """Median |cos| of a random direction and a fixed one, what the degenerate target tends to."""
    if target != "degenerate":
        return {"random_cosine": math.nan}
    return {"random_cosine": random_cosine(d)}


def random_cosine(d: int) -> float:
    """The median of |u.w|, w uniform on the sphere: (u.w)^2 ~ Beta(1/2, (d - 1)/2).

    >>> random_cosine(3)
    0.5
    """
    from scipy.special import betaincinv

    return float(betaincinv(0.5, (d - 1) / 2, 0.5)) ** 0.5 if d > 1 else 1.0


def _times(ratio: float) -> str:
    return "" if ratio == 1 else f"{ratio:g} "


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss, alignment and sample sizes over d: a row of panels for each p."""
    powers, ratios = sorted({*table["p"]}), sorted({*table["ratio"]})
    _, axes = panels(3 * len(powers), 3, (4.3, 3.3))
    marks = marks_of({(t, c): f"{NAMES[t]}, n = {_times(c)}d²" for t in NAMES for c in ratios})
    for i, p in enumerate(powers):
        left, right, sizes = axes[3 * i : 3 * i + 3]
        loss = r"test loss $E(f-f^*)^2/E f^{*2}$"
        style.dress(left, f"Loss, p = {p}", "number of inputs d", loss, "y")
        title = f"Alignment with the direction, p = {p}"
        style.dress(right, title, "number of inputs d", "median |cos(w, u)|", "y")
        for place, ((target, ratio), mark) in enumerate(marks.items()):
            rows = only(table, p=p, target=target, ratio=ratio)
            for ax, metric in ((left, "loss"), (right, "cosine")) if len(rows) else ():
                shift = 3.0 * (place - (len(marks) - 1) / 2)
                draw_metric(ax, rows, "d", metric, mark, connect=True, shift=shift)
        series.level(left, 1.0, "nothing learned", below=True)
        left.set_ylim(0, 1.4)
        right.set_ylim(0, 1.03)
        d = np.unique(np.geomspace(table["d"].min(), table["d"].max(), 30).round()).astype(int)
        if theory_table is not None:
            chance = np.array([random_cosine(k) for k in d.tolist()])
            series.line(right, d, chance, "random direction", style.BLACK)
        _sizes(sizes, only(table, p=p), p, d, marks)
        for ax in (left, right, sizes):
            style.tick_at(ax, table["d"], 2)
    return finished(
        axes,
        f"One gradient step on {int(table['m'].iloc[0])} neurons. Targets of one direction u: "
        r"$He_2/2 + He_p/\sqrt{2p!}$, and $He_p/\sqrt{p!}$, whose average Hessian is zero. "
        f"Points: {over_seeds(table)}.{averaged(table, 'm')}",
    )


def _sizes(
    ax: Axes, rows: DataFrame, p: int, d: np.ndarray, marks: dict[tuple[str, float], style.Mark]
) -> None:
    """The n used beside Theorem 2's, with its logarithm and without."""
    style.dress(ax, f"Sample sizes, p = {p}", "number of inputs d", "n", "y")
    own = only(rows, target="degenerate")
    for (target, ratio), mark in marks.items():
        part = only(own, ratio=ratio)
        if target == "degenerate" and len(part):
            draw_metric(ax, part, "d", "rows", mark)
    m = float(rows["m"].iloc[0]) if len(rows) else 1.0
    without = np.array([lazy.query_samples(k, p) for k in d.tolist()])
    with_log = np.array([lazy.query_tolerance(k, p, m * k) ** -2.0 for k in d.tolist()])
    series.line(ax, d, without, r"$d^{p/2}$", style.SKY)
    series.line(ax, d, with_log, r"$\tau^{-2}$ of Theorem 2, q = md", style.ORANGE)
    ax.set_yscale("log")


DIMENSIONS = [10, 20, 40]
#: Theorem 2 asks for n of at least d^{p/2}: 10,119 rows for p = 5, 64,000 for p = 6.
LARGE = {"d": 40, "ratio": 4.0}
SQUARE = {"d": 40, "ratio": 1.0}

EACH = {"target": list(NAMES), "p": [5, 6]}

EXPERIMENT = Experiment(
    name="damian22-degenerate",
    question="What does one gradient step find where the average Hessian is zero?",
    about="""
Assumption 2 asks for an average Hessian H = E grad^2 f* of full rank. He_p of one direction, p of
at least 3, has H = 0, and Theorem 2 says of such targets that learners by correlational queries
need a tolerance tau of at most (log(q d)/d)^(p/4); with tau ~ n^(-1/2), the talk's heuristic, n
of at least d^(p/2). So n = d^2 and 4 d^2 rows say something for p of at least 5 alone: there 4
d^2 is below d^(p/2) beyond d = 16 (p = 5) and beyond d = 4 (p = 6).

The right panels compare the n used with d^(p/2) and with tau^(-2) as printed, logarithm included,
for the q = m d numbers of one gradient. With its logarithm the bound is a handful of rows at
these d: the theorem is a statement on large d, and what fails here fails well above it. The black
line is the median |cos| of a random direction: what the degenerate target tends to as d grows.""",
    trial=trial,
    grids={
        "quick": {**EACH, "d": DIMENSIONS, "ratio": [1.0, 4.0]},
        "paper": {**EACH, "d": [*DIMENSIONS, 80], "ratio": [0.25, 1.0, 4.0, 16.0]},
    },
    small={"d": [4, 6], "ratio": [1.0, 4.0], "p": 3, "m": 20, "n_test": 100},
    seeds={"quick": 12, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "At n = 4 d^2, d = 40, below d^(p/2), the target with a quadratic part is learned (median"
        " loss below half of E f*^2) and its direction found (median |cos| above 0.65)."
        " [Damian22, Theorem 1]": every(
            each(
                "p", below("loss", 0.5, statistic="median"), {"target": "quadratic part", **LARGE}
            ),
            each("p", above("cosine", 0.65), {"target": "quadratic part", **LARGE}),
        ),
        "There the degenerate target loses more by at least 0.4 E f*^2, and its direction is not"
        " found (median |cos| below 0.4)."
        " [Damian22, Assumption 2 and Theorem 2 (n < d^(p/2))]": every(
            each(
                "p",
                greater(
                    "loss",
                    {"target": "degenerate"},
                    {"target": "quadratic part"},
                    0.4,
                    statistic="median",
                ),
                LARGE,
            ),
            each("p", below("cosine", 0.4), {"target": "degenerate", **LARGE}),
        ),
        "At n = d^2 rows, d = 40, the direction is found better with a quadratic part: the median"
        " |cos| is larger by at least 0.1, for p = 5 and 6."
        " [Damian22, Assumption 2 and Theorem 2 (n < d^(p/2))]": each(
            "p",
            greater("cosine", {"target": "quadratic part"}, {"target": "degenerate"}, 0.1),
            SQUARE,
        ),
        "At n = 4 d^2 the degenerate target's direction fades as d grows (p = 6, for which 4 d^2 is"
        " below d^(p/2) at d = 10 already)."
        " [Damian22, Theorem 2 (n < d^(p/2))]": ordered(
            "cosine",
            "d",
            {"target": "degenerate", "ratio": 4.0, "d": [10, 40], "p": 6},
            increasing=False,
        ),
    },
)
