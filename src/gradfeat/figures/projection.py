"""The target against the projection on the first direction: mean curve over the points."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from gradfeat.drawing import style
from gradfeat.figures.points import Bins, binned, drawn_rows

X_LABEL = "projection on direction 1 (standard units)"


def target_curve(
    projection: np.ndarray, y: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """A numeric target against a projection: points, mean in bins, 95 % and middle-80 % bands.

    Parameters
    ----------
    projection, y : ndarray (n,)
        Rows that are not finite are left out; at most 3,000 are drawn, all count in the curve.
    target : str
        Name of y, with its unit if it has one.
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> x = np.linspace(-2, 2, 200)
    >>> target_curve(x, x**2, target="rentals").get_ylabel()
    'rentals'
    """
    ax = style.axes_or_new(ax, 3.3)
    rows = drawn_rows(projection, y)
    _cloud(ax, projection[rows], y[rows])
    finite = np.isfinite(projection) & np.isfinite(y)
    if finite.any():
        _curve(ax, binned(projection[finite], y[finite]))
        _frame(ax, projection[finite], y[finite])
    name = style.short(target, 30)
    style.dress(ax, f"{name} along the first learned direction", X_LABEL, name)
    style.grid(ax)
    style.key(ax, ax.get_legend_handles_labels()[0])
    return ax


def _cloud(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    alpha = float(np.clip(260 / max(len(x), 1), 0.16, 0.6))
    ax.scatter(x, y, s=9, color=style.BLUE, alpha=alpha, linewidths=0, rasterized=True)


def _curve(ax: Axes, bins: Bins) -> None:
    color = style.VERMILLION
    ax.fill_between(
        bins.x, bins.q10, bins.q90, color=style.ORANGE, alpha=0.2, linewidth=0,
        label="middle 80 % of rows",
    )  # fmt: skip
    ax.fill_between(
        bins.x, bins.low, bins.high, color=color, alpha=0.4, linewidth=0, label="95 % for the mean"
    )
    halo = [withStroke(linewidth=4.2, foreground="white")]
    ax.plot(bins.x, bins.mean, color=color, linewidth=2.2, path_effects=halo, label="mean")
    ax.plot(bins.x, bins.mean, "o", color=color, markersize=4, markeredgecolor="white")


def _frame(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Limits that a few far points cannot stretch: the central 99.6 %, with room."""
    for values, set_limits in ((x, ax.set_xlim), (y, ax.set_ylim)):
        low, high = np.quantile(values, [0.002, 0.998])
        room = 0.05 * (high - low) or 0.5
        set_limits(max(low - room, values.min() - room), min(high + room, values.max() + room))
