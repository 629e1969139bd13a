"""show NAME: what is stored of an experiment; nothing is computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from gradfeat.cli.figures import check_file, drawn, saved
from gradfeat.cli.guard import Refused
from gradfeat.cli.running import cell_in_words, print_claims, varying
from gradfeat.cli.selection import Narrowed, Selection, command, store_option
from gradfeat.cli.summary_table import summarised
from gradfeat.lab import Experiment, Store, judge
from gradfeat.lab.errors import choices
from gradfeat.lab.experiment import Point
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import names as shipped


@dataclass(frozen=True)
class View:
    """What of it to show: metrics by name, tracebacks, the figure as a file."""

    metrics: str | None
    failures: bool
    figure: Path | None


@dataclass(frozen=True)
class Stored:
    """What a store has of a selection."""

    points: list[Point]
    table: pd.DataFrame
    failures: pd.DataFrame

    @property
    def missing(self) -> int:
        """Cells that were not computed."""
        return len(self.points) - len(self.table) - len(self.failures)


def is_model(name: str) -> bool:
    """Whether the word of `show` is a file of a model, not an experiment.

    Raises
    ------
    Refused
        Where it is neither.
    """
    if name.endswith(".py") or name in shipped():
        return False
    if Path(name).is_file():
        return True
    what = "is a folder" if Path(name).is_dir() else "does not exist"
    raise Refused(
        f"{name!r} {what}, so it is no model, and no experiment has that name"
        f"{choices(name, shipped()).rstrip('.').replace('? There', '?; there')}; a file of your "
        "own is given by its path, ending in .py."
    )


def selected(
    name: str, experiment: Experiment, store: Store, path: Path, narrowed: Narrowed
) -> Selection:
    """Return what the last run asked for, changed by the options.

    Raises
    ------
    Refused
        Where the store knows no run of it.
    """
    last = store.last_selection(experiment)
    if last is None:
        again = command("run", name, *store_option(path))
        raise Refused(
            f"store {str(path)!r} has no run of {experiment.name!r}, version "
            f"{experiment.version}: {again} makes one."
        )
    return narrowed.over(Selection(last["scale"], last["seeds"], last["overrides"]))


def show_experiment(name: str, path: Path, narrowed: Narrowed, view: View) -> None:
    """Print question, claims, means and failures; draw the figure where asked."""
    experiment = loaded(name)
    if view.figure is not None:
        check_file(view.figure)
    with Store.open(path, readonly=True) as store:
        selection = selected(name, experiment, store, path, narrowed)
        stored = _stored(experiment, store, selection)
    console = Console(highlight=False)
    console.print(Text(experiment.question, style="bold"))
    _line(f"{selection.in_words()}: {_counts(stored)}", console)
    if stored.missing:
        words = [name, *store_option(path), *selection.options()]
        _line(f"the rest is computed by: {command('run', *words)}", console)
    _print_numbers(experiment, stored, view, console)
    _print_failures(stored, view, console)
    _draw(experiment, stored, view, console)


def _stored(experiment: Experiment, store: Store, selection: Selection) -> Stored:
    points = selection.points(experiment)
    keys = [point.key for point in points]
    table = store.table(experiment, keys, arrays=True)
    return Stored(points, table, store.failures(experiment, keys))


def _counts(stored: Stored) -> str:
    parts = [f"{len(stored.table):,} of {len(stored.points):,} cells"]
    if len(stored.failures):
        parts.append(f"{len(stored.failures):,} failed")
    if stored.missing:
        parts.append(f"{stored.missing:,} not computed")
    return ", ".join(parts)


def _print_numbers(experiment: Experiment, stored: Stored, view: View, console: Console) -> None:
    if stored.table.empty:
        return
    summary = summarised(stored.table, view.metrics, console)
    if experiment.claims:
        console.print()
        print_claims(judge(experiment, stored.table), console)
    console.print()
    console.print(summary.table)
    for note in summary.notes:
        console.print(Text(note, style="dim"))


def _print_failures(stored: Stored, view: View, console: Console) -> None:
    records = stored.failures.to_dict("records")
    if not view.failures:
        if records:
            _line("tracebacks of failed cells: the same command with --failures", console)
        return
    names = varying(stored.points)
    for failure in records:
        record = {str(key): value for key, value in failure.items()}
        console.print(Text(f"\n{cell_in_words(record, names)}", style="bold red"))
        _line(str(record["error"]), console)
    if not records:
        _line("no cell failed", console)


def _draw(experiment: Experiment, stored: Stored, view: View, console: Console) -> None:
    if view.figure is None:
        return
    figure = drawn(experiment, stored.table, [point.cell for point in stored.points])
    if figure is None:
        what = "nothing is finished" if experiment.figure else "it has none"
        raise Refused(f"there is no figure of {experiment.name!r} to draw: {what}.")
    saved(experiment, figure, [view.figure])
    _line(f"Figure: {view.figure}", console)


def _line(text: str, console: Console) -> None:
    console.print(text, markup=False, soft_wrap=True)
