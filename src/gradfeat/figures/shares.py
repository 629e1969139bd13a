"""Classes along the first direction: the share of each class, with bands, over the rows."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gradfeat.drawing import style
from gradfeat.figures.points import bin_labels, class_codes, drawn_rows, wilson
from gradfeat.figures.projection import X_LABEL

SHOWN = 7


def class_shares(
    projection: np.ndarray,
    y: np.ndarray,
    *,
    classes: tuple[str, ...],
    target: str = "class",
    ax: Axes | None = None,
) -> Axes:
    """Share of each class in bins of a projection, with Wilson's 95 % bands.

    The seven most frequent classes are drawn. Below the curves each row is a point in its
    class's colour.

    Parameters
    ----------
    projection : ndarray (n,)
    y : ndarray (n,)
        Position in `classes` of each row's class.
    classes : tuple of str
    target : str
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    ax = style.axes_or_new(ax, 3.5)
    codes, marks = class_codes(y, classes), style.class_marks(classes)
    shown = _frequent(codes, len(classes))
    finite = np.isfinite(projection)
    if finite.any():
        _curves(ax, projection[finite], codes[finite], marks, shown)
        _strip(ax, projection, codes, marks, shown)
    title = f"Classes of {style.short(target, 24)} along the first learned direction"
    style.dress(ax, title, X_LABEL, "share of rows in this class")
    _finish(ax)
    return ax


def _frequent(codes: np.ndarray, n_classes: int) -> list[int]:
    counts = np.bincount(codes, minlength=n_classes)
    return sorted(np.argsort(-counts, kind="stable")[:SHOWN].tolist())


def _curves(
    ax: Axes, x: np.ndarray, codes: np.ndarray, marks: tuple[style.Mark, ...], shown: list[int]
) -> None:
    labels = bin_labels(x)
    counts = np.bincount(labels)
    middle = np.array([np.median(x[labels == b]) for b in range(len(counts))])
    for c in shown:
        share = np.bincount(labels, weights=codes == c, minlength=len(counts)) / counts
        low, high = wilson(share, counts)
        color = marks[c].color
        ax.fill_between(middle, low, high, color=color, alpha=0.16, linewidth=0)
        kw = {
            "markersize": 4.5,
            "markeredgecolor": "white",
            "linewidth": 1.8,
            "markevery": np.flatnonzero(share > 0.01),
        }
        ax.plot(middle, share, color=color, marker=marks[c].marker, label=marks[c].label, **kw)


def _strip(
    ax: Axes, x: np.ndarray, codes: np.ndarray, marks: tuple[style.Mark, ...], shown: list[int]
) -> None:
    """One thin row of points for each class, under the curves."""
    rows = drawn_rows(x)
    height = 0.24 / len(shown)
    jitter = np.random.default_rng(0).uniform(-0.38, 0.38, len(rows)) * height
    for place, c in enumerate(shown):
        mine = codes[rows] == c
        y = -0.05 - height * (place + 0.5) + jitter[mine]
        kw = {"s": 5, "alpha": 0.35, "linewidths": 0, "rasterized": True}
        ax.scatter(x[rows][mine], y, color=marks[c].color, **kw)
    low, high = np.quantile(x[rows], [0.002, 0.998])
    room = 0.05 * (high - low) or 0.5
    ax.set_xlim(low - room, high + room)


def _finish(ax: Axes) -> None:
    ax.set_ylim(-0.31, 1.02)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    style.grid(ax)
    style.key(ax, ax.get_legend_handles_labels()[0])
