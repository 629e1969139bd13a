"""One labelling rule, several input distributions: how many steps does each take to learn?

Between three quarters of the rows planted and half of them the order is weak (37 of 64 seeds, four
ties: some 110 seeds would be needed to tell it from none): the majority of the block's entries, a
linear rule, is right on 1 - 5 p_uniform/16 of rows for k = 5, 92 % at p_uniform = 1/4. It is found
at once and left again for a while as the parity is learnt, of which planted rows say nothing. So
structure gives the direction; the rest takes rows without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.comparisons import earlier, earlier_along, ranked
from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    only,
    over_seeds,
    path_series,
    values_of,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, each, lazy, within
from gradfeat.maths.ranges import at_least, one_of, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor
    from gradfeat.tasks.base import Sample, Task

#: Share of own test rows that is right from then on, where the rule counts as learnt.
LEARNT = 0.9
#: Scale of the first layer's weights after step 1, in units of the gradient; standard deviation of
#: the head at the start. One gradient feature then has |w| of about 2, against biases of about 1.
FIRST_STEP, STD_A = 4.0, 0.1
#: Looks along training; neighbours are 6 % apart at 1,000 steps, so that few times are equal.
SNAPSHOTS = 120
INPUTS = ("patterns", "gaussian")


def trial(
    inputs: str,
    p_uniform: float,
    d: int = 64,
    D: int = 64,
    k: int = 5,
    p_o: float = 0.5,
    m: int = 100,
    steps: int = 1_000,
    n_first: int = 4_000,
    n_batch: int = 500,
    step_size: float = 0.2,
    bias: float = 1.5,
    neurons: int = 1_000,
    n_test: int = 2_000,
    dtype: str = "float32",
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float | np.ndarray]:
    """Descent on fresh rows of one distribution: step from which 90 % of tests are right.

    Step 1 replaces W by its gradient on `n_first` rows, the later ones train all. The mass is that
    of the direction sum_{i in A} M_i on the rows of step 1, both signs of b = +-`bias` together. A
    step that is never reached is `steps` + 1.

    `step_learnt` is that step, `accuracy` the last one, `aligned` the share of the weight along
    the planted direction after step 1.
    """
    from gradfeat.catalogue.shared.descent_training import (
        Watched,
        float_type,
        followed,
        fresh_rows,
        placed,
        settled_step,
        spaced_steps,
        start_masses,
    )

    paired(m)
    at_least(2, steps=steps)
    at_least(1, n_first=n_first, n_batch=n_batch, n_test=n_test)
    at_least(200, neurons=neurons)
    task, planted = distribution(inputs, p_uniform, d, D, k, p_o, seed)
    kind = float_type(dtype)
    start = lazy.Start(std_b=1.0, std_a=STD_A).draw(m, d, 1, seed, dtype=kind, device=device)
    rows = fresh_rows([task], [seed], kind, device)
    test = placed(task.sample(n_test, lazy.stream(seed, "test")), start.W)
    phases = [
        lazy.Phase(1, FIRST_STEP / STD_A, decay_W="erase", batch=n_first),
        lazy.Phase(steps - 1, step_size, batch=n_batch),
    ]
    watched = Watched(planted, ("planted",), right_share(test))
    (path,) = followed(start, rows, phases, [watched], spaced_steps(steps, SNAPSHOTS))
    first = task.sample(n_first, lazy.stream(seed, "step 1"))
    (mass,) = start_masses(
        first, planted, neurons=neurons, weight_scale=d**-0.5, bias_scale=bias, seed=seed
    )
    return {
        "mass": mass,
        "step_learnt": settled_step(path["step"], path["accuracy"], LEARNT),
        "aligned": float(path["aligned_planted"][1]),
        "accuracy": float(path["accuracy"][-1]),
        "step": path["step"],
        "path": path["accuracy"],
    }


def distribution(
    inputs: str, p_uniform: float, d: int, D: int, k: int, p_o: float, seed: int
) -> tuple[Task, Tensor]:
    """The rows, labelled prod_{i in A} sign(M_i.x), and the direction that a block has planted.

    Raises ValueError when `inputs` is unknown, or Gaussian inputs are to have a planted part.
    """
    one_of(INPUTS, inputs=inputs)
    blocks = lazy.ParityBlocks(d, D, k, 1, p_uniform, p_o, seed)
    if inputs == "patterns":
        return blocks, blocks.directions
    if p_uniform != 1:
        raise ValueError(f"p_uniform is {p_uniform}: Gaussian inputs have no planted part, give 1.")
    return lazy.GaussianParity(d, D, k, seed), blocks.directions


def right_share(test: Sample) -> Callable[[Predictor], dict[str, float]]:
    """The accuracy on these rows, by name."""
    from gradfeat.catalogue.shared.descent_training import accuracy

    def measured(f: Predictor) -> dict[str, float]:
        return {"accuracy": accuracy(f, test)}

    return measured


def _groups(table: DataFrame) -> list[tuple[style.Mark, DataFrame]]:
    """The rows of each distribution, most structure first, with its mark."""
    patterns = only(table, inputs="patterns")
    shares = sorted({*patterns["p_uniform"]})
    named = [(f"{1 - p:.0%} planted", only(patterns, p_uniform=p)) for p in shares]
    named += [("Gaussian", only(table, inputs="gaussian"))]
    kept = [(name, rows) for name, rows in named if len(rows)]
    marks = style.class_marks(tuple(name for name, _ in kept))
    return [(mark, rows) for mark, (_, rows) in zip(marks, kept, strict=True)]


def _learning(ax: Axes, table: DataFrame) -> None:
    """A line a distribution, with one point at its end: 30 intervals a curve hide each other."""
    style.dress(ax, "Learning curves by input distribution", "gradient step", "test accuracy", "y")
    for mark, rows in _groups(table):
        later = rows.assign(step=rows["step"].map(_thinned), path=rows["path"].map(_thinned))
        found = path_series(later, "step", "path", mark)
        ax.plot(found.x, found.mean, color=mark.color, linewidth=1.1)
        last = replace(found, **{a: getattr(found, a)[-1:] for a in ("x", "mean", "low", "high")})
        series.points(ax, last)
    series.level(ax, LEARNT, "learnt")
    ax.set_xscale("log")
    ax.set_ylim(0.4, 1.04)


def _thinned(values: np.ndarray) -> np.ndarray:
    """Every fourth look, the last among them, without the start."""
    return values[:0:-4][::-1]


def _times(ax: Axes, table: DataFrame) -> None:
    style.dress(
        ax, "Steps to learn", "share of rows without structure, p_uniform",
        "step from which 90 % are right"
    )  # fmt: skip
    for mark, rows in _groups(table):
        draw_metric(ax, rows, "p_uniform", "step_learnt", mark)
    _never(ax, table)


def _against_mass(ax: Axes, table: DataFrame) -> None:
    style.dress(
        ax, "Mass before training, steps to learn", "mass of the planted gradient feature",
        "step from which 90 % are right"
    )  # fmt: skip
    for mark, rows in _groups(table):
        ax.scatter(
            rows["mass"], rows["step_learnt"], s=22, color=mark.color, marker=mark.marker,
            alpha=0.75, linewidths=0
        )  # fmt: skip
    _never(ax, table)


def _never(ax: Axes, table: DataFrame) -> None:
    """A logarithmic axis with the level of those that never learnt."""
    ax.set_yscale("log")
    steps = {int(s) for s in table["steps"]}
    if len(steps) == 1:
        series.level(ax, steps.pop() + 1, "not learnt")
    style.grid(ax, "y")


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:  # noqa: ARG001
    """Accuracy by step; steps against structure; steps against mass, a point a network."""
    _, axes = panels(3, 3, (4.2, 3.5))
    _learning(axes[0], table)
    _times(axes[1], table)
    _against_mass(axes[2], table)
    return finished(
        axes,
        f"Parity of k = {values_of(table, 'k')} patterns of D = {values_of(table, 'D')},"
        f" d = {values_of(table, 'd')}, m = {values_of(table, 'm')}. Points:"
        f" {over_seeds(table)}, on the right networks."
        f"{averaged(table, 'd', 'D', 'k', 'p_o', 'm', 'n_first', 'step_size', 'bias')}",
    )


ABOUT = """Learning over different data distributions, the last of the phenomena that the Shi23
talk lists. One rule (the parity of k patterns) and one training, inputs from several
distributions: each is trained and tested on its own, so nothing is shifted between training and
testing: what changes is the structure of the inputs. A share 1 - p_uniform of the rows has all
patterns of the block alike (planted structure: their label is the sign of one linear function),
the rest is uniform; Gaussian inputs have no structure at all.

Left: test accuracy by step, one line a distribution (mean over seeds). Middle: the step from
which 90 % of tests stay right. Right: each network's step against the mass of the planted
gradient feature before training, the share of random neurons whose first gradient points along
sum_A M_i. Between all rows planted and half of them the order is weak: the majority of the block
is right on 1 - 5 p_uniform/16 of rows for k = 5, is found at once, and left again for a while as
the parity is learnt."""

TALK = "Shi23, the talk's part on different input distributions"
PATTERNS = {"inputs": "patterns"}
DISTANT = [0.0, 0.5, 0.75, 0.9, 1.0]
LARGE = {"d": 100, "D": 100, "m": 200, "steps": 2_000, "n_first": 10_000, "neurons": 4_000}

EXPERIMENT = Experiment(
    name="shi23-shift",
    question="How does the input distribution change the speed at which one rule is learnt?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": [
            {**PATTERNS, "p_uniform": [0.0, 0.25, 0.5, 0.75, 0.9, 1.0]},
            {"inputs": "gaussian", "p_uniform": 1.0},
        ],
        "paper": [
            {**PATTERNS, "p_uniform": [0.0, 0.25, 0.5, 0.75, 0.9, 1.0], **LARGE},
            {"inputs": "gaussian", "p_uniform": 1.0, **LARGE},
        ],
    },
    small={
        "p_uniform": 1.0,
        "d": 8,
        "D": 6,
        "k": 3,
        "m": 8,
        "steps": 4,
        "n_first": 60,
        "n_batch": 20,
        "neurons": 200,
        "n_test": 50,
    },
    seeds={"quick": 10, "paper": 20},
    figure=figure,
    checks={
        "The less structure the more steps: p_uniform = 0, 1/2, 3/4 and 9/10 are learnt in this"
        " order and 1 not at all, each neighbouring two so in more than half of the seeds."
        f" [{TALK}]": earlier_along("step_learnt", "p_uniform", PATTERNS | {"p_uniform": DISTANT}),
        "It is learnt earlier where all rows are planted than where three quarters are, in more"
        " than half of the seeds."
        f" [{TALK}]": earlier_along(
            "step_learnt", "p_uniform", PATTERNS | {"p_uniform": [0.0, 0.25]}
        ),
        "The steps follow p_uniform (rank correlation of 0.9 or more, over all patterns)."
        f" [{TALK}]": ranked("step_learnt", "p_uniform", 0.9, PATTERNS),
        "Without structure the same rule is not learnt within these steps, on uniform patterns and"
        " on Gaussian inputs (accuracy 0.45 to 0.55)."
        f" [{TALK}]": each("inputs", within("accuracy", 0.45, 0.55), {"p_uniform": 1.0}),
        "Gaussian inputs take longer than patterns of which a tenth has structure."
        f" [{TALK}]": earlier("step_learnt", PATTERNS | {"p_uniform": 0.9}, {"inputs": "gaussian"}),
        "The mass of the planted gradient feature before training predicts these steps (rank"
        " correlation of -0.9 or less over all distributions)."
        " [Shi23, the gradient feature set]": ranked(
            "step_learnt", "mass", 0.9, None, falling=True
        ),
    },
)
