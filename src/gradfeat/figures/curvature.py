"""The spectrum of H = E[grad^2 f] against what chance gives."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.table.diagnosis import Curvature


def beyond_chance(curvature: Curvature) -> np.ndarray:
    """Which eigenvalues are larger in size than the threshold: (d,) bool."""
    return np.abs(curvature.eigenvalues) > curvature.threshold


def curvature(found: Curvature, *, ax: Axes | None = None) -> Axes:
    """Eigenvalues of H in order, the band that chance gives each, and the threshold for any.

    Parameters
    ----------
    found : Curvature
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes
    """
    ax = style.axes_or_new(ax, 2.9)
    x, beyond = np.arange(1, len(found.eigenvalues) + 1), beyond_chance(found)
    edges = np.r_[x[0] - 0.5, x + 0.5]
    ax.stairs(found.high, edges, baseline=found.low, fill=True, color=style.FAINT,
              label="chance, 95 % of each")  # fmt: skip
    line = {"color": style.QUIET, "linewidth": 0.9, "linestyle": (0, (4, 3))}
    ax.axhline(found.threshold, label="largest by chance", **line)
    if found.signed:
        ax.axhline(-found.threshold, **line)
        ax.axhline(0, color=style.QUIET, linewidth=0.6)
    marks = {"markeredgecolor": "white", "linestyle": "", "clip_on": False}
    ax.plot(x[~beyond], found.eigenvalues[~beyond], "o", color=style.QUIET, markersize=4.5, **marks)
    ax.plot(x[beyond], found.eigenvalues[beyond], "D", color=style.VERMILLION, markersize=6,
            label="beyond chance", **marks)  # fmt: skip
    style.dress(ax, "Mean curvature of the target", "eigenvalue number", "eigenvalue of H")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(0.4, max(len(x), 3) + 0.6)
    style.grid(ax, "y")
    handles = ax.get_legend_handles_labels()[0]
    style.key(ax, [*handles[-1:], *handles[:-1]] if beyond.any() else handles[:2], columns=3)
    return ax
