"""Committee machines trained online: simulated order parameters beside their equations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import (
    draw_metric,
    law_line,
    only,
    over_seeds,
    path_series,
    settings,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, below, every, lazy, slope
from gradfeat.maths.ranges import LARGEST, at_least, at_most, positive

#: Points of a path after its start.
PLACES = 50


def batch(
    d: int,
    K: int = 2,
    M: int = 2,
    eta: float = 1.0,
    noise: float = 0.0,
    start: float = 0.1,
    norm: float = 0.5,
    horizon: float = 100.0,
    *,
    seeds: Sequence[int],
) -> list[dict[str, float | np.ndarray]]:
    """f = sum_{i<=K} erf(w_i.x/sqrt 2) on an orthonormal teacher of M units: one fresh row a step.

    At the start w_i.u_i = `start`, |w_i|^2 = `norm`, all else orthogonal. `alpha` = steps/d from 0
    to `horizon`; there `error` = E(f - y)^2/2 without noise, exact from the overlaps, and `limit`
    of the equations; `off` is the largest distance of an overlap w_i.u_n from them, `plateau` and
    `late` are errors at three tenths and nine tenths of the horizon.

    `start_error` is the error at alpha = 0.
    """
    at_least(1, K=K, M=M)
    at_least(K + M, d=d)
    at_least(0, noise=noise, start=start)
    positive(eta=eta, norm=norm, horizon=horizon)
    at_most(norm**0.5, start=start)
    at_most(4.0, eta=eta)
    at_most(LARGEST, horizon=horizon)
    at_most(100.0, noise=noise, norm=norm)
    draws = [lazy.numpy_stream(seed, "committee") for seed in seeds]
    W, steps = _start(K, M, d, start, norm, len(seeds)), round(horizon * d / PLACES)
    seen = [W, *(W := _trained(W, M, eta, noise, steps, draws) for _ in range(PLACES))]
    limit = _limit(K, M, eta, noise, start, norm, horizon * np.arange(PLACES + 1) / PLACES)
    found = []
    for i in range(len(seeds)):
        R = np.array([W[i][:, :M] for W in seen])
        errors = np.array(
            [lazy.committee_error(W[i] @ W[i].T, W[i][:, :M], np.eye(M)) for W in seen]
        )
        paths = {"alpha": steps / d * np.arange(PLACES + 1), "error": errors, "limit": limit[1]}
        off = float(abs(R - limit[0]).max())
        found.append({"off": off, "start_error": errors[0], **_levels(errors), **paths})
    return found


def _levels(errors: np.ndarray) -> dict[str, float]:
    return {"plateau": float(errors[3 * PLACES // 10]), "late": float(errors[9 * PLACES // 10])}


def _start(K: int, M: int, d: int, start: float, norm: float, networks: int) -> np.ndarray:
    """W (networks, K, d); the teacher's units are the first M inputs."""
    W = np.zeros((K, d))
    i = np.arange(K)
    W[i[:M], i[:M]] = start
    W[i, M + i] = np.sqrt(norm - np.square(W[:, :M]).sum(1))
    return np.repeat(W[None], networks, 0)


def _trained(
    W: np.ndarray, M: int, eta: float, noise: float, steps: int, draws: list[np.random.Generator]
) -> np.ndarray:
    """W after more steps: w_i <- w_i + (eta/d) g'(w_i.x) (y - f) x."""
    from scipy.special import erf

    from gradfeat.maths.streams import online_inputs

    d = W.shape[2]
    for row in online_inputs(draws, steps, d + 1):
        x, extra = row[:, :d], row[:, d]
        h = np.einsum("skd,sd->sk", W, x)
        y = erf(x[:, :M] / math.sqrt(2)).sum(1) + noise * extra
        left = y - erf(h / math.sqrt(2)).sum(1)
        delta = math.sqrt(2 / math.pi) * np.exp(-(h**2) / 2) * left[:, None]
        W = W + eta / d * delta[:, :, None] * x[:, None]
    return W


def _limit(
    K: int, M: int, eta: float, noise: float, start: float, norm: float, alphas: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """R and the error at each alpha by the equations."""
    T = np.eye(M)
    Q, R = lazy.committee_path(norm * np.eye(K), start * np.eye(K, M), T, eta, alphas, noise)
    return R, np.array([lazy.committee_error(q, r, T) for q, r in zip(Q, R, strict=True)])


def theory(
    K: int, M: int, eta: float, noise: float, start: float, norm: float, horizon: float
) -> dict[str, float]:
    """The errors of the equations at the two places."""
    alphas = horizon * np.arange(PLACES + 1) / PLACES
    return _levels(_limit(K, M, eta, noise, start, norm, alphas)[1])


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Errors over steps/d, an equation's line through each; distances over d."""
    _, axes = panels(2, 2, (5.0, 4.0))
    style.dress(axes[0], "Error of the student", "steps / d", "$E(f-y)^2/2$ without noise", "both")
    colors = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE)
    kinds = settings(table, "K", "M", "noise", "eta")
    for (K, M, noise, eta), color in zip(kinds, colors, strict=False):
        rows = only(table, K=K, M=M, noise=noise, eta=eta)
        _errors(axes[0], only(rows, d=rows["d"].max()), color, theory_table is not None)
    axes[0].set_yscale("log")
    title = "Largest distance of an overlap from the equations"
    style.dress(axes[1], title, "number of inputs d", "distance", "both")
    rows = only(table, **dict(zip(("K", "M", "noise", "eta"), kinds[0], strict=True)))
    found = draw_metric(axes[1], rows, "d", "off", style.Mark("simulation", style.BLUE, "o"))
    if found and len(found.x) > 1 and theory_table is not None:
        law_line(axes[1], found, lambda d: d**-0.5, "∝ $d^{-1/2}$", style.QUIET)
    style.logarithmic(axes[1], "y")
    style.tick_at(axes[1], rows["d"], 2)
    return finished(
        axes,
        f"Student of K erf units, teacher of M, one fresh row a step, {over_seeds(table)}. Lines on"
        " the left: Saad and Solla's equations from the same start, nothing fitted.",
    )


def _errors(ax: Axes, rows: DataFrame, color: str, law: bool) -> None:
    row = rows.iloc[0]
    name = f"K = {row['K']}, M = {row['M']}, noise {row['noise']:g}, d = {row['d']}"
    some = rows.assign(**{one: [path[::3] for path in rows[one]] for one in ("alpha", "error")})
    series.points(ax, path_series(some, "alpha", "error", style.Mark(name, color, "o")))
    if law:
        series.line(ax, row["alpha"], row["limit"], "", color)


EQUAL = {"K": 2, "M": 2, "noise": 0.0}

EXPERIMENT = Experiment(
    name="saad95-committee",
    question="Do the order parameters' equations describe a network trained on one row a step?",
    about="""
Student and teacher are committees of erf units; the student's first layer is trained by online
gradient descent on squared loss. The matrices Q = W W^T and R = W U^T say all of the error, and for
many inputs they follow closed equations in alpha = steps/d (Saad and Solla 1995): the student sits
on a plateau where its units are alike, then each takes a unit of the teacher. Lines are the
equations from the same Q and R as the simulation. With K > M units are left over; noise in the
labels leaves an error that the step size sets.""",
    batch=batch,
    batch_size=12,
    grids={
        "quick": [{"d": [64, 256, 1_024]}, {"d": 256, "noise": 0.3}, {"d": 256, "K": 3}],
        "paper": [
            {"d": [64, 128, 256, 512, 1_024]},
            {"d": 1_024, "noise": 0.3},
            {"d": 1_024, "K": [3, 4]},
        ],
    },
    small={"d": [8, 12], "K": 2, "noise": 0.0, "horizon": 5.0},
    seeds={"quick": 24, "paper": 48},
    theory=theory,
    figure=figure,
    checks={
        "Overlaps of single runs come to those of the equations like d^{-1/2}: the slope of the"
        " largest distance is within 0.15 of -1/2, and at d = 1,024 it is below 0.1."
        " [Saad & Solla 1995; Goldt et al. 2019, Theorem 1]": every(
            slope("off", "d", -0.65, -0.35, EQUAL), below("off", 0.1, {**EQUAL, "d": 1_024})
        ),
        "The error on the plateau is that of the equations, within 5 % at d = 1,024."
        " [Saad & Solla 1995, section 4]": near("plateau", theory, 0.05, {**EQUAL, "d": 1_024}),
        "With noise in the labels the last error is that of the equations, within 25 %."
        " [Saad & Solla 1995; Goldt et al. 2019]": near("late", theory, 0.25, {"noise": 0.3}),
    },
)
