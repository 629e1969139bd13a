"""Bars over the original columns: what a direction is made of, and what matters in all."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.drawing.numbers import count, listed, percent, signed
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.table.diagnosis import FoundDirections
from gradfeat.table.results import Directions

SHOWN, NAME = 12, 22  # bars, and letters in a line of a name
WEIGHT = "weight (standardised columns, sign matters)"


def direction_figure(found: Directions, index: int) -> CaptionedFigure:
    """A direction of the AGOP: its weights, its share, the columns that it rests on."""
    weights = np.nan_to_num(np.asarray(found.folded, dtype=float)[:, index])
    share = percent(float(found.eigenvalues[index]))
    caption = (
        "Columns with bars to the right (blue) raise a row's position along this direction, those "
        f"to the left (orange) lower it. Direction {index + 1} carries {share} of the AGOP and "
        f"rests mainly on {_top(found.columns, weights)}."
    )
    return CaptionedFigure(f"direction{index + 1}", partial(direction, found, index), caption)


def direction(directions: Directions, index: int = 0, *, ax: Axes | None = None) -> Axes:
    """Signed weights of direction `index` (from 0) on the columns: 12 largest, the rest summed."""
    weights = np.asarray(directions.folded, dtype=float)[:, index]
    names, values = _largest(directions.columns, weights)
    return _signed_bars(names, values, f"Direction {index + 1}: columns it adds up", WEIGHT, ax)


def column_weights(
    columns: tuple[str, ...], weights: np.ndarray, title: str, *, ax: Axes | None = None
) -> Axes:
    """Signed weights (p,) of original columns: the 12 largest alone."""
    few = len(columns) <= SHOWN
    label = f"weight (standardised columns, {SHOWN} largest of {len(columns):,})"
    return _signed_bars(*_leading(columns, weights), title, WEIGHT if few else label, ax)


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
        f"original column, the parts of an encoded column added up. {said}"
    )
    return CaptionedFigure("importances", partial(importances, found), caption)


def importances(directions: Directions, *, ax: Axes | None = None) -> Axes:
    """Share of the AGOP on each original column: the 12 largest, the rest summed."""
    names, values = _largest(directions.columns, np.asarray(directions.importances, dtype=float))
    ax = style.axes_or_new(ax, _height(names))
    _bars(ax, names, values, [style.GREEN] * len(names), [percent(v) for v in values])
    style.dress(ax, "Where the slope is", "share of AGOP, all directions together")
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


def _top(columns: tuple[str, ...], weights: np.ndarray) -> str:
    """``hr (+0.80), temp (−0.41) and hum (+0.12)``: the three largest weights."""
    return listed([f"{columns[i]} ({signed(float(weights[i]))})" for i in order(weights)[:3]])


def _leading(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the 12 largest in size."""
    top = order(values)[:SHOWN]
    return [style.wrapped(columns[i], NAME) for i in top], np.asarray(values)[top]


def _largest(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the largest in size, then the sum of all others."""
    values = np.nan_to_num(values)
    sorted_ = order(values)
    # a sum of one says less than its name
    shown = SHOWN if len(sorted_) > SHOWN + 1 else len(sorted_)
    top, rest = sorted_[:shown], sorted_[shown:]
    names = [style.wrapped(columns[i], NAME) for i in top]
    if not len(rest):
        return names, values[top]
    names.append(f"sum of {count(len(rest), 'other')}")
    return names, np.append(values[top], values[rest].sum())


def _signed_bars(
    names: list[str], values: np.ndarray, title: str, label: str, ax: Axes | None
) -> Axes:
    """Signed bars with their numbers."""
    ax = style.axes_or_new(ax, _height(names))
    colors = [style.BLUE if v >= 0 else style.VERMILLION for v in values]
    _bars(ax, names, values, colors, [signed(float(v)) for v in values])
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
    if names[-1].startswith("sum of "):
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
