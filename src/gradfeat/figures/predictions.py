"""Predictions against the truth: a scatter of numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.drawing.numbers import number
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import label_of
from gradfeat.figures.points import drawn_rows, explained, points_drawn
from gradfeat.table.results import FitReport


def predicted_figure(report: FitReport) -> CaptionedFigure:
    """R2 and the error that half of all rows stay within."""
    y, p = np.asarray(report.y_true, float), np.asarray(report.y_pred, float)
    known = np.isfinite(y) & np.isfinite(p)
    error = float(np.median(np.abs(y - p)[known]))
    caption = (
        f"{points_drawn(y, p)} On the dashed line the prediction is exact. "
        f"{label_of(report, report.best)} reaches R2 {number(explained(y[known], p[known]))}; half "
        f"of all rows are predicted to within {number(error)}."
    )
    return CaptionedFigure("predicted", partial(predicted, y, p, target=report.target), caption)


def predicted(
    y_true: np.ndarray, y_pred: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """Test rows (n,), predicted against true, with the line of perfect prediction and R2.

    At most 3,000 rows are drawn; R2 is of all.
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
    style.key(ax, ax.get_legend_handles_labels()[0])
    return ax


def _identity(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    low = float(min(x.min(), y.min()))
    high = float(max(x.max(), y.max()))
    room = 0.04 * (high - low) or 0.5
    ends = (low - room, high + room)
    line = {"color": style.VERMILLION, "linewidth": 1.2, "linestyle": (0, (5, 3))}
    ax.plot(ends, ends, label="perfect prediction", **line)
    ax.set(xlim=ends, ylim=ends)


def _r2(ax: Axes, y_true: np.ndarray, y_pred: np.ndarray) -> None:
    known = np.isfinite(y_true) & np.isfinite(y_pred)
    text = f"R² = {number(explained(y_true[known], y_pred[known]))}"
    kw = {"transform": ax.transAxes, "va": "top", "fontsize": style.TITLE, "fontweight": "bold"}
    ax.text(0.04, 0.96, text, color=style.INK, **kw)
