"""How far a pass over the rows is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from gradfeat.cli.progress import PAUSE, duration
from gradfeat.rows.engine import Tick


def in_words(tick: Tick, begun_at: int) -> str:
    """Rows a second and the time left.

    Parameters
    ----------
    tick : Tick
    begun_at : int
        Pieces that the pass began with.

    Examples
    --------
    >>> in_words(Tick("look", 2, 4, 10.0, 2000), begun_at=0)
    '50 %, 200 rows/s, about 10 s left'
    """
    parts, done = [], tick.pieces - begun_at
    if tick.of:
        parts.append(f"{100 * tick.pieces / tick.of:.0f} %")
    if tick.rows and tick.seconds:
        parts.append(f"{tick.rows / tick.seconds:,.0f} rows/s")
    if tick.of and done > 0 and tick.pieces < tick.of:
        left = tick.seconds * (tick.of - tick.pieces) / done
        parts.append(f"about {duration(left)} left")
    if tick.of and tick.pieces == tick.of and not tick.rows:
        parts.append("done before")
    return ", ".join(parts)


class PassBar:
    """Of passes, one after the other.

    Plain lines come at most once in `PAUSE` seconds within a pass, and at the end of each.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = self._spoken = time.monotonic()
        self._begun_at = 0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("Look", total=None, words="")

    def __enter__(self) -> PassBar:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def tell(self, purpose: str, tick: Tick) -> None:
        """At the start of a pass, and as its pieces are summed."""
        if tick.seconds == 0.0:
            self._begun_at = tick.pieces
        words, label = in_words(tick, self._begun_at), f"{purpose}: {tick.label}"
        if self._console.is_terminal:
            self._bar.update(
                self._task, description=label, completed=tick.pieces, total=tick.of, words=words
            )
        elif tick.pieces == tick.of or self._due():
            self._spoken = time.monotonic()
            self._console.print(
                f"{self._spoken - self._start:6.1f} s  {label}, {words}",
                markup=False,
                soft_wrap=True,
            )

    def _due(self) -> bool:
        return time.monotonic() - self._spoken >= PAUSE
