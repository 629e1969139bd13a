"""Loss against the number of inputs where r directions matter: a kernel and feature learners."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.adapt_training import (
    gaussian_risk,
    network,
    shifted_sines,
    tuned_gaussian,
)
from gradfeat.catalogue.shared.checks import LARGEST, MOST_ROWS, at_least, at_most, one_of, paired
from gradfeat.catalogue.shared.curves import averaged, metric_series, only, over_seeds, settings
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import caption, panels, shared_key
from gradfeat.lab.claims import Claim, above, agrees, below, each, ordered
from gradfeat.lab.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
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
    from gradfeat.maths.streams import stream
    from gradfeat.tasks.multi_index import MultiIndex

    one_of(NAMES, method=method)
    paired(m)
    at_least(2, n=n)
    at_least(1, n_test=n_test, steps=steps, updates=updates)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    at_most(LARGEST, noise=noise, frequency=frequency, penalty=penalty)
    if not penalty > 0:
        raise ValueError(f"penalty is {penalty}: give a number above 0.")
    task = MultiIndex(d, shifted_sines(r, frequency), noise, seed=seed)
    train = task.sample(n, stream(seed, "train"))
    X, y = train.X.to(device), train.y.to(device)
    f = _fit(method, m, steps, updates, penalty, X, y, seed)
    X = task.sample(n_test, stream(seed, "test")).X.to(device)
    loss = float((f(X) - task.target(X)).square().mean())
    return {"loss": loss, "log_loss": math.log10(loss)}


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
        return {"loss": math.nan, "log_loss": math.nan}
    loss = gaussian_risk(shifted_sines(r, frequency), d, n, math.sqrt(d), noise)
    return {"loss": loss, "log_loss": math.log10(loss)}


def figure(table: pd.DataFrame, theory_table: pd.DataFrame | None) -> Figure:
    """A panel for each number of directions and of rows: loss against d."""
    cells = settings(table, "r", "n")
    fig, axes = panels(len(cells), 2, (4.6, 3.4))
    for ax, (r, n) in zip(axes, cells, strict=True):
        rows = only(table, r=r, n=n)
        few = "One direction matters" if r == 1 else f"{r} directions matter"
        style.dress(ax, f"{few}, n = {n:,}", "number of inputs d", r"test loss $E(f-f^*)^2$")
        style.grid(ax)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        for mark, method in zip(style.class_marks(tuple(NAMES.values())), NAMES, strict=True):
            own = only(rows, method=method)
            if len(own):
                series.points(ax, metric_series(own, "d", "loss", mark), connect=True)
                if method == "kernel" and theory_table is not None:
                    _theory_line(ax, own, mark.color)
        ax.set_xticks(sorted(set(rows["d"])), [str(d) for d in sorted(set(rows["d"]))])
        ax.minorticks_off()
    shared_key(fig, axes)
    caption(fig, _words(table))
    return fig


def _theory_line(ax: Axes, rows: pd.DataFrame, color: str) -> None:
    row = rows.iloc[0]
    names = ("method", "r", "n", "frequency", "noise")
    d = np.unique(np.geomspace(rows["d"].min(), rows["d"].max(), 12).astype(int))
    curve = [theory(d=int(one), **{name: row[name] for name in names})["loss"] for one in d]
    series.line(ax, d, np.array(curve), "theory of the kernel", color)


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
