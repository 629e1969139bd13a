"""The tables of a diagnosis as lists of text, for the page and the terminal."""

from __future__ import annotations

from gradfeat.drawing.numbers import number, percent
from gradfeat.figures.intervals import span
from gradfeat.reports.diagnosis_words import DEGREE_NAMES, evidence
from gradfeat.table.diagnosis import Diagnosis

#: Part, share, 95 % interval, evidence.
SHARE_HEADINGS = ("part of the variance", "share", "95 % interval", "evidence")
#: Degree, test strength, from where it counts, p-value, evidence.
DEGREE_HEADINGS = ("signal", "strength", "counts from", "p-value", "evidence")
#: Learner, rate, rows by theory, against the rows there are.
SIZE_HEADINGS = ("by theory's rates", "rate", "rows", "here")


def nonnegative(share: float) -> str:
    """An estimated share of a variance, as per cent; below zero it is noise around none.

    Examples
    --------
    >>> nonnegative(0.25), nonnegative(-0.01)
    ('25 %', '0 %')
    """
    return percent(max(0.0, share))


def share_rows(found: Diagnosis) -> list[tuple[str, str, str, str]]:
    """Linear, quadratic, higher, all together."""
    rows = [
        (part.name, nonnegative(part.share.estimate), span(part.share, nonnegative), evidence(part))
        for part in found.shares.parts
    ]
    total = found.shares.total
    return [*rows, ("together", nonnegative(total.estimate), span(total, nonnegative), "")]


def degree_rows(found: Diagnosis) -> list[tuple[str, str, str, str, str]]:
    """Each degree."""
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


def size_rows(found: Diagnosis) -> list[tuple[str, str, str, str]]:
    """Each suggested sample size."""
    return [
        (
            size.learner,
            f"{size.rate} (d = {found.n_inputs})",
            f"about {size.rows:,.0f}",
            "enough" if found.n_rows >= size.rows else f"too few: {found.n_rows:,}",
        )
        for size in found.sample_sizes
    ]
