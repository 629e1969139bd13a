"""What the commands print on, and how far they are: names from files cannot steer the terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment

#: Control characters to the pictures that Unicode has of them; new lines and tabs are laid out.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
#: Others, ends of lines, and what turns the order of letters round: a name would read as another.
_OTHERS = (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {**_PICTURES, 0x7F: 0x2421, **dict.fromkeys(_OTHERS, 0xFFFD)}


class Terminal(Console):
    """A console on which control characters within texts are made visible, never sent.

    A column may be named ``ESC ] 0 ; title BEL``, which sets the title of the terminal.

    >>> import io
    >>> terminal = Terminal(file=io.StringIO())
    >>> terminal.print("a\\x1b[2Jb", markup=False)
    >>> terminal.file.getvalue()
    'a␛[2Jb\\n'
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, highlight=False, **options)

    def say(self, text: str) -> None:
        """Print a text as it is, in lines as long as it is, so that it can be copied."""
        self.print(text, markup=False, soft_wrap=True)

    def render(self, *values: Any, **options: Any) -> Iterator[Segment]:
        """Segments of text with their control characters made visible."""
        for text, style, control in super().render(*values, **options):
            yield Segment(text if control else text.translate(_VISIBLE), style, control)


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
