"""Errors after one gradient step against its size n^alpha: the network, columns, the staircase."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gradfeat.catalogue.shared.comparisons import differs, near, nearer
from gradfeat.catalogue.shared.curves import draw_metric, only, over_seeds
from gradfeat.catalogue.shared.step_errors import batch, limit, theory
from gradfeat.catalogue.shared.step_training import METRICS, StepSetup, columns_at
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.style import Mark
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, each, every, ordered
from gradfeat.lab.claims import Check
from gradfeat.lab.intervals import Rule, between, over


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Errors and gains against alpha; last: the share of the limit's gain against n."""
    rows = _shown(table)
    shared = _one_column(table, rows)
    theory_too = theory_table is not None
    _, axes = panels(5 if len(shared) else 4, 3, (4.4, 3.5))
    for place, (metric, name) in enumerate((("loss", "training loss"), ("test", "test error"))):
        style.dress(axes[place], name.capitalize(), STEP, name, "y")
        _errors(axes[place], rows, metric, theory_too)
        gain = axes[place + 2]
        style.dress(gain, f"Reduction in {name}", STEP, f"{name} reduced by", "y")
        _gained(gain, rows, metric, theory_too)
    if len(shared):
        _shares(axes[4], shared, theory_too)
    setup = _setup(rows)
    own = "a fresh sample" if setup.sample == "fresh" else "reused rows"
    return finished(
        axes,
        f"n = {setup.n:,}, d = {setup.d:,}, N = {setup.N:,}, $\\lambda$ = {setup.lam:g}, gradient"
        f" of residual {setup.residual}, head on {own}. Setting 1: $y = He_1 + N(0, 1)$; 2:"
        r" $y = He_1 + He_2/\sqrt{2}$. Lines: theory, in the colour of the setting;"
        f" points: {over_seeds(rows)}.",
    )


#: Levels of the staircase that are drawn: those beyond hardly differ.
DRAWN: Final = 12
SETUP: Final = ("n", "residual", "sample", "phi", "psi", "lam", "rows")
STEP: Final = r"$\alpha$, step size $\eta = n^\alpha$"
PREDICTED: Final = "prediction at this n"
#: Settings by colour: the network's points, and those of columns beside F_0.
NETWORK: Final = {
    1: Mark("network, setting 1", style.BLUE, "o"),
    2: Mark("network, setting 2", style.VERMILLION, "D"),
    3: Mark("network, setting 3", style.GREEN, "s"),
}
BESIDE: Final = r"$F_0$ and powers of $X\beta$, setting "
COLUMNS: Final = {
    1: Mark(f"{BESIDE}1", style.SKY, "v"),
    2: Mark(f"{BESIDE}2", style.ORANGE, "^"),
    3: Mark(f"{BESIDE}3", style.GREEN, "<"),
}


def _setup(rows: DataFrame, **other: Any) -> StepSetup:
    """Of the first row, with other settings."""
    cell = rows.iloc[0].to_dict() | other
    return StepSetup(**{name: cell[name] for name in ("setting", *SETUP)})


def _shown(table: DataFrame) -> DataFrame:
    """The rows of the model with the most different points, the largest n among equals."""
    groups = [part for _, part in table.groupby(list(SETUP), sort=False)]
    return max(groups, key=lambda p: (len(p[["alpha", "setting"]].drop_duplicates()), p["n"].max()))


def _alphas(rows: DataFrame) -> np.ndarray:
    return np.linspace(rows["alpha"].min(), max(rows["alpha"].max(), 0.3), 41)


def _errors(ax: Axes, rows: DataFrame, metric: str, theory_too: bool) -> None:
    """The network's errors; in test error the linear models, alike in both settings."""
    several = sorted({*rows["setting"]})
    for place, s in enumerate(several):
        own, setup, mark = only(rows, setting=s), _setup(rows, setting=s), NETWORK[s]
        if theory_too and setup.sample == "fresh":
            alphas, plain = _alphas(rows), setup.plain()[metric]
            gains = np.array([setup.finite_gain(a)[metric] for a in alphas])
            series.line(ax, alphas, plain - gains, PREDICTED, mark.color)
        draw_metric(ax, own, "alpha", metric, mark, shift=4 * place - 2)
    ax.set_ylim(bottom=0)
    if metric == "test":
        setup = _setup(rows, setting=several[-1])
        least = float(setup.teacher.beyond_linear)
        series.level(ax, least / (1 - setup.phi), "linear regression on n rows", below=True)
        series.level(ax, least, "best linear function", below=True)


def _gained(ax: Axes, rows: DataFrame, metric: str, theory_too: bool) -> None:
    several, alphas = sorted({*rows["setting"]}), _alphas(rows)
    for place, s in enumerate(several):
        own, setup, mark = only(rows, setting=s), _setup(rows, setting=s), NETWORK[s]
        if theory_too and setup.sample == "fresh":
            predicted = np.array([setup.finite_gain(a)[metric] for a in alphas])
            series.line(ax, alphas, predicted, PREDICTED, mark.color)
            _stairs(ax, setup, alphas, metric, mark.color)
        _columns(ax, own, metric, COLUMNS[s])
        draw_metric(ax, own, "alpha", f"{metric}_gain", mark, shift=4 * place - 2)
    ax.set_ylim(bottom=0)
    for edge in (0, 1 / 4, 1 / 3, 3 / 8):
        if alphas[0] <= edge <= alphas[-1]:
            ax.axvline(edge, color=style.QUIET, linewidth=0.6, linestyle=":", zorder=1)


def _stairs(ax: Axes, setup: StepSetup, alphas: np.ndarray, metric: str, color: str) -> None:
    """The limit as printed, and with the constant of the second column where that is another."""
    for degree in range(DRAWN):
        low, high = max(_edges(degree)[0], alphas[0]), min(_edges(degree)[1], alphas[-1])
        if low >= high:
            continue
        printed, own = (setup.limit_gain(degree, said)[metric] for said in (True, False))
        ax.plot(
            [low, high], [printed] * 2, color=color, linewidth=1.3, linestyle=(0, (4, 2)),
            label="limit as printed", zorder=1.7
        )  # fmt: skip
        if abs(own - printed) > 1e-6 * abs(printed):
            ax.plot(
                [low, high], [own] * 2, color=color, linewidth=1.5, linestyle=(0, (1, 1.5)),
                label=r"limit with $u^2 + \kappa$", zorder=1.7
            )  # fmt: skip


def _edges(degree: int) -> tuple[float, float]:
    """Between which alpha a step adds so many powers: (l - 1)/(2 l) and l/(2 l + 2)."""
    low = (degree - 1) / (2 * degree) if degree else -math.inf
    return low, degree / (2 * degree + 2)


def _columns(ax: Axes, rows: DataFrame, metric: str, mark: Mark) -> None:
    """One point on each step: ridge on F_0 and the columns, which is the same for all its alpha."""
    seen = rows.assign(degree=rows["alpha"].map(columns_at))
    seen = seen.loc[seen["degree"] > 0].drop_duplicates(["degree", "seed"])
    if len(seen):
        placed = seen.assign(
            middle=seen["degree"].map(lambda degree: np.dot((0.75, 0.25), _edges(degree)))
        )
        draw_metric(ax, placed, "middle", f"column_{metric}_gain", mark)


def _one_column(table: DataFrame, rows: DataFrame) -> DataFrame:
    """The first setting over n, at the largest step that adds one column in the limit."""
    same = {name: rows[name].iloc[0] for name in SETUP if name != "n"}
    own = only(table, **same, setting=rows["setting"].min())
    own = own.loc[own["alpha"].map(columns_at) == 1]
    return only(own, alpha=own["alpha"].max())


def _shares(ax: Axes, own: DataFrame, theory_too: bool) -> None:
    alpha = own["alpha"].iloc[0]
    title = rf"Approach to the limit, $\alpha$ = {alpha:g}"
    style.dress(
        ax, title, "rows n (claims: 1,000 and more)", "reduction in training loss / its limit", "y"
    )
    mark = NETWORK[int(own["setting"].iloc[0])]
    if theory_too and own["sample"].iloc[0] == "fresh":
        n = np.geomspace(own["n"].min() / 1.2, 3e4, 17).round()
        setups = [_setup(own, n=int(one)) for one in n]
        share = [s.finite_gain(alpha)["loss"] / s.column_gain(1)["loss"] for s in setups]
        series.line(ax, n, np.array(share), PREDICTED, mark.color)
    draw_metric(ax, own, "n", "loss_share", mark)
    style.logarithmic(ax, "x")
    ax.set_ylim(0, 1.1)
    series.level(ax, 1.0, "limit")


ABOUT = """Training loss and test error of ridge regression on the features after one gradient step
of size n^alpha, in the two settings of the talk's simulations, and how much lower they are than
those of random features of the same seed. Setting 1 is linear with noise, setting 2 has a quadratic
part of the same variance; both have the same first column, and differ from alpha = 1/4 on, where
the square of X beta is added to the features.

Solid lines are predictions at this n and step size. Dashed: the limit as printed, a staircase with
edges at alpha = 1/4, 1/3, 3/8 (dotted verticals). Dotted: the limit where the second column is
u^2 + kappa, as the gradient's part beside its rank-one term makes it (docs/findings.md); in setting
1 the two are one. Triangles: ridge on F_0 with unpenalised columns (X beta)^k, the model that the
printed limit describes. The last panel follows the network to its limit over n; the claims are of n
= 1,000 and more, below which the network gains less than predicted.

The talk shows the two errors as curves. Linear regression on the same n rows leaves
E(y - f)^2 = 1/(1 - d/n), and the best linear function 1: at this penalty random features lose 3.02
and the network stays above linear regression. That is the penalty: at lambda = .3 random features
have 1.7, ridge on the inputs at its best penalty 1.41, and the network after the largest step 1.3.
"""

#: The talk's settings, where n is large enough for its limits.
TALK: Final = {
    "residual": "y", "sample": "fresh", "rows": "sphere", "lam": 0.01,
    "n": [1_000, 2_400, 4_000]
}  # fmt: skip
ONE_COLUMN: Final = [0.1, 0.2]
TWO_COLUMNS: Final = [0.3]
STEPS: Final = [0.0, *ONE_COLUMN, *TWO_COLUMNS, 0.36, 0.45]
#: A third of what the second column adds in the limit, such as (.1216 - .0629)/3.
MARGINS: Final = {"loss": 0.0196, "training": 0.0158, "test": 0.128}
MARGIN: Final = MARGINS["loss"]
#: Half of what a gradient of rank one, without kappa, would gain more at alpha = .3: 8 to 10 %.
RANK_ONE: Final = 0.045
TRUE: Final = {"residual": "y - f0", "alpha": 0.3}
#: The columns do not depend on alpha between two edges: one of each.
ONCE: Final = {"setting": [1, 2], "alpha": [0.1, 0.3]}
FIRST: Final = {**TALK, "setting": 1, "alpha": ONE_COLUMN}
SECOND: Final = {**TALK, "setting": 2, "alpha": TWO_COLUMNS}

#: Setting 3 with one, two and three columns.
CUBIC: Final = [{"setting": 3, "alpha": alpha} for alpha in (0.1, 0.3, 0.36)]
#: Where the step adds the square.
TWO: Final = {"alpha": 0.3, "setting": 2, "n": 500, "residual": "y", "lam": 0.01}
AGAIN: Final = {**TWO, "sample": "reused"}
FRESH: Final = {**TWO, "sample": "fresh"}
SPHERE: Final = {**FRESH, "rows": "sphere"}
#: A penalty near the best one of the network: what is best differs little from alpha = 0 to .45.
SUITED: Final = {"setting": 2, "n": 1_000, "lam": 0.3}
#: Ridge on the inputs at its best penalty, d/n = 1/2, linear part and rest of y of one variance
#: (Dobriban & Wager 2018, Theorem 2.1).
BEST_RIDGE: Final = 2**0.5
REUSED: Final = {"sample": "reused", "alpha": 0.1, "setting": 2, "residual": "y", "n": 1_000}


def _settings_differ(alpha: list[float], rule: Rule, bound: str) -> Check:
    """The gain of setting 2 over that of setting 1 at each alpha and n."""
    two, one = ({"setting": s} for s in (2, 1))
    check = each("n", differs("loss_gain", two, one, rule, bound))
    return each("alpha", check, {**TALK, "setting": [1, 2], "alpha": alpha})


def _column(metric: str, margin: float) -> Check:
    return agrees(f"column_{metric}_gain", theory, {**TALK, **ONCE}, margin=margin)


def _reused(metric: str) -> Check:
    """Reused rows against fresh ones."""
    return differs(metric, REUSED, {**REUSED, "sample": "fresh"}, over(0.0), "bound 0", times=3.0)


CLAIMS: Final = {
    "Ridge on F_0 and X beta, then also (X beta)^2, gains .0629 and .1216 of the training loss and"
    " .361 and .744 of the test error at setting 2, within a third of what the second adds; so at"
    " setting 1."
    " [Moniri24, Theorems on the training loss and test error at l = 1, 2]": every(
        *(_column(name, MARGINS[name]) for name in METRICS)
    ),
    "With a third degree, He_1 + .5 He_2 + .3 He_3 and noise of variance 1/4 at lambda = .05, the"
    " first column gains .1038, the second adds .0361 and the third .0273, each within half of what"
    " the one after it, or itself, adds."
    " [Moniri24, Theorems at l = 1, 2, continued to general l]": every(
        agrees("column_loss_gain", theory, CUBIC[0], 2.0, margin=0.018),
        differs("column_loss_gain", CUBIC[1], CUBIC[0], between(0.018, 0.054), "half of it"),
        differs("column_loss_gain", CUBIC[2], CUBIC[1], between(0.0137, 0.041), "half of it"),
    ),
    "At alpha = .1 and .2 the network gains of the training loss what is predicted at this n,"
    " within 6 % (setting 1, over the gain of the column on those rows)."
    " [Moniri24, Theorem on the spectrum, with spikes of finite size]": near(
        "loss_share", theory, 0.06, FIRST
    ),
    "At alpha = .1 and .2 the network's gain is nearer to the prediction at this n than to the"
    " limit."
    " [Moniri24, Theorem on the spectrum, with spikes of finite size]": nearer(
        "loss_share", theory, limit, FIRST
    ),
    "At alpha = .1 and .2 the network's gain approaches the limit as n grows."
    " [Moniri24, Theorem on the training loss at l = 1]": ordered(
        "loss_share", "n", {**FIRST, "n": [500, *TALK["n"]]}
    ),
    "At alpha = .3, setting 2, the network gains within 4.5 % of the prediction at this n, half of"
    " what a gradient of rank one would gain more."
    " [Moniri24, Theorem on the spectrum, with spikes of finite size]": near(
        "loss_share", theory, RANK_ONE, SECOND
    ),
    "Settings 1 and 2 gain alike in the training loss at alpha = .1 and .2: within a third of what"
    " the second column adds in the limit."
    " [Moniri24, the experiments]": _settings_differ(
        ONE_COLUMN, between(-MARGIN, MARGIN), f"margin {MARGIN}"
    ),
    "At alpha = .3 the gains of settings 1 and 2 differ by more than that."
    " [Moniri24, the experiments]": _settings_differ(TWO_COLUMNS, over(MARGIN), f"margin {MARGIN}"),
    "A gradient of the residual y - f_0 has its own prediction: network and columns are nearer to"
    " it than half of the way to that of the residual y."
    " [Moniri24, with f_0 in the residual]": every(
        agrees("loss_share", theory, TRUE, 2.0, margin=0.086),
        agrees("column_loss_gain", theory, TRUE, 2.0, margin=0.0136),
    ),
    "Where the head uses the gradient's rows again, a step of alpha = .1 gains three times as much"
    " or more, in training loss and test error, and within 10 % what is predicted."
    " [Moniri24, Section 2: the head has a fresh sample]": every(
        *(_reused(f"{name}_gain") for name in ("loss", "test")),
        *(near(f"{name}_gain", theory, 0.1, REUSED) for name in ("loss", "test")),
    ),
    "Where the head uses the gradient's rows again after a step of alpha = .3 (two columns), the"
    " training loss falls by twice as much or more as on fresh rows, and the test error by more,"
    " both within 10 % as predicted."
    " [Moniri24, Section 2: the head has a fresh sample; reused rows are derived here]": every(
        differs("loss_gain", AGAIN, SPHERE, over(0.0), "bound 0", times=2.0),
        differs("test_gain", AGAIN, SPHERE, over(0.0), "bound 0"),
        near("loss_gain", theory, 0.1, AGAIN),
        near("test_gain", theory, 0.1, AGAIN),
    ),
    "With Gaussian rows of W0, as in the talk, two columns gain .0081 more of the training loss"
    " than with rows on the unit sphere, within half of that."
    " [Moniri24, Section 2; the lengths of rows derived here]": differs(
        "column_loss_gain",
        {**FRESH, "rows": "gaussian"},
        SPHERE,
        between(0.0041, 0.0122),
        "bounds .0041 to .0122",
    ),
    "At lambda = .3, which suits it, the network's test error after a step of size 1 is above that"
    " of ridge on the inputs at its best penalty, 2^(1/2), and after one of n^.45 below; at"
    " lambda = .01 it is above linear regression without a penalty, 1/(1 - d/n) = 2, at every step"
    " size of both settings."
    " [Moniri24, prior work: worse than linear regression]": every(
        above("test", BEST_RIDGE, {**SUITED, "alpha": 0.0}),
        below("test", BEST_RIDGE, {**SUITED, "alpha": 0.45}),
        each("setting alpha", above("test", 2.0), {**TALK, "setting": [1, 2]}),
    ),
    "Beside its part along beta the gradient has kappa = .5 as much of its own, within 5 %: the"
    " second column is u^2 + kappa, in print u^2."
    " [Moniri24, Theorem on the spectrum, the rest of the rank-one gradient]": near(
        "own_to_shared", theory, 0.05, {**TALK, "alpha": 0.3}
    ),
}

EXPERIMENT = Experiment(
    name="moniri24-errors",
    question="How much do training and test error fall with the size of one gradient step?",
    about=ABOUT,
    batch=batch,
    batch_size=1,
    along="alpha",
    grids={
        "quick": [
            {"alpha": STEPS, "setting": [1, 2], "n": 1_000},
            {"alpha": ONE_COLUMN, "setting": 1, "n": [250, 500]},
            {"alpha": 0.3, "setting": 2, "n": 500, "rows": ["sphere", "gaussian"]},
            {"alpha": 0.3, "setting": 2, "n": 500, "sample": "reused"},
            {"alpha": [0.1, 0.3, 0.36], "setting": 3, "n": 500, "lam": 0.05},
            {**SUITED, "alpha": [0.0, 0.45]},
            {"alpha": [0.1, 0.3], "n": 1_000, "residual": "y - f0"},
            {"alpha": 0.1, "n": 1_000, "sample": "reused"},
        ],
        "paper": [
            {"alpha": STEPS, "setting": [1, 2], "n": 2_400},
            {"alpha": [*ONE_COLUMN, *TWO_COLUMNS], "setting": [1, 2], "n": [1_000, 4_000]},
            {"alpha": 0.3, "setting": 2, "n": 500, "rows": ["sphere", "gaussian"]},
            {"alpha": 0.3, "setting": 2, "n": 500, "sample": "reused"},
            {"alpha": [0.1, 0.3, 0.36], "setting": 3, "n": 1_000, "lam": 0.05},
            {**SUITED, "alpha": [0.0, 0.45]},
            {"alpha": [0.1, 0.3], "n": 1_000, "residual": ["y - f0", "ba22"]},
            {"alpha": 0.1, "n": 1_000, "sample": "reused"},
        ],
    },
    small={"alpha": [0.1, 0.3], "setting": [1, 2], "n": [60]},
    seeds={"quick": 60, "paper": 24},
    theory=theory,
    figure=figure,
    checks=CLAIMS,
)
