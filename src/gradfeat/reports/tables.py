"""The tables of a report as lists of text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradfeat.drawing.numbers import number, percent, seconds
from gradfeat.figures.confusion import confusion_counts, row_shares
from gradfeat.figures.families import FAMILIES
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import ranked, score_names
from gradfeat.table.results import FitReport, Interval

WORST = 20


@dataclass(frozen=True)
class MethodRow:
    """One line of the comparison table."""

    label: str
    family: str
    family_label: str
    scores: list[tuple[str, str]]
    seconds: str
    rows: str
    settings: str
    best: bool


def method_rows(report: FitReport) -> list[MethodRow]:
    """Methods with scores, best first."""
    names = score_names(report.methods)
    rows = ranked(report.methods, names[0]) if names else []
    unknown = Interval(float("nan"), float("nan"), float("nan"))
    return [
        MethodRow(
            label=m.label,
            family=m.family,
            family_label=FAMILIES[m.family].label,
            scores=[_score(m.scores.get(name, unknown)) for name in names],
            seconds=seconds(m.fit_seconds),
            rows=f"{m.rows_used:,}",
            settings=", ".join(f"{k} = {v}" for k, v in m.settings.items()) or "defaults",
            best=m.name == report.best,
        )
        for m in rows
    ]


def _score(interval: Interval) -> tuple[str, str]:
    return number(interval.estimate), span(interval)


def confusion_rows(report: FitReport) -> list[tuple[str, list[tuple[int, str]]]]:
    """For each true class with test rows, count and row percentage for every predicted class."""
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    shares = row_shares(counts)
    return [
        (name, [(int(n), percent(s)) for n, s in zip(counts[i], shares[i], strict=True)])
        for i, name in enumerate(report.classes)
    ]


def worst_confusions(report: FitReport) -> list[tuple[str, str, int, str]]:
    """The most frequent wrong pairs: true class, predicted class, rows, share of the true class."""
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    shares, wrong = row_shares(counts), counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong.ravel(), kind="stable")[:WORST]
    pairs = [divmod(int(k), len(counts)) for k in order if wrong.ravel()[k]]
    c = report.classes
    return [(c[i], c[j], int(wrong[i, j]), percent(float(shares[i, j]))) for i, j in pairs]


def column_shares(report: FitReport) -> dict[str, str]:
    """Share of AGOP on each original column."""
    if report.directions is None:
        return {}
    found = report.directions
    return {c: percent(float(s)) for c, s in zip(found.columns, found.importances, strict=True)}
