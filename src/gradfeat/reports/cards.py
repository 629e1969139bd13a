"""The figures of a report, drawn and captioned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from gradfeat import figures
from gradfeat.figures.confusion import MAX_CLASSES
from gradfeat.reports import captions
from gradfeat.reports import first_step as step_words
from gradfeat.reports.svg import inline_svg
from gradfeat.table.results import Directions, FirstStep, FitReport


@dataclass(frozen=True)
class Card:
    """A figure and the sentences under it."""

    svg: Markup
    caption: str


def card(key: str, draw: Callable[[], Axes], caption: str) -> Card:
    return Card(inline_svg(draw, key, f"Figure. {caption}"), caption)


def comparison(report: FitReport) -> Card | None:
    if not any(m.scores for m in report.methods):
        return None
    draw = partial(figures.comparison, report.methods)
    return card("comparison", draw, captions.comparison(report))


def directions(report: FitReport) -> list[Card]:
    """Eigenvalues, importances, then the leading two or three directions."""
    found = report.directions
    if found is None:
        return []
    spectrum = card("eigenvalues", partial(figures.eigenvalues, found), captions.eigenvalues(found))
    shares = card("importances", partial(figures.importances, found), captions.importances(found))
    leading = [_direction(found, k) for k in range(n_shown(found))]
    return [spectrum, shares, *leading]


def n_shown(found: Directions) -> int:
    """Directions worth a figure: the effective ones, at least two and at most three."""
    estimate = np.nan_to_num(found.n_effective.estimate)
    return min(found.folded.shape[1], int(np.clip(round(float(estimate)), 2, 3)))


def _direction(found: Directions, k: int) -> Card:
    return card(
        f"direction{k + 1}", partial(figures.direction, found, k), captions.direction(found, k)
    )


def first_step(report: FitReport) -> list[Card]:
    """Masses of the directions that first gradients find, then the columns of the first three."""
    found = report.first_step
    if found is None or not found.mass:
        return []
    masses = card("first-step", partial(figures.first_step, found), step_words.caption(found))
    shown = range(min(len(found.mass), step_words.TOLD))
    return [masses, *(_step_direction(found, k) for k in shown)]


def _step_direction(found: FirstStep, k: int) -> Card:
    weights = np.asarray(found.folded, dtype=float)[:, k]
    title = f"Direction {k + 1} of the first gradients"
    draw = partial(figures.column_weights, found.columns, weights, title)
    return card(f"step-direction{k + 1}", draw, step_words.direction(found, k))


def projections(report: FitReport) -> list[Card]:
    """The target on the first direction and, where there is a second, on both."""
    if report.directions is None or not len(report.y_true):
        return []
    z = np.asarray(report.directions.projections, dtype=float)
    drawn = {"regression": _numeric, "classification": _classes}[report.task]
    both = z.shape[1] > 1 and bool(np.isfinite(z[:, 1]).any())
    return drawn(report, z, both)


def _numeric(report: FitReport, z: np.ndarray, both: bool) -> list[Card]:
    y, name = np.asarray(report.y_true, dtype=float), report.target
    first = card(
        "curve",
        partial(figures.target_curve, z[:, 0], y, target=name),
        captions.target_curve(z[:, 0], y, name),
    )
    if not both:
        return [first]
    draw = partial(figures.target_plane, z, y, target=name)
    return [first, card("plane", draw, captions.target_plane(z, y, name))]


def _classes(report: FitReport, z: np.ndarray, both: bool) -> list[Card]:
    y, names, target = report.y_true, report.classes, report.target
    first = card(
        "shares",
        partial(figures.class_shares, z[:, 0], y, classes=names, target=target),
        captions.class_shares(z[:, 0], y, names),
    )
    if not both:
        return [first]
    draw = partial(figures.class_plane, z, y, classes=names, target=target)
    return [first, card("plane", draw, captions.class_plane(z, y, names))]


def quality(report: FitReport) -> Card | None:
    """Predicted against true, or the confusion matrix where it is readable."""
    if not len(report.y_pred):
        return None
    y, p = report.y_true, report.y_pred
    if report.task == "regression":
        y, p = np.asarray(y, dtype=float), np.asarray(p, dtype=float)
        draw = partial(figures.predicted, y, p, target=report.target)
        return card("predicted", draw, captions.predicted(report))
    if len(report.classes) > MAX_CLASSES:
        return None
    draw = partial(figures.confusion, y, p, classes=report.classes)
    return card("confusion", draw, captions.confusion(report))
