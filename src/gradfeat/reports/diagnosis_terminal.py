"""A diagnosis for the terminal: three tables, the answer and the notes."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gradfeat.reports.diagnosis_tables import (
    DEGREE_HEADINGS,
    SHARE_HEADINGS,
    SIZE_HEADINGS,
    degree_rows,
    share_rows,
    size_rows,
)
from gradfeat.reports.diagnosis_words import advice, answer
from gradfeat.table.diagnosis import Diagnosis


def diagnosis_text(found: Diagnosis) -> RenderableType:
    """Shares, degrees, sample sizes; below them the answer, what follows, and what was left out.

    Nothing is printed: pass the result to a `rich.console.Console`. It fits 80 columns.

    Parameters
    ----------
    found : Diagnosis

    Returns
    -------
    RenderableType
    """
    parts: list[RenderableType] = [
        _table(SHARE_HEADINGS, share_rows(found)),
        Text(""),
        _table(DEGREE_HEADINGS, degree_rows(found)),
    ]
    if found.sample_sizes:
        parts += [Text(""), _table(SIZE_HEADINGS, size_rows(found))]
    parts += [Text(f"\n{answer(found)}", style="bold"), Text(f"\n{advice(found)}")]
    parts += [Text(f"\n{note}", style="dim") for note in found.notes]
    return Group(*parts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for i, heading in enumerate(headings):
        numeric = 0 < i < len(headings) - 1
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=i > 0)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
