"""Random features, their Gaussian equivalent and theory: ridge errors and double descent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.checks import LARGEST, MOST_ROWS, at_least, at_most, one_of, positive
from gradfeat.catalogue.shared.comparisons import ratio_agrees
from gradfeat.catalogue.shared.curves import (
    averaged,
    metric_series,
    only,
    over_seeds,
    relative,
    values_of,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.lab.cells import Value
from gradfeat.lab.claims import Check, Claim, Verdict, agrees, every, greater
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.rows import Where
from gradfeat.lab.verdicts import holding, worst

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import Tensor

    from gradfeat.maths.activations import Activation


ACTIVATIONS = {"relu": "ReLU", "centred_relu": "centred ReLU", "tanh": "tanh", "erf": "erf"}
ERRORS = {
    "training_loss": "training loss",
    "training_error": "training error",
    "test_error": "test error",
}
#: Before the name of a metric: that of the Gaussian equivalent.
EQUIVALENT = "equivalent_"
METRICS = (*ERRORS, *(EQUIVALENT + name for name in ERRORS))
#: d/n and penalty of the double descent.
PHI, SMALL = 0.5, 1e-3
#: What theory takes.
KEYS = ["activation", "phi", "psi", "lam", "n", "noise"]
#: c_{*k} of f* = He_1 + He_2/sqrt(2), setting 2 of the talk.
TARGET = (0.0, 1.0, math.sqrt(0.5))


def trial(
    activation: str,
    phi: float,
    psi: float,
    lam: float,
    n: int = 1_500,
    noise: float = 0.5,
    targets: int = 50,
    n_test: int = 1_500,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Errors of ridge on F_0 = sigma(X W0^T) and on c_0 + c_1 X W0^T + c_{>1} Z, Z ~ N(0, 1).

    d = phi n inputs, N = d/psi neurons; both have the same X, W0 and labels. Labels are
    y_j = He_1(x_j) + He_2(x_j)/sqrt(2) + noise, j = 1, ..., `targets`: one direction each (X and W0
    are rotation-invariant), so that one factorisation averages over targets and their noise.

    Most variance of an error is that of the labels' own mean square. So with q = E y^2/mean y^2
    over the training rows and h the quadratic part of f*, given are q times the training errors and
    q mean((f* - f)^2 - h^2) + E h^2 + noise^2; the bias of q is of order 1/(n targets).
    """
    from torch import Tensor

    from gradfeat.maths.activations import activation as activation_of
    from gradfeat.models.random_features import draw, draw_first_layer

    one_of(ACTIVATIONS, activation=activation)
    at_least(1, n=n, n_test=n_test, targets=targets)
    at_least(0, noise=noise)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    at_most(LARGEST, noise=noise, phi=phi, psi=psi, lam=lam)
    positive(phi=phi, psi=psi, lam=lam)
    d, N = sizes(n, phi, psi)
    at_most(MOST_ROWS, **{"phi n": d, "phi n/psi": N})
    at_most(d, targets=targets)
    device_of = Tensor().double().to(device)
    X, T = (draw(device_of, seed, name, rows, d) for name, rows in (("X", n), ("test", n_test)))
    W0 = draw_first_layer(X, N, "sphere", seed)
    y = sum(_parts(X, targets), noise * draw(X, seed, "noise", n, targets))
    new, P, Q = _parts(T, targets), X @ W0.mT, T @ W0.mT
    sigma = activation_of(activation)
    found = _errors(sigma(P), y, sigma(Q), new, lam, noise)
    F, G = (_equivalent(sigma, *rows, seed) for rows in ((P, "Z"), (Q, "Z test")))
    other = _errors(F, y, G, new, lam, noise)
    return found | {EQUIVALENT + name: value for name, value in other.items()}


def sizes(n: int, phi: float, psi: float) -> tuple[int, int]:
    """d = phi n and N = d/psi, in whole numbers."""
    d = max(1, round(phi * n))
    return d, max(1, round(d / psi))


def _parts(X: Tensor, targets: int) -> tuple[Tensor, Tensor]:
    """The linear and the quadratic part of f* in the first directions."""
    z = X[:, :targets]
    return TARGET[1] * z, TARGET[2] * (z.square() - 1)


def _equivalent(sigma: Activation, P: Tensor, name: str, seed: int) -> Tensor:
    """c_0 + c_1 P + c_{>1} Z."""
    from gradfeat.models.random_features import draw
    from gradfeat.theory.ridge_errors import moments

    mean, slope = (float(c) for c in sigma.hermite_coefficients(1))
    return mean + slope * P + math.sqrt(moments(sigma)[2]) * draw(P, seed, name, *P.shape)


def _errors(
    F: Tensor, y: Tensor, G: Tensor, new: tuple[Tensor, Tensor], lam: float, noise: float
) -> dict[str, float]:
    """Averages over targets of the errors of ridge on F; G, `new` are of new rows."""
    from gradfeat.maths.feature_ridge import ridge_fit
    from gradfeat.theory.teacher import Teacher

    fit = ridge_fit(F, y, lam)
    linear, quadratic = new
    share = float(Teacher(TARGET, noise).power) / float(y.square().mean())
    beside = (linear + quadratic - G @ fit.a).square() - quadratic.square()
    test = share * beside.mean() + 2 * TARGET[2] ** 2 + noise**2
    values = (share * fit.loss.mean(), share * fit.error.mean(), test)
    return {name: float(value) for name, value in zip(ERRORS, values, strict=True)}


@lru_cache(maxsize=4_096)
def theory(
    activation: str, phi: float, psi: float, lam: float, n: int, noise: float
) -> dict[str, float]:
    """The limits at the ratios d/n and d/N of the whole numbers d and N; the same for both."""
    from gradfeat.maths.activations import activation as activation_of
    from gradfeat.theory.ridge_errors import random_feature_errors
    from gradfeat.theory.teacher import Teacher

    d, N = sizes(n, phi, psi)
    teacher = Teacher(TARGET, noise)
    found = random_feature_errors(d / n, d / N, lam, activation_of(activation), teacher)
    values = (found.training_loss, found.training_error, found.test_error)
    return {
        before + name: float(value)
        for before in ("", EQUIVALENT)
        for name, value in zip(ERRORS, values, strict=True)
    }


def _alike(metric: str, where: Where, margin: float) -> Check:
    """Do neurons and Gaussian equivalent differ by at most margin of theory, in each cell?"""
    check = agrees(metric, lambda: {metric: 0.0}, where, 2.0, margin=margin)

    def checked(table: pd.DataFrame) -> Verdict:
        if table.empty:
            return worst([])
        ratio = relative(table, theory, METRICS)
        return check(table.assign(**{metric: ratio[EQUIVALENT + metric] - ratio[metric]}))

    return checked


def figure(table: pd.DataFrame, theory_table: pd.DataFrame | None) -> Figure:
    """Errors against theory; their deviation from it; double descent."""
    fig, axes = panels(3, 3, (4.4, 4.0))
    curve = only(table, lam=SMALL)
    points = table.loc[~table.index.isin(curve.index)]
    points = points if len(points) else table
    _parity(axes[0], points)
    _deviation(axes[1], points)
    _descent(axes[2], table, theory_table is not None)
    return finished(
        fig,
        axes,
        rf"Ridge on N features of n = {values_of(table, 'n')} rows: neurons $\sigma(XW_0^T)$ or"
        r" their Gaussian equivalent $c_0 + c_1 XW_0^T + c_{>1}Z$."
        rf" $f^* = He_1 + He_2/\sqrt{{2}}$, noise {values_of(table, 'noise')}, mean over"
        f" {values_of(table, 'targets')} targets of one draw. Left and middle: every activation"
        f" and (d/n, d/N, $\\lambda$). Points: {over_seeds(table)}."
        f"{averaged(table, 'noise', 'targets')}",
    )


MARKS = {
    "": style.Mark("neurons", style.BLUE, "o"),
    EQUIVALENT: style.Mark("Gaussian equivalent", style.ORANGE, "D"),
}


def _cells(table: pd.DataFrame, before: str) -> pd.DataFrame:
    """Mean and standard error of each error/theory in each cell, with the prediction."""
    import pandas as pd

    groups = relative(table, theory, METRICS).groupby(KEYS, sort=False)
    parts = []
    for name in ERRORS:
        found = groups[before + name].agg(["mean", "sem"]).reset_index()
        said = [theory(*row)[name] for row in found[KEYS].itertuples(index=False, name=None)]
        parts.append(found.assign(theory=said))
    return pd.concat(parts)


def _parity(ax: Axes, table: pd.DataFrame) -> None:
    title = "Neurons and Gaussian features"
    style.dress(ax, title, "loss or error predicted", "simulated", "both")
    for before, mark in MARKS.items():
        cells = _cells(table, before)
        said = cells["theory"].to_numpy(float)
        ax.plot(
            said, said * cells["mean"].to_numpy(float), linestyle="", marker=mark.marker,
            markersize=7 if before else 4, color=mark.color, label=mark.label,
            markerfacecolor="none" if before else mark.color,
        )  # fmt: skip
    ax.set_xscale("log")
    ends = np.array(ax.get_xlim())
    series.line(ax, ends, ends, "theory", style.INK)
    style.logarithmic(ax, "x")
    style.logarithmic(ax, "y")


def _deviation(ax: Axes, table: pd.DataFrame) -> None:
    from matplotlib.ticker import PercentFormatter

    near = holding(table, *EXPERIMENT.claims[:2])
    title = "Both are within 2 % of theory" if near else "Relative deviation from theory"
    style.dress(ax, title, "loss or error predicted", "simulated / predicted - 1", "both")
    for before, mark in MARKS.items():
        cells = _cells(table, before)
        gap, wide = cells["mean"] - 1, 1.96 * cells["sem"]
        found = series.Series(
            *(np.asarray(a) for a in (cells["theory"], gap, gap - wide, gap + wide)), mark=mark
        )
        series.points(ax, found, shift=3 if before else 0)
    ax.axhspan(-0.02, 0.02, color=style.INK, alpha=0.07, linewidth=0, zorder=0.5)
    ax.axhline(0.0, color=style.INK, linewidth=1.6, zorder=1.8)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    style.logarithmic(ax, "x")


def _descent(ax: Axes, table: pd.DataFrame, theory_too: bool) -> None:
    rows = only(table, activation=CURVE["activation"], phi=PHI, lam=SMALL)
    rows = rows if len(rows) else table.loc[table["lam"] == table["lam"].min()]
    rows = only(rows, **{name: rows[name].iloc[0] for name in ("activation", "phi", "lam", "n")})
    row = rows.iloc[0]
    title = rf"Double descent: {ACTIVATIONS[row['activation']]}, $\lambda$ = {row['lam']:g}"
    style.dress(ax, title, "rows per neuron n/N", r"test error $E(y-f)^2$", "both")
    rows = rows.assign(ratio=rows["psi"] / rows["phi"])
    for before, mark in MARKS.items():
        found = metric_series(rows, "ratio", before + "test_error", mark)
        series.points(ax, found, shift=3 if before else 0)
    if theory_too:
        _theory_line(ax, rows)
    ax.axvline(1.0, color=style.QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1.5)
    ax.annotate("n = N", (1.0, 0.0), (4, 5), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", fontsize=style.SMALL, color=style.QUIET)  # fmt: skip
    ax.set_xscale("log", base=2)
    low, high = ax.get_xlim()
    style.tick_at(ax, [r for r in (0.25, 0.5, 1, 2, 4) if low <= r <= high], 2)


def _theory_line(ax: Axes, rows: pd.DataFrame) -> None:
    from gradfeat.maths.activations import activation as activation_of
    from gradfeat.theory.ridge_errors import random_feature_errors
    from gradfeat.theory.teacher import Teacher

    row = rows.iloc[0]
    ratio = np.geomspace(rows["ratio"].min(), rows["ratio"].max(), 201)
    ratio = np.sort(np.append(ratio, 1.0))
    teacher = Teacher(TARGET, float(row["noise"]))
    sigma, phi = activation_of(str(row["activation"])), float(row["phi"])
    found = random_feature_errors(phi, phi * ratio, float(row["lam"]), sigma, teacher)
    series.line(ax, ratio, found.test_error, "theory", style.INK)


Settings = dict[str, Value | Sequence[Value]]

#: Double descent, n/N of its points; the talk's point; penalties of the other cells.
CURVE: Settings = {"activation": "centred_relu", "phi": PHI, "lam": SMALL}
RATIOS = [0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0]
DESCENT: Settings = {**CURVE, "psi": [PHI * ratio for ratio in RATIOS]}
TALK: Settings = {"phi": 0.5, "psi": 2 / 3, "lam": 0.01}
LARGE = {"lam": [0.01, 0.1, 0.3]}


def _points(phis: list[float], lams: list[float]) -> list[Settings]:
    """n/N = 1/2 and 2 at each phi, and the talk's own point."""
    four = list(ACTIVATIONS)
    grids: list[Settings] = [
        {"activation": four, "phi": p, "psi": [p / 2, 2 * p], "lam": lams} for p in phis
    ]
    return [*grids, {"activation": four, **TALK}]


def _peak(metric: str) -> Check:
    at = {**CURVE, "psi": PHI}
    others = [{**CURVE, "psi": PHI * ratio} for ratio in RATIOS if ratio != 1.0]
    return every(*(greater(metric, at, other, 0.1) for other in others))


EXPERIMENT = Experiment(
    name="moniri24-equivalence",
    question="Do random features err as a linear model with Gaussian noise, and as theory says?",
    trial=trial,
    grids={
        "quick": [
            *({**grid, "n": 1_000, "n_test": 1_000} for grid in _points([0.75, 1.0], [0.1])),
            {**DESCENT, "n": 800, "n_test": 1_000},
        ],
        "paper": [*_points([0.75, 1.0, 1.5], [0.1, 0.3]), DESCENT],
    },
    small={
        "phi": 0.5,
        "psi": [0.25, 1.0],
        "lam": [0.001, 0.1],
        "n": 40,
        "targets": 3,
        "n_test": 30,
    },
    seeds={"quick": 10, "paper": 20},
    theory=theory,
    figure=figure,
    claims=(
        Claim(
            "Training loss, training error and test error of random features are within 2 % of"
            " theory, for four activations.",
            "Moniri24, section 4; Mei & Montanari 2022",
            every(*(ratio_agrees(name, theory, LARGE, 0.02) for name in ERRORS)),
        ),
        Claim(
            "So are those of the Gaussian equivalent.",
            "Moniri24, the Gaussian equivalence; Mei & Montanari 2022",
            every(*(ratio_agrees(EQUIVALENT + name, theory, LARGE, 0.02) for name in ERRORS)),
        ),
        Claim(
            "On the same rows and first layer, neurons and equivalent differ by less than 2 %.",
            "Moniri24, the Gaussian equivalence",
            every(*(_alike(name, LARGE, 0.02) for name in ERRORS)),
        ),
        Claim(
            "With little penalty the test error is highest at n = N, by 0.1 or more, of neurons and"
            " equivalent.",
            "Mei & Montanari 2022, double descent",
            every(_peak("test_error"), _peak(EQUIVALENT + "test_error")),
        ),
        Claim(
            "The whole curve of double descent is within 6.5 % of theory, half of how much lower it"
            " is at n = 1.1 N than at its peak.",
            "Mei & Montanari 2022, Theorem 1",
            every(
                ratio_agrees("test_error", theory, CURVE, 0.065),
                ratio_agrees(EQUIVALENT + "test_error", theory, CURVE, 0.065),
            ),
        ),
    ),
)
