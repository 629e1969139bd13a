"""A simple and a complex feature in the same inputs: which do neurons align with first?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.catalogue.shared.comparisons import earlier, earlier_along
from gradfeat.catalogue.shared.curves import averaged, draw_metrics, only, over_seeds, values_of
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, each, every, greater, lazy, within
from gradfeat.maths.ranges import at_least, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor
    from gradfeat.tasks.simple_and_complex import SimpleAndComplex

#: A small start, so that neurons turn to features before their outputs matter.
SMALL = 0.05
#: Share of the network's weight in a cone that counts as aligned; at random it is below 1e-6.
ALIGNED = 0.05
#: Share of rows on which the output has a feature's sign that counts as following it.
FOLLOWS = 0.9
FEATURES = ("simple", "complex")


def trial(
    slabs: int,
    predictive: float,
    d: int = 20,
    m: int = 100,
    steps: int = 800,
    n_batch: int = 500,
    step_size: float = 1.0,
    jitter: float = 0.2,
    noise: float = 1.0,
    n_mass: int = 4_000,
    neurons: int = 1_000,
    n_test: int = 2_000,
    dtype: str = "float32",
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float | np.ndarray]:
    """Descent on fresh rows; by step, weight along each feature and how far the output follows it.

    Following is measured on rows in which the two features are independent. A step that is never
    reached is `steps` + 1. Masses are those of both signs of b together, before training.

    `mass_simple` and `mass_complex` are these masses, `step_aligned_*` is the first step with
    enough weight in the feature's cone, `step_follows_*` that from which the output has the
    sign of the feature on enough rows, `last_follows_*` the share of such rows at the last
    step.
    """
    from gradfeat.catalogue.shared.descent_training import (
        Watched,
        float_type,
        followed,
        fresh_rows,
        spaced_steps,
        start_masses,
    )

    paired(m)
    at_least(1, steps=steps, n_batch=n_batch, n_mass=n_mass, n_test=n_test)
    at_least(200, neurons=neurons)
    task = lazy.SimpleAndComplex(d, slabs, predictive, jitter, noise, seed)
    kind = float_type(dtype)
    start = lazy.Start(std_W=SMALL, std_b=SMALL, std_a=0.2)
    net = start.draw(m, d, 1, seed, dtype=kind, device=device)
    rows = fresh_rows([task], [seed], kind, device)
    watched = Watched(task.directions, FEATURES, following(task, n_test, seed, net.W))
    phases = [lazy.Phase(steps, step_size, batch=n_batch)]
    (path,) = followed(net, rows, phases, [watched], spaced_steps(steps))
    masses = start_masses(
        task.sample(n_mass, lazy.stream(seed, "mass")), task.directions, neurons=neurons,
        weight_scale=SMALL, bias_scale=SMALL, seed=seed
    )  # fmt: skip
    named = {f"mass_{name}": mass for name, mass in zip(FEATURES, masses, strict=True)}
    return named | summarised(path) | path


def following(
    task: SimpleAndComplex, n: int, seed: int, like: Tensor
) -> Callable[[Predictor], dict[str, float]]:
    """Shares of n rows, in which features are independent, where the output has each one's sign."""
    import torch

    apart = replace(task, predictive=0.5)
    sample = apart.sample(n, lazy.stream(seed, "test"))
    signs = torch.cat([apart.simple_signs(sample.X), sample.y], 1).to(like)
    X = sample.X.to(like)

    def measured(f: Predictor) -> dict[str, float]:
        shares = (f(X).sign() == signs).double().mean(0).tolist()
        return {f"follows_{name}": share for name, share in zip(FEATURES, shares, strict=True)}

    return measured


def summarised(path: dict[str, np.ndarray]) -> dict[str, float]:
    """For each feature the step at which it is aligned with, and followed, and the last share."""
    from gradfeat.catalogue.shared.descent_training import first_step

    step, found = path["step"], {}
    for name in FEATURES:
        follows = path[f"follows_{name}"]
        found |= {
            f"step_aligned_{name}": first_step(step, path[f"aligned_{name}"], ALIGNED),
            f"step_follows_{name}": first_step(step, follows, FOLLOWS),
            f"last_follows_{name}": float(follows[-1]),
        }
    return found


def _paths(ax: Axes, rows: DataFrame, path: str, title: str, y: str) -> None:
    style.dress(ax, title, "gradient step", y, "y")
    names = _names(path)
    later = rows.assign(**{name: rows[name].map(lambda p: p[1:]) for name in ("step", *names)})
    draw_metrics(ax, later, "step", names, connect=True)
    ax.set_xscale("log")


def _names(metric: str) -> dict[str, str]:
    return {f"{metric}_{name}": f"{name} feature" for name in FEATURES}


def _masses(ax: Axes, rows: DataFrame, slabs: Any) -> None:
    title, right = (
        f"Gradient features at the start, {slabs} slabs",
        "share of rows with the simple feature right",
    )
    style.dress(ax, title, right, "mass of the gradient feature", "y")
    draw_metrics(ax, rows, "predictive", _names("mass"), apart=4)


def _steps(ax: Axes, table: DataFrame, predictive: float) -> None:
    """When each is followed, against the number of slabs."""
    rows = only(table, predictive=predictive)
    title, steps = (
        f"Steps to learn, simple right in {predictive:.0%}",
        "first step of 90 % agreement",
    )
    style.dress(ax, title, "slabs of the complex feature", steps, "y")
    draw_metrics(ax, rows, "slabs", _names("step_follows"))
    ax.set(yscale="log", xticks=sorted({*rows["slabs"]}))


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:  # noqa: ARG001
    """Which feature the output follows, for each share; what neurons do; masses; steps by slabs."""
    several = [k for k in sorted({*table["slabs"]}) if k > 2] or sorted({*table["slabs"]})
    rows = only(table, slabs=several[0])
    shares = sorted({*rows["predictive"]}, reverse=True)
    some = [share for share in shares if 0.5 < share < 1] or shares
    _, axes = panels(len(shares) + 3, 3, (4.2, 3.2))
    for ax, share in zip(axes, shares, strict=False):
        part = only(rows, predictive=share)
        _paths(ax, part, "follows", f"Output: simple right in {share:.0%}", "agreement")
        ax.set_ylim(0.3, 1.05)
        series.level(ax, 0.5, "")
    last = axes[len(shares) :]
    title = f"Neurons: simple right in {some[0]:.0%}"
    _paths(last[0], only(rows, predictive=some[0]), "aligned", title, "share of weight in its cone")
    _masses(last[1], rows, several[0])
    _steps(last[2], table, some[0])
    return finished(
        axes,
        f"Features: a sign and {several[0]} slabs; d = {values_of(table, 'd')},"
        f" {values_of(table, 'm')} neurons. Agreement: on rows"
        f" with the two independent (dashed: unused). Points: {over_seeds(table)}."
        f"{averaged(table, 'd', 'm', 'step_size', 'jitter', 'noise')}",
    )


ABOUT = """Simplicity bias, as the Shi23 talk explains it by gradient features: of two features
that predict the label, the one with the larger first gradients is learnt first. The simple
feature is the sign of one coordinate; the complex one alternates over 3 or 5 slabs of another
coordinate and is always right; `predictive` is the share of rows in which the simple feature is
right.

Above: agreement of the network's output with each feature's sign, on rows in which the two are
independent of each other: 1/2 says that a feature is not used. Below: the share of the network's
weight (|a||w|) within a cone about each feature's direction; the mass of each gradient feature,
the share of random neurons whose first gradient points along its direction; the first step at
which 90 % of rows agree, where a step that is not reached counts as the last one + 1. With two
slabs both features are equally simple, and both are learnt."""

TALK = "Shi23, the talk's account of simplicity bias"
HARDER = {"slabs": [3, 5]}
USEFUL = HARDER | {"predictive": [0.9, 1.0]}
ALONE = HARDER | {"predictive": 0.5}
LATEST = {"slabs": 3, "predictive": 0.9}
ALIKE = {"slabs": 2, "predictive": 1.0}
LONG = {"d": 30, "m": 200, "steps": 3_000, "neurons": 4_000, "n_mass": 10_000}

EXPERIMENT = Experiment(
    name="shi23-simplicity",
    question="Of a simple and a complex feature that predict the label, which is learnt first?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": [
            {"slabs": [3, 5], "predictive": [1.0, 0.9, 0.5]},
            {"slabs": 2, "predictive": 1.0},
        ],
        "paper": [
            {"slabs": [3, 5], "predictive": [1.0, 0.95, 0.9, 0.8, 0.5], **LONG},
            {"slabs": 2, "predictive": 1.0, **LONG},
        ],
    },
    small={
        "predictive": [0.5, 0.9, 1.0],
        "d": 4,
        "m": 8,
        "steps": 4,
        "n_batch": 20,
        "n_mass": 60,
        "neurons": 200,
        "n_test": 50,
    },
    seeds={"quick": 12, "paper": 20},
    figure=figure,
    checks={
        "In more than half of the seeds neurons align with the simple feature before the complex"
        " one (3 and 5 slabs, simple right in 90 % and 100 % of rows)."
        f" [{TALK}]": each(
            "slabs predictive",
            earlier("step_aligned_simple", None, None, than_metric="step_aligned_complex"),
            USEFUL,
        ),
        "In more than half of the seeds the network's output follows the simple feature before the"
        " complex one."
        f" [{TALK}]": each(
            "slabs predictive",
            earlier("step_follows_simple", None, None, than_metric="step_follows_complex"),
            USEFUL,
        ),
        "Already before training the mass of the simple gradient feature is larger: it exceeds that"
        " of the complex one by 0.5 or more of all neurons."
        " [Shi23, the gradient feature set]": each(
            "slabs predictive",
            greater("mass_simple", None, None, 0.5, than_metric="mass_complex"),
            USEFUL,
        ),
        "Control: with an uninformative simple feature the network learns the complex one (at least"
        " 95 % agreement)."
        f" [{TALK}]": each("slabs", above("last_follows_complex", 0.95), ALONE),
        "Where the simple feature is always right, the complex one is not learnt (45 to 55 %"
        " agreement)."
        " [Shah et al. 2020, extreme simplicity bias]": each(
            "slabs", within("last_follows_complex", 0.45, 0.55), HARDER | {"predictive": 1.0}
        ),
        "At 90 % predictiveness the network finally follows the 3-slab feature (at least 95 %"
        " agreement) and ignores the simple one (40 to 60 %)."
        f" [{TALK}]": every(
            above("last_follows_complex", 0.95, LATEST),
            within("last_follows_simple", 0.4, 0.6, LATEST),
        ),
        "A more complex feature is followed later, in more than half of the seeds: 5 slabs after 3"
        " (simple feature uninformative)."
        f" [{TALK}]": earlier_along("step_follows_complex", "slabs", ALONE),
        "Two slabs, as simple as the other feature, are learnt beside it: the output has the sign"
        " of each on 62.5 to 87.5 % of rows (75 % of both, 100 % and 50 % of one alone)."
        f" [{TALK}]": every(
            within("last_follows_simple", 0.625, 0.875, ALIKE),
            within("last_follows_complex", 0.625, 0.875, ALIKE),
        ),
    },
)
