"""Methods by their scores: their order, the marks of their families, how scores are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from gradfeat.drawing.numbers import number
from gradfeat.drawing.style import BLUE, GREEN, VERMILLION, Mark
from gradfeat.table.results import Family, FitReport, Interval, MethodResult

FAMILIES: Final[dict[Family, Mark]] = {
    "learned": Mark("learned features", VERMILLION, "D"),
    "fixed": Mark("fixed features", BLUE, "o"),
    "reference": Mark("reference", GREEN, "s"),
}
LOWER_IS_BETTER = frozenset({"RMSE", "MAE", "MSE", "log-loss"})


def score_names(methods: Sequence[MethodResult]) -> list[str]:
    """All scores in the order in which methods list them; the first one ranks."""
    return list(dict.fromkeys(name for method in methods for name in method.scores))


def ranked(methods: Sequence[MethodResult], score: str | None = None) -> list[MethodResult]:
    """Methods with that score (the first one if None), best first; a nan estimate comes last."""
    name = score or next(iter(score_names(methods)), "")
    sign = 1.0 if name in LOWER_IS_BETTER else -1.0

    def key(method: MethodResult) -> float:
        estimate = method.scores[name].estimate
        return math.inf if math.isnan(estimate) else sign * estimate

    return sorted((m for m in methods if name in m.scores), key=key)


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
