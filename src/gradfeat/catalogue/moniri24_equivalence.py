"""Random features, their Gaussian equivalent and theory: ridge errors and double descent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    only,
    over_seeds,
    relative,
    values_of,
)
from gradfeat.catalogue.shared.equivalent_features import (
    ACTIVATIONS,
    EQUIVALENT,
    ERRORS,
    KEYS,
    METRICS,
    SHARES,
    TARGET,
    theory,
    trial,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, each, every, greater, ratio
from gradfeat.lab.cells import Value
from gradfeat.lab.claims import Check
from gradfeat.lab.rows import Where
from gradfeat.lab.verdicts import holding

#: d/n and penalty of the double descent.
PHI, SMALL = 0.5, 1e-3


def _alike(metric: str, where: Where, margin: float) -> Check:
    """Do neurons and Gaussian equivalent differ by at most a share, in each cell?"""
    alike = ratio(metric, None, None, 1 - margin, 1 + margin, EQUIVALENT + metric)
    return each("activation phi psi lam", alike, where)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Shares of the target that are learned; errors over theory; double descent."""
    _, axes = panels(3, 3, (4.4, 4.0))
    curve = only(table, lam=SMALL)
    points = table.loc[~table.index.isin(curve.index)]
    theory_too = theory_table is not None
    rows = _curve(table)
    _shares(axes[0], rows, theory_too)
    _deviation(axes[1], points if len(points) else table)
    _descent(axes[2], rows, theory_too)
    row = rows.iloc[0]
    return finished(
        axes,
        rf"Left, right: {ACTIVATIONS[row['activation']]}, d/n = {row['phi']:g}, $\lambda$ ="
        rf" {row['lam']:g}, n = {row['n']:,}. Middle: every activation, d/n, d/N at n ="
        rf" {values_of(points if len(points) else table, 'n')}. $y = He_1 + He_2/\sqrt{{2}}$ +"
        rf" noise {values_of(table, 'noise')}. Points: {over_seeds(table)}; lines: theory."
        f"{averaged(table, 'noise', 'targets')}",
    )


MARKS = {
    "": style.Mark("neurons", style.BLUE, "o"),
    EQUIVALENT: style.Mark("Gaussian equivalent", style.ORANGE, "D"),
}


def _curve(table: DataFrame) -> DataFrame:
    """Rows of one curve over N/n: that of the double descent where the table has it."""
    rows = only(table, activation=CURVE["activation"], phi=PHI, lam=SMALL)
    rows = rows if len(rows) else table.loc[table["lam"] == table["lam"].min()]
    rows = only(rows, **{name: rows[name].iloc[0] for name in ("activation", "phi", "lam", "n")})
    return rows.assign(ratio=rows["phi"] / rows["psi"])


def _shares(ax: Axes, rows: DataFrame, theory_too: bool) -> None:
    """How much of each part of the target the fits have, in shares of the part."""
    style.dress(ax, "Share of the target that is learned", NEURONS, "share of the part", "y")
    for before, mark in MARKS.items():
        for name in SHARES:
            draw_metric(ax, rows, "ratio", before + name, mark, shift=3 if before else 0)
    if theory_too:
        ratio = _ratios(rows)
        for name, said in SHARES.items():
            values = _along(rows, ratio, name)
            series.line(ax, ratio, values, "theory", style.INK)
            ax.annotate(
                said, (ratio[-1], values[-1]), (-2, 9), textcoords="offset points", ha="right",
                fontsize=style.SMALL, color=style.INK
            )  # fmt: skip
    ax.set_ylim(-0.1, 1.0)
    _ratio_axis(ax)


def _ratios(rows: DataFrame) -> np.ndarray:
    return np.sort(np.append(np.geomspace(rows["ratio"].min(), rows["ratio"].max(), 101), 1.0))


NEURONS = "neurons per row N/n"


def _ratio_axis(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    low, high = ax.get_xlim()
    style.tick_at(ax, [r for r in (0.25, 0.5, 1, 2, 4) if low <= r <= high], 2)


def _cells(table: DataFrame, before: str) -> DataFrame:
    """Mean and standard error of each error/theory in each cell, with the prediction."""
    import pandas as pd

    groups = relative(table, theory, METRICS).groupby(KEYS, sort=False)
    parts = []
    for name in ERRORS:
        found = groups[before + name].agg(["mean", "sem"]).reset_index()
        said = [
            theory(*row)[before + name] for row in found[KEYS].itertuples(index=False, name=None)
        ]
        parts.append(found.assign(theory=said))
    return pd.concat(parts)


def _deviation(ax: Axes, table: DataFrame) -> None:
    from matplotlib.ticker import PercentFormatter

    near = holding(table, *EXPERIMENT.claims[1:3])
    title = "Errors are within 2 % of theory" if near else "Errors relative to theory"
    style.dress(ax, title, "training loss, training or test error, predicted",
                "simulated / predicted - 1", "both")  # fmt: skip
    for before, mark in MARKS.items():
        cells = _cells(table, before)
        gap, wide = cells["mean"] - 1, 1.96 * cells["sem"]
        found = series.Series(
            *(np.asarray(a) for a in (cells["theory"], gap, gap - wide, gap + wide)), mark=mark
        )
        series.points(ax, found, shift=3 if before else 0)
    ax.axhspan(-0.02, 0.02, color=style.INK, alpha=0.07, linewidth=0, zorder=0.5)
    ax.axhline(0.0, color=style.INK, linewidth=1.6, zorder=1.8)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1, symbol=" %"))
    style.logarithmic(ax, "x")


def _descent(ax: Axes, rows: DataFrame, theory_too: bool) -> None:
    style.dress(ax, "Double descent of the test error", NEURONS, r"test error $E(y-f)^2$", "both")
    for before, mark in MARKS.items():
        draw_metric(ax, rows, "ratio", before + "test_error", mark, shift=3 if before else 0)
    if theory_too:
        ratio = _ratios(rows)
        series.line(ax, ratio, _along(rows, ratio, "test_error"), "theory", style.INK)
    ax.axvline(1.0, color=style.QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1.5)
    ax.annotate("N = n", (1.0, 0.0), (4, 5), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", fontsize=style.SMALL, color=style.QUIET)  # fmt: skip
    _ratio_axis(ax)


def _along(rows: DataFrame, ratio: np.ndarray, name: str) -> np.ndarray:
    """What theory says of neurons; their Gaussian equivalent differs by less than a line's width.

    But for what is learned of He_2, which is 0 of the equivalent.
    """
    cell = {key: rows[key].iloc[0] for key in KEYS}
    phi = float(cell["phi"])
    return np.array([theory(**cell | {"psi": phi / float(one)})[name] for one in ratio])


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


#: E y^2 - c_{*1}^2 at the noise of the grids: what the best linear function leaves.
BEST_LINEAR = 2 * TARGET[2] ** 2 + 0.5**2

ABOUT = """Ridge regression on N random features of n rows, sigma(X W0^T), and on their Gaussian
equivalent c_0 + c_1 X W0^T + c_{>1} Z, where independent Gaussian noise Z stands for all that is
not linear. Targets have a linear and a quadratic part. Training loss, training error and test error
of both are held against the deterministic equivalent of the resolvent.

Left: the share of each part of the target that the fit has. Random features learn some of the
linear part and next to nothing of the quadratic one, whatever their number: with n and N of the
order of d there are d^2/2 quadratic functions, and beyond their linear part neurons are noise.
Middle: errors over their predictions; the grey band is 2 %. Right: double descent, with the peak
at N = n. The slide shows the double descent of Mei and Montanari as a sketch; here its axis is the
number of neurons a row, so that larger models stand to the right.
"""


def _peak(metric: str) -> Check:
    at = {**CURVE, "psi": PHI}
    others = [{**CURVE, "psi": PHI * ratio} for ratio in RATIOS if ratio != 1.0]
    return every(*(greater(metric, at, other, 0.1) for other in others))


EXPERIMENT = Experiment(
    name="moniri24-equivalence",
    question=(
        "Does the Gaussian equivalent reproduce random-feature errors, and do both match the"
        " asymptotics?"
    ),
    about=ABOUT,
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
    checks={
        "Random features learn the linear part of the target alone: of He_1 the share that theory"
        " says, within 0.05 (a third of what the best of them leaves), and of He_2 less than 3 %,"
        " for four activations."
        " [Moniri24, random features; Mei & Montanari 2022; Hu & Lu 2023]": every(
            agrees("linear_share", theory, LARGE, margin=0.05),
            agrees("quadratic_share", theory, LARGE, margin=0.02),
            each("activation phi psi", below("quadratic_share", 0.03), LARGE),
            each("activation phi psi", above("test_error", BEST_LINEAR), LARGE),
        ),
        "Training loss, training error and test error of random features are within 2 % of theory,"
        " for four activations."
        " [Moniri24, section 4; Mei & Montanari 2022]": every(
            *(agrees(name, theory, LARGE, 2.0, margin=0.02, by="share") for name in ERRORS)
        ),
        "Errors of the Gaussian equivalent are within 2 % of the same theory."
        " [Moniri24, the Gaussian equivalence; Mei & Montanari 2022]": every(
            *(
                agrees(EQUIVALENT + name, theory, LARGE, 2.0, margin=0.02, by="share")
                for name in ERRORS
            )
        ),
        "On the same rows and first layer, errors of neurons and of the Gaussian equivalent differ"
        " by less than 2 %."
        " [Moniri24, the Gaussian equivalence]": every(
            *(_alike(name, LARGE, 0.02) for name in ERRORS)
        ),
        "At a small penalty the test error peaks at N = n, by 0.1 or more, for neurons and for the"
        " Gaussian equivalent."
        " [Mei & Montanari 2022, double descent]": every(
            _peak("test_error"), _peak(EQUIVALENT + "test_error")
        ),
        "Along the double descent, test errors are within 6.5 % of theory (half of the fall from"
        " the peak to n = 1.1 N)."
        " [Mei & Montanari 2022, Theorem 1]": every(
            agrees("test_error", theory, CURVE, 2.0, margin=0.065, by="share"),
            agrees(EQUIVALENT + "test_error", theory, CURVE, 2.0, margin=0.065, by="share"),
        ),
    },
)
