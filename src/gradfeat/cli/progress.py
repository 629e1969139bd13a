"""How far it is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from gradfeat.cli.terminal import Terminal
from gradfeat.drawing.numbers import duration

if TYPE_CHECKING:
    from gradfeat.lab import Progress as Count

#: Seconds between plain lines.
PAUSE = 5.0


class StepBar:
    """Of steps one after the other, and of passes over rows within them.

    Plain lines come at most once in `pause` seconds, the first one after as many: the newest then,
    also where a step is silent.
    """

    def __init__(self, console: Terminal, pause: float = PAUSE) -> None:
        self._console, self._pause = console, pause
        self._start = self._spoken = time.monotonic()
        self._waiting, self._timer = "", threading.Timer(0.0, self._say_waiting)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("Reading", total=1.0, words="")

    def __enter__(self) -> StepBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._waiting = ""
        self._bar.stop()

    def tell(self, name: str, done: float, words: str) -> None:
        """When a step begins (no words), and as its pieces are summed."""
        if self._console.is_terminal:
            self._bar.update(self._task, description=name, completed=done, words=words)
            return
        line = f"{time.monotonic() - self._start:6.1f} s  {100 * done:3.0f} %  {name}"
        self._waiting = f"{line}: {words}" if words else line
        left = self._pause - (time.monotonic() - self._spoken)
        if left <= 0:
            self._say_waiting()
        elif not self._timer.is_alive():
            self._timer = threading.Timer(left, self._say_waiting)
            self._timer.daemon = True
            self._timer.start()

    def _say_waiting(self) -> None:
        line, self._waiting = self._waiting, ""
        if line:
            self._spoken = time.monotonic()
            self._console.say(line)


def in_words(count: Count) -> str:
    """Cells done, failures, time left.

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

    def __init__(self, console: Terminal, name: str) -> None:
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
        self._console.say(f"{self._name}: {words}")

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
