"""Predicted against true values of a numeric target."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.drawing.numbers import number
from gradfeat.figures.points import drawn_rows, explained


def predicted(
    y_true: np.ndarray, y_pred: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """Test rows, predicted against true, with the line of perfect prediction and R2.

    Parameters
    ----------
    y_true, y_pred : ndarray (n,)
        At most 3,000 rows are drawn; R2 is of all.
    target : str
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    ax = style.axes_or_new(ax, 3.6)
    rows = drawn_rows(y_true, y_pred)
    alpha = float(np.clip(350 / max(len(rows), 1), 0.2, 0.7))
    kw = {"s": 10, "color": style.BLUE, "alpha": alpha, "linewidths": 0, "rasterized": True}
    ax.scatter(y_true[rows], y_pred[rows], **kw)
    if len(rows):
        _identity(ax, y_true[rows], y_pred[rows])
        _r2(ax, y_true, y_pred)
    name = style.short(target, 30)
    title = "Predicted against true values, rows never trained on"
    style.dress(ax, title, f"true {name}", f"predicted {name}")
    style.grid(ax)
    return ax


def _identity(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    low = float(min(x.min(), y.min()))
    high = float(max(x.max(), y.max()))
    room = 0.04 * (high - low) or 0.5
    ends = (low - room, high + room)
    ax.plot(ends, ends, color=style.VERMILLION, linewidth=1.2, linestyle=(0, (5, 3)))
    ax.set(xlim=ends, ylim=ends)
    ax.text(
        ends[1] - room, ends[1] - room, "perfect prediction", ha="right", rotation=45,
        rotation_mode="anchor",
        va="bottom", transform_rotates_text=True, fontsize=style.SMALL, color=style.VERMILLION,
    )  # fmt: skip


def _r2(ax: Axes, y_true: np.ndarray, y_pred: np.ndarray) -> None:
    known = np.isfinite(y_true) & np.isfinite(y_pred)
    text = f"R² = {number(explained(y_true[known], y_pred[known]))}"
    kw = {"transform": ax.transAxes, "va": "top", "fontsize": style.TITLE, "fontweight": "bold"}
    ax.text(0.04, 0.96, text, color=style.INK, **kw)
