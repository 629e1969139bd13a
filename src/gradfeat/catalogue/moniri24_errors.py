"""Errors after one gradient step against its size n^alpha: the network, columns, the staircase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradfeat.catalogue.shared.checks import at_most
from gradfeat.catalogue.shared.comparisons import differs, near, nearer
from gradfeat.catalogue.shared.curves import metric_series, only, over_seeds
from gradfeat.catalogue.shared.step_training import (
    METRICS,
    Numbers,
    StepSeed,
    StepSetup,
    columns_at,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.style import Mark
from gradfeat.lab.claims import Check, Claim, agrees, each, every, ordered
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.intervals import Rule, between, over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Steps beyond n^{1/2}, that of Ba22, are left aside.
MOST_ALPHA: Final = 0.5

UNKNOWN: Final[Numbers] = dict.fromkeys((*METRICS,), math.nan)


def batch(
    alpha: list[float],
    setting: int = 2,
    n: int = 2_400,
    residual: str = "y",
    sample: str = "fresh",
    phi: float = 0.5,
    psi: float = 2 / 3,
    lam: float = 0.01,
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[Any]:
    """Errors of ridge on sigma(X (W0 + n^alpha G)^T), d = phi n, N = d/psi: by seed, then by alpha.

    loss is (1/n)|y - F a|^2 + lam |a|^2, training the same without the ridge term, test the mean
    squared error on n new rows. A gain is how much lower one is than that of random features of the
    same seed (eta = 0). column_*_gain is that of ridge on F_0 and the unpenalised (X beta)^{ok},
    k <= l, where l is how many powers a step n^alpha adds in the limit; nan where there is none, on
    the edges and above 4. *_share is the network's gain over it, with less noise than either.

    own_to_shared is |G|^2 beside beta over |G beta|^2/|beta|^2, which is kappa.
    With the residual y all is the mean over the start a and its mirror image -a.
    """
    at_most(MOST_ALPHA, alpha=max(alpha))
    setup = StepSetup(setting, n, residual, sample, phi, psi, lam)
    return [_of_seed(setup.seed(seed, device), n, alpha) for seed in seeds]


def _of_seed(seed: StepSeed, n: int, alpha: list[float]) -> list[Numbers]:
    columns = [columns_at(one) for one in alpha]
    beside = seed.columns(max(columns))
    after = seed.networks([n**one for one in alpha])
    shared = {"own_to_shared": seed.own_to_shared()}
    return [
        shared | own | _gains(own, beside[0], beside[degree] if degree else UNKNOWN)
        for own, degree in zip(after, columns, strict=True)
    ]


def _gains(own: Numbers, plain: Numbers, beside: Numbers) -> Numbers:
    gain = {name: plain[name] - own[name] for name in METRICS}
    column = {name: plain[name] - beside[name] for name in METRICS}
    return _with_shares(gain, column)


def _with_shares(gain: Numbers, column: Numbers) -> Numbers:
    return {
        **{f"{name}_gain": gain[name] for name in METRICS},
        **{f"column_{name}_gain": column[name] for name in METRICS},
        **{f"{name}_share": gain[name] / column[name] for name in METRICS},
    }


def theory(
    alpha: float, setting: int, n: int, residual: str, sample: str, phi: float, psi: float,
    lam: float,
) -> Numbers:  # fmt: skip
    """The prediction at this n and step size, and the limit of the columns, where it is known."""
    setup = StepSetup(setting, n, residual, sample, phi, psi, lam)
    gain = setup.finite_gain(alpha)
    degree = columns_at(alpha)
    column = setup.column_gain(degree) if degree and sample == "fresh" else UNKNOWN
    plain = setup.plain()
    after = {name: plain[name] - gain[name] for name in METRICS}
    return {"own_to_shared": setup.own_to_shared()} | after | _with_shares(gain, column)


def limit(alpha: float, **cell: Any) -> Numbers:
    """Gains of the network in the limit, and their shares of the columns'."""
    from gradfeat.theory.gradient_direction import limit_degree

    setup = StepSetup(**cell)
    return _with_shares(
        setup.limit_gain(float(limit_degree(alpha))), setup.column_gain(columns_at(alpha))
    )


def figure(table: pd.DataFrame, theory_table: pd.DataFrame | None) -> Figure:
    """Gains in training and test error against alpha; right: the share of the limit against n."""
    rows = _shown(table)
    shared = _one_column(table, rows)
    many = 3 if len(shared) else 2
    fig, axes = panels(many, many, (4.4, 4.0))
    for ax, metric, title in (
        (axes[0], "loss", "Reduction in training loss"),
        (axes[1], "test", "Reduction in test error"),
    ):
        label = f"{'training loss' if metric == 'loss' else 'test error'} reduced by"
        style.dress(ax, title, r"$\alpha$, step size $\eta = n^\alpha$", label, "y")
        _gained(ax, rows, metric, theory_table is not None)
    if len(shared):
        _shares(axes[2], shared, theory_table is not None)
    return finished(fig, axes, _words(rows))


#: Levels of the staircase that are drawn: those beyond hardly differ.
DRAWN: Final = 12
SETUP: Final = ("n", "residual", "sample", "phi", "psi", "lam")


def _setup(rows: pd.DataFrame, **other: Any) -> StepSetup:
    """Of the first row, with other settings."""
    cell = rows.iloc[0].to_dict() | other
    return StepSetup(**{name: cell[name] for name in ("setting", *SETUP)})


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the model with the most different points, the largest n among equals."""
    groups = [part for _, part in table.groupby(list(SETUP), sort=False)]
    return max(groups, key=lambda p: (len(p[["alpha", "setting"]].drop_duplicates()), p["n"].max()))


def _gained(ax: Axes, rows: pd.DataFrame, metric: str, theory_too: bool) -> None:
    several = sorted({*rows["setting"]})
    marks = style.class_marks(tuple(f"setting {s}, network" for s in several))
    alphas = np.linspace(rows["alpha"].min(), max(rows["alpha"].max(), 0.3), 41)
    for place, (s, mark) in enumerate(zip(several, marks, strict=True)):
        own, setup = only(rows, setting=s), _setup(rows, setting=s)
        if theory_too and setup.sample == "fresh":
            predicted = np.array([setup.finite_gain(a)[metric] for a in alphas])
            series.line(ax, alphas, predicted, f"setting {s}, predicted at this n", mark.color)
            _stairs(ax, setup, alphas, metric, mark.color, printed=True)
            _stairs(ax, setup, alphas, metric, mark.color, printed=False)
        _columns(ax, own, metric, mark)
        series.points(ax, metric_series(own, "alpha", f"{metric}_gain", mark), shift=4 * place - 2)
    ax.set_ylim(bottom=0)
    top = ax.get_xaxis_transform()
    for edge, name in ((0, "0"), (1 / 4, "1/4"), (1 / 3, "1/3"), (3 / 8, "3/8")):
        if alphas[0] <= edge <= alphas[-1]:
            ax.axvline(edge, color=style.QUIET, linewidth=0.6, linestyle=":", zorder=1)
            ax.text(
                edge, 0.995, name, transform=top, ha="right", va="top",
                fontsize=style.TINY, color=style.QUIET,
            )  # fmt: skip


def _stairs(
    ax: Axes, setup: StepSetup, alphas: np.ndarray, metric: str, color: str, *, printed: bool
) -> None:
    """The limit: one level between each two edges (l - 1)/(2 l) and l/(2 l + 2)."""
    label = f"setting {setup.setting}, limit {'in print' if printed else 'of the network'}"
    dashes = (0, (4, 2)) if printed else (0, (1, 1.5))
    for degree in range(DRAWN):
        low, high = max(_edges(degree)[0], alphas[0]), min(_edges(degree)[1], alphas[-1])
        if low < high:
            level = setup.limit_gain(degree, printed)[metric]
            ax.plot(
                [low, high], [level, level], color=color, linewidth=1.3, linestyle=dashes,
                label=label, zorder=1.7,
            )  # fmt: skip


def _edges(degree: int) -> tuple[float, float]:
    """Between which alpha a step adds so many powers: (l - 1)/(2 l) and l/(2 l + 2)."""
    low = (degree - 1) / (2 * degree) if degree else -math.inf
    return low, degree / (2 * degree + 2)


def _columns(ax: Axes, rows: pd.DataFrame, metric: str, mark: Mark) -> None:
    """One point on each step: ridge on F_0 and the columns, which is the same for all its alpha."""
    seen = rows.assign(degree=rows["alpha"].map(columns_at))
    seen = seen.loc[seen["degree"] > 0].drop_duplicates(["degree", "seed"])
    if len(seen):
        shape = Mark(
            mark.label.replace("network", "columns"), mark.color, "v" if mark.marker == "o" else "^"
        )
        placed = seen.assign(
            middle=seen["degree"].map(lambda degree: np.dot((0.75, 0.25), _edges(degree)))
        )
        series.points(ax, metric_series(placed, "middle", f"column_{metric}_gain", shape))


def _one_column(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The first setting over n, at the steps that add one column in the limit."""
    same = {name: rows[name].iloc[0] for name in SETUP if name != "n"}
    own = only(table, **same, setting=rows["setting"].min())
    return own.loc[own["alpha"].map(columns_at) == 1]


def _shares(ax: Axes, own: pd.DataFrame, theory_too: bool) -> None:
    title = "Finite n against the limit"
    style.dress(ax, title, "rows n", "of one unpenalised feature's", "y")
    alphas = sorted({*own["alpha"]})
    marks = style.class_marks(("", "", *(f"step n^{a:g}" for a in alphas)))[2:]
    for a, mark in zip(alphas, marks, strict=True):
        points = only(own, alpha=a)
        if theory_too and points["sample"].iloc[0] == "fresh":
            n = np.geomspace(points["n"].min() / 1.2, points["n"].max() * 1.2, 12).round()
            cells = [_setup(points, n=int(one)) for one in n]
            share = [m.finite_gain(a)["loss"] / m.column_gain(1)["loss"] for m in cells]
            series.line(ax, n, np.array(share), "", mark.color)
        series.points(ax, metric_series(points, "n", "loss_share", mark))
    style.logarithmic(ax, "x")
    ax.set_ylim(0, 1.1)
    series.level(ax, 1.0, "limit", below=True)


def _words(rows: pd.DataFrame) -> str:
    setup = _setup(rows)
    own = "a fresh sample" if setup.sample == "fresh" else "the same rows"
    return (
        f"Left, middle: n = {setup.n:,}, d = {setup.d:,}, N = {setup.N:,}, lambda = {setup.lam:g}, "
        f"gradient of residual {setup.residual}, head on {own}. Setting 1: $y = He_1 + N(0, 1)$; "
        r"2: $y = He_1 + He_2/\sqrt{2}$. Gains are over random features of the same seed, whose "
        f"training loss is {setup.plain()['loss']:.3f} and test error {setup.plain()['test']:.3f}. "
        "Columns: ridge on $F_0$ and $(X\\beta)^{\\circ k}$ without penalty, k up to the limit's. "
        f"Points: {over_seeds(rows)}; solid: prediction; dashed: limit, its columns as printed; "
        "dotted: limit including the constant part of the He_2 feature."
    )


#: The talk's settings, where n is large enough for its limits.
TALK: Final = {"residual": "y", "sample": "fresh", "lam": 0.01, "n": [1_000, 2_400, 4_000]}
ONE_COLUMN: Final = [0.1, 0.2]
TWO_COLUMNS: Final = [0.3]
STEPS: Final = [0.0, *ONE_COLUMN, *TWO_COLUMNS, 0.36, 0.45]
#: A third of what the second column adds in the limit, such as (.1216 - .0629)/3.
MARGINS: Final = {"loss": 0.0196, "training": 0.0158, "test": 0.128}
MARGIN: Final = MARGINS["loss"]
#: Half of what a gradient of rank one, without kappa, would gain more at alpha = .3: 8 to 10 %.
RANK_ONE: Final = 0.045
TRUE: Final = {"residual": "y - f0", "alpha": [0.1, 0.3]}
#: The columns do not depend on alpha between two edges: one of each.
ONCE: Final = {"setting": [1, 2], "alpha": [0.1, 0.3]}
FIRST: Final = {**TALK, "setting": 1, "alpha": ONE_COLUMN}
SECOND: Final = {**TALK, "setting": 2, "alpha": TWO_COLUMNS}


SAME: Final = {"sample": "same", "alpha": 0.1, "setting": 2, "residual": "y", "n": 1_000}


def _settings_differ(alpha: list[float], rule: Rule, bound: str) -> Check:
    """The gain of setting 2 over that of setting 1 at each alpha and n."""
    two, one = ({"setting": s} for s in (2, 1))
    check = each("n", differs("loss_gain", two, one, rule, bound))
    return each("alpha", check, {**TALK, "setting": [1, 2], "alpha": alpha})


def _column(metric: str, margin: float) -> Check:
    return agrees(f"column_{metric}_gain", theory, {**TALK, **ONCE}, margin=margin)


def _reused(metric: str) -> Check:
    """The same rows for both stages against fresh ones."""
    return differs(metric, SAME, {**SAME, "sample": "fresh"}, over(0.0), "bound 0", times=3.0)


CLAIMS: Final = (
    Claim(
        "Ridge on F_0 and X beta, then also (X beta)^2, gains .0629 and .1216 of the training loss"
        " and .361 and .744 of the test error at setting 2, within a third of what the second adds;"
        " so at setting 1.",
        "Moniri24, Theorems on the training loss and test error at l = 1, 2",
        every(*(_column(name, MARGINS[name]) for name in METRICS)),
    ),
    Claim(
        "With a third degree, He_1 + .5 He_2 + .3 He_3 and noise of variance 1/4, one, two and"
        " three columns gain .1038, .1399 and .1672 at lambda = .05, within a third of what the"
        " third adds.",
        "Moniri24, Theorems at l = 1, 2, continued to general l",
        agrees(
            "column_loss_gain",
            theory,
            {"setting": 3, "alpha": [0.1, 0.3, 0.36]},
            2.0,
            margin=0.0091,
        ),
    ),
    Claim(
        "At alpha = .1 and .2 the network gains of the training loss what is predicted at this n,"
        " within 6 % (setting 1, over the gain of the column on the same rows).",
        "Moniri24, Theorem on the spectrum, with spikes of finite size",
        near("loss_share", theory, 0.06, FIRST),
    ),
    Claim(
        "There its gain is nearer to that prediction than to the limit.",
        "Moniri24, Theorem on the spectrum, with spikes of finite size",
        nearer("loss_share", theory, limit, FIRST),
    ),
    Claim(
        "It approaches the limit as n grows.",
        "Moniri24, Theorem on the training loss at l = 1",
        ordered("loss_share", "n", {**FIRST, "n": [500, *TALK["n"]]}),
    ),
    Claim(
        "At alpha = .3, setting 2, the network gains within 4.5 % of the prediction at this n, half"
        " of what a gradient of rank one would gain more.",
        "Moniri24, Theorem on the spectrum, with spikes of finite size",
        near("loss_share", theory, RANK_ONE, SECOND),
    ),
    Claim(
        "Settings 1 and 2 gain alike in the training loss at alpha = .1 and .2: within a third of"
        " what the second column adds in the limit.",
        "Moniri24, the experiments",
        _settings_differ(ONE_COLUMN, between(-MARGIN, MARGIN), f"margin {MARGIN}"),
    ),
    Claim(
        "From alpha = .3 on they differ by more than that.",
        "Moniri24, the experiments",
        _settings_differ(TWO_COLUMNS, over(MARGIN), f"margin {MARGIN}"),
    ),
    Claim(
        "A gradient of the residual y - f_0 has its own prediction: network and columns are nearer"
        " to it than half of the way to that of the residual y.",
        "Moniri24, with f_0 in the residual",
        every(
            agrees("loss_share", theory, TRUE, 2.0, margin=0.06),
            agrees("column_loss_gain", theory, {**TRUE, "alpha": 0.3}, 2.0, margin=0.0136),
        ),
    ),
    Claim(
        "Where the head uses the gradient's rows again, a step of alpha = .1 gains three times as"
        " much or more, in training loss and test error, and within 15 % what is predicted.",
        "Moniri24, Section 2: the head has a fresh sample",
        every(
            *(_reused(f"{name}_gain") for name in ("loss", "test")),
            *(near(f"{name}_gain", theory, 0.15, SAME) for name in ("loss", "test")),
        ),
    ),
    Claim(
        "Beside its part along beta the gradient has kappa = .5 as much of its own, within 5 %: the"
        " second column is u^2 + kappa, in print u^2.",
        "Moniri24, Theorem on the spectrum, the rest of the rank-one gradient",
        near("own_to_shared", theory, 0.05, {**TALK, "alpha": 0.3}),
    ),
)

EXPERIMENT = Experiment(
    name="moniri24-errors",
    question="How much do training and test error fall with the size of one gradient step?",
    batch=batch,
    batch_size=1,
    along="alpha",
    grids={
        "quick": [
            {"alpha": STEPS, "setting": [1, 2], "n": 1_000},
            {"alpha": ONE_COLUMN, "setting": 1, "n": 500},
            {"alpha": [0.1, 0.3, 0.36], "setting": 3, "n": 500, "lam": 0.05},
            {"alpha": [0.1, 0.3], "n": 500, "residual": "y - f0"},
            {"alpha": 0.1, "n": 1_000, "sample": "same"},
        ],
        "paper": [
            {"alpha": STEPS, "setting": [1, 2], "n": 2_400},
            {"alpha": [*ONE_COLUMN, *TWO_COLUMNS], "setting": [1, 2], "n": [1_000, 4_000]},
            {"alpha": [0.1, 0.3, 0.36], "setting": 3, "n": 1_000, "lam": 0.05},
            {"alpha": [0.1, 0.3], "n": 1_000, "residual": ["y - f0", "ba22"]},
            {"alpha": 0.1, "n": 1_000, "sample": "same"},
        ],
    },
    small={"alpha": [0.1, 0.3], "setting": [1, 2], "n": [60]},
    seeds={"quick": 60, "paper": 24},
    theory=theory,
    figure=figure,
    claims=CLAIMS,
)
