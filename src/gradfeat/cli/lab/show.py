"""show and export: what is stored of an experiment; nothing is computed."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from gradfeat.cli.guard import Refused, check_figure_file
from gradfeat.cli.lab.figures import drawn, file_stem, saved
from gradfeat.cli.lab.results import cell_in_words, print_claims, tell_outdated, varying
from gradfeat.cli.lab.selection import Narrowed, Selection, command, store_option
from gradfeat.cli.lab.summary_table import means, summarised
from gradfeat.cli.terminal import Format, Terminal, records_in
from gradfeat.errors import choices
from gradfeat.lab import Experiment, Store, judge
from gradfeat.lab.experiment import Point
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import known as known_names
from gradfeat.lab.loading import names as shipped
from gradfeat.lab.tables import FORMATS, export

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class View:
    """What of it to show: metrics by name, tracebacks, the figure as a file, and how."""

    metrics: str | None
    failures: bool
    figure: Path | None
    form: Format


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
    """Whether the word of `show` is a model (a file, or a folder that `fit` wrote)."""
    if name.endswith(".py") or name in shipped():
        return False
    if Path(name).exists():
        return True
    raise Refused(
        f"{name!r} does not exist, so it is no model, and no experiment has that name"
        f"{known_names(name)}"
    )


def selected(
    name: str, experiment: Experiment, store: Store, path: Path, narrowed: Narrowed
) -> Selection:
    """Return what the last run asked for, changed by the options."""
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
        check_figure_file(view.figure)
    with Store.open(path, readonly=True) as store:
        selection = selected(name, experiment, store, path, narrowed)
        stored = _stored(experiment, store, selection)
        console = Terminal(stderr=view.form is not Format.TEXT)
        console.print(Text(experiment.question, style="bold"))
        console.say(f"{selection.in_words()}: {_counts(stored)}")
        tell_outdated(store, experiment, stored.points, console)
    if stored.missing:
        words = [name, *store_option(path), *selection.options()]
        console.say(f"the rest is computed by: {command('run', *words)}")
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


def _print_numbers(experiment: Experiment, stored: Stored, view: View, console: Terminal) -> None:
    if view.form is not Format.TEXT:
        records = [] if stored.table.empty else means(stored.table, view.metrics)
        sys.stdout.write(records_in(records, view.form))
        return
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


def _print_failures(stored: Stored, view: View, console: Terminal) -> None:
    records = stored.failures.to_dict("records")
    if not view.failures:
        if records:
            console.say("tracebacks of failed cells: the same command with --failures")
        return
    names = varying(stored.points)
    for failure in records:
        record = {str(key): value for key, value in failure.items()}
        console.print(Text(f"\n{cell_in_words(record, names)}", style="bold red"))
        console.say(str(record["error"]))
    if not records:
        console.say("no cell failed")


def _draw(experiment: Experiment, stored: Stored, view: View, console: Terminal) -> None:
    if view.figure is None:
        return
    figure = drawn(experiment, stored.table, [point.cell for point in stored.points])
    if figure is None:
        what = "nothing is finished" if experiment.figure else "it has none"
        raise Refused(f"there is no figure of {experiment.name!r} to draw: {what}.")
    saved(experiment, figure, [view.figure])
    console.say(f"Figure: {view.figure}")


def target(to: str, name: str) -> tuple[Path, str]:
    """Return the file to write and its format.

    >>> target("csv", "demo"), target("a/b.JSON", "demo")
    ((PosixPath('demo.csv'), 'csv'), (PosixPath('a/b.JSON'), 'json'))
    """
    if to.lower() in FORMATS:
        return Path(f"{file_stem(name)}.{to.lower()}"), to.lower()
    kind = Path(to).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise Refused(
            f"--to is {to!r}: give a file that ends in .csv, .parquet or .json, or one of the "
            "words csv, parquet, json."
        )
    return Path(to), kind


def export_table(name: str, to: str, path: Path, narrowed: Narrowed) -> None:
    """Write the rows of the newest version, or of a selection, and say how many."""
    own = name.endswith(".py") or name in shipped()
    title = loaded(name).name if own else name
    file, kind = target(to, title)
    if os.path.realpath(file) == os.path.realpath(path):
        raise Refused(f"--to is {str(file)!r}, the store itself: give another file.")
    with Store.open(path, readonly=True) as store:
        known = list(dict.fromkeys(count.experiment for count in store.status()))
        if title not in known:
            raise Refused(f"store {str(path)!r} has nothing of {title!r}{choices(title, known)}")
        table, lost = _rows(name, title, own, store, path, narrowed, kind != "csv")
    if table.empty:
        raise Refused(f"no finished cell of {title!r} is in {str(path)!r}: there is nothing to do.")
    export(table, file, kind)
    text = f"{len(table):,} rows of {title}, version {table.attrs['version']}: {file}"
    if lost:
        text += f" ({lost:,} failed cells are left out)"
    Terminal().say(text)


def _rows(
    name: str, title: str, own: bool, store: Store, path: Path, narrowed: Narrowed, arrays: bool
) -> tuple[pd.DataFrame, int]:
    """Return the table, and how many failures it leaves out."""
    if not narrowed.given:
        return store.table(title, arrays=arrays), len(store.failures(title))
    if not own:
        raise Refused(
            f"cells of {title!r} can be selected only with its file at hand: give its path, ending "
            "in .py, or leave out --scale, --set and --seeds."
        )
    experiment = loaded(name)
    selection = selected(name, experiment, store, path, narrowed)
    keys = [point.key for point in selection.points(experiment)]
    return store.table(experiment, keys, arrays), len(store.failures(experiment, keys))
