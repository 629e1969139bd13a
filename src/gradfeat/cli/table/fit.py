"""fit and diagnose: ask the library, say what was found, write files."""

# Apart: imports what computes, which commands.py does without.

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from rich.console import Console

from gradfeat.cli.guard import Stopped
from gradfeat.cli.progress import StepBar
from gradfeat.cli.terminal import Terminal
from gradfeat.interface.compare import compare
from gradfeat.interface.diagnose import diagnose
from gradfeat.interface.model_files import ModelFiles
from gradfeat.interface.page import PageOf
from gradfeat.maths.deadline import NEVER, within
from gradfeat.reports import diagnosis_text, terminal_table
from gradfeat.table.atomic import check_folder
from gradfeat.table.saved import FEATURES, MODEL


def diagnose_table(data: str, target: str, out: Path, **options: Any) -> None:
    """Diagnose a table; write report and results to the folder `out`.

    Parameters
    ----------
    data, target, **options
        As of ``gradfeat.diagnose``.
    out : Path
        Folder for both files.
    """
    console = Terminal()
    check_folder(out)
    with StepBar(console) as bar:
        found = diagnose(data, target, progress=bar.tell, **options)
    console.print(diagnosis_text(found.results))
    _drawn(found, out, console)
    console.print(f"\nReport: {out / 'report.html'}", markup=False, soft_wrap=True)


def fit_table(data: str, target: str, out: Path, **options: Any) -> None:
    """Compare the methods on a table; write report, model and results to the folder `out`.

    Parameters
    ----------
    data, target, **options
        As of ``gradfeat.compare``.
    out : Path
        Folder for all files.
    """
    console = Terminal()
    check_folder(out)
    options["checkpoint"] = options["checkpoint"] or out / "checkpoint"
    try:
        with StepBar(console) as bar:
            found = compare(data, target, progress=bar.tell, **options)
        console.print(terminal_table(found.results))
        _drawn(found, out, console)
    except KeyboardInterrupt:
        if not Path(options["checkpoint"]).exists():
            raise
        raise Stopped(
            f"stopped; the passes so far are kept in '{options['checkpoint']}', and the same "
            "command goes on from there."
        ) from None
    for line in ("", *_files(found.model_files, out), *_use(found.model_files, out)):
        console.print(line, markup=False, soft_wrap=True)


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


def _drawn(found: PageOf, out: Path, console: Console) -> None:
    """Write all files, telling which figure is drawn."""
    with StepBar(console) as bar, within(NEVER, lambda words: bar.tell("Page", 1.0, words)):
        found.save(out)
