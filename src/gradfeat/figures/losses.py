"""What the model loses where a column is shuffled: the headline of what matters."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.drawing.numbers import count, listed, number
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import span
from gradfeat.table.results import ColumnLoss, Importances

#: Columns that are drawn, and that are told in a sentence.
DRAWN, TOLD = 12, 3
#: Names of a group that are written out.
NAMED = 3


def losses_figure(found: Importances, label: str) -> CaptionedFigure:
    """Every column's loss for the model `label`, and which ones it cannot do without."""
    top = [together(one) for one in told_losses(found)]
    said = f"It needs {listed(top)} most." if top else "No single column is needed."
    groups = [one for one in found.losses if len(one.columns) > 1 and not one.rest]
    more = " Columns that are strongly correlated are shuffled together." if groups else ""
    caption = (
        f"By how much the {found.score} of {label} falls where a column of "
        f"{count(found.rows, 'test row')} is shuffled and all others stay as they are, with 95 % "
        f"intervals. {said}{more}"
    )
    return CaptionedFigure("losses", partial(losses, found), caption)


def losses(found: Importances, *, ax: Axes | None = None) -> Axes:
    """Loss of the score by column: the 12 largest, with intervals."""
    shown = found.losses[:DRAWN]
    names = [style.wrapped(together(one), 26) for one in shown]
    lines = max((name.count("\n") + 1 for name in names), default=1)
    ax = style.axes_or_new(ax, 0.95 + len(shown) * (0.12 + 0.12 * lines))
    for k, one in enumerate(shown):
        _row(ax, -k, one)
    ax.axvline(0, color=style.QUIET, linewidth=0.8)
    left = len(found.losses) - len(shown)
    more = f" ({DRAWN} largest of {len(found.losses):,})" if left else ""
    style.dress(ax, "What the model loses without a column", f"fall of test {found.score}{more}")
    ax.set_yticks([-k for k in range(len(shown))], labels=names)
    _limits(ax, shown)
    style.rows_of_bars(ax)
    return ax


def _row(ax: Axes, y: int, one: ColumnLoss) -> None:
    value, pale = one.loss, 0.45 if one.rest else 1.0
    ax.barh(y, value.estimate, height=0.6, color=style.GREEN, alpha=0.55 * pale, linewidth=0)
    ax.plot([value.low, value.high], [y, y], color=style.INK, linewidth=1.3, alpha=pale)
    ends = [end for end in (value.estimate, value.high, 0.0) if math.isfinite(end)]
    ax.annotate(
        number(value.estimate), (max(ends), y), (4, 0), textcoords="offset points", va="center",
        fontsize=style.TINY, color=style.QUIET,
    )  # fmt: skip


def _limits(ax: Axes, shown: tuple[ColumnLoss, ...]) -> None:
    """From the lowest end to the highest, with room for the numbers."""
    ends = np.array([[0.0, o.loss.estimate, o.loss.low, o.loss.high] for o in shown])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    width = (high - low) or 1.0
    ax.set_xlim(low - (0.03 * width if low < 0 else 0), high + 0.14 * width)


def told_losses(found: Importances, most: int = TOLD) -> list[ColumnLoss]:
    """The largest losses that are beyond chance: their interval is above 0."""
    return [one for one in found.losses if one.loss.low > 0][:most]


def together(one: ColumnLoss) -> str:
    """``temp with atemp``, ``x1 with x2, x3 and 17 more``, ``489 others together``.

    >>> from gradfeat.table.results import Interval
    >>> together(ColumnLoss(("temp", "atemp"), Interval(0.1, 0.0, 0.2)))
    'temp with atemp'
    """
    if one.rest and len(one.columns) > 1:
        return f"{count(len(one.columns), 'other')} together"
    first, *others = [*one.columns]
    left = len(others) + 1 - NAMED
    if not others:
        return first
    names = [*others[: NAMED - 1], *([f"{left:,} more"] if left > 0 else [])]
    return f"{first} with {listed(names)}"


def loss_rows(found: Importances) -> list[tuple[ColumnLoss, str, str, str]]:
    """Each entry with its name, its loss and the interval, in words."""
    return [(o, together(o), number(o.loss.estimate), span(o.loss)) for o in found.losses]
