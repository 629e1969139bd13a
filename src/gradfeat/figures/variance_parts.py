"""How much of the target's variance is linear, quadratic, higher."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.drawing.numbers import count, percent
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.scores import span
from gradfeat.table.diagnosis import Share, Shares
from gradfeat.table.results import Interval

#: Colour of each part, and of what no model explains.
COLORS = {"linear": style.BLUE, "quadratic": style.VERMILLION, "higher": style.GREEN}


def variance_parts_figure(found: Shares) -> CaptionedFigure:
    """What each class of functions adds, and all of them together."""
    caption = (
        "What a linear model explains of rows it has not seen, what quadratic terms add, and what "
        "a flexible model (a recursive feature machine) adds to both; lines are 95 % bootstrap "
        f"intervals over {count(found.rows, 'row')} in {found.folds} folds. Together they explain "
        f"{nonnegative(found.total.estimate)} ({span(found.total, nonnegative)}); the rest is "
        "noise, or beyond these models and rows."
    )
    return CaptionedFigure("shares", partial(variance_parts, found), caption)


def variance_parts(shares: Shares, *, ax: Axes | None = None) -> Axes:
    """Share of the variance that each part adds, with its 95 % interval; the rest in grey."""
    ax = style.axes_or_new(ax, 2.3)
    for place, part in enumerate(shares.parts):
        _bar(ax, -place, part.share, COLORS[part.name], share_words(part))
    rest = Interval(1 - shares.total.estimate, 1 - shares.total.high, 1 - shares.total.low)
    _bar(ax, -len(shares.parts), rest, style.FAINT, percent(float(np.clip(rest.estimate, 0, 1))))
    names = [*(part.name for part in shares.parts), "not explained"]
    ax.set_yticks(-np.arange(len(names), dtype=float), labels=names)
    style.dress(ax, "Where the target's variance lies", "share of the variance, out of sample")
    ax.set_xlim(0, 1.14)
    style.percents(ax.xaxis)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    style.rows_of_bars(ax)
    return ax


def nonnegative(share: float) -> str:
    """An estimated share of a variance, as per cent; below zero it is noise around none.

    Examples
    --------
    >>> nonnegative(0.25), nonnegative(-0.01)
    ('25 %', '0 %')
    """
    return percent(max(0.0, share))


def share_words(part: Share) -> str:
    """``47 %``, or that there is no evidence of any.

    Examples
    --------
    >>> share_words(Share("linear", Interval(0.47, 0.4, 0.5), True))
    '47 %'
    >>> share_words(Share("higher", Interval(-0.01, -0.02, 0.01), False))
    'no evidence'
    """
    return percent(part.share.estimate) if part.found else "no evidence"


def _bar(ax: Axes, y: float, share: Interval, color: str, words: str) -> None:
    """From zero, with a line over the interval; what is below zero is drawn as zero."""
    ends = np.clip([share.estimate, share.low, share.high], 0, 1)
    ax.barh(y, ends[0], height=0.62, color=color, linewidth=0)
    ax.plot(ends[1:], [y, y], color=style.INK, linewidth=1.4, solid_capstyle="butt")
    ax.annotate(
        words, (float(ends.max()), y), (5, 0), textcoords="offset points", va="center",
        fontsize=style.SMALL, color=style.QUIET,
    )  # fmt: skip
