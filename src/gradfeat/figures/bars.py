"""Bars over the original columns: what a direction is made of, and what matters in all."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gradfeat.drawing import style
from gradfeat.drawing.numbers import count, percent, signed
from gradfeat.table.diagnosis import FoundDirections
from gradfeat.table.results import Directions

SHOWN = 12
WEIGHT = "weight (standardised columns, sign matters)"


def direction(directions: Directions, index: int = 0, *, ax: Axes | None = None) -> Axes:
    """Signed weights of one direction on the original columns: the 12 largest, the rest summed.

    Parameters
    ----------
    directions : Directions
    index : int
        Which direction, from 0.
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    weights = np.asarray(directions.folded, dtype=float)[:, index]
    names, values = _largest(directions.columns, weights)
    return _signed_bars(
        names, values, f"Direction {index + 1}: which columns it adds up", WEIGHT, ax
    )


def column_weights(
    columns: tuple[str, ...], weights: np.ndarray, title: str, *, ax: Axes | None = None
) -> Axes:
    """Signed weights (p,) of original columns: the 12 largest alone.

    Parameters
    ----------
    columns : tuple of str
    weights : array (p,)
    title : str
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    few = len(columns) <= SHOWN
    label = f"weight (standardised columns, {SHOWN} largest of {len(columns):,})"
    return _signed_bars(*_leading(columns, weights), title, WEIGHT if few else label, ax)


def _signed_bars(
    names: list[str], values: np.ndarray, title: str, label: str, ax: Axes | None
) -> Axes:
    """Signed bars with their numbers."""
    ax = style.axes_or_new(ax, 0.95 + 0.2 * len(names))
    colors = [style.BLUE if v >= 0 else style.VERMILLION for v in values]
    _bars(ax, names, values, colors, [signed(float(v)) for v in values])
    ax.axvline(0, color=style.QUIET, linewidth=0.8)
    style.dress(ax, title, label)
    _tidy(ax)
    return ax


def loadings(directions: FoundDirections, index: int = 0, *, ax: Axes | None = None) -> Axes:
    """Correlation of the original columns with one direction: the 12 largest.

    Parameters
    ----------
    directions : FoundDirections
    index : int
        Which direction, from 0.
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    values = np.nan_to_num(np.asarray(directions.loadings, dtype=float)[:, index])
    title = f"Direction {index + 1}: the columns that move with it"
    return _signed_bars(*_leading(directions.columns, values), title, "correlation", ax)


def importances(directions: Directions, *, ax: Axes | None = None) -> Axes:
    """Share of the AGOP on each original column: the 12 largest, the rest summed.

    Parameters
    ----------
    directions : Directions
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    names, values = _largest(directions.columns, np.asarray(directions.importances, dtype=float))
    ax = style.axes_or_new(ax, 0.95 + 0.2 * len(names))
    colors = [style.GREEN] * len(names)
    _bars(ax, names, values, colors, [percent(v) for v in values])
    style.dress(ax, "How much each column matters", "share of AGOP, all directions together")
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    _tidy(ax)
    return ax


def _leading(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the 12 largest in size."""
    order = np.argsort(-np.abs(values), kind="stable")[:SHOWN]
    return [style.short(columns[i], 22) for i in order], np.asarray(values)[order]


def _largest(columns: tuple[str, ...], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the largest in size, then the sum of all others."""
    values = np.nan_to_num(values)
    order = np.argsort(-np.abs(values), kind="stable")
    shown = SHOWN if len(order) > SHOWN + 1 else len(order)  # a sum of one says less than its name
    top, rest = order[:shown], order[shown:]
    names = [style.short(columns[i], 22) for i in top]
    if not len(rest):
        return names, values[top]
    names.append(f"sum of {count(len(rest), 'other')}")
    return names, np.append(values[top], values[rest].sum())


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
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    style.grid(ax, "x")
