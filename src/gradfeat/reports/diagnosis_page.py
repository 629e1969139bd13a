"""A diagnosis as one self-contained HTML page."""

from __future__ import annotations

from functools import partial

from gradfeat import figures
from gradfeat.figures.intervals import span
from gradfeat.reports import diagnosis_captions as captions
from gradfeat.reports import diagnosis_words as words
from gradfeat.reports.cards import Card, card
from gradfeat.reports.diagnosis_tables import degree_rows, nonnegative, share_rows, size_rows
from gradfeat.reports.page import filled
from gradfeat.table.diagnosis import Diagnosis

#: Directions drawn at most.
DRAWN = 4


def render_diagnosis(found: Diagnosis) -> str:
    """The diagnosis as one HTML page that needs no network.

    The same diagnosis gives the same text, byte for byte.

    Parameters
    ----------
    found : Diagnosis

    Returns
    -------
    str
        HTML; write it as UTF-8.
    """
    context = {
        "found": found,
        "answer": words.answer(found),
        "advice": words.advice(found),
        "facts": _facts(found),
        "shares": _shares(found),
        "share_rows": share_rows(found),
        "degrees": _degrees(found),
        "degree_rows": degree_rows(found),
        "curvature": _curvature(found),
        "directions": _directions(found),
        "directions_sentence": words.directions_sentence(found),
        "sizes": size_rows(found),
    }
    return filled("diagnosis.html.j2", context)


def _facts(found: Diagnosis) -> list[tuple[str, str, str]]:
    """Tiles under the answer: heading, value, detail."""
    name = "no evidence" if found.exponent is None else str(found.exponent)
    kind = words.DEGREE_NAMES.get(found.exponent or 0, "at degrees 1 to 4")
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


def _shares(found: Diagnosis) -> Card:
    return card("shares", partial(figures.variance_parts, found.shares), captions.shares(found))


def _degrees(found: Diagnosis) -> Card:
    return card("degrees", partial(figures.degrees, found.degrees), captions.degrees(found))


def _curvature(found: Diagnosis) -> Card:
    draw = partial(figures.curvature, found.curvature)
    return card("curvature", draw, captions.curvature(found))


def _directions(found: Diagnosis) -> list[Card]:
    return [
        card(
            f"loadings{k + 1}",
            partial(figures.loadings, found.directions, k),
            captions.direction(found, k),
        )
        for k in range(min(DRAWN, found.directions.number))
    ]
