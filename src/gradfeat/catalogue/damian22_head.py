"""Algorithm 1's head in numbers: how many neurons, which norm, how far training and test loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import (
    draw_metric,
    law_line,
    marks_of,
    only,
    over_seeds,
    theory_line,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, each, every, greater, lazy, ordered, slope
from gradfeat.maths.ranges import MOST_DEGREE, MOST_ROWS, at_least, at_most, paired, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.predictors import TwoLayer


def trial(
    m: int,
    n: int,
    r: int = 1,
    d: int = 10,
    p: int = 3,
    target: float = 0.2,
    n_many: int = 4_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Steps A.2 and A.3 of Theorem 1's proof, measured on f* = He_2 and He_p of r directions.

    The features are those of Algorithm 1 on n rows. norm_star = |a*|, a* the ridge solution of
    largest penalty with E |f - f*| <= `target` on `n_many` fresh rows, inf where none is. norm and
    excess are |a| and E |f - f*| of the head fitted to the n rows, penalty by leave-one-out.
    norm_within is |a| of the solution on the n rows of least penalty with |a| <= |a*|, and
    excess_within is what it loses. gap is its test less its training loss, and rademacher the bound
    2 |a| (sum_i |F_i|^2)^(1/2)/n on the expected gap, F_i the features of row i;
    share is gap/rademacher.
    """
    paired(m)
    at_least(2, n=n, n_many=n_many)
    at_most(MOST_ROWS, n=n, n_many=n_many)
    at_most(MOST_DEGREE, p=p)
    positive(target=target)
    task = lazy.MultiIndex(d, lazy.he2_hep(p, r), seed=seed)
    train, many, test = (
        task.sample(k, lazy.stream(seed, name))
        for k, name in ((n, "train"), (n_many, "many"), (n_many, "test"))
    )
    net = lazy.GradientStep(m).fit(
        lazy.in_memory(train.X.to(device), train.y.to(device)), seed=seed
    )
    F, y = _features(net, train.X.to(device), train.y.to(device))
    F_many, y_many = _features(net, many.X.to(device), many.y.to(device))
    F_test, y_test = _features(net, test.X.to(device), test.y.to(device))
    star = _smallest(F_many, y_many, target)
    norm_star = float(star.norm()) if star is not None else math.inf
    within = _of_norm(F, y, norm_star)
    losses = [float((A @ within - b).abs().mean()) for A, b in ((F, y), (F_test, y_test))]
    bound = 2 * float(within.norm()) * float(F.norm()) / n
    return {
        "norm_star": norm_star,
        "norm": float(net.a.norm()),
        "excess": float((F_test @ net.a - y_test).abs().mean()),
        "norm_within": float(within.norm()),
        "excess_within": losses[1],
        "gap": losses[1] - losses[0],
        "rademacher": bound,
        "share": (losses[1] - losses[0]) / bound,
    }


def _features(net: TwoLayer, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """sigma(W x + b), and what the head has to fit: y less the affine part."""
    return net.features(X), y - net.offset - X @ net.beta


def _where(holds: Callable[[float], bool]) -> float:
    """The penalty, of 10^-12 to 10^8, at which a condition that a small one meets ends to hold."""
    low, high = -12.0, 8.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(10.0**middle) else (low, middle)
    return 10.0**low


def _smallest(F: Tensor, y: Tensor, loss: float) -> Tensor | None:
    """The ridge solution of least norm with mean |F a - y| <= loss; None where there is none."""
    path, _ = lazy.ridge_path(F, y, None, intercept=False)

    def met(penalty: float) -> bool:
        return float((F @ path.coefficients(penalty) - y).abs().mean()) <= loss

    return path.coefficients(_where(met)) if met(1e-12) else None


def _of_norm(F: Tensor, y: Tensor, norm: float) -> Tensor:
    """The ridge solution of least penalty whose norm is at most `norm`."""
    path, _ = lazy.ridge_path(F, y, None, intercept=False)
    found = _where(lambda penalty: float(path.coefficients(penalty).norm()) > norm)
    return path.coefficients(found * 10.0 ** (20 / 2**24))


def theory(r: int, p: int, m: int) -> dict[str, float]:
    """The term in m of Theorem 1's loss, with its constant set to 1."""
    few, many = 1.0, 1e300  # of inputs, of rows: their terms vanish
    return {"excess": float(lazy.network_loss(max(few, r**1.5), r, p, many, m))}


#: Cells of the two panels over m, and of the one over n.
WIDTHS = [16, 32, 64, 128, 256, 512]
MANY, GAP_WIDTH = 4_000, 256


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss and norm against neurons, a colour a number of directions; the gap against rows."""
    _, axes = panels(3, 3, (4.3, 3.8))
    style.dress(axes[0], "Loss against width", "neurons m", "$E|f-f^*|$", "both")
    style.dress(axes[1], "Norm of a head that fits", "neurons m", "|a*|", "both")
    style.dress(axes[2], "Generalisation gap", "training rows n", "$E|f-f^*|$, difference", "both")
    wide = only(table, d=table["d"].min())
    wide = only(wide, n=wide["n"].max())
    for r, mark in marks_of({r: f"r = {r}" for r in sorted({*table["r"]})}).items():
        _over_widths(axes[:2], only(wide, r=r), mark, theory_table is not None)
    for ax in axes[:2]:
        style.logarithmic(ax, "y")
        style.tick_at(ax, [m for m in WIDTHS if m in set(table["m"])] or table["m"], 2)
    _gaps(axes[2], only(table, r=table["r"].min(), d=table["d"].min(), m=GAP_WIDTH))
    p = int(table["p"].iloc[0])
    return finished(
        axes,
        rf"$f^*$: He$_2$ and He$_{p}$ of r directions. Lines: $\sqrt{{r^p/m}}$ with"
        r" constant 1 on the left, slope −1/2 at the height of the points in the middle. Right: "
        f"heads with |a| ≤ |a*|, r = 1, m = {GAP_WIDTH}. Points: {over_seeds(table)}.",
    )


def _over_widths(axes: list[Axes], rows: DataFrame, mark: style.Mark, lines: bool) -> None:
    for ax, metric in zip(axes, ("excess", "norm_star"), strict=True):
        beyond = rows.loc[np.isinf(rows[metric].to_numpy(float)), "m"]
        seen = rows.loc[~rows["m"].isin(beyond)]  # where every seed has a head that fits
        found = draw_metric(ax, seen, "m", metric, mark)
        if found and lines and metric == "excess":
            theory_line(ax, seen, "m", "excess", theory, mark.color)
        elif found and lines:
            law_line(ax, found, lambda m: m**-0.5, "", mark.color)


def _gaps(ax: Axes, rows: DataFrame) -> None:
    names = {"gap": "test less training loss", "rademacher": "Rademacher bound"}
    for metric, mark in marks_of({"": "", "r": "", "s": "", **names}).items():
        if metric in names:
            draw_metric(ax, rows, "n", metric, mark, connect=True)
    series.level(ax, 0.0, "")
    ax.set_yscale("symlog", linthresh=0.01)
    if len(rows):
        style.tick_at(ax, rows["n"], 2)


#: Neurons for r directions: 16 r^3.
R = {1: 16, 2: 128, 3: 432}
#: The cells of claims on widths, and on the gap.
WIDE = {"n": MANY, "d": 10}
GAPS = {"m": GAP_WIDTH, "r": 1}

EXPERIMENT = Experiment(
    name="damian22-head",
    question="How many neurons does Algorithm 1 need, and does its head generalise as proved?",
    about="""
After the gradient step Algorithm 1 is ridge regression on features sigma(W x + b). The proof of
Theorem 1 has three steps, each measured here on f* = sum_i [He_2(u_i.x)/2 + He_p(u_i.x)/sqrt(2
p!)] /sqrt(r). Step A.2: some head a* has a small population loss and norm |a*| ~ r^p/sqrt(m);
here a* is the head of least norm with E|f - f*| of at most 0.2 on fresh rows, which more neurons
may spread over. Step A.3: ridge on the n rows finds a head of no larger norm and small training
loss, and its test loss is above its training loss by no more than the Rademacher bound 2 |a|
(sum_i |F_i|^2)^(1/2) /n. The theorem's condition on the width, m of at least r^p, is its term
sqrt(r^p/m) of the loss; the theorem leaves its constant open, and 1 is drawn.""",
    trial=trial,
    grids={
        "quick": [
            {"m": WIDTHS, "n": MANY, "r": [1, 2]},
            {"m": [64, 256, 432, 512], "n": MANY, "r": 3},
            {"m": GAP_WIDTH, "n": [250, 500, 1_000, 2_000]},
            {"m": 128, "n": 4 * MANY, "d": 20},
        ],
        "paper": [
            {"m": [*WIDTHS, 1_024], "n": MANY, "r": [1, 2]},
            {"m": [64, 128, 256, 432, 512, 1_024], "n": MANY, "r": 3},
            {"m": GAP_WIDTH, "n": [125, 250, 500, 1_000, 2_000, 8_000]},
            {"m": 128, "n": 4 * MANY, "d": 20},
        ],
    },
    small={"m": [16, 32], "n": [60, 120], "d": 4, "r": [1, 2], "n_many": 100},
    seeds={"quick": 6, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "m = 16 r^p neurons lose no more at r = 2 and 3 than at r = 1 (by 0.02)."
        " [Damian22, Theorem 1: m of at least r^p]": every(
            *(greater("excess", {"r": 1, "m": R[1]}, {"r": r, "m": R[r]}, -0.02) for r in (2, 3))
        ),
        "At a fixed width, m = 64, more directions lose more."
        " [Damian22, Theorem 1: m of at least r^p]": ordered("excess", "r", {"m": 64, **WIDE}),
        "The width does not depend on d: with n = 40 d^2 rows, m = 128 neurons lose no more (by"
        " 0.03) at d = 20 than at d = 10."
        " [Damian22, Theorem 1: m of at least r^p]": greater(
            "excess", {"m": 128, "r": 1, **WIDE}, {"m": 128, "r": 1, "d": 20}, -0.03
        ),
        "The norm of a head that fits falls like m^(-1/2): slope -0.75 to -0.25 on m = 128 to 512,"
        " r = 1."
        " [Damian22, step A.2 of the proof of Theorem 1]": slope(
            "norm_star", "m", -0.75, -0.25, {"r": 1, "m": [128, 256, 512], **WIDE}
        ),
        "That norm grows with r, and no faster than r^p, p = 3: slope 0.5 to 3 on r = 1 to 3 at m ="
        " 512."
        " [Damian22, step A.2 of the proof of Theorem 1]": slope(
            "norm_star", "r", 0.5, 3.0, {"m": 512, **WIDE}
        ),
        "On n = 4,000 rows the head with |a| of at most |a*| loses below 0.25, where a* loses 0.2."
        " [Damian22, step A.3 of the proof of Theorem 1]": below(
            "excess_within", 0.25, {"m": 512, "r": [1, 2], **WIDE}
        ),
        "Test loss exceeds training loss at n = 250 and by less at n = 1,000, at every n by less"
        " than a tenth of the Rademacher bound."
        " [Damian22, step A.3 of the proof of Theorem 1; a tenth is found here]": every(
            above("gap", 0.0, {"n": 250, **GAPS}),
            greater("gap", {"n": 250, **GAPS}, {"n": 1_000, **GAPS}),
            each("n", below("share", 0.1), GAPS),
        ),
    },
)
