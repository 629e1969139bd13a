"""Hitting times of online SGD on the sphere over the number of inputs, also with smoothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfeat.catalogue.shared.comparisons import near
from gradfeat.catalogue.shared.curves import draw_metric, only, over_seeds, theory_line
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, below, every, lazy, slope
from gradfeat.maths.ranges import at_least, at_most, one_of, positive

#: Steps of the chain that are drawn at once.
CHUNK = 2_000
#: Nodes of an average over z_1; places of a path, and steps between two in units of 1/(eta k).
NODES, PLACES, SPACING = 6, 61, 0.05
INPUTS = {"projected": "chain of the overlap", "whole": "whole inputs"}


def batch(
    k: int,
    d: int,
    c: float = 0.2,
    power: float = 0.0,
    level: float = 0.6,
    start: float = 0.0,
    inputs: str = "projected",
    most: int = 20_000_000,
    *,
    seeds: Sequence[int],
) -> list[dict[str, float | np.ndarray]]:
    """Online SGD of h_k(w.x) on y = h_k(u.x), h_k = He_k/sqrt(k!), |w| = 1, correlation loss.

    The step size is c d^{-k/2} (1 + lambda^2)^{k-1}, lambda = d^power, 0 where power is. `time` is
    the first step at which u.w (|u.w| for even k) is `level` or more, nan beyond `most` steps, from
    w uniform on the sphere. `inputs`: "whole" draws x, "projected" w.x, u.x and |x| alone, which
    is all that the overlap depends on. With a `start` above 0 the overlap begins there: `path` at
    `step`s, and `off`, its largest distance from the differential equation.

    `per_d_log_d` is time/(d log d).
    """
    one_of(INPUTS, inputs=inputs)
    at_least(2, k=k)
    at_most(6, k=k)
    at_least(8, d=d)
    at_least(1, most=most)
    positive(c=c, level=level)
    at_least(0, start=start, power=power)
    at_most(0.95, level=level, start=start, power=power)
    lam = d**power if power else 0.0
    eta = lazy.step_size(k, d, c, lam)
    draws = [lazy.numpy_stream(seed, "overlaps") for seed in seeds]
    run = (_projected if inputs == "projected" else _whole)(k, d, eta, lam, start, draws)
    if not start:
        reached = np.abs if k % 2 == 0 else np.asarray
        times = _first_times(run, lambda m: reached(m) >= level, most, len(seeds))
        law = d * math.log(d)
        none = {"off": math.nan, "step": np.empty(0), "path": np.empty(0)}
        return [{"time": time, "per_d_log_d": time / law, **none} for time in times]
    every = max(1, round(SPACING / (eta * k)))
    step = np.arange(0.0, every * PLACES, every)
    walked = [run(every, np.arange(len(seeds)))[-1] for _ in step[1:]]
    paths = np.array([np.full(len(seeds), start), *walked]).T
    limit = lazy.SphereSGD(k, d, eta, lam).path(start, step)
    return [
        {"time": math.nan, "per_d_log_d": math.nan, "off": off, "step": step, "path": path}
        for path, off in zip(paths, abs(paths - limit).max(1).tolist(), strict=True)
    ]


#: run(n, live): the overlaps (n, networks) of these networks in their next n steps.
Run = Callable[[int, np.ndarray], np.ndarray]


def _first_times(
    run: Run, reached: Callable[[np.ndarray], np.ndarray], most: int, seeds: int
) -> list[float]:
    times, live, done = np.full(seeds, math.nan), np.arange(seeds), 0
    while len(live) and done < most:
        hit = reached(run(min(CHUNK, most - done), live))
        first = hit.any(0)
        times[live[first]] = done + 1 + hit.argmax(0)[first]
        live, done = live[~first], done + len(hit)
    return times.tolist()


def _slope(k: int, d: int, lam: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """s(x) from w.x and |x - (w.x) w|^2: the derivative of an average over z_1, |z| = 1."""
    from scipy.special import roots_gegenbauer

    z, weight = roots_gegenbauer(NODES, (d - 3) / 2) if lam else (np.zeros(1), np.ones(1))
    long = math.sqrt(1 + lam**2)

    def slope(p: np.ndarray, rest: np.ndarray) -> np.ndarray:
        total = np.zeros_like(p)
        for node, share in zip(z, weight / weight.sum(), strict=True):
            inner = (p + lam * node * np.sqrt(rest)) / long
            moved = (1 - lam * node * p / np.sqrt(rest)) / long
            total += (
                share * math.sqrt(k) * lazy.orthonormal_hermite(k - 1, inner)[..., k - 1] * moved
            )
        return total

    return slope


def _projected(
    k: int, d: int, eta: float, lam: float, start: float, draws: list[np.random.Generator]
) -> Run:
    """The chain of the overlap: x by w.x, its part v along u across w, and the rest's chi^2."""
    slope, link = _slope(k, d, lam), _link(k)
    m = np.array([start or _first_overlap(d, draw) for draw in draws])

    def run(n: int, live: np.ndarray) -> np.ndarray:
        drawn = [(draws[i].normal(size=(2, n)), draws[i].chisquare(d - 2, n)) for i in live]
        p, v = np.stack([normal for normal, _ in drawn], 2)
        rest = np.stack([square for _, square in drawn], 1) + v**2
        steps, path, now = eta * slope(p, rest), np.empty_like(p), m[live]
        for t in range(n):
            side = np.sqrt(1 - now * now) * v[t]
            g = link(now * p[t] + side) * steps[t]
            now = (now + g * side) / np.sqrt(1 + g * g * rest[t])
            path[t] = now
        m[live] = now
        return path

    return run


def _first_overlap(d: int, draw: np.random.Generator) -> float:
    first = draw.normal()
    return first / math.sqrt(first**2 + draw.chisquare(d - 1))


def _whole(
    k: int, d: int, eta: float, lam: float, start: float, draws: list[np.random.Generator]
) -> Run:
    """The same from inputs of d numbers; u is the first of them."""
    from gradfeat.maths.streams import online_inputs

    slope, link = _slope(k, d, lam), _link(k)
    W = np.stack([draw.normal(size=d) for draw in draws])
    if start:
        W[:, 0] = start / math.sqrt(1 - start**2) * np.linalg.norm(W[:, 1:], axis=1)
    W /= np.linalg.norm(W, axis=1, keepdims=True)

    def run(n: int, live: np.ndarray) -> np.ndarray:
        path, now = np.empty((n, len(live))), W[live]
        for t, x in enumerate(online_inputs([draws[i] for i in live], n, d)):
            p = np.einsum("sd,sd->s", x, now)
            across = x - p[:, None] * now
            g = eta * link(x[:, 0]) * slope(p, np.einsum("sd,sd->s", across, across))
            now = now + g[:, None] * across
            now /= np.linalg.norm(now, axis=1, keepdims=True)
            path[t] = now[:, 0]
        W[live] = now
        return path

    return run


def _link(k: int) -> Callable[[np.ndarray], np.ndarray]:
    """h_k by Horner's rule, as one row a step leaves little to share."""
    from numpy.polynomial import hermite_e

    high, *rest = hermite_e.herme2poly(np.eye(k + 1)[k] / math.sqrt(math.factorial(k)))[::-2]
    odd = k % 2

    def link(z: np.ndarray) -> np.ndarray:
        square, value = z * z, high
        for coefficient in rest:
            value = value * square + coefficient
        return value * z if odd else value

    return link


def theory(k: int, d: int, c: float, power: float, level: float, start: float) -> dict[str, float]:
    """Mean time of the diffusion with the mean and variance of a step; nothing is fitted."""
    if start:
        return {"time": math.nan, "per_d_log_d": math.nan}
    lam = d**power if power else 0.0
    time = lazy.SphereSGD(k, d, lazy.step_size(k, d, c, lam), lam).mean_time(level)
    return {"time": time, "per_d_log_d": time / (d * math.log(d))}


SERIES = (
    ((2, 0.0), "degree 2", "d log d", style.BLUE, "o"),
    ((3, 0.0), "degree 3", "$d^2$", style.VERMILLION, "D"),
    ((3, 0.25), "degree 3, smoothed", "$d^{3/2}$", style.GREEN, "s"),
    ((4, 0.25), "degree 4, smoothed", "$d^2$ log d", style.PURPLE, "^"),
)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Steps over d with theory through them; overlaps of single runs around their limit."""
    _, axes = panels(2, 2, (5.0, 4.2))
    timed, law = only(table, start=0.0), theory_table is not None
    style.dress(axes[0], "Steps to the overlap 0.6", "number of inputs d", "steps", "both")
    for (k, power), name, grows, color, marker in SERIES:
        rows = only(timed, k=k, power=power, inputs="projected").dropna(subset=["time"])
        draw_metric(axes[0], rows, "d", "time", style.Mark(f"{name}: {grows}", color, marker))
        if law and len({*rows["d"]}) > 1:
            theory_line(axes[0], rows, "d", "time", theory, color, points=8)
    mark = style.Mark("whole inputs drawn", style.BLACK, "P")
    for _, rows in only(timed, inputs="whole").groupby(["k", "power"]):
        draw_metric(axes[0], rows, "d", "time", mark, shift=6)
    axes[0].set_yscale("log")
    style.tick_at(axes[0], timed["d"] if len(timed) else [1.0], 2)
    _paths(axes[1], table.loc[table["start"] > 0], law)
    return finished(
        axes,
        f"One neuron on the sphere, one fresh row a step, {over_seeds(table)}. Lines on the left:"
        " theory, nothing fitted. Right: single runs and their limit for many inputs.",
    )


def _paths(ax: Axes, rows: DataFrame, law: bool) -> None:
    """Three runs at each of two numbers of inputs, over step size times steps."""
    style.dress(ax, "Overlap of single runs, degree 2", "step size x steps", "overlap u.w", "both")
    kept = sorted({*rows["d"]})
    ends = zip(kept[:: max(1, len(kept) - 1)], (style.SKY, style.ORANGE), strict=False)
    for d, color in ends:
        for place, row in enumerate(only(rows, d=d).head(3).to_dict("records")):
            label = f"runs at d = {d}" if place == 0 else None
            ax.plot(_size(row) * row["step"], row["path"], color=color, linewidth=0.8, label=label)
    if law and len(rows):
        row = rows.to_dict("records")[-1]
        limit = lazy.SphereSGD(row["k"], row["d"], _size(row)).path(row["start"], row["step"])
        series.line(ax, _size(row) * row["step"], limit, "differential equation", style.BLACK)


def _size(row: dict[str, Any]) -> float:
    return lazy.step_size(row["k"], row["d"], row["c"])


PLAIN = {"start": 0.0, "inputs": "projected", "power": 0.0}
SMOOTH, LARGE = {**PLAIN, "power": 0.25}, [256, 512, 1_024]

EXPERIMENT = Experiment(
    name="benarous21-times",
    question="How many steps of online SGD does a neuron need to find the teacher's direction?",
    about="""
One neuron w on the sphere learns y = h_k(u.x), h_k = He_k/sqrt(k!), x ~ N(0, I_d), by one fresh
row a step on the correlation loss. From w uniform on the sphere the overlap u.w is about
d^{-1/2}, where the signal is about d^{-(k-1)/2}: k is the information exponent. Steps grow like
d log d (k = 2) and d^{k-1} (k >= 3, Ben Arous et al. 2021) at the step size where signal and the
loss by renormalisation are of one order. Averaging the activation over directions at distance
lambda = d^{1/4} from w (Damian et al. 2023) brings d^{k/2}.

The overlap is a Markov chain by itself: inputs enter through w.x, u.x and |x|. "projected" draws
these three alone, with the law of whole inputs, which "whole" draws as a check. The lines on the
left are theory without a free constant: the mean time of a diffusion with the exact mean and
variance of a step. Where start is above 0 the path is compared with the differential equation.""",
    batch=batch,
    batch_size=64,
    grids={
        "quick": [
            {"k": 2, "d": [64, 128, 256, 512, 1_024]},
            {"k": 3, "d": [64, 256, 1_024], "c": 0.5},
            {"k": 3, "d": [64, 128, 256, 512, 1_024], "power": 0.25},
            {"k": 4, "d": [64, 256, 1_024], "power": 0.25},
            {"k": 2, "d": 64, "inputs": "whole"},
            {"k": 3, "d": 64, "power": 0.25, "inputs": "whole"},
            {"k": 2, "d": [128, 512, 2_048], "start": 0.2},
        ],
        "paper": [
            {"k": 2, "d": [64, 128, 256, 512, 1_024]},
            {"k": 3, "d": [64, 128, 256, 512, 1_024], "c": 0.5},
            {"k": [3, 4], "d": [64, 128, 256, 512, 1_024], "power": 0.25},
            {"k": 4, "d": [64, 128], "c": 0.5},
            {"k": 2, "d": 64, "inputs": "whole"},
            {"k": 3, "d": 64, "power": 0.25, "inputs": "whole"},
            {"k": 2, "d": [128, 512, 2_048], "start": 0.2},
        ],
    },
    small={"k": 2, "d": [16, 24], "power": 0.0, "start": [0.0, 0.2], "inputs": "projected"},
    seeds={"quick": 64, "paper": 128},
    theory=theory,
    figure=figure,
    checks={
        "Degree 2 takes d log d steps: steps/(d log d) has a slope within 0.15 of 0."
        " [Ben Arous et al. 2021, Theorem 1.3]": slope(
            "per_d_log_d", "d", -0.15, 0.15, {**PLAIN, "k": 2}
        ),
        "Degree 3 takes d^2 steps: the slope is within 0.15 of 2."
        " [Ben Arous et al. 2021, Theorem 1.3]": slope("time", "d", 1.85, 2.15, {**PLAIN, "k": 3}),
        "With smoothing degree 3 takes d^{3/2} steps: the slope is within 0.15 of 1.5."
        " [Damian et al. 2023, Theorem 1]": slope("time", "d", 1.35, 1.65, {**SMOOTH, "k": 3}),
        "With smoothing degree 4 takes about d^2 steps: the slope is within 0.15 of 2."
        " [Damian et al. 2023, Theorem 1]": slope("time", "d", 1.85, 2.15, {**SMOOTH, "k": 4}),
        "Mean steps are those of the diffusion, within 20 % from d = 256 on, where the drift leads:"
        " degree 2, and degree 3 smoothed."
        " [Ben Arous et al. 2021; the diffusion is derived here]": every(
            near("time", theory, 0.2, {**PLAIN, "k": 2, "d": LARGE}),
            near("time", theory, 0.2, {**SMOOTH, "k": 3, "d": LARGE}),
        ),
        "Whole inputs take the steps that the chain of the overlap takes, within 25 % of their"
        " theory at d = 64."
        " [Ben Arous et al. 2021; the chain is derived here]": near(
            "time", theory, 0.25, {"inputs": "whole"}
        ),
        "Single runs keep to the differential equation as inputs grow: the largest distance falls"
        " like d^{-1/2}, its slope within 0.15, and is below 0.1 at d = 2,048."
        " [Ben Arous et al. 2021, section 2]": every(
            slope("off", "d", -0.65, -0.35, {"start": 0.2}),
            below("off", 0.1, {"d": 2_048, "start": 0.2}),
        ),
    },
)
