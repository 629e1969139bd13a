"""How far it is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from gradfeat.lab import Progress as Count

#: Seconds between plain lines.
PAUSE = 5.0


class TimeBar:
    """Of a comparison, by the share of its time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("about"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("Reading", total=1.0)

    def __enter__(self) -> TimeBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def tell(self, label: str, done: float, elapsed: float) -> None:
        """Before each method."""
        if self._console.is_terminal:
            self._bar.update(self._task, description=label, completed=done)
        else:
            self._console.print(f"{elapsed:6.1f} s  {100 * done:3.0f} %  {label}", markup=False)


def duration(seconds: float) -> str:
    """A time to wait, in words.

    Examples
    --------
    >>> duration(0.2), duration(75), duration(4000), duration(200_000)
    ('1 s', '1 min 15 s', '1 h 6 min', '2 d 7 h')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def in_words(count: Count) -> str:
    """Cells done, failures, time left.

    Examples
    --------
    >>> from gradfeat.lab import Progress
    >>> in_words(Progress(3, 8, 1, 0, 6.0, 10.0))
    '3 of 8 cells, 1 failed, about 10 s left'
    """
    parts = [f"{count.done:,} of {count.total:,} cells"]
    if count.failed:
        parts.append(f"{count.failed:,} failed")
    if count.seconds_left is not None and count.done < count.total:
        parts.append(f"about {duration(count.seconds_left)} left")
    return ", ".join(parts)


class CellBar:
    """Of a run, by its cells; remembers the last count.

    Plain lines come with the first count, then at most one in `PAUSE` seconds, and at the end; on
    a terminal the last count stays in place of the bar.
    """

    def __init__(self, console: Console, name: str) -> None:
        from gradfeat.lab import Progress as Count

        self._console, self._name = console, name
        self._spoken = -PAUSE
        self.count = Count(0, 0, 0, 0, 0.0, None)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=None, words="")

    def __enter__(self) -> CellBar:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()
        if self._console.is_terminal and self.count.total:
            self._say(in_words(replace(self.count, seconds_left=None)))

    def _say(self, words: str) -> None:
        self._console.print(f"{self._name}: {words}", markup=False, soft_wrap=True)

    def tell(self, count: Count) -> None:
        """At the start and after each commit."""
        first, self.count = not self.count.total, count
        words = in_words(count)
        if first and count.cached:
            words = f"{words}; {count.cached:,} were there before"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=count.done, total=count.total, words=words)
        elif first or count.done == count.total or self._due():
            self._spoken = time.monotonic()
            self._say(words)

    def _due(self) -> bool:
        return time.monotonic() - self._spoken >= PAUSE
