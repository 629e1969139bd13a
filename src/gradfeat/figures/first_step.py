"""What a first gradient step would find: mass of each direction against what chance reaches."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gradfeat.drawing import style
from gradfeat.drawing.numbers import percent, signed
from gradfeat.figures.intervals import span
from gradfeat.table.results import FirstStep

#: Directions drawn, and columns that name each.
DIRECTIONS, NAMED = 8, 3
# Behind words, so that lines do not cross them.
_PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}


def first_step(found: FirstStep, *, ax: Axes | None = None) -> Axes:
    """Share of random neurons whose first gradient points along each direction, with p.

    Parameters
    ----------
    found : FirstStep
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    shown = found.mass[:DIRECTIONS]
    ax = style.axes_or_new(ax, 1.25 + 0.45 * max(len(shown), 1))
    for k, mass in enumerate(shown):
        _bar(ax, k, mass.estimate, (mass.low, mass.high))
        text = f"{percent(mass.estimate)}  ({span(mass, percent)})"
        _words(ax, k, f"{k + 1}: {_name(found, k)}", text)
    if not shown:
        _words(ax, 0, "no direction", "")
    ax.axvline(found.p, color=style.INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.annotate(
        f"least share that counts: {percent(found.p)}", (found.p, 0), (4, 3),
        xycoords=("data", "axes fraction"), textcoords="offset points",
        fontsize=style.TINY, color=style.QUIET,
    )  # fmt: skip
    ends = [mass.high for mass in shown]
    ax.set_xlim(0, 1.05 * max([*ends, 5 * found.p]))
    ax.set_ylim(-max(len(shown), 1) + 0.1, 0.62)
    _finish(ax, len(found.mass))
    return ax


def named_columns(found: FirstStep, k: int, most: int = NAMED) -> list[tuple[str, float]]:
    """The columns of direction k with the largest weights, at least a quarter of the largest."""
    weights = np.asarray(found.folded, dtype=float)[:, k]
    order = np.argsort(-np.abs(weights), kind="stable")[:most]
    least = 0.25 * abs(weights[order[0]])
    return [(found.columns[i], float(weights[i])) for i in order if abs(weights[i]) >= least]


def _name(found: FirstStep, k: int) -> str:
    names = named_columns(found, k)
    return ", ".join(f"{style.short(name, 14)} {signed(weight)}" for name, weight in names)


def _bar(ax: Axes, k: int, mass: float, ends: tuple[float, float]) -> None:
    ax.barh(-k - 0.1, mass, height=0.3, color=style.VERMILLION, alpha=0.55, linewidth=0)
    ax.plot(ends, [-k - 0.1] * 2, color=style.INK, linewidth=1.4, solid_capstyle="butt")


def _words(ax: Axes, k: int, name: str, text: str) -> None:
    line = ax.get_yaxis_transform()
    kw = {"fontsize": style.SMALL, "color": style.INK, "bbox": _PLAIN}
    ax.text(0, -k + 0.15, name, transform=line, **kw)
    kw = {"ha": "right", "fontsize": style.TINY, "color": style.QUIET, "bbox": _PLAIN}
    ax.text(1, -k + 0.15, text, transform=line, **kw)


def _finish(ax: Axes, total: int) -> None:
    more = f" (the first {DIRECTIONS} of {total})" if total > DIRECTIONS else ""
    style.dress(
        ax,
        f"Where the first gradients point{more}",
        "share of random neurons, with 95 % interval",
    )
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    style.grid(ax, "x")
