"""The strokes of a lab figure: simulation as points with intervals, theory as lines.

A reader should see at once which is which. So what was simulated is drawn as points with 95 %
intervals over seeds, series differing in colour and in marker; what was derived is a solid line
without markers in the colour of its series; and a level that others are compared with is a thin
dashed grey line with its name at the right end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.drawing import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.lines import Line2D


@dataclass(frozen=True, eq=False)
class Series:
    """One group of points: `mean` at `x` with the ends `low`, `high` of its interval.

    Arrays (k,); `low` and `high` are nan where no interval is known. The mark holds the label.
    """

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mark: style.Mark

    @property
    def label(self) -> str:
        return self.mark.label


def points(
    ax: Axes, series: Series, *, connect: bool = False, shift: float = 0.0
) -> ErrorbarContainer:
    """A marker with a capped error bar at each x; `connect` joins them by a thin pale line.

    `shift` moves them to the right by so many points (1/72 inch), so that series that share
    their x and nearly their mean stay apart.
    """
    from matplotlib.transforms import ScaledTranslation

    color = series.mark.color
    bars = ax.errorbar(
        series.x, series.mean, yerr=[series.mean - series.low, series.high - series.mean],
        fmt=series.mark.marker, color=color, label=series.label, markersize=5,
        markeredgecolor="white", markeredgewidth=0.4, elinewidth=1.2, capsize=2.5, capthick=1.2,
    )  # fmt: skip
    drawn = list(bars.get_children())
    if connect:
        drawn += ax.plot(series.x, series.mean, color=color, linewidth=0.9, alpha=0.45)
    moved = ax.transData + ScaledTranslation(shift / 72, 0, ax.figure.dpi_scale_trans)
    for artist in drawn:  # afterwards: the limits of the axes come from where the data are
        artist.set_transform(moved)
    return bars


def line(ax: Axes, x: np.ndarray, y: np.ndarray, label: str, color: str) -> Line2D:
    """A theory: solid, no markers, behind the points."""
    return ax.plot(x, y, color=color, linewidth=1.6, label=label, zorder=1.8)[0]


def level(ax: Axes, y: float, text: str, *, below: bool = False) -> Line2D:
    """A reference level: dashed, grey, named at its right end above the line, or below it."""
    from matplotlib.patheffects import withStroke

    drawn = ax.axhline(y, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    ax.annotate(
        text, (1, y), (-3, -2.5 if below else 2.5), xycoords=ax.get_yaxis_transform(),
        textcoords="offset points", ha="right", va="top" if below else "bottom",
        fontsize=style.SMALL, color=style.QUIET,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )  # fmt: skip
    return drawn
