"""Methods by their scores: their order and marks, how scores are written, all on one scale."""

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
from gradfeat.drawing.numbers import count, number, percent
from gradfeat.drawing.style import BLUE, GREEN, VERMILLION, Mark
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.table.notes import rows_word
from gradfeat.table.results import Family, FitReport, Interval, MethodResult
from gradfeat.table.scores import merit

FAMILIES: Final[dict[Family, Mark]] = {
    "learned": Mark("learned features", VERMILLION, "D"),
    "fixed": Mark("fixed features", BLUE, "o"),
    "reference": Mark("reference", GREEN, "s"),
}


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


def nonnegative(share: float) -> str:
    """An estimated share of a variance, as per cent; below zero it is noise around none.

    >>> nonnegative(0.25), nonnegative(-0.01)
    ('25 %', '0 %')
    """
    return percent(max(0.0, share))


def marked(method: MethodResult) -> str:
    """Its label, with the rows where it was fitted to fewer than there are."""
    return method.label + rows_word(method, " ({})")


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
    rows = count(report.n_test, "test row")
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
    rows, lost = ranked(methods, score), failed(methods)
    ax = style.axes_or_new(ax, 1.15 + 0.45 * len(rows) + 0.22 * len(lost))
    _limits(ax, [m.scores[score] for m in rows], _FLOOR.get(score, -math.inf))
    _guide(ax, rows, score)
    for place, method in enumerate(rows):
        _row(ax, -place, method, score)
    for place, method in enumerate(lost):
        _lost(ax, -len(rows) - 0.5 * place + 0.15, method)
    _finish(ax, rows, len(rows) + 0.5 * len(lost), score)
    return ax


def _limits(ax: Axes, intervals: list[Interval], floor: float) -> None:
    ends = np.array([[i.estimate, i.low, i.high] for i in intervals]).ravel()
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return
    low, high = max(float(ends.min()), floor), max(float(ends.max()), floor + 0.1)
    room = 0.04 * (high - low) or 0.05
    ax.set_xlim(low - room, high + room)


def _guide(ax: Axes, rows: list[MethodResult], score: str) -> None:
    """A line at the best fixed-feature method: what learned features have to pass."""
    fixed = [m.scores[score].estimate for m in rows if m.family == "fixed"]
    if fixed and math.isfinite(fixed[0]) and len(rows) > 1:
        ax.axvline(fixed[0], alpha=0.6, **_BEST_FIXED)


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
    label = style.short(method.label, 34) + rows_word(method, " ({})")
    ax.text(0, y + 0.24, label, fontsize=style.TEXT, color=style.INK, **line)
    inside = span(value)
    text = f"{number(value.estimate)}  ({inside})" if inside else number(value.estimate)
    ax.text(1, y + 0.24, text, ha="right", fontsize=style.SMALL, color=style.QUIET, **line)


def _lost(ax: Axes, y: float, method: MethodResult) -> None:
    text = f"{style.short(method.label, 34)}: failed, see the table"
    line = ax.get_yaxis_transform()
    ax.text(0, y, text, transform=line, fontsize=style.SMALL, color=style.QUIET, style="italic")


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
    handles: list[Artist] = [
        _handle(mark) for family, mark in FAMILIES.items() if family in present
    ]
    if "fixed" in present and len(rows) > 1:
        handles.append(Line2D([], [], label="best fixed", **_BEST_FIXED))
    style.key(ax, handles)


def _handle(mark: style.Mark) -> Line2D:
    kw = {"linestyle": "", "markersize": 6, "markeredgecolor": "white"}
    return Line2D([], [], color=mark.color, marker=mark.marker, label=mark.label, **kw)
