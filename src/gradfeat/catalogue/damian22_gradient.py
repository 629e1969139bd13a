"""The first gradient: its leading term and its whole Hermite series against measured gradients."""

from __future__ import annotations

import math

import numpy as np

from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    only,
    over_seeds,
    theory_line,
    values_of,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import caption, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, each, every, greater, lazy, slope
from gradfeat.maths.ranges import MOST_DEGREE, MOST_ROWS, at_least, at_most, paired

#: Beyond it hardly a neuron of a sample is on at one end, or off at the other.
LARGEST_BIAS = 4.0

#: Metrics of the leading term.
LEADING = ("leading_error", "measured_error", "noise_ratio_leading")


def trial(
    d: int,
    bias: float = 0.0,
    r: int = 1,
    p: int = 4,
    m: int = 200,
    n: int = 200_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Gradient of Algorithm 1 at its start on n rows of He_2/2 + He_p/sqrt(2 p!) in r directions.

    leading_error = |G - L|/|L| over the m neurons: G the population gradient by its series, L the
    leading term -2 a_j H w_j/(|w_j| sqrt(2 pi)); measured_error is the same with the gradients of
    two halves of the rows in place of G, <G_1 - L, G_2 - L> having no bias. noise_ratio is
    |G_n - G|^2 over its expectation, so 1 where the series is right; noise_ratio_leading has L in
    place of G. The leading term is that of a net without bias. Its measured error is left out where
    sampling noise hides it, n < 16 d^2.
    """
    from gradfeat.catalogue.shared.first_gradients import gradient_on

    paired(m)
    at_least(1, d=d, r=r)
    at_least(10 * d, n=n)
    at_most(MOST_ROWS, n=n)
    at_most(MOST_DEGREE, p=p)
    at_most(LARGEST_BIAS, **{"|bias|": abs(bias)})
    task = lazy.MultiIndex(d, lazy.he2_hep(p, r), seed=seed)
    net = lazy.GradientStep(m)
    rows = task.sample(n, lazy.stream(seed, "train"))
    halves = [lazy.Sample(rows.X[i::2].to(device), rows.y[i::2].to(device)) for i in (0, 1)]
    g, U = task.g.series, task.directions.numpy()
    start = net.start(lazy.in_memory(rows.X, rows.y), seed)
    W, a = start.W[: m // 2].numpy(), start.a[: m // 2, 0].numpy()
    measured = [gradient_on(half, start.W[: m // 2], start.a[: m // 2], bias) for half in halves]
    G = lazy.population_gradient(g, U, W, a, bias)
    V = 4 * np.sum(a**2 * lazy.sampling_variance(g, U, W, bias)) / n
    mean = (measured[0] + measured[1]) / 2
    found = {"noise_ratio": float(np.square(mean - G).sum() / V)}
    if bias != 0:
        return found | dict.fromkeys(LEADING, math.nan)
    L = lazy.leading_term(g, U, W, a)
    size = np.square(L).sum()
    square = float(np.sum((measured[0] - L) * (measured[1] - L)) / size)
    values = (
        math.sqrt(np.square(G - L).sum() / size),
        math.copysign(math.sqrt(abs(square)), square) if 16 * d**2 <= n else math.nan,
        float(np.square(mean - L).sum() / V),
    )
    return found | dict(zip(LEADING, values, strict=True))


def theory(d: int, bias: float, r: int, p: int) -> dict[str, float]:
    """The leading term's error over the start, exact; 1 for what is in units of noise."""
    error = lazy.relative_error(lazy.he2_hep(p, r), d) if bias == 0 else math.nan
    return {"leading_error": error, "measured_error": error, "noise_ratio": 1.0}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Left: error of the leading term over d. Right: what is left of the measured gradient."""
    fig, axes = panels(2, 2, (5.2, 4.0))
    plain = only(table, bias=0.0)
    several = sorted({*plain["r"]})
    _errors(axes[0], plain, several, theory_table is not None)
    _ratios(axes[1], table, several)
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        style.key(ax, [h for h, label in zip(handles, labels, strict=True) if label], 3)
    p = int(table["p"].iloc[0])
    caption(
        fig,
        rf"{int(table['m'].iloc[0])} ReLU neurons at Algorithm 1's start; "
        rf"$f^*$: He$_2$ and He$_{p}$ of r directions, n = {values_of(table, 'n')}. Lines: theory. "
        f"Points: {over_seeds(table)}.{averaged(table, 'p', 'm', 'n')}",
    )
    return fig


def _errors(ax: Axes, rows: DataFrame, several: list[int], theory_too: bool) -> None:
    style.dress(
        ax, "Relative error of the leading term", "number of inputs d", "relative error", "both"
    )
    names = [f"r = {r}, {what}" for r in several for what in ("by the series", "measured")]
    marks = iter(style.class_marks(tuple(names)))
    for r in several:
        own = only(rows, r=r)
        exact = next(marks)
        if theory_too and len(own):
            theory_line(ax, own, "d", "leading_error", theory, exact.color, "", 40)
        draw_metric(ax, own, "d", "leading_error", exact, shift=-3)
        seen = own.dropna(subset=["measured_error"])
        if len(seen):
            draw_metric(ax, seen, "d", "measured_error", next(marks), shift=3)
    style.logarithmic(ax, "x")
    style.logarithmic(ax, "y")


def _ratios(ax: Axes, table: DataFrame, several: list[int]) -> None:
    title = "Measured gradient less its prediction"
    left = r"$|G_n - $prediction$|^2$ / sampling variance"
    style.dress(ax, title, "number of inputs d", left, "both")
    plain = only(table, bias=0.0, r=several[0]) if several else table
    cells = [
        ("leading term alone", plain, "noise_ratio_leading"),
        ("series", plain, "noise_ratio"),
        *(
            (f"series, bias {bias:g}", only(table, bias=bias), "noise_ratio")
            for bias in sorted({*table["bias"]} - {0.0})
        ),
    ]
    # Marks of their own: those of the left panel mean numbers of directions.
    marks = style.class_marks(("", "", "", "", *(name for name, _, _ in cells)))[4:]
    for place, (mark, (_, rows, metric)) in enumerate(zip(marks, cells, strict=True)):
        draw_metric(ax, rows, "d", metric, mark, shift=4 * place - 8)
    series.level(ax, 1.0, "")
    style.logarithmic(ax, "x")
    style.logarithmic(ax, "y")


DIMENSIONS = [20, 50, 100, 200, 500]
PLAIN = {"bias": 0.0}
#: Less than a factor of 2^(1/2) either way.
FACTOR = 0.29

EXPERIMENT = Experiment(
    name="damian22-gradient",
    question="Is the first gradient the Hessian times the weights, and what else is in it?",
    about="""
Lemma 1: the population gradient of neuron j at Algorithm 1's start is -2 a_j H w_j/sqrt(2 pi)
plus a remainder of order sqrt(r)/d, relative error d^(-1/2). Left: that relative error, from the
whole Hermite series of the gradient (by the series) and from gradients of two halves of n rows,
whose noise is independent (measured); the line is the exact mean over starts. Right: the squared
distance of the measured gradient from two predictions, in units of its sampling variance: 1
(dashed) where nothing but noise is left.

The slide's series stops at k = p - 1 and so leaves out c_{p+2} w C_p(w^p), which is of the size
of the last term in C_{p+1} that it would have; the sum here runs to k = p. The coefficients c_k
are E[relu(Z) He_k(Z)], and of the odd ones only c_1 is not 0: of the slide's second term, c_3
C_3(w, w) + c_4 w C_2(w, w), only the part in c_4 is there without biases.""",
    trial=trial,
    grids={
        "quick": [
            {"d": DIMENSIONS, "r": 1, "n": 50_000},
            {"d": DIMENSIONS[:3], "r": 3, "n": 50_000},
            {"d": 20, "bias": [-1.0, 0.5, 2.0], "r": 1, "n": 50_000},
        ],
        "paper": [
            {"d": DIMENSIONS, "r": [1, 3]},
            {"d": [20, 100], "bias": [-1.0, 0.5, 2.0], "r": [1, 3]},
        ],
    },
    small={"d": [5, 8], "bias": [0.0, 0.5], "r": [1, 2], "m": 10, "n": 500},
    seeds={"quick": 8, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "The leading term's relative error falls like d^(-1/2): slope -0.6 to -0.45 on d = 20 to"
        " 500."
        " [Damian22, Lemma 1]": slope("leading_error", "d", -0.6, -0.45, {**PLAIN, "r": 1}),
        "Series and Monte Carlo relative errors are within 29 % of theory: less than a factor of"
        " 2^(1/2) either way."
        " [Damian22, Lemma 1]": every(
            near("leading_error", theory, FACTOR, PLAIN),
            near("measured_error", theory, FACTOR, {**PLAIN, "d": 20}),
        ),
        "Measured gradients differ from the whole series by their sampling noise alone, within 29"
        " %, less than a factor of 2^(1/2) either way, with and without bias."
        " [Damian22, section 4: the Hermite expansion of the gradient]": near(
            "noise_ratio", theory, FACTOR
        ),
        "The leading term alone leaves more than noise at d = 20. [Damian22, Lemma 1]": each(
            "r",
            greater(
                "noise_ratio_leading",
                {**PLAIN, "d": 20},
                {**PLAIN, "d": 20},
                margin=1.0,
                than_metric="noise_ratio",
            ),
            {**PLAIN, "d": 20},
        ),
    },
)
