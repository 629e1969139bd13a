"""Strength of each Hermite degree against what chance gives."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.table.diagnosis import DegreeFinding


def degrees(findings: Sequence[DegreeFinding], *, ax: Axes | None = None) -> Axes:
    """A point for each degree over the band of chance, and the strength that would count.

    Parameters
    ----------
    findings : sequence of DegreeFinding
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    ax = style.axes_or_new(ax, 2.9)
    for i, one in enumerate(findings):
        label = "chance, middle 95 %" if i == 0 else None
        height = one.null_high - one.null_low
        ax.bar(one.degree, height, 0.5, one.null_low, color=style.FAINT, linewidth=0, label=label)
        label = "counts from here" if i == 0 else ""
        ends = (one.degree - 0.25, one.degree + 0.25)
        ax.hlines(one.visible_from, *ends, color=style.QUIET, linewidth=1.2, label=label)
    for found, color, marker in ((False, style.QUIET, "o"), (True, style.VERMILLION, "D")):
        some = [one for one in findings if one.found == found]
        label = "beyond chance" if found and some else None
        ax.plot([one.degree for one in some], [one.strength for one in some], marker, color=color,
                markersize=6.5, markeredgecolor="white", label=label)  # fmt: skip
    ax.axhline(0, color=style.QUIET, linewidth=0.6)
    style.dress(ax, "Signal by degree", "degree", "test strength")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.grid(ax, "y")
    style.key(ax, list(ax.get_legend_handles_labels()[0]), columns=3)
    return ax
