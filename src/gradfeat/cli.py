"""The command line: fit, predict, show."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from gradfeat.estimators.container import ModelFileError
from gradfeat.plots.numbers import number
from gradfeat.reports import render, terminal_table
from gradfeat.tabular.atomic import write_atomic
from gradfeat.tabular.compare import Comparison, Request, compare
from gradfeat.tabular.errors import TableError
from gradfeat.tabular.methods import METHODS
from gradfeat.tabular.read import read_table
from gradfeat.tabular.results import FitReport
from gradfeat.tabular.table_model import TableModel, load_table_model

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Feature learning on a table: fit and compare, predict, show what a model reads.",
)


class TaskName(StrEnum):
    """What the target is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


def _all_methods() -> str:
    return ",".join(m.name for m in METHODS)


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz), Parquet or JSON lines.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[TaskName, typer.Option(help="What the target is.")] = TaskName.AUTO,
    methods: Annotated[str, typer.Option(help="Comma-separated.")] = _all_methods(),
    out: Annotated[Path, typer.Option(help="Folder for report, model and results.")] = Path(
        "gradfeat-out"
    ),
    time: Annotated[float, typer.Option(help="Seconds to spend, about.", min=1.0)] = 60.0,
    seed: Annotated[int, typer.Option(help="Of the split and every random draw.", min=0)] = 0,
    time_column: Annotated[
        str | None, typer.Option(help="Ordered data: hold out the last rows by this column.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Torch device, e.g. cuda.")] = None,
) -> None:
    """Fit learned and fixed features to a table, compare them on held-out rows, write a report."""
    request = Request(
        data=data.name,
        target=target,
        task=task.value,
        methods=tuple(name.strip() for name in methods.split(",") if name.strip()),
        seconds=time,
        seed=seed,
        time_column=time_column,
        device=device,
        command="gradfeat " + " ".join(shlex.quote(word) for word in sys.argv[1:]),
    )
    console = Console(highlight=False)
    frame = read_table(data)
    _make_folder(out)
    console.print(
        f"{data.name}: {len(frame):,} rows, {frame.shape[1]} columns; target {target}",
        markup=False,
    )
    with _Progress(console, time) as progress:
        found = compare(frame, request, progress.tell)
    console.print(terminal_table(found.report))
    _write(found, out, console)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `gradfeat fit` wrote.")],
    data: Annotated[Path, typer.Argument(help="A table with the columns of the training table.")],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
) -> None:
    """Predict the target for the rows of a table."""
    table_model = load_table_model(model)
    predictions = table_model.predict(read_table(data))
    write_atomic(out, predictions.to_csv(index=False))
    Console(highlight=False).print(
        f"{len(predictions):,} predictions of {table_model.target}: {out}", markup=False
    )


@app.command()
def show(
    model: Annotated[Path, typer.Argument(help="A model that `gradfeat fit` wrote.")],
) -> None:
    """Print what a model is, how well it did, and which columns it reads."""
    table_model = load_table_model(model)
    console, about = Console(highlight=False), table_model.about
    console.print(
        f"{about['method']} for {table_model.target} ({about['task']}), fitted on "
        f"{about['train_rows']:,} rows of {about['data']}, tested on {about['test_rows']:,}",
        markup=False,
    )
    for name, (value, low, high) in about["scores"].items():
        console.print(
            f"  {name} {number(value)} (95 % interval {number(low)} to {number(high)})",
            markup=False,
        )
    settings = ", ".join(f"{k} {v}" for k, v in about["settings"].items())
    console.print(f"  settings: {settings or 'none chosen'}; seed {about['seed']}", markup=False)
    console.print(_importances(table_model))


def _importances(model: TableModel) -> Table:
    """Share of the AGOP on each original column, and the leading direction, largest first."""
    share = np.asarray(model.estimator.importances_)
    leading = model.estimator.leading_directions(1)[:, 0]
    n = model.estimator.n_effective_directions_
    table = Table(title=f"What it reads: {n} effective direction{'s' * (n != 1)}", box=None)
    table.add_column("column")
    table.add_column("share of AGOP", justify="right")
    table.add_column("first direction", justify="right")
    source = np.array(model.encoder.source_)
    names = [c for c in model.encoder.columns_ if c in model.encoder.source_]
    rows = [(share[source == name].sum(), name) for name in names]
    for total, name in sorted(rows, reverse=True):
        part = leading[source == name]
        table.add_row(name, f"{100 * total:.1f} %", f"{part[np.abs(part).argmax()]:+.3f}")
    return table


class _Progress:
    """A bar with the time left on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console, seconds: float) -> None:
        self._console, self._seconds = console, seconds
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("about"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("Reading", total=1.0)

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def tell(self, label: str, done: float, elapsed: float) -> None:
        """Before each method."""
        if self._console.is_terminal:
            self._bar.update(self._task, description=label, completed=done)
        else:
            self._console.print(f"{elapsed:6.1f} s  {100 * done:3.0f} %  {label}", markup=False)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(
            f"The folder {out} cannot be made ({error.strerror}): give one that you may write to."
        ) from None


def _write(found: Comparison, out: Path, console: Console) -> None:
    if found.model is not None:
        found.model.save(out / "model.gradfeat")
        console.print(f"\nModel:  {out / 'model.gradfeat'} ({found.model.about['method']})")
    write_atomic(out / "results.json", json.dumps(_plain(found.report), indent=1))
    write_atomic(out / "report.html", render(found.report))
    console.print(f"Report: {out / 'report.html'}", markup=False)


def _plain(report: FitReport) -> dict[str, Any]:
    """The report without its arrays of rows, for other programs."""
    record = dataclasses.asdict(dataclasses.replace(report, y_true=np.zeros(0), y_pred=np.zeros(0)))
    del record["y_true"], record["y_pred"]
    if record["directions"] is not None:
        del record["directions"]["projections"]
    return json.loads(json.dumps(record, default=lambda a: a.tolist()))


def guarded(run: Callable[[], Any]) -> int:
    """Run the command; what a person can put right becomes one sentence and exit code 2."""
    try:
        run()
    except (TableError, ModelFileError, MemoryError) as error:
        Console(stderr=True, highlight=False).print(
            f"gradfeat: {error}", markup=False, soft_wrap=True
        )
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("gradfeat: stopped; nothing was written.", markup=False)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def main() -> None:
    """Entry point of the `gradfeat` command."""
    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
