"""A diagnosis as one HTML page: which figures and tables it shows."""

from __future__ import annotations

from gradfeat.drawing.numbers import count, number
from gradfeat.figures.bars import loadings_figure
from gradfeat.figures.scores import span
from gradfeat.figures.signal import DEGREE_NAMES, curvature_figure, degrees_figure
from gradfeat.figures.variance_parts import nonnegative, variance_parts_figure
from gradfeat.reports import diagnosis_words as words
from gradfeat.reports.page import page
from gradfeat.table.diagnosis import DiagnosisReport

#: Directions drawn at most.
DRAWN = 4


def render_diagnosis(found: DiagnosisReport) -> str:
    """The diagnosis as one HTML page that needs no network.

    The same diagnosis gives the same text, byte for byte.

    Parameters
    ----------
    found : DiagnosisReport

    Returns
    -------
    str
        HTML; write it as UTF-8.
    """
    return page("diagnosis.html.j2", contents(found))


def rows_sentence(found: DiagnosisReport) -> str:
    """``t.csv: 721 rows with a target, all of them tested, in 23 whitened inputs.``"""
    tested = "all" if found.n_tested == found.n_rows else f"{found.n_tested:,}"
    return (
        f"{found.data}: {count(found.n_rows, 'row')} with a target, {tested} of them tested, in "
        f"{count(found.n_inputs, 'whitened input')}."
    )


def contents(found: DiagnosisReport) -> dict[str, object]:
    """What the template of the page shows."""
    drawn = range(min(DRAWN, found.directions.number))
    return {
        "report": found,
        "answer": words.answer(found),
        "advice": words.advice(found),
        "facts": _facts(found),
        "shares": variance_parts_figure(found.shares),
        "share_rows": share_rows(found),
        "degrees": degrees_figure(found),
        "degree_rows": degree_rows(found),
        "curvature": curvature_figure(found.curvature),
        "directions": [loadings_figure(found.directions, k) for k in drawn],
        "directions_sentence": words.directions_sentence(found),
        "sizes": size_rows(found),
        "columns": [
            (c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}", c.treatment)
            for c in found.columns
        ],
    }


def _facts(found: DiagnosisReport) -> list[tuple[str, str, str]]:
    """Tiles under the answer: heading, value, detail."""
    name = "no evidence" if found.exponent is None else str(found.exponent)
    kind = DEGREE_NAMES.get(found.exponent or 0, "at degrees 1 to 4")
    gradient = words.gradient_sentence(found)
    directions = found.directions
    top = words.leading_columns(directions, 0) if directions.number else ["none beyond chance"]
    total = found.shares.total
    inside = span(total, nonnegative)
    return [
        ("Information exponent", name, f"lowest degree with a signal: {kind}"),
        ("Is the first gradient informative?", "Yes" if found.informative else "No", gradient),
        ("Directions", str(directions.number), ", ".join(top)),
        ("Explained out of sample", nonnegative(total.estimate), f"95 % interval {inside}"),
    ]


def share_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str]]:
    """Part, share, 95 % interval, evidence: linear, quadratic, higher, all together."""
    rows = [
        (
            part.name,
            nonnegative(part.share.estimate),
            span(part.share, nonnegative),
            words.evidence(part),
        )
        for part in found.shares.parts
    ]
    total = found.shares.total
    return [*rows, ("together", nonnegative(total.estimate), span(total, nonnegative), "")]


def degree_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str, str]]:
    """Degree, test strength, from where it counts, p-value, evidence."""
    return [
        (
            DEGREE_NAMES[one.degree],
            number(one.strength),
            number(one.visible_from),
            number(one.p_value),
            "yes" if one.found else "no",
        )
        for one in found.degrees
    ]


def size_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str]]:
    """Learner, rate, rows by theory, against the rows there are."""
    return [
        (
            size.learner,
            f"{size.rate} (d = {found.n_inputs})",
            f"about {size.rows:,.0f}",
            "enough" if found.n_rows >= size.rows else f"too few: {found.n_rows:,}",
        )
        for size in found.sample_sizes
    ]
