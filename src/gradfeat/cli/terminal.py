"""What the commands print on: names from files cannot steer the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.segment import Segment

#: Control characters to the pictures that Unicode has of them; new lines and tabs are laid out.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_VISIBLE = {**_PICTURES, 0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


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
