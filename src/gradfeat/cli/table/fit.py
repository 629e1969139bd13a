"""What fit and diagnose print and write: progress, the answer, and where files are."""

# Apart: imports what computes, which commands.py does without.

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gradfeat.cli.formats import Format
from gradfeat.cli.guard import Stopped
from gradfeat.cli.terminal import PAUSE, StepBar, Terminal
from gradfeat.interface.compare import Comparison, ModelFiles
from gradfeat.interface.page import PageOf
from gradfeat.maths.deadline import NEVER, within
from gradfeat.maths.files import with_link
from gradfeat.table.atomic import check_folder
from gradfeat.table.predict import check_outputs
from gradfeat.table.saved import FEATURES, MODEL

#: What is written to the folder.
WRITTEN = ("results.json", "report.html", "comparison.csv", MODEL, FEATURES)


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
        check_folder(self.out)
        check_outputs([self.out / name for name in WRITTEN], self.data)

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
        for line in ("", *_files(models, self.out), *_use(models, self.out)):
            self.console.say(line)


@contextmanager
def going_on(checkpoint: Path) -> Iterator[None]:
    """What Ctrl-C within the block leaves, where passes were finished."""
    try:
        yield
    except KeyboardInterrupt:
        if not checkpoint.exists():
            raise
        raise Stopped(
            f"stopped; the passes so far are kept in '{checkpoint}', and the same command goes on "
            "from there."
        ) from None


def _files(models: ModelFiles, out: Path) -> list[str]:
    """Where models and report are, and models of an earlier fit that are still there."""
    heads, lines = {MODEL: "Model:   ", FEATURES: "Features:"}, []
    for name, head in heads.items():
        path, said = with_link(out / name), models.said[name]
        old = f"; {path} is of an earlier fit" if (out / name).exists() else ""
        lines.append(f"{head} {path} ({said})" if name in models.files else f"{head} {said}{old}")
    return [*lines, f"Report:   {with_link(out / 'report.html')}"]


def _use(models: ModelFiles, out: Path) -> list[str]:
    """How to predict with the best model, on the command line and in Python."""
    if MODEL not in models.files:
        return []
    path = str(out / MODEL)
    return [
        "",
        "Predict new rows, on the command line or in Python:",
        f"  gradfeat predict {shlex.quote(path)} NEW.csv --out predictions.csv",
        "",
        "  import gradfeat",
        f"  model = gradfeat.load({path!r})",
        "  print(model.predictions(model.read('NEW.csv')))",
    ]
