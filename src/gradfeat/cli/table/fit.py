"""fit and diagnose: ask the library, say what was found, write files."""

# Apart: imports what computes, which commands.py does without.

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradfeat.cli.guard import Stopped
from gradfeat.cli.progress import StepBar
from gradfeat.cli.terminal import Terminal
from gradfeat.interface.compare import compare
from gradfeat.interface.diagnose import diagnose
from gradfeat.reports import diagnosis_text, terminal_table
from gradfeat.table.atomic import check_folder
from gradfeat.table.table_model import TableModel


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
    found.save(out)
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
        found.save(out)
    except KeyboardInterrupt:
        if not Path(options["checkpoint"]).exists():
            raise
        raise Stopped(
            f"stopped; the passes so far are kept in '{options['checkpoint']}', and the same "
            "command goes on from there."
        ) from None
    console.print(f"\nModel:  {_about_model(found.learner, out)}", markup=False, soft_wrap=True)
    console.print(f"Report: {out / 'report.html'}", markup=False, soft_wrap=True)


def _about_model(model: TableModel | None, out: Path) -> str:
    path = out / "model.gradfeat"
    if model is not None:
        return f"{path} ({model.about['method']})"
    old = f"; {path} is of an earlier fit" if path.exists() else ""
    return f"none of this fit: the trained network and boosting are not saved{old}"
