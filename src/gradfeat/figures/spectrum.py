"""Eigenvalues of the AGOP: how many directions matter."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.drawing.numbers import percent, plain
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.scores import with_interval
from gradfeat.table.results import Directions, Interval

SHOWN = 16


def eigenvalues_figure(found: Directions) -> CaptionedFigure:
    """Shares of the first directions, and how many are effective."""
    values = np.asarray(found.eigenvalues, dtype=float)
    ends = np.array([found.eigenvalues_low, found.eigenvalues_high], dtype=float)[:, :SHOWN]
    bands = ", the dark line its 95 % bootstrap interval" if np.isfinite(ends).all(0).any() else ""
    first = f"The first direction carries {percent(float(values[0]))}"
    if len(values) > 1:
        first += f", the first two {percent(float(values[:2].sum()))}"
    left = ", left of the orange line," if _drawn(found.n_effective, len(values)) else ""
    caption = (
        "Each bar is the share of the learned function's squared slope that lies along one "
        f"direction of the inputs{bands}. {first}; the number of effective directions{left} is "
        f"{with_interval(found.n_effective, plain)}."
    )
    return CaptionedFigure("eigenvalues", partial(eigenvalues, found), caption)


def eigenvalues(directions: Directions, *, ax: Axes | None = None) -> Axes:
    """Eigenvalues of the AGOP as shares of their sum, with bootstrap bands and n_effective.

    The first 16 are drawn. The effective directions lie left of the vertical line; its shade is
    the 95 % interval of their number.
    """
    ax = style.axes_or_new(ax, 2.7)
    values = np.asarray(directions.eigenvalues, dtype=float)[:SHOWN]
    x = np.arange(1, len(values) + 1)
    if _drawn(directions.n_effective, len(x)):
        _effective(ax, directions.n_effective, len(x))
    ax.bar(x, values, width=0.62, color=style.SKY, alpha=0.75, linewidth=0)
    _bands(ax, x, directions)
    ax.plot(x, values, "o", color=style.BLUE, markersize=4, markeredgecolor="white")
    title = "Sensitivity of the learned function by direction"
    style.dress(ax, title, _axis_label(len(values), len(directions.eigenvalues)), "share of AGOP")
    style.percents(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(0.4, max(len(x), 3) + 0.6)
    ax.set_ylim(0, None)
    style.grid(ax, "y")
    return ax


def _axis_label(shown: int, total: int) -> str:
    if shown == total:
        return "direction (eigenvalue number)"
    return f"direction (eigenvalue number; first {shown} of {total:,})"


def _bands(ax: Axes, x: np.ndarray, directions: Directions) -> None:
    low = np.asarray(directions.eigenvalues_low, dtype=float)[:SHOWN]
    high = np.asarray(directions.eigenvalues_high, dtype=float)[:SHOWN]
    known = np.isfinite(low) & np.isfinite(high)
    kw = {"color": style.BLUE, "linewidth": 1.4}
    ax.vlines(x[known], low[known], high[known], label="95 % bootstrap interval", **kw)


def _drawn(n: Interval, total: int) -> bool:
    """Whether the number is known, and lies within the bars."""
    return math.isfinite(n.estimate) and n.estimate <= min(total, SHOWN)


def _effective(ax: Axes, n: Interval, shown: int) -> None:
    """A line after bar n: the effective directions are the bars left of it."""
    known = math.isfinite(n.low) and math.isfinite(n.high)
    high = min(n.high, shown) if known else n.estimate
    if known:
        ax.axvspan(n.low + 0.5, high + 0.5, color=style.VERMILLION, alpha=0.13, linewidth=0)
    ax.axvline(n.estimate + 0.5, color=style.VERMILLION, linewidth=1.3)
    right = high < 0.6 * max(shown, 3)
    ax.annotate(
        f"{plain(n.estimate)} effective direction{'' if n.estimate == 1 else 's'}",
        ((high if right else n.estimate) + 0.5, 0.97), (5 if right else -5, 0),
        xycoords=("data", "axes fraction"), textcoords="offset points", va="top",
        ha="left" if right else "right", fontsize=style.SMALL, color=style.VERMILLION,
    )  # fmt: skip
