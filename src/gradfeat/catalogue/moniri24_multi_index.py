"""One gradient step on a target of two directions: which of its parts the network then has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gradfeat.catalogue.shared.comparisons import AS_WITHIN, near
from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metrics,
    marks_of,
    over_seeds,
    theory_line,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, agrees, each, every, lazy, ordered, within
from gradfeat.maths.ranges import MOST_ROWS, at_least, at_most, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.step_sizes import Step

#: y = He_1(b_1.x) + [He_2(b_1.x) + He_2(b_2.x)]/2: the last part has variance 1/2.
HALF = 0.5

PARTS = {"linear_share": "He₁(b₁·x)", "along_share": "He₂(b₁·x)", "beside_share": "He₂(b₂·x)"}
#: Steps beyond n^{1/2}, that of Ba22, are left aside.
MOST_ALPHA = 0.5


def batch(
    alpha: Sequence[float],
    n: int = 1_000,
    phi: float = 0.5,
    psi: float = 2 / 3,
    lam: float = 0.01,
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[Any]:
    """Test error, and shares of the target's parts in ridge on sigma(X~ (W0 + n^alpha G)^T).

    d = phi n inputs, N = d/psi neurons of centred ReLU, residual y, and a fresh sample of n rows
    for the head. The share of a part p is E[f p]/E p^2, exact: E[sigma(w.x) He_2(b.x)] = 2 c_2
    (w.b)^2/|w| for a ReLU. All is the mean over the start a and its mirror image -a; test_gain is
    what random features of the same seed lose more.

    `linear_share` is that of the linear part, `along_share` and `beside_share` are those of the
    quadratic parts along b_1 and along b_2.
    """
    at_most(MOST_ALPHA, alpha=max(alpha))
    at_least(4, n=n)
    positive(phi=phi, psi=psi, lam=lam)
    at_most(MOST_ROWS, n=n, **{"phi n": phi * n, "phi n/psi": phi * n / psi})
    return [_of_seed(alpha, n, phi, psi, lam, seed, device) for seed in seeds]


def _of_seed(
    alpha: Sequence[float], n: int, phi: float, psi: float, lam: float, seed: int, device: str
) -> list[dict[str, float]]:
    d = max(2, round(phi * n))
    task = lazy.MultiIndex(d, _target(), seed=seed)
    first, head, test = (
        task.sample(n, lazy.stream(seed, name)) for name in ("step", "head", "test")
    )
    step = lazy.first_step(
        lazy.in_memory(first.X.to(device), first.y.to(device)),
        width=max(1, round(d / psi)), activation=lazy.CentredReLU(), seed=seed
    )  # fmt: skip
    b = task.directions.to(step.W0)
    power = 1 + 4 * HALF**2  # E y^2
    scale = 2 * power / float(head.y.square().mean() + test.y.square().mean())
    rows = [(step.rows(part.X.to(device)), part.y.to(device)) for part in (head, test)]
    plain = _network(step, 0.0, rows, lam, b)["test"]
    found = []
    for one in alpha:
        both = [_network(step, sign * n**one, rows, lam, b) for sign in (1, -1)]
        mean = {name: sum(v[name] for v in both) / 2 for name in both[0]}
        errors = {"test": mean["test"] * scale, "test_gain": (plain - mean["test"]) * scale}
        found.append(mean | errors)
    return found


def _network(step: Step, eta: float, rows: list[Any], lam: float, b: Tensor) -> dict[str, float]:
    (head, y), (test, wanted) = rows
    a = lazy.ridge_fit(head.features(eta), y, lam).a[:, 0]
    error = float((wanted[:, 0] - test.features(eta) @ a).square().mean())
    W = step.W(eta)
    met, bend = W @ b, 2 * float(step.activation.hermite_coefficients(2)[2])
    squares = (a[:, None] * bend * met.square() / W.norm(dim=1, keepdim=True)).sum(0) / (2 * HALF)
    slope = float(step.activation.hermite_coefficients(1)[1])
    values = (float(slope * a @ met[:, 0]), *squares.tolist())
    return {"test": error} | dict(zip(PARTS, values, strict=True))


@lru_cache(1024)
def theory(alpha: float, n: int, phi: float, psi: float, lam: float) -> dict[str, float]:
    """Errors and shares of the parts at this n.

    The errors are those of the single-index part He_1(b_1.x) + He_2(b_1.x)/2, with noise for the
    rest. No column of the step has the second direction: of the part along b_2 the network has what
    features of degree 2 have of any, of order n/d^2.
    """
    setting, step = (phi, psi, lam, lazy.CentredReLU()), {"eta": n**alpha, "n": n}
    alone = lazy.Teacher.single((0.0, 1.0, HALF), math.sqrt(2) * HALF)
    after = float(lazy.finite_step_errors(*setting, alone, **step).test_error)
    plain = float(lazy.random_feature_errors(*setting, alone, n=n).test_error)
    squares = (lazy.MultiHermite((degrees,), (HALF,)) for degrees in ((2, 0), (0, 2)))
    shares = (
        float(lazy.finite_step_share(*setting, lazy.Teacher(_target()), part=part, **step))
        for part in (_target().part(1), *squares)
    )
    return {"test": after, "test_gain": plain - after} | dict(zip(PARTS, shares, strict=True))


def _target() -> lazy.MultiHermite:
    return lazy.MultiHermite(((1, 0), (2, 0), (0, 2)), (1.0, HALF, HALF))


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Shares of the parts, and test errors, against alpha."""
    _, axes = panels(2, 2, (5.0, 3.6))
    x = r"$\alpha$, step size $\eta = n^\alpha$"
    style.dress(axes[0], "What the network has of the target", x, "share of the part", "both")
    draw_metrics(axes[0], table, "alpha", PARTS, apart=3)
    style.dress(axes[1], "Test error", x, r"test error $E(y-f)^2$", "both")
    draw_metrics(axes[1], table, "alpha", {"test": "network"})
    row = table.iloc[0]
    if theory_table is not None:
        for name, mark in marks_of(PARTS).items():
            label = "theory, in the colour of its points"
            theory_line(axes[0], table, "alpha", name, theory, mark.color, label, 31, evenly=True)
        label = "theory of the single-index part, the rest as noise"
        theory_line(axes[1], table, "alpha", "test", theory, style.INK, label, 31, evenly=True)
    axes[1].set_ylim(bottom=0)
    series.key_level(axes[1], 2 * HALF, "best linear function")
    series.key_level(axes[1], HALF, r"best function of $b_1\cdot x$", dotted=True)
    return finished(
        axes,
        r"$y = He_1(b_1\cdot x) + [He_2(b_1\cdot x) + He_2(b_2\cdot x)]/2$, centred ReLU,"
        rf" n = {row['n']:,.0f}, d/n = {row['phi']:g}, d/N = {row['psi']:.3g}, $\lambda$ ="
        f" {row['lam']:g}. Points: {over_seeds(table)}.{averaged(table, 'n', 'lam')}",
    )


ABOUT = """A network takes one gradient step of size n^alpha on a target that depends on two
directions, then its head is fitted by ridge on fresh rows. The talk says that with one step only a
single-index approximation can be learned (Dandi et al. 2023), and goes on with such targets.

Left: the share of each part of the target that the trained network has, exact for its weights. The
step's direction beta has the direction of E[y x] = b_1, so the quadratic part along b_1 is found as
steps grow, and the equal one along b_2 is not. Lines are the prediction for this n, by leaving one
row out of the equations of the errors: at alpha = 0.3 the share along b_1 is .100 for n = 1,000 to
4,000, and .118 in the limit, by its columns. Right: the test error against the
prediction for a target that is the part along b_1 alone, with noise of the variance of the part
along b_2.
"""

EXPERIMENT = Experiment(
    name="moniri24-multi-index",
    question="What does one gradient step learn of a target that depends on two directions?",
    about=ABOUT,
    batch=batch,
    batch_size=1,
    along="alpha",
    grids={
        "quick": {"alpha": [0.1, 0.2, 0.3, 0.36, 0.42]},
        "paper": {"alpha": [0.1, 0.2, 0.3, 0.36, 0.42], "n": [1_000, 4_000]},
    },
    small={"alpha": [0.1, 0.3], "n": 60},
    seeds={"quick": 30, "paper": 12},
    theory=theory,
    figure=figure,
    checks={
        "Of the quadratic part along b_2, which the gradient's mean does not see, the network has"
        " less than 5 % at every step size."
        " [Moniri24, data generation; Dandi et al. 2023]": each(
            "n alpha", within("beside_share", -0.05, 0.05)
        ),
        "Of the equal part along b_1 it has the more the larger the step."
        " [Moniri24, data generation; Dandi et al. 2023]": each(
            "n", ordered("along_share", "alpha")
        ),
        "Its share of the linear part is within 5 % of the prediction for this n at every step"
        " size, its share of the quadratic part along b_1 within 0.03 of it."
        " [derived here; Moniri24, Theorem on the test error]": every(
            near("linear_share", theory, 0.05),
            agrees("along_share", theory, z=AS_WITHIN, margin=0.03),
        ),
        "The test error at every step size is within 3 % of the prediction for the single-index"
        " part, with noise in the place of the rest."
        " [Moniri24, Theorem on the test error; Dandi et al. 2023]": near("test", theory, 0.03),
    },
)
