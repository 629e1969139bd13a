"""All methods on one scale, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gradfeat.drawing import style
from gradfeat.drawing.numbers import number
from gradfeat.figures.families import FAMILIES
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import LOWER_IS_BETTER, failed, ranked, score_names
from gradfeat.table.results import Interval, MethodResult

# Behind words, so that lines of the grid do not cross them.
_PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
_FLOOR = {"R2": -0.05}  # far below it a method is useless, and the others would be squeezed


def comparison(
    methods: Sequence[MethodResult], *, score: str | None = None, ax: Axes | None = None
) -> Axes:
    """Estimate and 95 % interval of every method, best on top; colour and marker tell families.

    Parameters
    ----------
    methods : sequence of MethodResult
    score : str, optional
        One of the printed names in `MethodResult.scores`; the first one if None.
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gradfeat.table.results import Interval, MethodResult
    >>> r2 = {"R2": Interval(0.6, 0.55, 0.65)}
    >>> ax = comparison([MethodResult("kernel", "Kernel ridge", "fixed", r2, 0.1, 500, {})])
    >>> ax.get_xlabel()
    'test R2 (higher is better)'
    """
    names = score_names(methods)
    score = score or (names[0] if names else "score")
    rows, lost = ranked(methods, score), failed(methods)
    ax = style.axes_or_new(ax, 1.15 + 0.45 * len(rows) + 0.22 * len(lost))
    _limits(ax, [m.scores[score] for m in rows], _FLOOR.get(score, -math.inf))
    _guide(ax, rows, score)
    for place, method in enumerate(rows):
        _row(ax, -place, method, score)
    for place, method in enumerate(lost):
        _lost(ax, -len(rows) - 0.5 * place + 0.15, method)
    _finish(ax, rows, len(rows) + 0.5 * len(lost), score)
    return ax


def _limits(ax: Axes, intervals: list[Interval], floor: float) -> None:
    ends = np.array([[i.estimate, i.low, i.high] for i in intervals]).ravel()
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return
    low, high = max(float(ends.min()), floor), max(float(ends.max()), floor + 0.1)
    room = 0.04 * (high - low) or 0.05
    ax.set_xlim(low - room, high + room)


def _guide(ax: Axes, rows: list[MethodResult], score: str) -> None:
    """A line at the best fixed-feature method: what learned features have to pass."""
    fixed = [m.scores[score].estimate for m in rows if m.family == "fixed"]
    if fixed and math.isfinite(fixed[0]) and len(rows) > 1:
        color = FAMILIES["fixed"].color
        ax.axvline(fixed[0], color=color, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.6)


def _row(ax: Axes, y: float, method: MethodResult, score: str) -> None:
    mark, value = FAMILIES[method.family], method.scores[score]
    left = ax.get_xlim()[0]
    ends = np.clip([value.low, value.high], left, None)  # nan ends draw nothing
    ax.plot(ends, [y, y], color=mark.color, linewidth=2.6, solid_capstyle="round", alpha=0.45)
    outside = value.estimate < left
    at = left if outside else value.estimate
    marker = "<" if outside else mark.marker
    ax.plot(at, y, marker, color=mark.color, markersize=6.5, markeredgecolor="white", clip_on=False)
    _words(ax, y, method.label, value)


def _words(ax: Axes, y: float, label: str, value: Interval) -> None:
    line = ax.get_yaxis_transform()
    name = style.short(label, 34)
    ax.text(0, y + 0.24, name, transform=line, bbox=_PLAIN, fontsize=style.TEXT, color=style.INK)
    inside = span(value)
    text = f"{number(value.estimate)}  ({inside})" if inside else number(value.estimate)
    kw = {"ha": "right", "fontsize": style.SMALL, "color": style.QUIET, "bbox": _PLAIN}
    ax.text(1, y + 0.24, text, transform=line, **kw)


def _lost(ax: Axes, y: float, method: MethodResult) -> None:
    text = f"{style.short(method.label, 34)}: failed, see the table"
    line = ax.get_yaxis_transform()
    ax.text(0, y, text, transform=line, fontsize=style.SMALL, color=style.QUIET, style="italic")


def _finish(ax: Axes, rows: list[MethodResult], length: float, score: str) -> None:
    way = "lower" if score in LOWER_IS_BETTER else "higher"
    style.dress(ax, f"Test {score} of every method", f"test {score} ({way} is better)")
    ax.set_ylim(-length + 0.5, 0.62)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    style.grid(ax, "x")
    present = {m.family for m in rows}
    handles: list[Artist] = [
        _handle(mark) for family, mark in FAMILIES.items() if family in present
    ]
    if any(m.family == "fixed" for m in rows) and len(rows) > 1:
        color = FAMILIES["fixed"].color
        kw = {"color": color, "linewidth": 0.9, "linestyle": (0, (4, 3))}
        handles.append(Line2D([], [], label="best fixed", **kw))
    style.key(ax, handles)


def _handle(mark: style.Mark) -> Line2D:
    kw = {"linestyle": "", "markersize": 6, "markeredgecolor": "white"}
    return Line2D([], [], color=mark.color, marker=mark.marker, label=mark.label, **kw)
