"""run and verify: compute what the store lacks, and tell what came of it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.progress
from rich.progress import BarColumn, TextColumn
from rich.text import Text

from gradfeat.cli.guard import Refused, Stopped, refuse
from gradfeat.cli.lab.figures import Figures, drawn, saved
from gradfeat.cli.lab.results import (
    Judged,
    cell_in_words,
    claim_records,
    counted,
    print_claims,
    reason,
    tell_outdated,
    varying,
    verdict_code,
)
from gradfeat.cli.lab.selection import Request, Selection, command, store_option
from gradfeat.cli.terminal import PAUSE, Format, Terminal, records_in
from gradfeat.lab import Experiment, ExperimentError, Progress, Store, judge
from gradfeat.lab.experiment import Point
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import names as shipped
from gradfeat.lab.run import record, workers_of
from gradfeat.lab.sweep import Sweep
from gradfeat.lab.verdicts import not_checked
from gradfeat.wording import duration, listed

if TYPE_CHECKING:
    import pandas as pd

    from gradfeat.rows.dask_executor import DaskExecutor

#: Failed cells that a run names.
NAMED = 3


@dataclass(frozen=True)
class Ran:
    """What came of an experiment; `shown` is the word that named it."""

    shown: str
    experiment: Experiment
    points: list[Point]
    table: pd.DataFrame
    count: Progress

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Settings, seed and error of each failed cell."""
        return self.table.attrs["failures"]

    def judged(self) -> Judged:
        """Return the claims with their verdicts."""
        return judge(self.experiment, self.table)


Asked = tuple[str, Experiment, list[Point]]


def run_experiments(names: Sequence[str], request: Request, figures: Figures | None) -> int:
    """Run each, print claims, failures and where the figure is; return 1 if cells failed."""
    asked = _asked(names, request)
    console, codes = Terminal(), [0]
    with executor_of(request.dask, request.jobs) as executor, opened(request.store) as store:
        for one in asked:
            tell_outdated(store, one[1], one[2], console)
            with followed(one, store, request, console) as bar:
                table = sweep(one, request, store, bar, executor).go(figures is not None)
            codes.append(_told(Ran(*one, table, bar.count), request, console, figures))
    return max(codes)


def _of_its_settings(experiment: Experiment) -> None:
    """Refuse a claim about a setting that is none before hours are spent on the cells."""
    import pandas as pd

    none = pd.DataFrame(columns=[*experiment.factors, "seed"])
    for claim in experiment.claims:
        try:
            claim.check(none)
        except ExperimentError as error:
            raise Refused(not_checked(experiment, claim, error)) from None
        except Exception:  # what else a check makes of no rows is no matter
            continue


def _asked(names: Sequence[str], request: Request, with_scale: bool = False) -> list[Asked]:
    """Return the experiments, each once; refuse two of one name, as results would mix."""
    found: dict[str, tuple[str, Experiment]] = {}
    for name in dict.fromkeys(names):
        experiment = loaded(name)
        if experiment.name in found:
            raise Refused(
                f"{found[experiment.name][0]!r} and {name!r} are both called {experiment.name!r}: "
                "rename one, or run one at a time on stores of their own."
            )
        _of_its_settings(experiment)
        if not with_scale or request.selection.scale in experiment.grids:
            found[experiment.name] = name, experiment
    return [(name, experiment, request.points(experiment)) for name, experiment in found.values()]


def sweep(
    asked: Asked, request: Request, store: Store, bar: CellBar, executor: Executor | None = None
) -> Sweep:
    """Return what computes the cells that the store lacks, on the executor or as is requested."""
    _, experiment, points = asked
    chosen = request.selection
    words = record(experiment, chosen.scale, chosen.seeds, chosen.overrides, request.device)
    hire = partial(workers_of, experiment, executor, request.jobs)
    return Sweep(
        experiment, store, points, words, hire, request.device, request.retry_failed, bar.tell
    )


def in_words(count: Progress) -> str:
    """Cells done, failures, time left.

    >>> from gradfeat.lab import Progress
    >>> in_words(Progress(3, 8, 1, 0, 6.0, 10.0))
    '3 of 8 cells, 1 failed, about 10 s left'
    """
    parts = [f"{count.done:,} of {count.total:,} cells"]
    if count.failed:
        parts.append(f"{count.failed:,} failed")
    if count.seconds_left is not None and count.done < count.total:
        parts.append(f"about {duration(count.seconds_left)} left")
    return ", ".join(parts)


class CellBar:
    """Of a run, by its cells; remembers the last count.

    Plain lines come with the first count, then at most one in `PAUSE` seconds, and at the end; on
    a terminal the last count stays in place of the bar.
    """

    def __init__(self, console: Terminal, name: str) -> None:
        self._console, self._name = console, name
        self._spoken = -PAUSE
        self.count = Progress(0, 0, 0, 0, 0.0, None)
        self._bar = rich.progress.Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=None, words="")

    def __enter__(self) -> CellBar:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()
        if self._console.is_terminal and self.count.total:
            self._say(in_words(replace(self.count, seconds_left=None)))

    def _say(self, words: str) -> None:
        self._console.say(f"{self._name}: {words}")

    def tell(self, count: Progress) -> None:
        """At the start and after each commit."""
        first, self.count = not self.count.total, count
        words = in_words(count)
        if first and count.cached:
            words = f"{words}; {count.cached:,} were there before"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=count.done, total=count.total, words=words)
        elif first or count.done == count.total or time.monotonic() - self._spoken >= PAUSE:
            self._spoken = time.monotonic()
            self._say(words)


@contextlib.contextmanager
def followed(asked: Asked, store: Store, request: Request, console: Terminal) -> Iterator[CellBar]:
    """Show how far it is; what an interrupt leaves is counted in the store, as bars lag behind."""
    with CellBar(console, asked[1].name) as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            saved = len(store.statuses([point.key for point in asked[2]]))
            known = f"{saved:,} of {len(asked[2]):,} cells are saved in {request.store}"
            raise Stopped(f"stopped: {known}; the same command goes on from there.") from None


def _told(ran: Ran, request: Request, console: Terminal, figures: Figures | None) -> int:
    judged = ran.judged()
    print_claims(judged, console)
    code = 2 if verdict_code(judged) == 2 else int(bool(ran.failures))
    try:
        if figures is not None:
            _draw(ran, figures, request.selection, console)
    except (Refused, ExperimentError) as error:
        code = refuse(str(error))
    if not ran.table.empty:
        console.say(f"Means over seeds: {shown_by(ran, request)}")
    print_failures(ran, request, console)
    return code


def _draw(ran: Ran, figures: Figures, selection: Selection, console: Terminal) -> None:
    figure = drawn(ran.experiment, ran.table, [point.cell for point in ran.points])
    if figure is None:
        return
    paths = figures.paths(ran.experiment, selection)
    saved(ran.experiment, figure, paths)
    console.say(f"Figure: {listed([str(p) for p in paths])}")


def verify_experiments(names: Sequence[str], request: Request, form: Format) -> int:
    """Print the claims of each and a summary.

    Return 2 if a claim cannot be checked, 1 if one fails or cells failed.
    """
    asked = _asked(names or shipped(), request, with_scale=not names)
    console, judged, runs = Terminal(stderr=form is not Format.TEXT), [], []
    records: list[dict[str, Any]] = []
    with opened(request.store) as store:
        for one in asked:
            tell_outdated(store, one[1], one[2], console)
            with followed(one, store, request, console) as bar:
                table = sweep(one, request, store, bar).go(arrays=True)
            ran = Ran(*one, table, bar.count)
            runs.append(ran)
            own = ran.judged()
            judged.extend(own)
            records += claim_records(one[1].name, own)
            if form is Format.TEXT:
                print_claims(own, console)
            print_failures(ran, request, console)
    _summarise(judged, runs, console)
    if form is not Format.TEXT:
        sys.stdout.write(records_in(records, form))
    return max(verdict_code(judged), int(any(ran.failures for ran in runs)))


def _summarise(judged: Judged, runs: Sequence[Ran], console: Terminal) -> None:
    total, lost = sum(len(r.points) for r in runs), sum(len(r.failures) for r in runs)
    there, seconds = sum(r.count.cached for r in runs), sum(r.count.elapsed for r in runs)
    cells = f"{total:,} cells, {lost:,} failed, {there:,} there before; {duration(seconds)}"
    text = f"{len(runs)} experiment{'s' * (len(runs) != 1)}, {counted(judged)}; {cells}"
    console.print(Text(text, style="bold"))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Give the store; Ctrl-C at any time between computing says that finished cells are kept."""
    with Store.open(path) as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise Stopped(f"stopped: finished cells are saved in {path}.") from None


def print_failures(ran: Ran, request: Request, console: Terminal) -> None:
    """Print how many cells failed, the first of them, and what to do."""
    if not ran.failures:
        return
    n, total, names = len(ran.failures), len(ran.points), varying(ran.points)
    console.print(Text(f"{n:,} of {total:,} cells failed:", style="bold red"))
    for failure in ran.failures[:NAMED]:
        console.say(f"  {cell_in_words(failure, names)}: {reason(failure['error'])}")
    if n > NAMED:
        console.say(f"  and {n - NAMED:,} more")
    console.say(f"tracebacks: {shown_by(ran, request)} --failures")
    if all(reason(failure["error"]).startswith("ValueError: ") for failure in ran.failures):
        console.say("the trial refuses these settings: give others")
    else:
        console.say("try them again: the same command with --retry-failed")


def shown_by(ran: Ran, request: Request) -> str:
    """Return the command that shows what was run."""
    return command("show", ran.shown, *store_option(request.store), *request.selection.options())


@contextlib.contextmanager
def executor_of(dask: str | None, jobs: int) -> Iterator[DaskExecutor | None]:
    """The executor of `--dask`; None where it is not asked for."""
    if dask is None:
        yield None
        return
    if dask != "local" and jobs > 1:
        raise Refused(
            f"--jobs is {jobs} and the cluster at {dask!r} has workers of its own: leave --jobs "
            "out, or give --dask local."
        )
    from gradfeat.rows.dask_client import client_of, quiet
    from gradfeat.rows.dask_executor import DaskExecutor

    opened = _started(jobs) if dask == "local" else client_of(dask)
    with quiet(), opened as client:
        yield DaskExecutor(client)


@contextlib.contextmanager
def _started(jobs: int) -> Iterator[Any]:
    """A cluster of this machine, whose workers get no Ctrl-C; one that dies takes its cells along.

    Dask would give a cell to several workers before it blames the cell; the sweep knows better.
    """
    from gradfeat.rows.dask_client import distributed, local_cluster
    from gradfeat.rows.workers import interrupts_held

    distributed()
    from dask.config import set as setting

    resource_tracker.ensure_running()  # it lets interrupts through when it is started
    with contextlib.ExitStack() as stack:
        with interrupts_held(), setting({"distributed.scheduler.allowed-failures": 0}):
            client = stack.enter_context(local_cluster(jobs))
        yield client
