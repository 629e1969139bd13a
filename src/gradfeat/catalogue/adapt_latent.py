"""Loss against the number of inputs where r directions matter: a kernel and feature learners."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradfeat.catalogue.shared.adapt_training import (
    UNKNOWN,
    check_rows,
    fresh_loss,
    gaussian_risk,
    loss_panel,
    network,
    shifted_sines,
    training_rows,
    tuned_gaussian,
)
from gradfeat.catalogue.shared.curves import averaged, only, over_seeds, settings, theory_line
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, above, agrees, below, each, every, greater, lazy, ordered
from gradfeat.maths.ranges import at_least, one_of, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor

NAMES = {"kernel": "Gaussian kernel", "network": "network", "rfm": "RFM"}
TARGETS = {"sines": "sines", "cubic": "degree 3"}


def trial(
    method: str,
    d: int,
    r: int = 1,
    target: str = "sines",
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
    """E (f - f*)^2 on fresh rows, f*(x) = g(Ux) of r orthonormal directions, E f*^2 = 1.

    g is a sum of r sines, or of r polynomials He_2/2 + He_3/sqrt(12), each over sqrt(r).

    The Gaussian kernel chooses its bandwidth and penalty. The network has m neurons, one gradient
    step, then `steps` - 1 updates of the first layer by AGOP; the RFM makes `updates` of its
    metric, from the Gaussian kernel of bandwidth sqrt(d), with a fixed penalty.
    """
    one_of(NAMES, method=method)
    one_of(TARGETS, target=target)
    check_rows(n, n_test, m, noise=noise, frequency=frequency, penalty=penalty)
    at_least(1, steps=steps, updates=updates)
    positive(penalty=penalty)
    g = lazy.he2_hep(3, r) if target == "cubic" else shifted_sines(r, frequency)
    task = lazy.MultiIndex(d, g, noise, seed=seed)
    X, y = training_rows(task, n, seed, device)
    f = _fit(method, m, steps, updates, penalty, X, y, seed)
    return fresh_loss(f, task, n_test, seed, device)


def _fit(
    method: str, m: int, steps: int, updates: int, penalty: float, X: Tensor, y: Tensor, seed: int
) -> Predictor:
    size = math.sqrt(X.shape[1])
    match method:
        case "kernel":
            return tuned_gaussian(size, X, y, seed)
        case "network":
            return network(m, steps, X, y, seed)
        case _:
            return lazy.RFM(lazy.Gaussian(size), penalty, updates).fit(
                lazy.in_memory(X, y), seed=seed
            )


def theory(
    method: str, d: int, r: int, target: str, n: int, frequency: float, noise: float
) -> dict[str, float]:
    """The kernel's learning curve at the best bandwidth and penalty; nothing for the others."""
    if method != "kernel":
        return UNKNOWN
    cubic = lazy.HermiteSeries((0.0, 0.0, 0.5, 1 / math.sqrt(12)))
    g = cubic if target == "cubic" else shifted_sines(r, frequency).single
    return {"loss": gaussian_risk(g, r, d, n, math.sqrt(d), noise)}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """A panel for each target, number of directions and of rows: loss against d."""
    cells = settings(table, "target", "r", "n")
    _, axes = panels(len(cells), 3, (4.2, 3.4))
    for ax, (target, r, n) in zip(axes, cells, strict=True):
        few = "one direction" if r == 1 else f"{r} directions"
        rows = only(table, target=target, r=r, n=n)
        title = f"{TARGETS[str(target)].capitalize()}, {few}, n = {n:,}"
        known = ("kernel",) if theory_table is not None else ()
        for found, own in loss_panel(ax, rows, "d", ("method", NAMES), title, apart=4, known=known):
            if own["method"].iloc[0] in known:
                theory_line(ax, own, "d", "loss", theory, found.mark.color, "theory of the kernel")
    row = table.iloc[0]
    return finished(
        axes,
        rf"$f^*(x) = g(Ux)$, Gaussian inputs, noise {row['noise']:g}. Network: {int(row['m'])} "
        f"neurons, a gradient step, {int(row['steps']) - 1} updates by AGOP; RFM: "
        f"{int(row['updates'])} updates. "
        f"Points: {over_seeds(table)}.{averaged(table, 'frequency', 'noise', 'm', 'steps')}",
    )


TALK = "The talk Feature learning and limitations of kernels, latent variables"
LEARNERS = {"method": ["network", "rfm"]}
FAR = 32
SINES = {"target": "sines", "n": 1_000}
CUBIC = {"d": FAR, "target": "cubic", "n": 1_000, "r": 1}

EACH = {"method": list(NAMES), "d": [4, 8, 16, FAR]}

EXPERIMENT = Experiment(
    name="adapt-latent",
    question="Which methods learn a multi-index function with a sample size independent of d?",
    about="""
The talk's third kind of adaptivity: f*(x) = g(Ux), which depends on r of d directions, at a fixed
number of rows n while d grows. Targets: a sum of sines (frequency 1.5), and the talk's
polynomials, here of degree 3. The Gaussian kernel has the best bandwidth and penalty by
leave-one-out; its line is what its eigenvalues predict. The network makes one gradient step, then
updates its first layer by AGOP (the average outer product of its gradients); the RFM is a kernel
machine with a metric updated likewise.

Strictly, no method here has a sample size independent of d: the loss of the learners of features
also grows, by 7 to 10 times from d = 4 to 32, but it starts near nothing. To find U one gradient
step needs n ~ d^2 rows (damian22-phases): at n = 1,000 and d = 32, n is d^2, the noise of the
gradient is as large as its signal, and what is left of it in the d - r other directions is the
loss that grows. The kernel pays for d in every function of degree p of all inputs, d^p of them.""",
    trial=trial,
    grids={
        "quick": [{**EACH, "r": [1, 2]}, {**EACH, "target": "cubic"}],
        "paper": {
            **EACH,
            "target": list(TARGETS),
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
    checks={
        "At a fixed number of rows the kernel's loss grows with every doubling of d, by 0.02 or"
        " more."
        f" [{TALK}; Ghorbani et al. 2021, Theorem 4]": each(
            "r", ordered("loss", "d", {"method": "kernel", **SINES}, margin=0.02)
        ),
        f"The kernel still loses more than half of the variance at d = {FAR}. [{TALK}]": each(
            "r", above("loss", 0.5, {"method": "kernel", "d": FAR, **SINES})
        ),
        f"Learners of features lose less than a tenth at every d up to {FAR}."
        f" [{TALK}; Rad24; Damian22]": each(
            "r", each("method d", below("loss", 0.1, SINES), LEARNERS), {"d": [4, 8, 16, FAR]}
        ),
        f"On a polynomial of degree 3 of one direction the kernel loses more at d = {FAR} than each"
        " learner of features, by 0.3 or more."
        f" [{TALK}: polynomials; Damian22, Theorem 1]": every(
            *(
                greater("loss", {"method": "kernel", **CUBIC}, {"method": name, **CUBIC}, 0.3)
                for name in LEARNERS["method"]
            )
        ),
        "From d = 8 on the kernel loses what its eigenvalues predict, within a factor of 1.6 (in"
        " fewer inputs its own eigenfunctions are too far from Gaussian)."
        " [Simon et al. 2021, the eigenlearning equations]": agrees(
            "loss",
            theory,
            {"method": "kernel", "target": "sines", "d": [8, 16, FAR, 64]},
            margin=1.6,
            by="factor",
        ),
    },
)
