"""Methods by their scores: their order, the marks of their families, how scores are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from gradfeat.drawing.numbers import number
from gradfeat.drawing.style import BLUE, GREEN, VERMILLION, Mark
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
