"""The command line: fit, predict, show."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gradfeat.estimators.container import ModelFileError
from gradfeat.reports import render, terminal_table
from gradfeat.reports.answer import with_interval
from gradfeat.tabular.atomic import check_folder, write_atomic, write_folder
from gradfeat.tabular.compare import Comparison, compare
from gradfeat.tabular.errors import TableError
from gradfeat.tabular.methods import METHODS
from gradfeat.tabular.read import read_table
from gradfeat.tabular.request import Request
from gradfeat.tabular.results import FitReport, Interval
from gradfeat.tabular.table_model import TableModel, load_table_model

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Feature learning on a table: fit and compare, predict, show what a model reads.",
)


#: What every generator in use takes.
LARGEST_SEED = 2**32 - 1

#: A week, in seconds.
LONGEST = 604_800.0

#: Of an option or argument that does not parse; typer exports only this subclass of it.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


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
    time: Annotated[
        float, typer.Option(help="Seconds to spend, about.", min=1.0, max=LONGEST)
    ] = 60.0,
    seed: Annotated[
        int, typer.Option(help="Of the split and every random draw.", min=0, max=LARGEST_SEED)
    ] = 0,
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
    check_folder(out)
    frame = read_table(data)
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
        f"{len(predictions):,} predictions of {table_model.target}: {out}",
        markup=False,
        soft_wrap=True,
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
    for name, *ends in about["scores"]:
        console.print(f"  {name} {with_interval(Interval(*ends))}", markup=False)
    settings = ", ".join(f"{k} {v}" for k, v in about["settings"].items())
    console.print(f"  settings: {settings or 'none chosen'}; seed {about['seed']}", markup=False)
    console.print(_importances(table_model))


def _importances(model: TableModel) -> Table:
    """Share of the AGOP on each original column, and the leading direction, largest first."""
    share = np.asarray(model.estimator.importances_)
    leading = model.estimator.leading_directions(1)[:, 0]
    n = model.estimator.n_effective_directions_
    title = f"What it reads: {n} effective direction{'s' * (n != 1)}"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("column")
    table.add_column("share of AGOP", justify="right")
    table.add_column("first direction", justify="right")
    source = np.array(model.encoder.source_)
    names = [c for c in model.encoder.columns_ if c in model.encoder.source_]
    rows = [(share[source == name].sum(), name) for name in names]
    for total, name in sorted(rows, reverse=True):
        part = leading[source == name]
        table.add_row(Text(name), f"{100 * total:.1f} %", f"{part[np.abs(part).argmax()]:+.3f}")
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
    return f"none of this fit: the linear model and boosting are not saved{old}"


def _plain(report: FitReport) -> dict[str, Any]:
    """The report without its arrays of rows, for other programs; what is not finite is null."""
    record = dataclasses.asdict(dataclasses.replace(report, y_true=np.zeros(0), y_pred=np.zeros(0)))
    del record["y_true"], record["y_pred"]
    if record["directions"] is not None:
        del record["directions"]["projections"]
    return _finite(record)


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {name: _finite(part) for name, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
        case np.ndarray() | np.generic():
            return _finite(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value


def guarded(run: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Run the command; what a person can put right becomes one sentence and exit code 2."""
    try:
        return run(args=arguments, prog_name="gradfeat", standalone_mode=False) or 0
    except USAGE_ERROR as error:
        return _refuse(_usage(error))
    except (TableError, ModelFileError, MemoryError) as error:
        return _refuse(str(error) or "the memory is used up: give fewer rows or columns.")
    except (KeyboardInterrupt, typer.Abort):
        _refuse("stopped; nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _refuse(sentence: str) -> int:
    words = f"gradfeat: {' '.join(sentence.split())}"
    Console(stderr=True, highlight=False).print(words, markup=False, soft_wrap=True)
    return 2


def _usage(error: Any) -> str:
    """What is wrong with the words of the command, in one sentence."""
    if error.ctx is not None and not str(error):
        return f"say what to do: {error.ctx.command_path} --help lists it."
    sentence = error.format_message().rstrip(".").replace("Value error, ", "")
    more = error.ctx.command_path if error.ctx is not None else "gradfeat"
    return f"{sentence}: see {more} --help."


def main() -> None:
    """Entry point of the `gradfeat` command."""
    for stream in (sys.stdout, sys.stderr):
        cast(TextIOWrapper, stream).reconfigure(errors="replace")
    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
