"""Loss against the number of inputs where r directions matter: a kernel and feature learners."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradfeat.catalogue.shared.adapt_training import (
    UNKNOWN,
    check_rows,
    fresh_loss,
    gaussian_risk,
    logged,
    loss_panel,
    network,
    shifted_sines,
    training_rows,
    tuned_gaussian,
)
from gradfeat.catalogue.shared.checks import at_least, one_of, positive
from gradfeat.catalogue.shared.curves import averaged, only, over_seeds, settings, theory_line
from gradfeat.drawing.panels import finished, panels
from gradfeat.lab.claims import Claim, above, agrees, below, each, ordered
from gradfeat.lab.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from torch import Tensor

    from gradfeat.models.base import Predictor


NAMES = {"kernel": "Gaussian kernel", "network": "network", "rfm": "RFM"}


def trial(
    method: str,
    d: int,
    r: int = 1,
    n: int = 1_000,
    frequency: float = 1.5,
    noise: float = 0.2,
    m: int = 256,
    steps: int = 5,
    updates: int = 4,
    penalty: float = 0.1,
    n_test: int = 5_000,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """E (f - f*)^2 on fresh rows, f*(x) = g(Ux), r sines of r orthonormal directions, E f*^2 = 1.

    The Gaussian kernel chooses its bandwidth and penalty. The network has m neurons, one gradient
    step, then `steps` - 1 updates of the first layer by AGOP; the RFM makes `updates` of its
    metric, from the Gaussian kernel of bandwidth sqrt(d), with a fixed penalty.
    """
    from gradfeat.tasks.multi_index import MultiIndex

    one_of(NAMES, method=method)
    check_rows(n, n_test, m, noise=noise, frequency=frequency, penalty=penalty)
    at_least(1, steps=steps, updates=updates)
    positive(penalty=penalty)
    task = MultiIndex(d, shifted_sines(r, frequency), noise, seed=seed)
    X, y = training_rows(task, n, seed, device)
    f = _fit(method, m, steps, updates, penalty, X, y, seed)
    return fresh_loss(f, task, n_test, seed, device)


def _fit(
    method: str, m: int, steps: int, updates: int, penalty: float, X: Tensor, y: Tensor, seed: int
) -> Predictor:
    from gradfeat.models.kernels.radial import Gaussian
    from gradfeat.models.rfm import RFM
    from gradfeat.rows.rows import in_memory

    size = math.sqrt(X.shape[1])
    match method:
        case "kernel":
            return tuned_gaussian(size, X, y, seed)
        case "network":
            return network(m, steps, X, y, seed)
        case _:
            return RFM(Gaussian(size), penalty, updates).fit(in_memory(X, y), seed=seed)


def theory(method: str, d: int, r: int, n: int, frequency: float, noise: float) -> dict[str, float]:
    """The kernel's learning curve at the best bandwidth and penalty; nothing for the others."""
    if method != "kernel":
        return UNKNOWN
    return logged(gaussian_risk(shifted_sines(r, frequency), d, n, math.sqrt(d), noise))


def figure(table: pd.DataFrame, theory_table: pd.DataFrame | None) -> Figure:
    """A panel for each number of directions and of rows: loss against d."""
    cells = settings(table, "r", "n")
    fig, axes = panels(len(cells), 2, (4.6, 3.4))
    for ax, (r, n) in zip(axes, cells, strict=True):
        few = "One direction matters" if r == 1 else f"{r} directions matter"
        rows = only(table, r=r, n=n)
        for found, own in loss_panel(ax, rows, "d", ("method", NAMES), f"{few}, n = {n:,}"):
            if theory_table is not None and own["method"].iloc[0] == "kernel":
                theory_line(ax, own, "d", "loss", theory, found.mark.color, "theory of the kernel")
    return finished(fig, axes, _words(table))


def _words(table: pd.DataFrame) -> str:
    row = table.iloc[0]
    return (
        rf"$f^*(x) = g(Ux)$ with r sines of frequency {row['frequency']:g}, Gaussian inputs and "
        f"noise {row['noise']:g}. The kernel has the best bandwidth and penalty by leave-one-out; "
        f"line: what its eigenvalues predict. Network: {int(row['m'])} neurons, a gradient step, "
        f"then {int(row['steps']) - 1} updates by AGOP; RFM: {int(row['updates'])} updates. "
        "Feature learners pay for d only in finding U. "
        f"Points: {over_seeds(table)}.{averaged(table, 'frequency', 'noise', 'm', 'steps')}"
    )


LEARNERS = {"method": ["network", "rfm"]}
FAR = 32

EXPERIMENT = Experiment(
    name="adapt-latent",
    question="Who learns a function of a few hidden directions from rows that do not grow with d?",
    trial=trial,
    grids={
        "quick": {"method": list(NAMES), "d": [4, 8, 16, FAR], "r": [1, 2]},
        "paper": {
            "method": list(NAMES),
            "d": [4, 8, 16, FAR, 64],
            "r": [1, 2],
            "n": [1_000, 4_000],
            "m": 512,
        },
    },
    small={"d": [4, 8], "n": 40, "m": 10, "steps": 2, "updates": 1, "n_test": 50},
    seeds={"quick": 8, "paper": 10},
    theory=theory,
    figure=figure,
    claims=(
        Claim(
            "At a fixed number of rows the kernel's loss grows with every doubling of d, by 0.02"
            " or more.",
            "the fourth talk, latent variables; Ghorbani et al. 2021, Theorem 4",
            each("r", ordered("loss", "d", {"method": "kernel", "n": 1_000}, margin=0.02)),
        ),
        Claim(
            f"The kernel still loses more than half of the variance at d = {FAR}.",
            "the fourth talk, latent variables",
            each("r", above("loss", 0.5, {"method": "kernel", "d": FAR, "n": 1_000})),
        ),
        Claim(
            f"Learners of features lose less than a tenth at every d up to {FAR}.",
            "the fourth talk, latent variables; Rad24; Damian22",
            each("r", each("method", each("d", below("loss", 0.1, {"n": 1_000})), LEARNERS),
                 {"d": [4, 8, 16, FAR]}),
        ),
        Claim(
            "From d = 8 on the kernel loses what its eigenvalues predict, within a factor of 1.6"
            " (in fewer inputs its own eigenfunctions are too far from Gaussian).",
            "Simon et al. 2021, the eigenlearning equations",
            agrees("log_loss", theory, {"method": "kernel", "d": [8, 16, FAR, 64]},
                   margin=math.log10(1.6)),
        ),
    ),
)  # fmt: skip
