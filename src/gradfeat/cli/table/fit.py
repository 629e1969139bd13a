"""fit and diagnose: ask the library, say what was found, write files."""

# Apart: imports what computes, which commands.py does without.

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradfeat.cli.formats import Format
from gradfeat.cli.guard import Stopped
from gradfeat.cli.progress import PAUSE, StepBar
from gradfeat.cli.terminal import Terminal
from gradfeat.interface.compare import ModelFiles, compare
from gradfeat.interface.diagnose import diagnose
from gradfeat.interface.page import PageOf
from gradfeat.maths.deadline import NEVER, within
from gradfeat.table.atomic import check_folder
from gradfeat.table.saved import FEATURES, MODEL


@dataclass(frozen=True)
class Printing:
    """What of a command is printed: the answer in a format; progress and files beside it.

    What other programs read stands on the standard output alone, all else on the error output.
    `quiet` leaves out progress and tables, `verbose` prints every step and all remarks.
    """

    form: Format = Format.TEXT
    quiet: bool = False
    verbose: bool = False

    def console(self) -> Terminal:
        """Where files are named, and the answer where it is for people."""
        return Terminal(stderr=self.form is not Format.TEXT)

    def bar(self, console: Terminal) -> StepBar:
        """What progress is shown by, which is silent where it is to be."""
        shown = Terminal(quiet=True) if self.quiet else console
        return StepBar(shown, 0.0 if self.verbose else PAUSE)

    def answer(self, found: PageOf, console: Terminal) -> None:
        """Print what was found, in the format asked for."""
        match self.form:
            case Format.CSV:
                sys.stdout.write(found.table.to_csv(index=False))
            case Format.JSON:
                sys.stdout.write(found.to_json() + "\n")
            case Format.TEXT:
                console.print(found.verdict if self.quiet else found, markup=False)
        shown = self.form is Format.TEXT and not self.quiet
        for remark in found.results.remarks if self.verbose else ():
            if remark.place == "page" or not shown:
                console.say(remark.text)


def diagnose_table(data: str, target: str, out: Path, printing: Printing, **options: Any) -> None:
    """Diagnose a table; write report and results to the folder `out`."""
    console = printing.console()
    check_folder(out)
    steps = printing.bar(console)
    with steps as bar:
        found = diagnose(data, target, progress=bar.tell, **options)
    printing.answer(found, console)
    _drawn(found, out, steps)
    console.say(f"\nReport: {out / 'report.html'}")


def fit_table(data: str, target: str, out: Path, printing: Printing, **options: Any) -> None:
    """Compare the methods on a table; write report, model and results to the folder `out`."""
    console = printing.console()
    check_folder(out)
    options["checkpoint"] = options["checkpoint"] or out / "checkpoint"
    steps = printing.bar(console)
    try:
        with steps as bar:
            found = compare(data, target, progress=bar.tell, **options)
        printing.answer(found, console)
        _drawn(found, out, steps)
    except KeyboardInterrupt:
        if not Path(options["checkpoint"]).exists():
            raise
        raise Stopped(
            f"stopped; the passes so far are kept in '{options['checkpoint']}', and the same "
            "command goes on from there."
        ) from None
    for line in ("", *_files(found.model_files, out), *_use(found.model_files, out)):
        console.say(line)


def _files(models: ModelFiles, out: Path) -> list[str]:
    """Where models and report are, and models of an earlier fit that are still there."""
    heads, lines = {MODEL: "Model:   ", FEATURES: "Features:"}, []
    for name, head in heads.items():
        path, said = out / name, models.said[name]
        old = f"; {path} is of an earlier fit" if path.exists() else ""
        lines.append(f"{head} {path} ({said})" if name in models.files else f"{head} {said}{old}")
    return [*lines, f"Report:   {out / 'report.html'}"]


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


def _drawn(found: PageOf, out: Path, steps: StepBar) -> None:
    """Write all files, telling which figure is drawn."""
    with steps as bar, within(NEVER, lambda words: bar.tell("Page", 1.0, words)):
        found.save(out)
