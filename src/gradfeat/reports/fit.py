"""A comparison as one HTML page: which figures and tables it shows."""

from __future__ import annotations

import numpy as np

from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import (
    FAMILIES,
    best_method,
    comparison_figure,
    label_of,
    losses_figure,
    marked,
    ranked,
    score_names,
    span,
    together,
    told_losses,
    with_interval,
)
from gradfeat.figures.confusion import (
    MAX_CLASSES,
    confusion_caption,
    confusion_counts,
    confusion_figure,
    row_shares,
)
from gradfeat.figures.directions import direction_figure, eigenvalues_figure, importances_figure
from gradfeat.figures.first_step import first_step_figure, step_direction_figure
from gradfeat.figures.projections import (
    class_plane_figure,
    class_shares_figure,
    predicted_figure,
    target_curve_figure,
    target_plane_figure,
)
from gradfeat.maths.gradients import EFFECTIVE_SHARE
from gradfeat.reports import words
from gradfeat.reports.words import shares_of_slope
from gradfeat.table.results import Directions, FitReport, Importances, Interval, MethodResult
from gradfeat.wording import MISSING, listed, number, percent, seconds

#: Pairs in the list of confusions that stands for a matrix too large to read.
WORST = 20
_UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def contents(report: FitReport) -> dict[str, object]:
    """What the template of the page shows."""
    names = score_names(report.methods)
    return {
        "report": report,
        "effective_share": EFFECTIVE_SHARE,
        "answer": words.answer(report),
        "follows": words.follows(report),
        "label": label_of(report, report.best),
        "facts": _facts(report),
        "score_names": names,
        "methods": [_method_row(report, m, names) for m in ranked(report.methods)],
        "settings": [(marked(m), _settings(m)) for m in ranked(report.methods)],
        "not_fitted": words.not_fitted(report),
        "comparison": comparison_figure(report) if names else None,
        "losses": _losses(report),
        "projections": _projections(report),
        "columns": _columns(report),
        **_directions(report),
        **_first_step(report),
        **_quality(report),
        **_streaming(report),
    }


def _facts(report: FitReport) -> list[tuple[str, str, str]]:
    """Tiles under the answer: heading, value, detail."""
    facts, best = [], best_method(report)
    if best:
        name, value = next(iter(best.scores.items()))
        facts.append(("Best method", best.label, f"test {name} {with_interval(value)}"))
    if report.importances:
        facts.append(("What it needs most", *_needed(report, report.importances)))
    return facts


def _needed(report: FitReport, found: Importances) -> tuple[str, str]:
    """The column that is missed most, and what it and the next ones cost."""
    top = told_losses(found)
    cost = [f"{together(one)} {number(one.loss.estimate)}" for one in top]
    verb = "gains" if found.worse == "rises" else "loses"
    detail = f"{found.score} that {label_of(report, found.method)} {verb} by a shuffle: "
    if not top:
        return "No single column", detail + "none beyond chance"
    return listed([together(one) for one in top[: found.tied]]), detail + ", ".join(cost)


def _method_row(report: FitReport, method: MethodResult, names: list[str]) -> dict[str, object]:
    """A line of the table of methods; every score with its interval."""
    scores = [method.scores.get(name, _UNKNOWN) for name in names]
    return {
        "label": marked(method),
        "family": method.family,
        "family_label": FAMILIES[method.family].label,
        "scores": [(number(score.estimate), span(score)) for score in scores],
        "seconds": seconds(method.fit_seconds),
        "rows": f"{method.rows_used:,}",
        "best": method.name == report.best,
    }


def _settings(method: MethodResult) -> str:
    return ", ".join(f"{k} = {v}" for k, v in method.settings.items()) or "defaults"


def _losses(report: FitReport) -> CaptionedFigure | None:
    """What the model loses without a column; None where nothing was shuffled."""
    found = report.importances
    return losses_figure(found, label_of(report, found.method)) if found else None


def _directions(report: FitReport) -> dict[str, object]:
    """Eigenvalues, importances, then the leading two or three directions."""
    found = report.directions
    if found is None:
        return {"directions": [], "direction_source": ""}
    leading = [direction_figure(found, k) for k in range(_shown(found))]
    return {
        "directions": [eigenvalues_figure(found), importances_figure(found), *leading],
        "direction_source": _source(report, found.method),
    }


def _source(report: FitReport, name: str) -> str:
    """Which model the directions are of; a method that learns no features is called none."""
    learned = any(m.name == name and m.family == "learned" for m in report.methods)
    kind = "the best method with learned features" if learned else "the best model of gradfeat's"
    return f"{label_of(report, name)}, {kind}"


def _shown(found: Directions) -> int:
    """Directions worth a figure: the effective ones, at least two and at most three."""
    estimate = np.nan_to_num(found.n_effective.estimate)
    return min(found.loadings.shape[1], int(np.clip(round(float(estimate)), 2, 3)))


def _projections(report: FitReport) -> list[CaptionedFigure]:
    """The target on the first direction and, where there is a second, on both."""
    if report.directions is None or not len(report.y_true):
        return []
    z = np.asarray(report.directions.projections, dtype=float)
    draw = {"regression": _of_numbers, "classification": _of_classes}[report.task]
    both = z.shape[1] > 1 and bool(np.isfinite(z[:, 1]).any())
    return draw(report, z, both)


def _of_numbers(report: FitReport, z: np.ndarray, both: bool) -> list[CaptionedFigure]:
    y, target = np.asarray(report.y_true, dtype=float), report.target
    first = target_curve_figure(z[:, 0], y, target)
    return [first, target_plane_figure(z, y, target)] if both else [first]


def _of_classes(report: FitReport, z: np.ndarray, both: bool) -> list[CaptionedFigure]:
    y, names, target = report.y_true, report.classes, report.target
    first = class_shares_figure(z[:, 0], y, names, target)
    return [first, class_plane_figure(z, y, names, target)] if both else [first]


def _first_step(report: FitReport) -> dict[str, object]:
    """Sentences and figures; nothing where no method was made of gradient features."""
    found = report.first_step
    if found is None:
        return {"first_step": "", "first_step_scores": "", "first_step_figures": []}
    told = [step_direction_figure(found, k) for k in range(min(len(found.mass), words.TOLD))]
    return {
        "first_step": words.first_step_sentence(found),
        "first_step_scores": words.first_step_scores(report, found),
        "first_step_figures": [first_step_figure(found), *told] if told else [],
    }


def _quality(report: FitReport) -> dict[str, object]:
    """Predicted against true, the confusion matrix, or its worst pairs where it is too large."""
    shown: dict[str, object] = {
        "quality": None, "confusion": [], "confusion_caption": "", "worst": [],
    }  # fmt: skip
    if not len(report.y_pred):
        return shown
    if report.task == "regression":
        return shown | {"quality": predicted_figure(report)}
    if len(report.classes) <= MAX_CLASSES:
        return shown | {"quality": confusion_figure(report), "confusion": _confusion_rows(report)}
    return shown | {
        "confusion_caption": confusion_caption(report),
        "worst": _worst_confusions(report),
    }


def _confusion_rows(report: FitReport) -> list[tuple[str, list[tuple[int, str]]]]:
    """For each true class with test rows, count and row percentage for every predicted class."""
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    shares = row_shares(counts)
    return [
        (name, [(int(n), percent(s)) for n, s in zip(counts[i], shares[i], strict=True)])
        for i, name in enumerate(report.classes)
    ]


def _worst_confusions(report: FitReport) -> list[tuple[str, str, str, str]]:
    """The most frequent wrong pairs: true class, predicted class, rows, share of the true class."""
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    shares, wrong = row_shares(counts), counts - np.diag(np.diag(counts))
    largest = np.argsort(-wrong.ravel(), kind="stable")[:WORST]
    pairs = [divmod(int(k), len(counts)) for k in largest if wrong.ravel()[k]]
    c = report.classes
    return [(c[i], c[j], f"{wrong[i, j]:,}", percent(float(shares[i, j]))) for i, j in pairs]


def _columns(report: FitReport) -> list[tuple[str, ...]]:
    """Input columns, with what is lost without them, and their shares of the AGOP."""
    found = report.directions
    share, losses = shares_of_slope(report), _lost(report)
    return [
        (
            *(c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}"),
            *([losses.get(c.name, MISSING)] if report.importances else []),
            *([percent(share[c.name]) if c.name in share else MISSING] if found else []),
            c.treatment,
        )
        for c in report.columns
    ]


def _lost(report: FitReport) -> dict[str, str]:
    """What is lost by column; one that was shuffled with others says so."""
    losses = report.importances.losses if report.importances else ()
    return {
        name: number(one.loss.estimate) + (" (together)" if len(one.columns) > 1 else "")
        for one in losses
        for name in one.columns
    }


def _streaming(report: FitReport) -> dict[str, object]:
    """How rows were streamed; nothing where they were held."""
    found = report.streaming
    return {
        "streaming": words.streaming_sentence(report, found) if found else "",
        "passes": [_pass_row(p.label, p.rows, p.seconds) for p in found.passes] if found else [],
    }


def _pass_row(label: str, rows: int, taken: float) -> tuple[str, str, str, str]:
    """What for, rows, seconds, rows a second."""
    if not rows:
        return label, "as found before", MISSING, MISSING
    return label, f"{rows:,}", seconds(taken), f"{rows / taken:,.0f}" if taken else MISSING
