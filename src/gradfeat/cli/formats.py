"""What commands print: a table to read, or records for other programs; and what they write."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradfeat.cli.terminal import PAUSE, StepBar, Terminal
from gradfeat.drawing.numbers import finite
from gradfeat.maths.deadline import NEVER, within

if TYPE_CHECKING:
    from gradfeat.interface.compare import Comparison
    from gradfeat.interface.page import PageOf


class Format(StrEnum):
    """How a command prints its tables: laid out for people, or for other programs."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


Printed = Annotated[
    Format, typer.Option("--format", help="Of what is printed: for people, or csv or json.")
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
        from gradfeat.table.atomic import check_folder, check_outputs
        from gradfeat.table.saved import FEATURES, MODEL

        written = ("results.json", "report.html", "comparison.csv", MODEL, FEATURES)
        check_folder(self.out)
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

    def found(self, found: PageOf) -> None:
        """Write all files, telling which figure, and print: a reader may stop (`| head -1`)."""
        with self.bar as bar, within(NEVER, lambda words: bar.tell("Page", 1.0, words)):
            found.save(self.out)
        match self.form:
            case Format.CSV:
                sys.stdout.write(found.table.to_csv(index=False))
            case Format.JSON:
                sys.stdout.write(found.to_json() + "\n")
            case Format.TEXT:
                first = [r.text for r in found.results.remarks if r.place == "first"]
                answer = "\n\n".join([*first, found.verdict])  # a leak has the best verdict
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
