"""What commands print on and write: tables for people or records, files, and how far they are."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from gradfeat.errors import TableError
from gradfeat.maths.files import check_file, check_folder
from gradfeat.maths.limits import Deadline, within
from gradfeat.wording import finite

if TYPE_CHECKING:
    from gradfeat.interface.compare import Comparison
    from gradfeat.interface.page import PageOf

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


class Format(StrEnum):
    """How a command prints its tables: laid out for people, or for other programs."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


Printed = Annotated[
    Format, typer.Option("--format", help="How results are printed: for people, or for programs.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print remarks on the data, the answer and the files; no tables, no progress.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every step of the progress, and all remarks.")
]


def records_in(records: Sequence[Mapping[str, Any]], form: Format) -> str:
    """Records as CSV, with a header, or as a JSON list.

    >>> records_in([{"a": 1, "b": "x"}], Format.CSV)
    'a,b\\n1,x\\n'
    >>> records_in([{"a": 1}], Format.JSON)
    '[\\n {\\n  "a": 1\\n }\\n]\\n'
    """
    if form is Format.JSON:
        plain = finite([dict(record) for record in records])
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


@dataclass(frozen=True)
class Printing:
    """What of a command is printed: the answer in a format; progress and files beside it.

    What other programs read stands on the standard output alone, all else on the error output.
    `quiet` leaves out progress and tables, `verbose` prints every step and all remarks. All files
    go to the folder `out`.
    """

    data: str
    out: Path
    form: Format
    quiet: bool
    verbose: bool

    def __post_init__(self) -> None:
        from gradfeat.table.saved import FEATURES, MODEL

        written = ("results.json", "report.html", "comparison.csv", MODEL, FEATURES)
        check_folder(self.out, written)
        check_outputs([self.out / name for name in written], self.data)

    @cached_property
    def console(self) -> Terminal:
        """Where files are named, and the answer where it is for people."""
        return Terminal(stderr=self.form is not Format.TEXT)

    @cached_property
    def bar(self) -> StepBar:
        """What progress is shown by, which is silent where it is to be."""
        shown = Terminal(quiet=True) if self.quiet else self.console
        return StepBar(shown, 0.0 if self.verbose else PAUSE)

    def found(self, found: PageOf, until: Deadline) -> None:
        """Write all files, telling which figure, and print: a reader may stop (`| head -1`).

        Figures are drawn until the deadline, and those that are left out are told.
        """
        with self.bar as bar, within(until, lambda words: bar.tell("Page", 1.0, words)):
            found.save(self.out)
        if found.left_out:
            self.console.say(found.left_out)
        match self.form:
            case Format.CSV:
                sys.stdout.write(found.table.to_csv(index=False))
            case Format.JSON:
                sys.stdout.write(found.to_json() + "\n")
            case Format.TEXT:
                first = [r.text for r in found.results.remarks if r.place == "first"]
                # a leak has the best verdict
                answer = "\n\n".join([*first, found.verdict, *found.failures])
                self.console.print(answer if self.quiet else found, markup=False)
        text = self.form is Format.TEXT
        shown = {"first"} if text and self.quiet else {"first", "last"} if text else set()
        for remark in found.results.remarks if self.verbose else ():
            if remark.place not in shown:
                self.console.say(remark.text)

    def files(self, found: Comparison) -> None:
        """Print where the files of a comparison are, and how its best model is used."""
        models = found.model_files
        for line in ("", *models.places(self.out), *models.use(self.out)):
            self.console.say(line)


def check_outputs(outs: Iterable[Path], data: str, *others: Path) -> None:
    """Refuse, before any work, to write over what is read."""
    from gradfeat.rows.sources.files import find_files

    inputs = [*(Path(file.path) for file in find_files(data)), *others]
    for out in outs:
        if any(_same(out, one) for one in inputs):
            raise TableError(
                f"The file '{out}' is read by this command, so it is not written to: give another "
                "place with --out."
            )


def check_output(out: Path, data: str, *others: Path) -> None:
    """:func:`check_outputs` of one file, which is not to become one of those that are read."""
    check_file(out)
    check_outputs([out], data, *others)
    folder = Path(data)
    if folder.is_dir() and Path(os.path.realpath(out)).is_relative_to(folder.resolve()):
        raise TableError(
            f"The file '{out}' lies in the folder that is read, and would be one of its files the "
            "next time: give a file elsewhere with --out."
        )


def _same(one: Path, other: Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
