"""Methods by their scores, all on one scale; and what the best model loses without a column.

Also the order and marks of methods, and how scores are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.drawing.style import BLUE, GREEN, VERMILLION, Mark
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.table.results import (
    ColumnLoss,
    Family,
    FitReport,
    Importances,
    Interval,
    MethodResult,
)
from gradfeat.table.scores import merit
from gradfeat.wording import counted, listed, number, partly, percent

FAMILIES: Final[dict[Family, Mark]] = {
    "learned": Mark("learned features", VERMILLION, "D"),
    "fixed": Mark("fixed features", BLUE, "o"),
    "reference": Mark("reference", GREEN, "s"),
}

#: What shares of the slope are, beside a table or a figure of them.
SLOPE = "Slope: how strongly predictions react to small changes of a column, squared. Correlated "
SLOPE += "columns move together and divide what that changes: read the sum of theirs."

#: Methods without a fit that are named in the figure, each by itself.
LOST = 2


def score_names(methods: Sequence[MethodResult]) -> list[str]:
    """All scores in the order in which methods list them; the first one ranks."""
    return list(dict.fromkeys(name for method in methods for name in method.scores))


def ranked(methods: Sequence[MethodResult], score: str | None = None) -> list[MethodResult]:
    """Methods with that score (the first one if None), best first; a nan estimate comes last.

    Where it is the same, log-loss decides.
    """
    name = score or next(iter(score_names(methods)), "")

    def key(method: MethodResult) -> list[float]:
        deciding = [n for n in (name, "log-loss") if n in method.scores]
        values = [merit(n, method.scores[n].estimate) for n in deciding]
        return [math.inf if math.isnan(value) else -value for value in values]

    return sorted((m for m in methods if name in m.scores), key=key)


def tied(report: FitReport) -> list[MethodResult]:
    """Methods whose first score is exactly that of the best one, which is among them."""
    best = best_method(report)
    if best is None:
        return []
    name = next(iter(best.scores))
    value = best.scores[name].estimate
    return [m for m in ranked(report.methods) if m.scores[name].estimate == value]


def fewer(method: MethodResult) -> bool:
    """Whether it was fitted to fewer rows than there are, and gave scores."""
    return bool(method.scores) and method.rows_used < method.rows_there


def inside_whole(share: float) -> str:
    """An estimated share of a variance, as per cent: below none and beyond all of it is noise.

    >>> inside_whole(0.25), inside_whole(-0.01), inside_whole(1.09)
    ('25 %', '0 %', '100 %')
    """
    return percent(min(1.0, max(0.0, share)))


def marked(method: MethodResult) -> str:
    """Its label, with the rows where it was fitted to fewer than there are."""
    return method.label + partly(method.rows_used, method.rows_there, " ({})")


def failed(methods: Sequence[MethodResult]) -> list[MethodResult]:
    return [m for m in methods if not m.scores]


def best_method(report: FitReport) -> MethodResult | None:
    """The method named `report.best`, if it has scores."""
    return next((m for m in report.methods if m.name == report.best and m.scores), None)


def label_of(report: FitReport, name: str) -> str:
    return next((m.label for m in report.methods if m.name == name), name)


def span(interval: Interval, write: Callable[[float], str] = number) -> str:
    """The 95 % interval alone: ``0.921 to 0.938``; empty where it is not known."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    return f"{write(interval.low)} to {write(interval.high)}"


def with_interval(interval: Interval, write: Callable[[float], str] = number) -> str:
    """``0.931 (95 % interval 0.917 to 0.944)``; the estimate alone where ends are not known."""
    inside = span(interval, write)
    return write(interval.estimate) + (f" (95 % interval {inside})" if inside else "")


def first_score(method: MethodResult) -> str:
    """``R2 0.931 (95 % interval 0.917 to 0.944)``."""
    name, interval = next(iter(method.scores.items()))
    return f"{name} {with_interval(interval)}"


_FLOOR = {"R2": -0.05}  # far below it a method is useless, and the others would be squeezed
_BEST_FIXED = {"color": FAMILIES["fixed"].color, "linewidth": 0.9, "linestyle": style.DASHES}


def comparison_figure(report: FitReport) -> CaptionedFigure:
    """Every method's first score, and which ones lead."""
    return CaptionedFigure("comparison", partial(comparison, report.methods), _caption(report))


def _caption(report: FitReport) -> str:
    known = any(span(next(iter(m.scores.values()))) for m in ranked(report.methods))
    bar = ", the bar its 95 % interval" if known else ""
    rows = counted(report.n_test, "test row")
    read = f"Each point is a method's score on the same {rows}{bar}."
    best = best_method(report)
    found = [f"{marked(best)} leads with {first_score(best)}."] if best else []
    for family in ("learned", "fixed"):
        method = next((m for m in ranked(report.methods) if m.family == family), None)
        if method and best and method.name != best.name:
            words = FAMILIES[family].label
            found.append(
                f"The best method with {words} is {marked(method)}: {first_score(method)}."
            )
    return " ".join([read, *found])


def comparison(
    methods: Sequence[MethodResult], *, score: str | None = None, ax: Axes | None = None
) -> Axes:
    """Estimate and 95 % interval of every method, best on top; colour and marker tell families.

    `score` is one of the printed names in `MethodResult.scores`; left out: the first one.

    >>> from gradfeat.table.results import Interval, MethodResult
    >>> r2 = {"R2": Interval(0.6, 0.55, 0.65)}
    >>> ax = comparison([MethodResult("kernel", "Kernel ridge", "fixed", r2, 0.1, 500, {})])
    >>> ax.get_xlabel()
    'test R2 (higher is better)'
    """
    names = score_names(methods)
    score = score or (names[0] if names else "score")
    rows, lost = ranked(methods, score), _not_fitted(methods)
    ax = style.axes_or_new(ax, 1.15 + 0.45 * len(rows) + 0.22 * len(lost))
    _limits(ax, [m.scores[score] for m in rows], _FLOOR.get(score, -math.inf))
    _guide(ax, rows, score)
    for place, method in enumerate(rows):
        _row(ax, -place, method, score)
    for place, words in enumerate(lost):
        _lost(ax, -len(rows) - 0.5 * place + 0.15, words)
    _finish(ax, rows, len(rows) + 0.5 * len(lost), score)
    return ax


def _limits(ax: Axes, intervals: list[Interval], floor: float) -> None:
    ends = np.array([[i.estimate, i.low, i.high] for i in intervals]).ravel()
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return
    low, high = max(float(ends.min()), floor), max(float(ends.max()), floor + 0.1)
    room = 0.04 * (high - low) or 0.05 * max(1.0, abs(high))
    ax.set_xlim(low - room, high + room)


def _guide(ax: Axes, rows: list[MethodResult], score: str) -> None:
    """A line at the best fixed-feature method: what learned features have to pass.

    It is drawn beside the marks alone, and not through the scores above them.
    """
    fixed = [m.scores[score].estimate for m in rows if m.family == "fixed"]
    if fixed and math.isfinite(fixed[0]) and len(rows) > 1:
        at = -np.arange(len(rows))
        ax.vlines(fixed[:1] * len(rows), at - 0.46, at + 0.14, alpha=0.6, **_BEST_FIXED)


def _row(ax: Axes, y: float, method: MethodResult, score: str) -> None:
    mark, value = FAMILIES[method.family], method.scores[score]
    left = ax.get_xlim()[0]
    ends = np.clip([value.low, value.high], left, None)  # nan ends draw nothing
    ax.plot(ends, [y, y], color=mark.color, linewidth=2.6, solid_capstyle="round", alpha=0.45)
    outside = value.estimate < left
    at = left if outside else value.estimate
    marker = "<" if outside else mark.marker
    ax.plot(at, y, marker, color=mark.color, markersize=6.5, markeredgecolor="white", clip_on=False)
    _words(ax, y, method, value)


def _words(ax: Axes, y: float, method: MethodResult, value: Interval) -> None:
    line = {"transform": ax.get_yaxis_transform(), "bbox": style.BACKING}
    label = style.short(method.label, 34) + partly(method.rows_used, method.rows_there, " ({})")
    ax.text(0, y + 0.24, label, fontsize=style.TEXT, color=style.INK, **line)
    inside = span(value)
    text = f"{number(value.estimate)}  ({inside})" if inside else number(value.estimate)
    ax.text(1, y + 0.24, text, ha="right", fontsize=style.SMALL, color=style.QUIET, **line)


def _not_fitted(methods: Sequence[MethodResult]) -> list[str]:
    """A line a method without a fit, or one for all where they are many."""
    labels = [style.short(m.label, 34) for m in failed(methods)]
    if len(labels) > LOST:
        return [f"{len(labels)} methods could not be fitted"]
    return [f"{label} could not be fitted" for label in labels]


def _lost(ax: Axes, y: float, words: str) -> None:
    line = ax.get_yaxis_transform()
    ax.text(0, y, words, transform=line, fontsize=style.SMALL, color=style.QUIET, style="italic")


def _finish(ax: Axes, rows: list[MethodResult], length: float, score: str) -> None:
    way = "lower" if merit(score, 1.0) < 0 else "higher"
    style.dress(ax, f"Test {score} of every method", f"test {score} ({way} is better)")
    ax.set_ylim(-length + 0.5, 0.62)
    ax.set_yticks([])
    low, high = ax.get_xlim()
    if high - low < 1e-3 * max(abs(low), abs(high)):  # labels of many digits
        ax.xaxis.set_major_locator(MaxNLocator(3))
    style.rows_of_bars(ax)
    present = {m.family for m in rows}
    kw = {"linestyle": "", "markersize": 6, "markeredgecolor": "white"}
    handles: list[Artist] = [
        Line2D([], [], color=mark.color, marker=mark.marker, label=mark.label, **kw)
        for family, mark in FAMILIES.items()
        if family in present
    ]
    if "fixed" in present and len(rows) > 1:
        handles.append(Line2D([], [], label="best fixed", **_BEST_FIXED))
    style.key(ax, handles)


#: Columns that are drawn, and that are told in a sentence.
COLUMNS_DRAWN, COLUMNS_TOLD = 12, 3
#: Share of the largest loss below which one is not told.
TINY = 0.01
#: Names of a group that are written out.
NAMED = 3


def losses_figure(found: Importances, label: str) -> CaptionedFigure:
    """Every column's loss for the model `label`, and which ones it cannot do without."""
    top = [together(one) for one in told_losses(found)]
    said = f"It needs {listed(top)} most" if top else "Of no single column is a loss beyond chance"
    said += f"{less_known(found)}."
    groups = [one for one in found.losses if len(one.columns) > 1 and not one.rest]
    more = " Columns that are strongly correlated are shuffled together." if groups else ""
    caption = (
        f"By how much the {found.score} of {label} {found.worse} where a column of "
        f"{counted(found.rows, 'test row')} is shuffled and all others stay as they are, with 95 % "
        f"intervals. {said}{more}{_why_log_loss(found)}"
    )
    return CaptionedFigure("losses", partial(losses, found), caption)


def _why_log_loss(found: Importances) -> str:
    return " Accuracy would say little: nearly all rows are predicted as one class." * (
        found.score == "log-loss"
    )


def losses(found: Importances, *, ax: Axes | None = None) -> Axes:
    """Loss of the score by column: the 12 largest, with intervals."""
    shown = found.losses[:COLUMNS_DRAWN]
    names = [style.wrapped(together(one), 26) for one in shown]
    lines = max((name.count("\n") + 1 for name in names), default=1)
    ax = style.axes_or_new(ax, 0.95 + len(shown) * (0.12 + 0.12 * lines))
    for k, one in enumerate(shown):
        _loss_row(ax, -k, one)
    ax.axvline(0, color=style.QUIET, linewidth=0.8)
    left = len(found.losses) - len(shown)
    more = f" ({COLUMNS_DRAWN} largest of {len(found.losses):,})" if left else ""
    moved = f"{found.worse[:-1]} of test {found.score}{more}"
    style.dress(ax, "What the model loses without a column", moved)
    ax.set_yticks([-k for k in range(len(shown))], labels=names)
    _loss_limits(ax, shown)
    style.rows_of_bars(ax)
    return ax


def _loss_row(ax: Axes, y: int, one: ColumnLoss) -> None:
    value, pale = one.loss, 0.45 if one.rest else 1.0
    ax.barh(y, value.estimate, height=0.6, color=style.GREEN, alpha=0.55 * pale, linewidth=0)
    ax.plot([value.low, value.high], [y, y], color=style.INK, linewidth=1.3, alpha=pale)
    ends = [end for end in (value.estimate, value.high, 0.0) if math.isfinite(end)]
    ax.annotate(
        number(value.estimate), (max(ends), y), (4, 0), textcoords="offset points", va="center",
        fontsize=style.TINY, color=style.QUIET,
    )  # fmt: skip


def _loss_limits(ax: Axes, shown: tuple[ColumnLoss, ...]) -> None:
    """From the lowest end to the highest, with room for the numbers."""
    ends = np.array([[0.0, o.loss.estimate, o.loss.low, o.loss.high] for o in shown])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    width = (high - low) or 1.0
    ax.set_xlim(low - (0.03 * width if low < 0 else 0), high + 0.14 * width)


def told_losses(found: Importances, most: int = COLUMNS_TOLD) -> list[ColumnLoss]:
    """The largest losses beyond chance (their interval is above 0), but for tiny ones.

    Columns that there was no time to shuffle apart from each other are not among them.
    """
    sure = [one for one in found.losses if one.sure and not one.rest]
    return [one for one in sure if one.loss.estimate >= TINY * sure[0].loss.estimate][:most]


def less_known(found: Importances) -> str:
    """What costs more than the first that is told, and why it is not told; "" where nothing does.

    >>> from gradfeat.table.results import Interval
    >>> a = ColumnLoss(("a",), Interval(0.1, 0.05, 0.2))
    >>> b = ColumnLoss(("b",), Interval(0.3, -0.1, 0.6))
    >>> less_known(Importances("rfm", "R2", (a, b), 50, 1))
    '; b may cost more (0.300), but its interval holds 0'
    """
    least = max((one.loss.estimate for one in told_losses(found, 1)), default=0.0)
    more = [one for one in found.losses if one.loss.estimate > max(least, 0.0)]
    unsure = [o for o in more if not o.sure and least > 0]
    each = [
        f"{together(o)} may cost more ({number(o.loss.estimate)}), but its interval holds 0"
        for o in sorted(unsure, key=lambda o: -o.loss.estimate)[:1]
    ]
    each += [
        f"{together(o)}, for which there was no time apart, cost {number(o.loss.estimate)} together"
        for o in more
        if o.sure and o.rest
    ]
    return "".join(f"; {words}" for words in each)


def together(one: ColumnLoss) -> str:
    """``temp with atemp``, ``x1 with x2 and 17 more``: up to three columns, or the first two.

    >>> from gradfeat.table.results import Interval
    >>> loss = Interval(0.1, 0.0, 0.2)
    >>> together(ColumnLoss(("temp", "atemp"), loss)), together(ColumnLoss((*"abcde",), loss))
    ('temp with atemp', 'a with b and 3 more')
    """
    first, *others = one.columns
    if len(one.columns) > NAMED:
        others = [others[0], f"{len(others) - 1:,} more"]
    return f"{first} with {listed(others)}" if others else first


def loss_rows(found: Importances) -> list[tuple[ColumnLoss, str, str, str]]:
    """Each entry with its name, its loss and the interval, in words."""
    return [(o, together(o), number(o.loss.estimate), span(o.loss)) for o in found.losses]
