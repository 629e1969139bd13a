"""Means and intervals over seeds, and their strokes: simulation as points, theory as lines.

A reader should see at once which is which. So what was simulated is drawn as points with 95 %
intervals over seeds, series differing in colour and in marker; what was derived is a solid line
without markers in the colour of its series; and a level that others are compared with is a thin
dashed grey line with its name at the right end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.drawing import style
from gradfeat.maths.interval_ends import interval_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from pandas import DataFrame


def summary(table: DataFrame, x: str, metric: str, by: Sequence[str] = ()) -> DataFrame:
    """mean and 95 % interval of a metric over the seeds of each cell.

    Half the width of the interval is t_{.975, n-1} sd / sqrt(n), carried to the scale of the values
    by :func:`~gradfeat.maths.interval_ends.interval_ends`: an interval of values in [0, 1] stays
    there. Rows whose metric is nan (a failed cell, say) do not count.

    `table`: one row a cell and seed; `x`: column on the horizontal axis; `metric`: column that is
    averaged; `by`: columns that tell series apart.
    Returns columns `by`, `x`, ``mean``, ``low``, ``high`` and ``seeds`` (how many counted). Series
    in the order in which they come in `table`, `x` rising in each. With one seed ``low`` and
    ``high`` are nan.
    Raises ValueError when a column named is not in `table`.

    >>> from pandas import DataFrame
    >>> cells = DataFrame({"n": [10, 10, 20], "seed": [0, 1, 0], "accuracy": [0.8, 0.9, 0.95]})
    >>> found = summary(cells, "n", "accuracy").round(3)
    >>> found["mean"].tolist(), found["low"].tolist(), found["seeds"].tolist()
    ([0.85, 0.95], [0.037, nan], [2, 1])
    """
    from scipy.special import stdtrit

    _check_columns(table, [*by, x, metric])
    order = np.lexsort([table[x].to_numpy(), _places(table, by)])
    rows = table.iloc[order].dropna(subset=[metric])
    groups = rows.groupby([*by, x], sort=False, dropna=False)[metric]
    found = groups.agg(["mean", "std", "count"]).reset_index()
    seeds = found.pop("count").to_numpy()
    half = stdtrit(np.maximum(seeds - 1, 1), 0.975) * found.pop("std") / np.sqrt(seeds)
    least, most = rows[metric].min(), rows[metric].max()
    low, high = interval_ends(found["mean"], half, least, most)
    return found.assign(low=low, high=high, seeds=seeds)


def _places(table: DataFrame, by: Sequence[str]) -> np.ndarray:
    """Position of each row's series in the order in which `table` names them."""
    if not by:
        return np.zeros(len(table))
    return table.groupby(list(by), sort=False, dropna=False).ngroup().to_numpy()


def _check_columns(table: DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in table.columns:
            there = ", ".join(map(str, table.columns))
            raise ValueError(f"The table has no column '{name}'; name one of these: {there}.")


#: Names of levels among the texts of axes, and points between a name and its line.
_LEVEL, _OFF = "_level", 2.5


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
    """A theory: solid, no markers, behind the points; a dash where it has one x."""
    dash = "_" if len(np.unique(x)) == 1 else "None"  # a line of no length has no ink
    return ax.plot(
        x, y, color=color, linewidth=1.6, label=label, zorder=1.8,
        marker=dash, markersize=22, markeredgewidth=1.6,
    )[0]  # fmt: skip


def key_level(ax: Axes, y: float, label: str, *, dotted: bool = False) -> Line2D:
    """A reference level that is named in the key: dashed or dotted, and grey."""
    look = {"color": style.QUIET, "linewidth": 0.9, "zorder": 1.5}
    return ax.axhline(y, linestyle=":" if dotted else style.DASHES, label=label, **look)


def level(ax: Axes, y: float, text: str, *, below: bool = False) -> Line2D:
    """A reference level: dashed, grey, named at its right end above the line, or below it."""
    from matplotlib.patheffects import withStroke

    drawn = ax.axhline(y, color=style.QUIET, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    ax.annotate(
        text, (1, y), (-3, -_OFF if below else _OFF), xycoords=ax.get_yaxis_transform(),
        textcoords="offset points", ha="right", va="top" if below else "bottom",
        fontsize=style.SMALL, color=style.QUIET, label=_LEVEL,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )  # fmt: skip
    return drawn


def keep_levels_apart(figure: Figure, axes: Sequence[Axes]) -> None:
    """Where names of levels would meet, the upper one goes above its line, or above the other name.

    To be called when all is drawn: what meets depends on the limits, which intervals over few seeds
    make wide.
    """
    named = [[text for text in ax.texts if text.get_label() == _LEVEL] for ax in axes]
    if not any(len(texts) > 1 for texts in named):
        return
    figure.draw_without_rendering()
    off = _OFF * figure.dpi / 72
    for texts in named:
        top = -np.inf
        for box, text in sorted(((t.get_window_extent(), t) for t in texts), key=_lower_end):
            if box.y0 < top:
                under = text.get_verticalalignment() == "top"
                line = box.y1 + off if under else box.y0 - off
                bottom = max(line + off, top)
                text.set_verticalalignment("bottom")
                text.set_position((-3, _OFF * (bottom - line) / off))
                top = bottom + box.height
            else:
                top = box.y1


def _lower_end(placed: tuple[Bbox, Text]) -> float:
    return placed[0].y0
