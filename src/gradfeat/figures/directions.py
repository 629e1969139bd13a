"""What a model reads: eigenvalues of its AGOP, what a direction adds up, what matters in all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import SLOPE, with_interval
from gradfeat.table.diagnosis import FoundDirections
from gradfeat.table.results import Directions, Interval
from gradfeat.wording import counted, listed, percent, plain, signed

SHOWN, NAME = 12, 22  # bars, and letters in a line of a name
WEIGHT = "weight (standardised columns, sign matters)"


def direction_figure(found: Directions, index: int) -> CaptionedFigure:
    """A direction of the AGOP: its weights, its share, the columns that it rests on."""
    bars = found.bars
    weights = np.nan_to_num(np.asarray(bars.weights, dtype=float)[:, index])
    share = percent(float(found.eigenvalues[index]))
    caption = (
        "Bars to the right (blue) raise a row's position along this direction, those to the left "
        "(orange) lower it: a number by one standard deviation, a level by its distance from the "
        "average row times the root of its share of the rows, so that rare levels count little. "
        f"{'' if all(bars.signed) else 'Grey: texts, hours and weekdays, of a size without sign. '}"
        f"Direction {index + 1} carries {share} of the AGOP and "
        f"rests mainly on {_top(bars.names, weights, bars.signed)}."
    )
    return CaptionedFigure(f"direction{index + 1}", partial(direction, found, index), caption)


def direction(directions: Directions, index: int = 0, *, ax: Axes | None = None) -> Axes:
    """Weights of direction `index` (from 0): the 12 largest, the size of all others together."""
    bars = directions.bars
    weights = np.nan_to_num(np.asarray(bars.weights, dtype=float)[:, index])
    top, rest = _cut(weights)
    names = [style.wrapped(bars.names[i], NAME) for i in top]
    values, signed = weights[top], [bars.signed[i] for i in top]
    if len(rest):
        names.append(f"{counted(len(rest), 'other')} together")
        values, signed = np.append(values, np.linalg.norm(weights[rest])), [*signed, False]
    title = f"Direction {index + 1}: what it adds up"
    return _signed_bars(names, values, title, WEIGHT, ax, signed)


def column_weights(
    columns: tuple[str, ...],
    weights: np.ndarray,
    title: str,
    signed: tuple[bool, ...] = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Signed weights (p,) of original columns: the 12 largest alone."""
    few = len(columns) <= SHOWN
    label = f"weight (standardised columns, {SHOWN} largest of {len(columns):,})"
    has_sign = [signed[i] for i in order(weights)[:SHOWN]] if signed else None
    return _signed_bars(*_leading(columns, weights), title, WEIGHT if few else label, ax, has_sign)


def loadings_figure(found: FoundDirections, index: int) -> CaptionedFigure:
    """A direction of a diagnosis: correlations, and the columns that move most with it."""
    caption = (
        "Correlation of each column with a row's position along this direction; the sign of a "
        "whole direction has no meaning. It moves most with "
        f"{_top(found.columns, found.loadings[:, index])}."
    )
    return CaptionedFigure(f"loadings{index + 1}", partial(loadings, found, index), caption)


def loadings(directions: FoundDirections, index: int = 0, *, ax: Axes | None = None) -> Axes:
    """Correlation of the original columns with direction `index` (from 0): the 12 largest."""
    values = np.nan_to_num(np.asarray(directions.loadings, dtype=float)[:, index])
    title = f"Direction {index + 1}: what moves with it"
    return _signed_bars(*_leading(directions.columns, values), title, "correlation", ax)


def importances_figure(found: Directions) -> CaptionedFigure:
    """Every column's share of the AGOP, and what the leading ones carry together."""
    top = leading_columns(found)
    names, total = listed([name for name, _ in top]), sum(share for _, share in top)
    said = f"Here {names} {'carry' if len(top) > 1 else 'carries'} {percent(total)}."
    if not top:
        said = "No column carries as much as 1 %."
    caption = (
        "Where the slope is: how much of the learned function's squared slope falls on each "
        f"original column, the parts of an encoded column added up. {said} {SLOPE}"
    )
    return CaptionedFigure("importances", partial(importances, found), caption)


def importances(directions: Directions, *, ax: Axes | None = None) -> Axes:
    """Share of the AGOP on each original column: the 12 largest, the rest summed."""
    names, values = _largest(directions.columns, np.asarray(directions.importances, dtype=float))
    ax = style.axes_or_new(ax, _height(names))
    _bars(ax, names, values, [style.GREEN] * len(names), [percent(v) for v in values])
    style.dress(ax, "Where the slope is", "share of slope, all directions together")
    style.percents(ax.xaxis)
    _tidy(ax)
    return ax


def leading_columns(directions: Directions, most: int = 3) -> list[tuple[str, float]]:
    """Original columns with the largest shares of AGOP, and these shares; none below 1 %."""
    share = np.nan_to_num(np.asarray(directions.importances, dtype=float))
    return [
        (directions.columns[i], float(share[i])) for i in order(share)[:most] if share[i] >= 0.01
    ]


def order(values: np.ndarray) -> np.ndarray:
    """Indices by size, largest first, without regard to sign."""
    return np.argsort(-np.abs(values), kind="stable")


def _top(names: tuple[str, ...], weights: np.ndarray, has_sign: tuple[bool, ...] = ()) -> str:
    """``hr (+0.80), temp (−0.41) and hum (+0.12)``: the three largest weights."""
    words = [
        f"{names[i]} ({weight(float(weights[i]), not has_sign or has_sign[i])})"
        for i in order(weights)[:3]
    ]
    return listed(words)


def weight(value: float, has_sign: bool) -> str:
    """A weight with its sign, where it has one.

    >>> weight(0.752, True), weight(0.752, False)
    ('+0.75', '0.75')
    """
    return signed(value) if has_sign else f"{abs(value):.2f}"


def _leading(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the 12 largest in size."""
    top = order(values)[:SHOWN]
    return [style.wrapped(columns[i], NAME) for i in top], np.asarray(values)[top]


def _cut(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the 12 largest in size, and of the rest, which is not one alone."""
    sorted_ = order(values)
    shown = SHOWN if len(sorted_) > SHOWN + 1 else len(sorted_)
    return sorted_[:shown], sorted_[shown:]


def _largest(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the largest in size, then the sum of all others."""
    values = np.nan_to_num(values)
    top, rest = _cut(values)
    names = [style.wrapped(columns[i], NAME) for i in top]
    if not len(rest):
        return names, values[top]
    names.append(f"sum of {counted(len(rest), 'other')}")
    return names, np.append(values[top], values[rest].sum())


def _signed_bars(
    names: list[str],
    values: np.ndarray,
    title: str,
    label: str,
    ax: Axes | None,
    has_sign: Sequence[bool] | None = None,
) -> Axes:
    """Bars with their numbers; grey and without a sign where there is none."""
    sure = [True] * len(names) if has_sign is None else has_sign
    ax = style.axes_or_new(ax, _height(names))
    colors = [
        (style.BLUE if v >= 0 else style.VERMILLION) if s else style.QUIET
        for v, s in zip(values, sure, strict=True)
    ]
    texts = [weight(float(v), s) for v, s in zip(values, sure, strict=True)]
    _bars(ax, names, np.where(sure, values, np.abs(values)), colors, texts)
    ax.axvline(0, color=style.QUIET, linewidth=0.8)
    style.dress(ax, title, label)
    _tidy(ax)
    return ax


def _height(names: list[str]) -> float:
    """Inches of a figure with a bar for each name, in as many lines as the longest takes."""
    return 0.95 + len(names) * (0.08 + 0.12 * max(name.count("\n") + 1 for name in names))


def _bars(
    ax: Axes, names: list[str], values: np.ndarray, colors: list[str], texts: list[str]
) -> None:
    y = -np.arange(len(names), dtype=float)
    bars = ax.barh(y, values, height=0.68, color=colors, linewidth=0)
    if names[-1].startswith("sum of ") or names[-1].endswith(" together"):
        bars[-1].set_alpha(0.45)
    ax.set_yticks(y, labels=names)
    for at, value, text in zip(y, values, texts, strict=True):
        side = -1 if value < 0 else 1
        ax.annotate(
            text, (value, at), (3 * side, 0), textcoords="offset points", va="center",
            ha="left" if side > 0 else "right", fontsize=style.TINY, color=style.QUIET,
        )  # fmt: skip


def _tidy(ax: Axes) -> None:
    """Room for the numbers at the ends of bars; no spine beside names."""
    low, high = ax.get_xlim()
    room = 0.13 * (high - low)
    ax.set_xlim(low - room if low < 0 else 0, high + room if high > 0 else 0)
    style.rows_of_bars(ax)


DRAWN = 16


def eigenvalues_figure(found: Directions) -> CaptionedFigure:
    """Shares of the first directions, and how many are effective."""
    values = np.asarray(found.eigenvalues, dtype=float)
    ends = np.array([found.eigenvalues_low, found.eigenvalues_high], dtype=float)[:, :DRAWN]
    bands = ", the dark line its 95 % bootstrap interval" if np.isfinite(ends).all(0).any() else ""
    first = f"The first direction carries {percent(float(values[0]))}"
    if len(values) > 1:
        first += f", the first two {percent(float(values[:2].sum()))}"
    left = ", left of the orange line," if _drawn(found.n_effective, len(values)) else ""
    caption = (
        "Each bar is the share of the learned function's squared slope that lies along one "
        f"direction of the inputs{bands}. {first}; the number of effective directions{left} is "
        f"{_number(found.n_effective)}."
    )
    return CaptionedFigure("eigenvalues", partial(eigenvalues, found), caption)


def _number(n: Interval) -> str:
    """The count, with its interval where resamples differ in it."""
    return plain(n.estimate) if n.low == n.high else with_interval(n, plain)


def eigenvalues(directions: Directions, *, ax: Axes | None = None) -> Axes:
    """Eigenvalues of the AGOP as shares of their sum, with bootstrap bands and n_effective.

    The first 16 are drawn. The effective directions lie left of the vertical line; its shade is
    the 95 % interval of their number.
    """
    ax = style.axes_or_new(ax, 2.7)
    values = np.asarray(directions.eigenvalues, dtype=float)[:DRAWN]
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
    low = np.asarray(directions.eigenvalues_low, dtype=float)[:DRAWN]
    high = np.asarray(directions.eigenvalues_high, dtype=float)[:DRAWN]
    known = np.isfinite(low) & np.isfinite(high)
    kw = {"color": style.BLUE, "linewidth": 1.4}
    ax.vlines(x[known], low[known], high[known], label="95 % bootstrap interval", **kw)


def _drawn(n: Interval, total: int) -> bool:
    """Whether the number is known, and lies within the bars."""
    return math.isfinite(n.estimate) and n.estimate <= min(total, DRAWN)


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
