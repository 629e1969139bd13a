"""The second gradient finds on reused rows what fresh rows hide: overlap against dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.catalogue.shared.comparisons import differs
from gradfeat.catalogue.shared.curves import averaged, draw_metric, marks_of, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, agrees, each, greater, lazy, slope
from gradfeat.lab.intervals import between
from gradfeat.maths.ranges import MOST_ROWS, at_least, at_most, one_of, positive

if TYPE_CHECKING:
    from gradfeat.maths.hermite import RealFunction

TARGETS = {
    "cubic": r"$He_3(u\cdot x)$: exponents 3, 1",
    "signs": "sign of a cubic: exponents 3, 3",
    "bump": r"$z^2 e^{-z^2}$: exponents 4, 4",
}
ROWS = {"reused": "reused rows", "fresh": "fresh rows"}
INPUTS = ("projected", "whole")
WHOLE = style.Mark("whole inputs drawn", style.BLACK, "P")
#: Inputs of one cell: 10,000 of them ask for 40,000 rows, 3 GB.
MOST_INPUTS = 10_000
#: Step at which tanh is flat on nearly all rows.
MOST_ETA = 100


def link(target: str) -> RealFunction:
    """g with E g(Z) = 0 and E g(Z)^2 = 1.

    "signs" is sign(z (z^2 - 2 log 2)), of E[g He_1] = 0, and a label of two values has no other
    transforms. "bump" has zeta_2 = 0 for every label: its two inputs z^2 = s < 1 < t of a label
    have densities in s that weigh (s - 1)/|1 - s| and (t - 1)/|1 - t| alike.
    """
    if target == "cubic":
        return lambda z: (z**3 - 3 * z) / math.sqrt(6)
    if target == "signs":
        return lambda z: np.sign(z * (z**2 - 2 * math.log(2)))
    mean = 3**-1.5  # E Z^2 exp(-Z^2), and E Z^4 exp(-2 Z^2) = 3/5^(5/2)
    return lambda z: (z**2 * np.exp(-(z**2)) - mean) / math.sqrt(3 * 5**-2.5 - mean**2)


def batch(
    rows: list[str],
    target: str,
    d: int,
    ratio: float = 4.0,
    eta: float = 2.0,
    m: int = 16,
    draws: int = 12,
    inputs: str = "projected",
    *,
    seeds: Sequence[int],
) -> list[Any]:
    """cos(G_2, u) of m tanh neurons on n = ratio d rows, after a first step eta of residual y.

    W_0 has rows on the unit sphere and f_0 = 0, so G_1 and G_2 = (1/n) sum y_i tanh'(w.x_i) x_i at
    W_0 and W_0 + eta G_1; neurons of a = -1 would step by -eta. fresh: G_2 is of rows of its own.
    overlap is the root mean square over neurons and independent `draws` of all, cosine the mean.
    `inputs`: "whole" draws n x d of them; "projected" those along u and W_0, and of the others the
    products alone that the cosine depends on, of the same law.
    """
    for one in rows:
        one_of(ROWS, rows=one)
    one_of(TARGETS, target=target)
    one_of(INPUTS, inputs=inputs)
    at_least(1, m=m, draws=draws)
    whole = inputs == "whole"
    at_least(2 if whole else 2 * m + 2, d=d)
    at_most(MOST_INPUTS if whole else MOST_ROWS, d=d)
    at_most(MOST_INPUTS, m=m, draws=draws)
    positive(ratio=ratio, eta=eta)
    at_most(MOST_ETA, eta=eta)  # beyond it all neurons saturate
    n = round(ratio * d)
    at_least(2 if whole else m + 1, **{"ratio d": n})
    at_most(MOST_ROWS, **{"ratio d": n})
    one_draw = _whole if whole else _projected
    found = []
    for seed in seeds:
        generator = lazy.numpy_stream(seed, "draws")
        cosines = [one_draw(rows, link(target), d, n, eta, m, generator) for _ in range(draws)]
        found.append([_summary(np.array(c)) for c in zip(*cosines, strict=True)])
    return found


def _summary(c: np.ndarray) -> dict[str, float]:
    return {"overlap": float(np.square(c).mean() ** 0.5), "cosine": float(c.mean())}


def _slope(z: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(z) ** 2


def _whole(
    rows: list[str], g: RealFunction, d: int, n: int, eta: float, m: int, draw: np.random.Generator
) -> list[np.ndarray]:
    """Cosines of m neurons for each use of rows, u the first input."""

    def gradient(W: np.ndarray, X: np.ndarray) -> np.ndarray:
        return (g(X[:, :1]) * _slope(X @ W.T)).T @ X / n

    W = draw.normal(size=(m, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    first, other = draw.normal(size=(2, n, d))
    stepped = W + eta * gradient(W, first)
    used = {"reused": first, "fresh": other}
    found = [gradient(stepped, used[one]) for one in rows]
    return [G[:, 0] / np.linalg.norm(G, axis=1) for G in found]


def _projected(
    rows: list[str], g: RealFunction, d: int, n: int, eta: float, m: int, draw: np.random.Generator
) -> list[np.ndarray]:
    """The same without n x d numbers. X = S Q^T + Z, S the inputs along u and W_0.

    With C = y o tanh'(X W_0^T) the first gradient has C^T S/n and B = C^T Z/n. Z is seen through
    B and Z B^T alone, whose part across C is normal with the covariance B B^T, and then through
    R^T Z, R = y o tanh'(X (W_0 + eta G_1)^T), whose part across C and B has the Gram matrix of what
    R has across C, times a Wishart draw.
    """
    W = draw.normal(size=(m, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    A = W @ np.linalg.qr(np.column_stack([np.eye(d)[0], W.T]))[0]  # the first column up to sign
    first, other = draw.normal(size=(2, n, m + 1))
    C = g(first[:, :1]) * _slope(first @ A.T)
    B = np.linalg.cholesky(C.T @ C) @ draw.normal(size=(m, d - m - 1)) / n
    shared = B @ B.T
    along = np.linalg.solve(C.T @ C, C.T)  # (m, n): what is along C, in its columns
    stepped = A + eta * C.T @ first / n
    found = []
    for one in rows:
        S = first if one == "reused" else other
        ZB = draw.normal(size=(n, m)) @ np.linalg.cholesky(shared).T
        if one == "reused":
            ZB += C @ (n * np.linalg.inv(C.T @ C) @ shared - along @ ZB)
        R = g(S[:, :1]) * _slope(S @ stepped.T + eta * ZB)
        rest = R - C @ (along @ R) if one == "reused" else R
        normal = np.linalg.cholesky(rest.T @ rest) @ draw.normal(size=(m, d - 2 * m - 1))
        seen = R.T @ S
        across = np.einsum("ij,ij->j", ZB.T @ R, np.linalg.solve(shared, ZB.T @ R))
        square = (seen**2).sum(1) + across + (normal**2).sum(1)
        found.append(seen[:, 0] / np.sqrt(square))
    return found


def theory(rows: str, target: str, ratio: float, eta: float) -> dict[str, float]:
    """Limit of the cosine as n and d grow; a limit of 0 has no overlap to draw."""
    cosine = _limit(rows, target, ratio, eta)
    return {"cosine": cosine, "overlap": abs(cosine) if abs(cosine) > 1e-9 else math.nan}


@lru_cache(256)
def _limit(rows: str, target: str, ratio: float, eta: float) -> float:
    if lazy.generative_exponent(link(target)) != 1:  # no function of the label shows u
        return 0.0
    known = "reused" if rows == "reused" else "fresh"
    return lazy.second_gradient(link(target), lazy.Tanh(), 1 / ratio, eta, rows=known).overlap


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Overlap against d, a panel a target."""
    targets = [name for name in TARGETS if len(only(table, target=name))]
    _, axes = panels(len(targets), 3, (3.9, 3.5))
    marks = marks_of(ROWS)
    for ax, target in zip(axes, targets, strict=True):
        style.dress(
            ax, TARGETS[target], "number of inputs d", "overlap of the second gradient", "y"
        )
        for name, mark in marks.items():
            for inputs in INPUTS:
                own = only(table, target=target, rows=name, inputs=inputs)
                look = mark if inputs == "projected" else WHOLE
                draw_metric(ax, own, "d", "overlap", look, connect=inputs == "projected")
            level = _level(theory_table, target, name)
            if level is not None:
                series.level(ax, level, "limit on reused rows", below=True)
        d = np.array(sorted({*only(table, target=target)["d"]}), float)
        least = only(table, target=target)["overlap"].min()
        series.line(ax, d, least * (d / d.max()) ** -0.5, r"slope $-1/2$", style.BLACK)
        style.logarithmic(ax, "x")
        style.logarithmic(ax, "y")
        style.tick_at(ax, table["d"], 2)
    row = table.iloc[0]
    return finished(
        axes,
        f"n = {row['ratio']:g} d rows, first step η = {row['eta']:g}. Exponents: information,"
        f" generative. Points: {over_seeds(table)}.{averaged(table, 'ratio', 'eta', 'm', 'draws')}",
    )


def _level(theory_table: DataFrame | None, target: str, rows: str) -> float | None:
    if theory_table is None:
        return None
    found = only(theory_table, target=target, rows=rows)["overlap"].dropna()
    return float(found.iloc[0]) if len(found) else None


DIMENSIONS = [200, 400, 800, 1_600, 3_200]
DRAWN = {"ratio": 4.0, "inputs": "projected"}
CUBIC = {"target": "cubic", "rows": "reused", **DRAWN}
FRESH = {**CUBIC, "rows": "fresh"}
CHECKED = {**CUBIC, "d": 200}

EACH = {"rows": list(ROWS), "target": list(TARGETS)}
WHOLE_GRID = {"rows": list(ROWS), "target": "cubic", "d": 200, "inputs": "whole"}

EXPERIMENT = Experiment(
    name="dandi24-reuse",
    question="Does a second gradient find on the same rows what fresh rows do not show?",
    about="""
Three targets of one direction u whose information exponent is 3 or 4: on fresh rows gradients see
nothing of u below d^2 rows. On the rows of the first step each row's own pre-activation has moved
by eta (d/n) y sigma'(w.x), so the second gradient weights it by a function T(y) that is not linear,
and what counts is the generative exponent, the least degree that some T shows. He_3 has 1: n = 4 d
rows are enough for an overlap that stays as d grows. Controls are two targets that no function
of the label shows at degree 1 or 2: the sign of a cubic with E[y z] = 0 (two labels: there are no
other functions) and z^2 exp(-z^2), whose labels all have E[He_2(z) | y] = 0.

No target of the kind has an infinite generative exponent: that label would not depend on x. The
dashed level is the limit of the overlap on reused rows (theory/second_step). Inputs enter through
few of their products, so that only these are drawn; whole inputs are the check at d = 200.""",
    batch=batch,
    batch_size=1,
    along="rows",
    grids={
        "quick": [{**EACH, "d": DIMENSIONS}, WHOLE_GRID],
        "paper": [{**EACH, "d": [100, *DIMENSIONS, 6_400], "ratio": [1.0, 4.0]}, WHOLE_GRID],
    },
    small={"d": [10, 16], "ratio": 2.0, "m": 4, "draws": 2},
    seeds={"quick": 12, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "On reused rows the overlap with He_3's direction hardly falls with d at n = 4 d: its slope"
        " is within .1 of 0."
        " [Dandi et al. 2024, Theorem 3.2 (generative exponent 1)]": slope(
            "overlap", "d", -0.1, 0.1, CUBIC
        ),
        "On fresh rows the overlap falls as d^(-1/2) for every target: slopes within .15."
        " [Dandi et al. 2024; Ben Arous et al. 2021 (information exponent 3 or more)]": each(
            "target", slope("overlap", "d", -0.65, -0.35), {"rows": "fresh", **DRAWN}
        ),
        "Where no function of the label shows the direction at degree 1 or 2, reused rows do not"
        " help: slopes within .15 of -1/2."
        " [Damian, Pillaud-Vivien, Lee & Bruna 2024 (generative exponent 3 and 4)]": each(
            "target",
            slope("overlap", "d", -0.65, -0.35),
            {"rows": "reused", "target": ["signs", "bump"], **DRAWN},
        ),
        "The mean cosine of He_3 on reused rows is that of the limit within .03 from d = 800 to"
        " 3,200."
        " [gradfeat.theory.second_step, derived here; after Dandi et al. 2024]": agrees(
            "cosine", theory, {**CUBIC, "d": DIMENSIONS[2:]}, margin=0.03
        ),
        "At d = 1,600 it is larger on reused than on fresh rows by .25 at least."
        " [Dandi et al. 2024; Lee et al. 2024]": greater(
            "overlap", {**CUBIC, "d": 1_600}, {**FRESH, "d": 1_600}, 0.25
        ),
        "Whole inputs have the mean cosine on reused rows of inputs that are drawn by what the"
        " cosine depends on, within .03 at d = 200."
        " [derived here; the experiment of Dandi et al. 2024]": differs(
            "cosine", {**CHECKED, "inputs": "whole"}, CHECKED, between(-0.03, 0.03), "margin .03"
        ),
    },
)
