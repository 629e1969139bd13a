"""fit and predict: read a table, compare or predict, write files."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from gradfeat.cli.plain_values import finite
from gradfeat.cli.progress import TimeBar
from gradfeat.cli.streamed_tool import Means, fit_in_passes, kept_until_done, opened
from gradfeat.cli.table_commands import TaskName
from gradfeat.reports import render, terminal_table
from gradfeat.table.atomic import check_folder, write_folder
from gradfeat.table.compare import Comparison, compare
from gradfeat.table.methods import METHODS
from gradfeat.table.read import read_table
from gradfeat.table.request import Request
from gradfeat.table.results import FitReport
from gradfeat.table.streamed.decide import why_passed_over
from gradfeat.table.streamed.predict import predicted_pieces, write_predictions
from gradfeat.table.table_model import TableModel, load_table_model


def _names(methods: str | None) -> tuple[str, ...]:
    if methods is None:
        return tuple(method.name for method in METHODS)
    return tuple(name.strip() for name in methods.split(",") if name.strip())


def fit_table(data: str, request: Request, means: Means, out: Path) -> None:
    """Compare the methods on a table; write report, model and results to the folder `out`."""
    console = Console(highlight=False)
    check_folder(out)
    if why := means.why(data):
        with kept_until_done(means.checkpoint):
            _conclude(fit_in_passes(data, why, request, means, console), out, console)
    else:
        _conclude(_fit_in_memory(Path(data), request, console), out, console)


def _conclude(found: Comparison, out: Path, console: Console) -> None:
    console.print(terminal_table(found.report))
    _write(found, out, console)


def _fit_in_memory(data: Path, request: Request, console: Console) -> Comparison:
    frame = read_table(data)
    console.print(
        f"{data.name}: {len(frame):,} rows, {frame.shape[1]} columns; target {request.target}",
        markup=False,
    )
    with TimeBar(console) as progress:
        return compare(frame, request, progress.tell)


def request_of(
    data: str, target: str, task: TaskName, methods: str | None, **options: Any
) -> Request:
    """What the words of the command ask for."""
    return Request(
        data=Path(data).name,
        target=target,
        task=task.value,
        methods=_names(methods),
        command="gradfeat " + " ".join(shlex.quote(word) for word in sys.argv[1:]),
        **options,
    )


def predict_table(model: Path, data: str, out: Path) -> None:
    """Write predictions for the rows of a table as CSV, or Parquet where `out` says so."""
    table_model, console = load_table_model(model), Console(highlight=False)
    if why := why_passed_over(data):
        frames = predicted_pieces(table_model, opened(data, console, why))
    else:
        frames = iter([table_model.predict(read_table(data))])
    rows = write_predictions(frames, out)
    console.print(
        f"{rows:,} predictions of {table_model.target}: {out}",
        markup=False,
        soft_wrap=True,
    )


def _write(found: Comparison, out: Path, console: Console) -> None:
    """All files of a fit, or none of them."""
    files: dict[str, str | bytes] = {
        "results.json": json.dumps(_plain(found.report), indent=1, allow_nan=False),
        "report.html": render(found.report),
    }
    if found.model is not None:
        files["model.gradfeat"] = found.model.to_bytes()
    write_folder(out, files)
    console.print(f"\nModel:  {_about_model(found.model, out)}", markup=False, soft_wrap=True)
    console.print(f"Report: {out / 'report.html'}", markup=False, soft_wrap=True)


def _about_model(model: TableModel | None, out: Path) -> str:
    path = out / "model.gradfeat"
    if model is not None:
        return f"{path} ({model.about['method']})"
    old = f"; {path} is of an earlier fit" if path.exists() else ""
    unsaved = "the linear model, the trained network and boosting"
    return f"none of this fit: {unsaved} are not saved{old}"


def _plain(report: FitReport) -> dict[str, Any]:
    """The report without its arrays of rows, for other programs; what is not finite is null."""
    record = dataclasses.asdict(dataclasses.replace(report, y_true=np.zeros(0), y_pred=np.zeros(0)))
    del record["y_true"], record["y_pred"]
    if record["directions"] is not None:
        del record["directions"]["projections"]
    return finite(record)
