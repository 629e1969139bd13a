"""How rows were passed over: in a sentence, and pass by pass."""

from __future__ import annotations

from gradfeat.drawing.numbers import MISSING, count, seconds
from gradfeat.table.results import FitReport, PassTaken, Streaming


def sentence(report: FitReport, found: Streaming) -> str:
    """Pieces, who computed, how long all passes took, and what was held."""
    taken = [each for each in found.passes if each.rows]
    pieces = f"in {count(found.pieces, 'piece')} " if found.pieces else ""
    return (
        f"The rows were not held in memory but passed over {pieces}by {found.engine}: "
        f"{count(len(taken), 'pass')} in {seconds(sum(each.seconds for each in taken))}. "
        f"Columns are encoded and settings chosen by a sample of {found.sample:,} training rows; "
        f"every fit is to all {report.n_train:,}."
    )


def lines(found: Streaming) -> list[tuple[str, str, str, str]]:
    """For each pass: what for, rows, seconds, rows a second."""
    return [_line(each) for each in found.passes]


def _line(each: PassTaken) -> tuple[str, str, str, str]:
    if not each.rows:
        return each.label, "as found before", MISSING, MISSING
    rate = f"{each.rows / each.seconds:,.0f}" if each.seconds else MISSING
    return each.label, f"{each.rows:,}", seconds(each.seconds), rate
