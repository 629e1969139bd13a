"""One gradient step of size Theta(1) and of size Theta(sqrt n), against the best linear model."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_series,
    only,
    over_seeds,
    settings,
    theory_line,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, each, every, greater, lazy, ordered
from gradfeat.lab.claims import Check
from gradfeat.maths.ranges import LARGEST, MOST_DEGREE, MOST_ROWS, at_least, at_most, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.tasks.single_index import SingleIndex

NAMES = {
    "linear": "ridge on the inputs",
    "random features": "random features",
    "small step": "step η = 1",
    "large step": "step η = √n",
}
ACTIVATIONS = {"centred_relu": "centred ReLU", "tanh": "tanh", "erf": "erf"}
#: Each method takes the one with the least error on rows held out.
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3)


def trial(
    method: str,
    activation: str,
    p: int,
    d: int,
    rows_per_input: float = 16.0,
    neurons_per_input: float = 4.0,
    step_scale: float = 1.0,
    noise: float = 0.0,
    n_test: int = 8_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """E (y - f)^2 of ridge after one step, y = He_1(b.x) + He_p(b.x)/sqrt(p!) + noise.

    n rows for the gradient of Ba22, y - f_0/sqrt(N), and n fresh ones for the head. eta is 0,
    `step_scale` or `step_scale` sqrt(n); the penalty of every method is the best of the same grid
    on n/4 rows held out. `excess` is `test_error` less that of the best linear function,
    E y^2 - c_{*1}^2. `nonlinear_share` is E[f h]/E h^2, h = He_p(b.x)/sqrt(p!): how much of the
    nonlinear part the fit has.

    Held-out and test rows have b.x stratified: one value in each of so many cells of equal
    probability. That keeps means unbiased and takes the tails of y^2 out of their variance. The
    noise of their labels is added by its variance.
    """
    one_of(NAMES, method=method)
    one_of(ACTIVATIONS, activation=activation)
    at_least(2, p=p)
    at_most(MOST_DEGREE, p=p)
    at_least(1, d=d, n_test=n_test)
    at_least(0, noise=noise, step_scale=step_scale)
    ratios = {"rows_per_input": rows_per_input, "neurons_per_input": neurons_per_input}
    at_most(LARGEST, noise=noise, step_scale=step_scale, **ratios)
    n, N = sizes(d, rows_per_input, neurons_per_input)
    at_least(4, **{"rows_per_input d": n})
    at_least(1, **{"neurons_per_input d": N})
    at_most(MOST_ROWS, n_test=n_test, **{"rows_per_input d": n, "neurons_per_input d": N})
    task = lazy.SingleIndex(d, lazy.HermiteSeries(coefficients(p)), noise, seed=seed)
    first, head = (_rows(task, n, name, seed, device) for name in ("gradient", "train"))
    held, test = _stratified(task, n // 4, "held", seed), _stratified(task, n_test, "test", seed)
    parts = [head.X, held.X.to(device), test.X.to(device)]
    if method != "linear":
        step = lazy.first_step(
            lazy.in_memory(first.X, first.y), width=N, activation=lazy.activation(activation),
            residual="ba22", seed=seed
        )  # fmt: skip
        eta = eta_of(method, n, step_scale)
        parts = [step.rows(X).features(eta) for X in parts]
    fits = [lazy.ridge_fit(parts[0], head.y, lam).a for lam in PENALTIES]
    chosen = min(range(len(fits)), key=lambda i: _error(parts[1], fits[i], held.y))
    error = _error(parts[2], fits[chosen], test.y) + noise**2
    bound = float(teacher(p, noise).beyond_linear)
    h = (test.y - test.X @ task.directions).to(parts[2])
    share = float((parts[2] @ fits[chosen] * h).mean() / h.square().mean())
    return {
        "test_error": error, "excess": error - bound, "nonlinear_share": share,
        "penalty": PENALTIES[chosen],
    }  # fmt: skip


def sizes(d: int, rows_per_input: float, neurons_per_input: float) -> tuple[int, int]:
    return round(rows_per_input * d), round(neurons_per_input * d)


def eta_of(method: str, n: int, scale: float) -> float:
    """0 for random features, Theta(1) and Theta(sqrt n) for the steps."""
    return {"random features": 0.0, "small step": scale, "large step": scale * math.sqrt(n)}[method]


def coefficients(p: int) -> tuple[float, ...]:
    """c_{*k} of He_1 + He_p/sqrt(p!)."""
    return (0.0, 1.0, *[0.0] * (p - 2), 1 / math.sqrt(math.factorial(p)))


def teacher(p: int, noise: float) -> lazy.Teacher:
    """The target as theory takes it."""
    return lazy.Teacher.single(coefficients(p), noise)


def _rows(task: SingleIndex, n: int, name: str, seed: int, device: str) -> lazy.Sample:
    rows = task.sample(n, lazy.stream(seed, name))
    return lazy.Sample(rows.X.to(device), rows.y.to(device))


def _stratified(task: SingleIndex, n: int, name: str, seed: int) -> lazy.Sample:
    """n Gaussian inputs whose b.x are one in each cell of probability 1/n, and f* at them."""
    import torch

    random = lazy.stream(seed, name)
    X = torch.randn(n, task.d, generator=random, dtype=torch.float64)
    cells = (torch.arange(n) + torch.rand(n, 1, generator=random, dtype=torch.float64)[:, 0]) / n
    z = torch.special.ndtri(cells.clamp(1e-15, 1 - 1e-15))[:, None]
    u = task.directions
    X += (z - X @ u) @ u.mT
    return lazy.Sample(X, task.target(X))


def _error(F: Tensor, a: Tensor, f: Tensor) -> float:
    return float((f.to(F) - F @ a).square().mean())


@lru_cache(maxsize=1_024)
def theory(
    method: str,
    activation: str,
    p: int,
    d: int,
    rows_per_input: float,
    neurons_per_input: float,
    step_scale: float,
    noise: float,
) -> dict[str, float]:
    """The limits at these ratios, at the best penalty of the grid; d matters to large steps alone.

    Ridge on the inputs is that on very many linear neurons, N/d times the penalty.
    """
    n, N = sizes(d, rows_per_input, neurons_per_input)
    target, lams = teacher(p, noise), np.array(PENALTIES)
    if method == "linear":  # has no degree 2 that would depend on n
        many = 1e6
        found = lazy.random_feature_errors(
            d / n, 1 / many, lams * many, lazy.Polynomial((0.0, 1.0)), target
        ).test_error
    else:
        found = lazy.finite_step_errors(
            d / n, d / N, lams, lazy.activation(activation), target,
            eta=eta_of(method, n, step_scale), n=n, residual="ba22"
        ).test_error  # fmt: skip
    error = float(np.min(found))
    return {"test_error": error, "excess": error - float(target.beyond_linear)}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """A panel for each activation and target: test error against d, with the linear bound."""
    cells = settings(table, "activation", "p")
    _, axes = panels(len(cells), 3, (4.8, 3.8))
    for ax, (activation, p) in zip(axes, cells, strict=True):
        rows = only(table, activation=activation, p=p)
        _panel(ax, rows, theory_table is not None, ACTIVATIONS[str(activation)], int(str(p)))
    row = table.iloc[0]
    ratios = averaged(table, "rows_per_input", "neurons_per_input", "step_scale", "noise")
    return finished(
        axes,
        rf"$y = He_1(b\cdot x) + He_p(b\cdot x)/\sqrt{{p!}}$, n = {row['rows_per_input']:g}d,"
        rf" N = {row['neurons_per_input']:g}d; ridge on fresh rows. Lines: theory; points:"
        f" {over_seeds(table)}.{ratios}",
    )


def _panel(ax: Axes, rows: DataFrame, lines: bool, activation: str, p: int) -> None:
    title = f"{activation}, p = {p}"
    style.dress(ax, title, "number of inputs d", r"test error $E(y-f)^2$", "both")
    for found, own in draw_series(ax, rows, "method", NAMES, "d", "test_error", apart=3):
        if lines:  # the theory of a step of sqrt(n) alone bends
            points = 7 if own["method"].iloc[0] == "large step" else 2
            label = "theory (same colour)"
            theory_line(ax, own, "d", "test_error", theory, found.mark.color, label, points)
    bound = float(teacher(p, float(rows["noise"].iloc[0])).beyond_linear)
    style.tick_at(ax, rows["d"], 2)
    ax.set_ylim(0, 1.15 * max(ax.get_ylim()[1], bound))
    series.key_level(ax, bound, "best linear function")


ABOUT = """Ridge regression on the inputs, on random features, and on features after one gradient
step of size 1 or sqrt(n), each at the penalty that is best on rows held out; the target is the sum
of a linear part and a Hermite polynomial of degree p of one direction. The dashed line is what the
best linear function of x leaves, so that only what is below has learned of He_p; how much of it
the fit has is measured as well. Random features have d^2/2 functions of degree 2 to learn, and with
16 d rows a share of He_2 that falls as 1/d.

The talk says of Ba et al. (2022) that with a step of size O(1) no nonlinear part of the teacher is
learned and the network is still worse than linear regression, and that with O(sqrt(n)) it learns
nonlinear functions. The scale of the output is that of Ba et al. (f_0/sqrt(N) in the residual), and
their rows of the head are new ones, as here.
"""

SMALL = {"method": "small step"}


def _beats(method: str, margin: float) -> Check:
    """Is the large step below `method` by the margin, at each activation and d?"""
    check = greater("test_error", {"method": method}, {"method": "large step"}, margin)
    return each("activation d", check)


EXPERIMENT = Experiment(
    name="ba22-step-size",
    question="How large must one gradient step be to beat every linear model?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": [
            {"method": list(NAMES), "activation": "centred_relu", "p": 2, "d": [50, 100, 200]},
            {"method": list(NAMES), "activation": "erf", "p": 3, "d": [50, 100, 200]},
        ],
        "paper": [
            {"method": list(NAMES), "activation": "centred_relu", "p": 2, "d": [100, 200, 400]},
            {"method": list(NAMES), "activation": ["tanh", "erf"], "p": 3, "d": [100, 200, 400]},
        ],
    },
    small={"d": [5, 8], "n_test": 50},
    seeds={"quick": 10, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "After a step of size 1 the network does not beat the best linear function, at any d, and"
        " has less than 5 % of the nonlinear part from d = 100 on: of He_2 less the larger d."
        " [Ba et al. 2022, Theorem on small learning rates]": every(
            each("activation d", above("excess", 0.0), SMALL),
            each("activation d", below("nonlinear_share", 0.05), {**SMALL, "d": [100, 200, 400]}),
            ordered("nonlinear_share", "d", {**SMALL, "p": 2}, increasing=False),
        ),
        "After a step of size 1 the network is no better than ridge regression on the inputs, which"
        " has seen the same rows: from d = 100 on its test error is at least as high."
        " [Ba et al. 2022, Theorem on small learning rates; Moniri24, prior work]": each(
            "activation d",
            greater("test_error", {"method": "small step"}, {"method": "linear"}),
            {"d": [100, 200, 400]},
        ),
        "After a step of size sqrt(n) it has a fifth or more of the nonlinear part and beats the"
        " best linear function by 0.05 or more, at every d."
        " [Ba et al. 2022, Theorem on large learning rates]": each(
            "activation d",
            every(below("excess", -0.05), above("nonlinear_share", 0.2)),
            {"method": "large step"},
        ),
        "After a step of size sqrt(n) it beats ridge on the inputs by 0.15 or more, at every d."
        " [Ba et al. 2022, Theorem on large learning rates]": _beats("linear", 0.15),
        "After a step of size sqrt(n) it beats a step of size 1 by 0.2 or more, at every d."
        " [Ba et al. 2022, Figure 1]": _beats("small step", 0.2),
        "From d = 200 on the test errors of ridge on the inputs, of random features and after the"
        " step of size 1 are within 5 % of theory."
        " [Moniri24, section 4; Mei & Montanari 2022]": every(
            *(
                agrees(
                    "test_error",
                    theory,
                    {"method": name, "d": [200, 400]},
                    2.0,
                    margin=0.05,
                    by="share",
                )
                for name in NAMES
                if name != "large step"
            )
        ),
    },
)
