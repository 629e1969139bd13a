"""Test error of the recursive feature machine by round, on two targets of few directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from jaxtyping import Float

from gradfeat.catalogue.shared.curves import averaged, metric_series, only, over_seeds, settings
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, every, greater, lazy, ordered, within
from gradfeat.maths.ranges import MOST_ROWS, at_least, at_most, one_of, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.predictors import KernelMachine
    from gradfeat.models.rfm import RFM
    from gradfeat.tasks.multi_index import MultiIndex
    from gradfeat.theory.rfm_rounds import RFMRound

TARGETS: Final = {"gated": r"$x_0 x_1 1\{x_2 > 0\}$", "product": r"$x_0 x_1$"}
GRADIENTS: Final = ("plain", "centred")
MOST_ROUNDS: Final = 100


def batch(
    round: list[int],
    target: str,
    d: int,
    n: int,
    gradients: str = "plain",
    bandwidth: float = 30.0,
    penalty: float = 1e-3,
    n_test: int = 10_000,
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[Any]:
    """Errors of RFM (Laplace kernel, full M of trace d) after each number of updates, by seed.

    gated is y = x_0 x_1 1{x_2 > 0}, x ~ N(0, I/4), E y^2 = 1/32; product is y = x_0 x_1,
    x ~ N(0, I). No noise; inputs are not standardised. mse is the mean squared error on n_test
    fresh rows, r2 is 1 - mse / (variance of y on them). alignment is the cosine of the largest
    principal angle between the leading eigenvectors of M and the true directions, 1 where all are
    found; nan at round 0, where M = I (kernel ridge).
    """
    one_of(TARGETS, target=target)
    one_of(GRADIENTS, gradients=gradients)
    at_least(0, round=min(round), penalty=penalty)
    at_most(MOST_ROUNDS, round=max(round))
    at_least(1, n=n)
    at_least(2, n_test=n_test)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    positive(bandwidth=bandwidth)
    rfm = lazy.RFM(
        lazy.Laplace(bandwidth), penalty, max(round), centre_gradients=gradients == "centred"
    )
    return [_of_seed(rfm, _task(target, d), n, n_test, round, seed, device) for seed in seeds]


def _task(target: str, d: int) -> lazy.MultiIndex:
    if target == "gated":
        return lazy.MultiIndex(d, lazy.GatedProduct(0.5), scale=0.5, aligned=True)
    return lazy.MultiIndex(d, lazy.coordinate_product(2), aligned=True)


def _of_seed(
    rfm: RFM, task: MultiIndex, n: int, n_test: int, rounds: list[int], seed: int, device: str
) -> list[dict[str, float]]:
    train, test = (
        task.sample(k, lazy.stream(seed, s)) for k, s in ((n, "train"), (n_test, "test"))
    )
    X, y, U = test.X.to(device), test.y.to(device), task.directions.to(device)
    path = rfm.fit_path(lazy.in_memory(train.X.to(device), train.y.to(device)), seed=seed)
    wanted = {t: _errors(f, X, y, U, t > 0) for t, f in enumerate(path) if t in rounds}
    return [wanted[t] for t in rounds]


def _errors(
    f: KernelMachine,
    X: Float[Tensor, "p d"],
    y: Float[Tensor, "p 1"],
    U: Float[Tensor, "d r"],
    learned: bool,
) -> dict[str, float]:
    mse = float((f(X) - y).square().mean())
    leading = lazy.leading_directions(f.M)[1][:, : U.shape[1]]
    return {
        "mse": mse,
        "r2": 1 - mse / float(y.var(correction=0)),
        "alignment": float(lazy.principal_angles(leading, U)[-1].cos()) if learned else math.nan,
    }


def theory(
    round: int, target: str, d: int, n: int, gradients: str, bandwidth: float, penalty: float
) -> dict[str, float]:
    """Error by expected AGOPs, fresh rows in each round; of the product, gradients centred."""
    if target != "product" or gradients != "centred" or d < 9 or n < 2:
        return {"mse": math.nan, "r2": math.nan}
    found = _rounds(d, n, bandwidth, penalty)[min(round, _LAST)]
    return {"mse": found.error, "r2": found.share}


#: Later rounds change nothing.
_LAST = 5


@lru_cache(64)
def _rounds(d: int, n: int, bandwidth: float, penalty: float) -> list[RFMRound]:
    return lazy.rfm_rounds(
        lambda u: u[:, 0] * u[:, 1], 2, d, n, bandwidth, penalty=penalty, rounds=_LAST
    )


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """MSE by round, a panel a target; right: the cosine of the worst direction."""
    targets = [str(name) for (name,) in settings(table, "target")]
    _, axes = panels(len(targets) + 1, 3, (3.7, 3.5))
    marks = dict(zip(_groups(table), style.class_marks(_labels(table)), strict=True))
    for ax, target in zip(axes, targets, strict=False):
        _error_panel(ax, table, target, marks)
        _draw_theory(ax, theory_table, target)
    _alignment_panel(axes[-1], table, marks)
    row = table.iloc[0]
    return finished(
        axes,
        f"Laplace kernel of bandwidth {row['bandwidth']:g}, penalty {row['penalty']:g}. Centred: M"
        " is the covariance of the gradients; plain: their second moment."
        " Theory: expected AGOPs of fresh rows in each round; an RFM takes the same rows and learns"
        " less."
        f" Points: {over_seeds(table)}.{averaged(table, 'bandwidth', 'penalty', 'n_test')}",
    )


def _draw_theory(ax: Axes, theory_table: DataFrame | None, target: str) -> None:
    """A line for each n of which theory says something."""
    if theory_table is None:
        return
    known = only(theory_table, target=target).dropna(subset="mse")
    for (n,) in settings(known, "n"):
        rows = only(known, n=n).sort_values("round")
        mse = rows["mse"].to_numpy(float)
        series.line(ax, rows["round"].to_numpy(), mse, "theory, fresh rows", style.BLACK)


Group = tuple[object, ...]


def _groups(table: DataFrame) -> list[Group]:
    return settings(table, "target", "gradients", "d", "n")


def _labels(table: DataFrame) -> tuple[str, ...]:
    """Without d, which the titles have: at most 24 letters."""
    return tuple(f"{name}, {how}, n={n}" for name, how, _, n in _groups(table))


def _rows(table: DataFrame, group: Group) -> DataFrame:
    return only(table, **dict(zip(("target", "gradients", "d", "n"), group, strict=True)))


def _error_panel(ax: Axes, table: DataFrame, target: str, marks: dict[Group, style.Mark]) -> None:
    from matplotlib.ticker import MaxNLocator

    own = only(table, target=target)
    inputs = ", ".join(str(d) for (d,) in settings(own, "d"))
    title = f"{TARGETS[target]}, d = {inputs}: test error"
    style.dress(ax, title, "updates of M", "test MSE", "both")
    for group in _groups(own):
        series.points(
            ax, metric_series(_rows(own, group), "round", "mse", marks[group]), connect=True
        )
    first = only(own, round=0)["mse"].to_numpy(float)
    if len(first):
        ax.axvspan(-0.35, 0.35, color=style.FAINT, alpha=0.6, linewidth=0, zorder=0.5)
        ax.annotate(
            "kernel ridge", (0.4, first.mean()), (2, 0), textcoords="offset points",
            va="center", fontsize=style.SMALL, color=style.QUIET
        )  # fmt: skip
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.logarithmic(ax, "y")


def _alignment_panel(ax: Axes, table: DataFrame, marks: dict[Group, style.Mark]) -> None:
    from matplotlib.ticker import MaxNLocator

    title = "Alignment of M with the truth"
    style.dress(ax, title, "updates of M", "cosine of the worst direction", "both")
    learned = table.loc[table["round"] > 0]
    for group in _groups(learned):
        rows = metric_series(_rows(learned, group), "round", "alignment", marks[group])
        series.points(ax, rows, connect=True)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(0, 1.04)


ABOUT = """The recursive feature machine alternates kernel ridge in the metric M and M <- mean of
grad f grad f' over the training rows. Two targets of few directions, without noise: gated, y =
x_0 x_1 1{x_2 > 0} with x ~ N(0, I/4), d = 20; product, y = x_0 x_1 with x ~ N(0, I), d = 100.

The black line is what expected AGOPs promise of the product with fresh rows in each round
(theory/rfm_rounds): right for kernel ridge, and below what rounds on the same rows reach.

Update 0 is kernel ridge (M = I). Cosine: of the largest principal angle between the leading
eigenvectors of M (three, or two) and the true directions, 1 where all are found. With centred
gradients M is their covariance, otherwise their second moment."""

ROUNDS: Final = [0, 1, 2, 3, 4, 5]
GATED: Final = {"target": "gated", "d": 20, "n": 4_000, "gradients": "plain"}
PRODUCT: Final = {"target": "product", "d": 100, "n": 2_000}
CENTRED: Final = {**PRODUCT, "gradients": "centred"}
PLAIN: Final = {**PRODUCT, "gradients": "plain"}

EXPERIMENT = Experiment(
    name="rad24-lowrank",
    question="How far does the test error fall, update by update, as a kernel learns its features?",
    about=ABOUT,
    batch=batch,
    batch_size=1,
    along="round",
    grids={
        "quick": [
            {"round": ROUNDS, **GATED},
            {"round": ROUNDS, **PRODUCT, "gradients": list(GRADIENTS)},
        ],
        "paper": [
            {"round": ROUNDS, **GATED, "n": [1_000, 2_000, 4_000], "gradients": list(GRADIENTS)},
            {"round": ROUNDS, **PRODUCT, "n": [1_000, 2_000, 4_000], "gradients": list(GRADIENTS)},
        ],
    },
    small={"round": [0, 1, 2], "d": 6, "n": 60, "bandwidth": 5.0, "n_test": 50},
    seeds={"quick": 8, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "The error falls with every update: five on the gated product, three on the product."
        " [Rad24, the low-rank examples]": every(
            ordered("mse", "round", {**GATED, "round": ROUNDS}, increasing=False),
            ordered("mse", "round", {**CENTRED, "round": ROUNDS[:4]}, increasing=False),
        ),
        "On the gated product (d = 20, n = 4,000) kernel ridge leaves an MSE of .012, within a"
        " quarter, and five updates less than a quarter of .012."
        " [Rad24, the low-rank examples: .012 to .002]": every(
            within("mse", 0.009, 0.015, {**GATED, "round": 0}),
            below("mse", 0.003, {**GATED, "round": 5}),
        ),
        "On the product (d = 100, n = 2,000) R2 is .9, within .03, after five updates, gradients"
        " centred. [Rad24, the low-rank examples: about .9]": within(
            "r2", 0.87, 0.93, {**CENTRED, "round": 5}
        ),
        "Centred gradients leave a smaller error there than plain ones."
        " [Rad24, Algorithm 1 with centred gradients]": greater(
            "mse", {**PLAIN, "round": 5}, {**CENTRED, "round": 5}
        ),
        "All true directions are found: the cosine of the worst is above .95."
        " [Rad24, the low-rank examples]": every(
            *(above("alignment", 0.95, {**w, "round": 5}) for w in (GATED, CENTRED))
        ),
        "Kernel ridge, before any update, has the R2 that theory says there, within .03."
        " [gradfeat.theory.rfm_rounds, derived here; after Canatar, Bordelon & Pehlevan"
        " 2021]": agrees("r2", theory, {**CENTRED, "round": 0}, margin=0.03),
    },
)
