"""Predicted errors against the size of one gradient step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gradfeat.drawing import series, style
from gradfeat.theory.predicted_errors import Prediction
from gradfeat.theory.ridge_errors import RidgeErrors

_DASHED: Final = (0, (4, 2))
_DOTTED: Final = (0, (1, 1.6))
_MIXED: Final = (0, (6, 2, 1, 2))

_ERRORS: Final[tuple[tuple[str, str, Callable[[RidgeErrors], np.ndarray]], ...]] = (
    ("test error", style.BLUE, lambda errors: errors.test_error),
    ("training error", style.VERMILLION, lambda errors: errors.training_error),
)


def step_errors(
    curve: Sequence[Prediction],
    chosen: Sequence[Prediction] = (),
    *,
    n: float,
    ax: Axes | None = None,
) -> Axes:
    """Test and training error against alpha: at n, in the limit, without a step, and linear.

    The `curve` is at finite alpha, ascending; what is nan leaves a gap. Those `chosen` are marked
    on it; `n` rows are for the legend. Raises ValueError for a curve of no predictions.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> from gradfeat.theory.predicted_errors import predict_error
    >>> from gradfeat.theory.teacher import Teacher
    >>> net = (0.5, 2 / 3, CentredReLU(), Teacher.single((0.0, 1.0)))
    >>> curve = [predict_error(*net, n=2400, alpha=a) for a in (0.1, 0.2)]
    >>> step_errors(curve, n=2400).get_ylabel()
    'mean squared error'
    """
    if not curve:
        raise ValueError("A curve of no predictions was given: give one at least.")
    ax = style.axes_or_new(ax, 3.6)
    x = np.array([one.alpha for one in curve])
    for _, color, of in _ERRORS:
        series.line(ax, x, np.array([of(one.errors) for one in curve]), "", color)
        _stairs(ax, curve, of, color)
        ax.axhline(
            float(of(curve[0].random_features)), color=color, linewidth=1.0, linestyle=_DOTTED
        )
        ax.plot(
            [one.alpha for one in chosen], [float(of(one.errors)) for one in chosen], "o",
            color=color, markersize=5.5, markeredgecolor="white", markeredgewidth=0.5, zorder=3,
        )  # fmt: skip
    ax.axhline(curve[0].best_linear, color=style.QUIET, linewidth=1.0, linestyle=_MIXED)
    ax.set_ylim(bottom=0)
    style.dress(
        ax, "Errors predicted for one gradient step", r"$\alpha$, step size $\eta = n^\alpha$"
    )
    ax.set_ylabel("mean squared error", fontsize=style.TEXT, color=style.QUIET)
    style.grid(ax, "y")
    style.key(ax, list(_handles(n)), columns=3)
    return ax


def _stairs(
    ax: Axes, curve: Sequence[Prediction], of: Callable[[RidgeErrors], np.ndarray], color: str
) -> None:
    """One dashed segment for each l that the curve meets, over the whole of its stair."""
    first, last = curve[0].alpha, curve[-1].alpha
    found = {one.degree: float(of(one.limit)) for one in curve if np.isfinite(one.degree)}
    for degree, value in found.items():
        low = (degree - 1) / (2 * degree) if degree > 0 else -np.inf
        high = degree / (2 * degree + 2)
        ends = (max(low, first), min(high, last))
        ax.plot(ends, (value, value), color=color, linewidth=1.2, linestyle=_DASHED, zorder=1.7)


def _handles(n: float) -> list[Line2D]:
    """What colours and dashes mean."""
    colors = [Line2D([], [], color=color, linewidth=2.4, label=name) for name, color, _ in _ERRORS]
    dashes = [
        Line2D([], [], color=style.INK, linewidth=1.3, linestyle=dash, label=label)
        for label, dash in (
            (f"at n = {n:,.0f}", (0, ())),
            ("limit of large n", _DASHED),
            ("random features", _DOTTED),
            ("best linear, test", _MIXED),
        )
    ]
    return colors + dashes
