"""The strokes of a lab figure: simulation as points with intervals, theory as lines.

A reader should see at once which is which. So what was simulated is drawn as points with 95 %
intervals over seeds, series differing in colour and in marker; what was derived is a solid line
without markers in the colour of its series; and a level that others are compared with is a thin
dashed grey line with its name at the right end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.transforms import ScaledTranslation
from pandas import DataFrame

from gradfeat.drawing import style
from gradfeat.drawing.summary import summary


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
        """What the legend says."""
        return self.mark.label


def series_of(
    table: DataFrame, x: str, metric: str, by: str, names: Mapping[object, str] | None = None
) -> tuple[Series, ...]:
    """One series for each value of column `by`: mean and t interval over seeds at each `x`.

    Parameters
    ----------
    table : DataFrame
        One row a cell and seed.
    x, metric, by : str
        Columns: horizontal axis, what is averaged, what tells series apart.
    names : mapping, optional
        From values of `by` to what the legend says; the value itself where it is not there.
        Marks are given in the order of `names`, so that panels with the same `names` agree.

    Returns
    -------
    tuple of Series
        In the order in which they come in `table`.

    Raises
    ------
    ValueError
        When a column named is not in `table`.

    Examples
    --------
    >>> cells = DataFrame(
    ...     {"n": [10, 10, 10], "model": ["net", "net", "ntk"], "accuracy": [0.9, 1.0, 0.8]}
    ... )
    >>> [(s.label, s.mean.round(2).tolist()) for s in series_of(cells, "n", "accuracy", "model")]
    [('net', [0.95]), ('ntk', [0.8])]
    """
    found = summary(table, x, metric, [by])
    groups = list(found.groupby(by, sort=False, dropna=False))
    labels = dict(names or {}) | {v: str(v) for v, _ in groups if v not in (names or {})}
    marks = dict(zip(labels, style.class_marks(tuple(labels.values())), strict=True))
    return tuple(
        Series(*(rows[c].to_numpy() for c in (x, "mean", "low", "high")), mark=marks[value])
        for value, rows in groups
    )


def points(
    ax: Axes, series: Series, *, connect: bool = False, shift: float = 0.0
) -> ErrorbarContainer:
    """A marker with a capped error bar at each x; `connect` joins them by a thin pale line.

    `shift` moves them to the right by so many points (1/72 inch), so that series that share
    their x and nearly their mean stay apart.
    """
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


def band(
    ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, color: str, label: str = ""
) -> None:
    """A region between two curves, behind everything; in the legend where it has a label."""
    ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0, label=label, zorder=1)


def level(ax: Axes, y: float, text: str, *, below: bool = False) -> Line2D:
    """A reference level: dashed, grey, named at its right end above the line, or below it."""
    drawn = ax.axhline(y, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    ax.annotate(
        text, (1, y), (-3, -2.5 if below else 2.5), xycoords=ax.get_yaxis_transform(),
        textcoords="offset points", ha="right", va="top" if below else "bottom",
        fontsize=style.SMALL, color=style.QUIET,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )  # fmt: skip
    return drawn
