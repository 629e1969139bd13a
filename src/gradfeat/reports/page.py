"""One self-contained HTML page from a report."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from gradfeat.drawing.numbers import count, number, percent, plain, seconds
from gradfeat.estimators.base import EFFECTIVE_SHARE
from gradfeat.figures.confusion import MAX_CLASSES
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import failed, score_names
from gradfeat.reports import answer, captions, cards, first_step, passes, tables
from gradfeat.table.results import FitReport

# Characters that neither XML nor UTF-8 can hold: controls and lone halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def render(report: FitReport) -> str:
    """The report as one HTML page that needs no network: figures, styles and text inside.

    The same report gives the same text, byte for byte.

    Parameters
    ----------
    report : FitReport

    Returns
    -------
    str
        HTML; write it as UTF-8.

    Raises
    ------
    ValueError
        If `y_true` or `y_pred` of a classification are not positions in `report.classes`.
    """
    return filled("report.html.j2", _context(report))


def filled(template: str, context: dict[str, object]) -> str:
    """A template of this package with its values, without characters that cannot be printed."""
    page = _environment().get_template(template).render(context)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", page)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gradfeat.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number, "percent": percent, "seconds": seconds, "span": span,
        "with_interval": answer.with_interval,
    }  # fmt: skip
    return environment


def _context(report: FitReport) -> dict[str, object]:
    return {
        "report": report,
        "effective_share": EFFECTIVE_SHARE,
        "answer": answer.answer(report),
        "facts": _facts(report),
        "score_names": score_names(report.methods),
        "methods": tables.method_rows(report),
        "failed": failed(report.methods),
        "comparison": cards.comparison(report),
        "directions": cards.directions(report),
        "projections": cards.projections(report),
        "quality": cards.quality(report),
        "column_shares": tables.column_shares(report),
        "direction_method": answer.label_of(report, report.directions.method)
        if report.directions
        else "",
        **_first_step(report),
        **_passes(report),
        **_confusion(report),
    }


def _first_step(report: FitReport) -> dict[str, object]:
    """Sentences and figures; nothing where no method was made of gradient features."""
    found = report.first_step
    return {
        "first_step": first_step.sentence(found) if found else "",
        "first_step_scores": first_step.scores(report, found) if found else "",
        "first_step_cards": cards.first_step(report),
    }


def _passes(report: FitReport) -> dict[str, object]:
    """How rows were passed over; nothing where they were held."""
    found = report.streaming
    return {
        "passes": passes.sentence(report, found) if found else "",
        "pass_lines": passes.lines(found) if found else [],
    }


def _facts(report: FitReport) -> list[tuple[str, str, str]]:
    """Tiles under the answer: heading, value, detail."""
    facts, best = [], answer.best_method(report)
    if best:
        name, value = next(iter(best.scores.items()))
        detail = f"test {name} {answer.with_interval(value)}"
        facts.append(("Best method", best.label, detail))
    if report.verdict:
        v = report.verdict
        sign = "+" if v.difference.estimate > 0 else ""
        detail = f"{v.score} {sign}{answer.with_interval(v.difference)}"
        pair = f"{answer.label_of(report, v.learned)} minus {answer.label_of(report, v.fixed)}"
        facts.append(("Does learning features help?", v.answer.capitalize(), f"{pair}: {detail}"))
    if report.directions:
        top = answer.leading_columns(report.directions)
        detail = ", ".join(f"{column} {percent(share)}" for column, share in top)
        n = report.directions.n_effective
        directions = "direction" if n.estimate == 1 else "directions"
        columns = count(len(report.directions.columns), "column")
        value = f"{plain(n.estimate)} effective {directions}, {columns}"
        facts.append(("What it reads", value, detail or "no column stands out"))
    return facts


def _confusion(report: FitReport) -> dict[str, object]:
    """The matrix as a table, or the worst confusions where it would be too large."""
    known = report.task == "classification" and len(report.y_pred) > 0
    many = len(report.classes) > MAX_CLASSES
    return {
        "confusion": tables.confusion_rows(report) if known and not many else [],
        "worst": tables.worst_confusions(report) if known and many else [],
        "confusion_caption": captions.confusion(report) if known and many else "",
    }
