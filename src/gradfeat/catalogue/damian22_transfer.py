"""Features learned on one target serve another: loss against N after pretraining on n rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import averaged, draw_series, only, over_seeds, theory_line
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, every, greater, lazy, ordered, within
from gradfeat.lab.claims import Check
from gradfeat.maths.ranges import MOST_DEGREE, MOST_ROWS, at_least, at_most, paired

if TYPE_CHECKING:
    from gradfeat.models.predictors import TwoLayer


def trial(
    power: int,
    N: int,
    d: int = 10,
    p: int = 4,
    q: int = 3,
    m: int = 512,
    n_test: int = 10_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Loss on He_q(u.x)/sqrt(q!) of a head fitted to N rows, E f*^2 = 1; excess is E |f - f*|.

    The first layer is that of Algorithm 1 on n = d^power rows of He_2/2 + He_p/sqrt(2 p!) of the
    same direction u; the head is ridge on its features with leave-one-out penalty. power = -1 is
    no pretraining: random features.

    `cosine` is the median |cos(w, u)| of the neurons.
    """
    paired(m)
    at_least(-1, power=power)
    at_least(1, n_test=n_test, q=q, d=d)
    at_most(MOST_DEGREE, p=p, q=q)
    at_most(MOST_POWER, power=power)
    at_most(MOST_ROWS, N=N, n_test=n_test, **{"d^power": d ** max(0, power)})
    at_least(2, N=N)
    target = lazy.MultiIndex(d, lazy.pure_hermite(q), seed=seed)
    rows, test = (
        target.sample(k, lazy.stream(seed, s)) for k, s in ((N, "target"), (n_test, "test"))
    )
    X, y = rows.X.to(device), rows.y.to(device)
    U = target.directions.to(device)
    if power < 0:
        f = lazy.RandomFeatures(m).fit(lazy.in_memory(X, y), seed=seed)
    else:
        f = lazy.refit_head(
            _pretrained(power, d, p, m, seed, device),
            lazy.in_memory(X, y),
            lazy.RidgeHead(),
            seed=seed,
        )
    cosines = (f.W @ U).norm(dim=1) / f.W.norm(dim=1)
    gap = f(test.X.to(device)) - test.y.to(device)
    return {
        "loss": float(gap.square().mean()),
        "excess": float(gap.abs().mean()),
        "cosine": float(cosines.nanmedian()),
    }


@lru_cache(maxsize=32)  # cells that differ only in N share it
def _pretrained(power: int, d: int, p: int, m: int, seed: int, device: str) -> TwoLayer:
    source = lazy.MultiIndex(d, lazy.he2_hep(p), seed=seed).sample(
        d**power, lazy.stream(seed, "source")
    )
    return lazy.GradientStep(m).fit(
        lazy.in_memory(source.X.to(device), source.y.to(device)), seed=seed
    )


def theory(power: int, N: int, d: int, q: int, m: int) -> dict[str, float]:
    """Theorem 3's rate with constant 1, where it speaks: n = d^power rows of at least d^2."""
    if power < 2:
        return {"excess": math.nan}
    return {"excess": float(lazy.transfer_loss(d, 1, q, float(d) ** power, N, m))}


def _name(power: int) -> str:
    return "no pretraining" if power < 0 else f"n = d{_raised(power)}"


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Loss against N, a colour for each number of pretraining rows; Theorem 3 over N and over m."""
    names = {power: _name(power) for power in sorted({*table["power"]})}
    m = max(table["m"])
    wide, dimensions = only(table, m=m), sorted({*table["d"]})
    _, axes = panels(len(dimensions) + 2, 2, (5.4, 3.7))
    for ax, d in zip(axes, dimensions, strict=False):
        own = only(wide, d=d)
        style.dress(
            ax, f"Transfer to a new target, d = {d}", "rows N of the new target",
            r"test loss $E(f-f^*)^2$", "both"
        )  # fmt: skip
        draw_series(ax, own, "power", names, "N", "loss", connect=True, apart=2.5)
        series.key_level(ax, 1.0, "nothing learned")
        ax.set_xlim(np.min(own["N"]) / 1.4, np.max(own["N"]) * 1.4)
        if d**3 < own["N"].max() * 1.4:
            ax.axvline(d**3, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1)
            ax.annotate("$d^3$", (d**3, 1.6), (2, -9), textcoords="offset points",
                        fontsize=style.SMALL, color=style.QUIET)  # fmt: skip
        style.logarithmic(ax, "x")
        ax.set_ylim(0, 1.6)
    least = only(table, d=dimensions[0])
    for ax, rows, x, title in (
        (axes[-2], only(least, m=m), "N", f"Excess loss against N, m = {m}"),
        (
            axes[-1],
            only(least, N=least["N"].max()),
            "m",
            f"Excess loss against m, N = {least['N'].max():,}",
        ),
    ):
        _rates(ax, rows, x, title, names, theory_table is not None)
    return finished(axes, _words(table))


def _rates(
    ax: Axes, rows: DataFrame, x: str, title: str, names: dict[int, str], lines: bool
) -> None:
    """E|f - f*| after much pretraining, and Theorem 3's rate."""
    labels = {"N": "rows N of the new target", "m": "neurons m"}
    style.dress(ax, title, labels[x], "$E|f-f^*|$", "both")
    for found, own in draw_series(
        ax, only(rows, power=rows["power"].max()), "power", names, x, "excess"
    ):
        if lines and len(found.x) > 1:
            name = "rate of Theorem 3, constant 1"
            theory_line(ax, own, x, "excess", theory, found.mark.color, name)
    style.logarithmic(ax, "x")
    ax.set_yscale("log")


def _words(table: DataFrame) -> str:
    p, q = int(table["p"].iloc[0]), int(table["q"].iloc[0])
    return (
        rf"First layer: one gradient step on n rows of $He_2/2 + He_{p}/\sqrt{{2\cdot {p}!}}$. New "
        rf"target: $He_{q}/\sqrt{{{q}!}}$ of the same direction, head alone fitted. "
        f"{max(table['m'])} neurons. Points: {over_seeds(table)}.{averaged(table, 'p', 'q')}"
    )


#: Powers of d whose rows are counted at all.
MOST_POWER = 12

ROWS = [10, 30, 100, 300, 1_000, 3_000]
WIDTHS = [8, 32, 128]
PRETRAINED = {"d": 10, "power": [-1, 0, 1, 2, 3, 4]}

#: Cells of the claims that are not about widths.
WIDE = {"d": 10, "m": 512}


def _less_with_more(N: int) -> Check:
    """Each power of d above 1 leaves less than the one before."""
    return every(
        *(
            greater("loss", {**WIDE, "power": k, "N": N}, {**WIDE, "power": k + 1, "N": N})
            for k in (1, 2, 3)
        )
    )


EXPERIMENT = Experiment(
    name="damian22-transfer",
    question="How many samples does a new target need once its direction has been learned?",
    about="""
Theorem 3: a first layer pretrained on n rows (n of at least d^2) of one target serves any other
target of degree p on the same directions, with N ~ r^p rows that do not depend on d. The first
layer is that of Algorithm 1 on He_2/2 + He_4/sqrt(48); the head is fitted to N rows of
He_3/sqrt(6). No pretraining means random features.

The slide says that with n = 1 or d pretraining rows the risk is trivial until N = d^3, as of a
kernel without prior knowledge. Here it stays trivial up to N = 3 d^3, where random features have
halved it: the step erases W0, so that neurons lie along sums of those few rows. The slide also says
that from n = d^2 on N = O(1) rows give a non-trivial loss. With n = d^2 that takes N of about d^2
here, with n = d^4 some thirty: the direction that n rows teach is not exact. The slide prints the
rate with min(n, N), n the rows of pretraining; drawn is min(m, N), m the number of neurons: a head
of m numbers can do no better than its width, however many rows came before, and n enters by the
condition n of at least d^2 alone. The lower right panel shows which: n and N are fixed there, and
the loss falls with m. Lines are the rate of Theorem 3 with its open constant set to 1; a line above
the points is what a bound is.""",
    trial=trial,
    grids={
        "quick": [
            {**PRETRAINED, "N": ROWS},
            {"d": 20, "power": [1, 2, 3], "N": ROWS},
            {"d": 10, "power": 4, "N": 3_000, "m": WIDTHS},
        ],
        "paper": [
            {**PRETRAINED, "N": [*ROWS, 10_000]},
            {"d": 20, "power": [-1, 0, 1, 2, 3], "N": [*ROWS, 10_000]},
            {"d": 10, "power": 4, "N": 10_000, "m": WIDTHS},
        ],
    },
    small={"d": 4, "power": [-1, 0, 2], "N": [10, 20], "m": 20, "n_test": 100},
    seeds={"quick": 8, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "Pretrained on n = 1 or n = d rows, the features learn nothing of the new target at any N"
        " from 10 to 3,000 = 3 d^3 (loss above 0.9); the talk says until N = d^3."
        " [Damian22, the transfer experiment (n = d^0, d^1)]": every(
            *(above("loss", 0.9, {**WIDE, "power": k, "N": N}) for k in (0, 1) for N in ROWS)
        ),
        "Pretrained on n = d^2 rows, the loss is between 0.35 and 0.85 at N = 300 and below 0.45 at"
        " N = 3,000."
        " [Damian22, the transfer experiment]": every(
            within("loss", 0.35, 0.85, {**WIDE, "power": 2, "N": 300}),
            below("loss", 0.45, {**WIDE, "power": 2, "N": 3_000}),
        ),
        "Pretrained on n = d^4 rows, the loss is below 0.1 at N = 300."
        " [Damian22, the transfer experiment]": below("loss", 0.1, {**WIDE, "power": 4, "N": 300}),
        "Few rows N give a non-trivial loss after n = d^4 rows of pretraining (below 0.6 at N ="
        " 30), and not after n = d^2 (above 0.9 at N = 10 and 30), where the talk says N = O(1)."
        " [Damian22, the transfer experiment (n >= d^2)]": every(
            below("loss", 0.6, {**WIDE, "power": 4, "N": 30}),
            *(above("loss", 0.9, {**WIDE, "power": 2, "N": N}) for N in (10, 30)),
        ),
        "From n = d on, more pretraining leaves less at N = 300 and at N = 3,000."
        " [Damian22, the transfer experiment]": every(_less_with_more(300), _less_with_more(3_000)),
        "With n = 10^4 and N = 3,000 fixed the loss E|f - f*| falls with the number of neurons, m ="
        " 8, 32, 128, 512: by 0.01 or more at each."
        " [Damian22, Theorem 3: min(m, N), where the talk prints min(n, N)]": ordered(
            "excess", "m", {"d": 10, "power": 4, "N": 3_000}, increasing=False, margin=0.01
        ),
        "N does not grow with d: at N = 300 twice the inputs lose no more (by 0.03), both"
        " pretrained on n = d^3 rows."
        " [Damian22, Theorem 3]": greater(
            "loss", {"d": 10, "power": 3, "N": 300}, {"d": 20, "power": 3, "N": 300}, margin=-0.03
        ),
    },
)
