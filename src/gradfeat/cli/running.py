"""One experiment run with progress, and what is told of it."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from gradfeat.cli.claims_table import Judged, claims_table
from gradfeat.cli.guard import Stopped
from gradfeat.cli.progress import CellBar
from gradfeat.cli.selection import Request, command, store_option
from gradfeat.lab import Experiment, Store, judge, run
from gradfeat.lab.experiment import Point

#: Failed cells that a run names.
NAMED = 3


@dataclass(frozen=True)
class Ran:
    """What came of an experiment; `shown` is the word that named it."""

    shown: str
    experiment: Experiment
    points: list[Point]
    table: pd.DataFrame
    cached: int
    seconds: float

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Settings, seed and error of each failed cell."""
        return self.table.attrs["failures"]

    def judged(self) -> Judged:
        """Return the claims with their verdicts."""
        return judge(self.experiment, self.table)


def computed(
    shown: str,
    experiment: Experiment,
    request: Request,
    store: Store,
    console: Console,
    arrays: bool,
    executor: Executor | None = None,
) -> Ran:
    """Compute what the store lacks: on the executor, or as the request says.

    Raises
    ------
    Stopped
        Of Ctrl-C, after what is finished was saved.
    """
    start = time.monotonic()
    selection = request.selection
    overrides: dict[str, Any] = dict(selection.overrides)
    with CellBar(console, experiment.name) as bar:
        try:
            table = run(
                experiment,
                store=store,
                executor=executor,
                jobs=request.jobs,
                scale=selection.scale,
                seeds=selection.seeds,
                device=request.device,
                retry_failed=request.retry_failed,
                arrays=arrays,
                progress=bar.tell,
                **overrides,
            )
        except KeyboardInterrupt:
            raise Stopped(_stopped(bar, request)) from None
    cached = 0 if bar.last is None else bar.last.cached
    points = selection.points(experiment)
    return Ran(shown, experiment, points, table, cached, time.monotonic() - start)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Give the store; Ctrl-C at any time between computing says that finished cells are kept.

    Raises
    ------
    Stopped
        Of Ctrl-C.
    """
    with Store.open(path) as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise Stopped(f"stopped: finished cells are saved in {path}.") from None


def _stopped(bar: CellBar, request: Request) -> str:
    known = "what is finished is"
    if bar.last is not None:
        known = f"{bar.last.done:,} of {bar.last.total:,} cells are"
    return f"stopped: {known} saved in {request.store}; the same command goes on from there."


def print_claims(judged: Judged, console: Console) -> None:
    """Print the table of claims where there are any."""
    if judged:
        console.print(claims_table(judged))


def varying(points: Sequence[Point]) -> list[str]:
    """Return the settings that differ between cells, all where there is but one cell.

    Examples
    --------
    >>> varying([Point({"n": 1, "m": 5}, 0, "a"), Point({"n": 2, "m": 5}, 0, "b")])
    ['n']
    """
    names = list(points[0].cell) if points else []
    found = [name for name in names if len({point.cell[name] for point in points}) > 1]
    return found or names


def cell_in_words(failure: dict[str, Any], names: Sequence[str]) -> str:
    """Return the settings and the seed of a failure.

    Examples
    --------
    >>> cell_in_words({"n": 3, "seed": 1, "error": "..."}, ["n"])
    'n=3, seed=1'
    """
    return ", ".join(f"{name}={failure[name]}" for name in [*names, "seed"])


def reason(error: str) -> str:
    """Return the last line of a traceback, without the module of the exception.

    Examples
    --------
    >>> reason("Traceback ...\\nmine.errors.FileError: 'a.npz' is broken: give another.")
    "FileError: 'a.npz' is broken: give another."
    """
    return re.sub(r"^(\w+\.)+(?=\w+(:|$))", "", error.strip().splitlines()[-1])


def print_failures(ran: Ran, request: Request, console: Console) -> None:
    """Print how many cells failed, the first of them, and what to do."""
    if not ran.failures:
        return
    n, total, names = len(ran.failures), len(ran.points), varying(ran.points)
    console.print(Text(f"{n:,} of {total:,} cells failed:", style="bold red"))
    for failure in ran.failures[:NAMED]:
        _line(f"  {cell_in_words(failure, names)}: {reason(failure['error'])}", console)
    if n > NAMED:
        _line(f"  and {n - NAMED:,} more", console)
    _line(f"tracebacks: {shown_by(ran, request)} --failures", console)
    _line("try them again: the same command with --retry-failed", console)


def shown_by(ran: Ran, request: Request) -> str:
    """Return the command that shows what was run."""
    words = [ran.shown, *store_option(request.store), *request.selection.options()]
    return command("show", *words)


def _line(text: str, console: Console) -> None:
    console.print(text, markup=False, soft_wrap=True)
