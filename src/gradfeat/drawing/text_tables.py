"""Tables for the terminal, all of one look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text


def text_table(
    headings: Iterable[str] = (), *, right: Sequence[int] = (), fold: Sequence[int] = (0,)
) -> Table:
    """A table without a frame, to be filled row by row.

    Columns `right` are flush right; all but those in `fold` keep their text on one line.

    >>> [column.justify for column in text_table(["method", "R2"], right=[1]).columns]
    ['left', 'right']
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        side = "right" if place in right else "left"
        table.add_column(Text(heading), justify=side, no_wrap=place not in fold, overflow="fold")
    return table
