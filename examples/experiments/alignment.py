"""An experiment of one's own: how near is X^T y / n to the true direction?

Run it with `gradfeat run examples/experiments/alignment.py`, change it, run it again.
"""

from __future__ import annotations

import math

from gradfeat.catalogue.shared.curves import draw_series, theory_line
from gradfeat.drawing import style
from gradfeat.drawing.panels import panels, shared_key
from gradfeat.lab import Experiment, above, agrees
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.streams import stream
from gradfeat.tasks.single_index import SingleIndex

SERIES = HermiteSeries((0.0, 1.0, 0.5))  # g = He_1 + He_2 / 2


def trial(n: int, d: int = 100, noise: float = 0.5, *, seed: int) -> dict[str, float]:
    """Draw n rows, return |cos| of their mean of y x with the true direction."""
    task = SingleIndex(d, SERIES, noise, seed)
    rows = task.sample(n, stream(seed, "train"))
    beta = rows.X.T @ rows.y / n
    return {"cosine": float((beta.T @ task.directions / beta.norm()).abs())}


def theory(n: int, d: int, noise: float) -> dict[str, float]:
    """|c_1| / sqrt(c_1^2 + (d/n) E y^2), the limit at d/n fixed (Moniri24)."""
    second_moment = SERIES.norm_squared() + noise**2
    return {"cosine": 1 / math.sqrt(1 + d / n * second_moment)}


def figure(table, predicted):  # noqa: ARG001
    """Points are simulation, lines are theory, a colour for each d."""
    fig, (ax,) = panels(1, 1, (4.6, 3.4))
    style.dress(ax, "Alignment of one gradient with the truth", "rows n", "|cos|")
    names = {d: f"d = {d:,}" for d in table["d"].unique()}
    for points, rows in draw_series(ax, table, "d", names, "n", "cosine"):
        theory_line(ax, rows, "n", "cosine", theory, points.mark.color, "theory, colour of its d")
    ax.set_xscale("log")
    shared_key(fig, [ax])
    return fig


EXPERIMENT = Experiment(
    name="alignment",
    question="How many rows does the first gradient need to find the direction?",
    trial=trial,
    theory=theory,
    figure=figure,
    grids={
        "quick": {"n": [100, 200, 400, 800, 1_600]},
        "paper": {"n": [500, 1_000, 2_000, 4_000, 8_000], "d": 500},
    },
    seeds=40,
    small={"n": [50, 100], "d": 20},
    checks={
        "Sixteen times d rows are enough for 0.9. [Moniri24]": above(
            "cosine", 0.9, {"n": [1_600, 8_000], "d": [100, 500]}
        ),
        "Simulation is at the limit. [Moniri24]": agrees("cosine", theory, margin=0.05),
    },
)
