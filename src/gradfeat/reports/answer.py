"""The answer in one sentence, and the names behind it."""

from __future__ import annotations

import numpy as np

from gradfeat.drawing.numbers import listed, number, percent
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import ranked, score_names
from gradfeat.table.results import Directions, FitReport, Interval, MethodResult


def best_method(report: FitReport) -> MethodResult | None:
    """The method named `report.best`, if it has scores."""
    return next((m for m in report.methods if m.name == report.best and m.scores), None)


def best_of(report: FitReport, family: str) -> MethodResult | None:
    """The highest-ranked method of a family."""
    names = score_names(report.methods)
    rows = ranked(report.methods, names[0]) if names else []
    return next((m for m in rows if m.family == family), None)


def label_of(report: FitReport, name: str) -> str:
    """A method's printed name."""
    return next((m.label for m in report.methods if m.name == name), name)


def with_interval(interval: Interval) -> str:
    """``0.931 (95 % interval 0.917 to 0.944)``; the estimate alone where ends are not known."""
    inside = span(interval)
    return f"{number(interval.estimate)}" + (f" (95 % interval {inside})" if inside else "")


def first_score(method: MethodResult) -> str:
    """``R2 0.931 (95 % interval 0.917 to 0.944)``."""
    name, interval = next(iter(method.scores.items()))
    return f"{name} {with_interval(interval)}"


def leading_columns(directions: Directions, most: int = 3) -> list[tuple[str, float]]:
    """Original columns with the largest shares of AGOP, and these shares; none below 1 %."""
    share = np.nan_to_num(np.asarray(directions.importances, dtype=float))
    order = np.argsort(-share, kind="stable")[:most]
    return [(directions.columns[i], float(share[i])) for i in order if share[i] >= 0.01]


def columns_sentence(directions: Directions) -> str:
    """``the columns that matter most are hr (41 %) and temp (22 %)``."""
    top = leading_columns(directions)
    if not top:
        return "no original column stands out"
    words = listed([f"{name} ({percent(share)})" for name, share in top])
    return f"the columns that matter most are {words}" if len(top) > 1 else f"only {words} matters"


def answer(report: FitReport) -> str:
    """Verdict, best method and its score, columns that matter most: one sentence."""
    parts = [report.verdict.sentence.rstrip(". ")] if report.verdict else []
    best = best_method(report)
    if best:
        parts.append(f"{best.label} predicts {report.target} best, with test {first_score(best)}")
    else:
        parts.append(f"No method could be fitted to predict {report.target}, for the reasons below")
    if report.directions:
        parts.append(columns_sentence(report.directions))
    return "; ".join(parts) + "."
