"""list, run, verify, status."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradfeat.cli.claims_table import Judged, counted
from gradfeat.cli.dask_workers import hired
from gradfeat.cli.figures import Figures, drawn, saved
from gradfeat.cli.guard import Refused, refuse
from gradfeat.cli.progress import duration
from gradfeat.cli.running import Ran, computed, opened, print_claims, print_failures, shown_by
from gradfeat.cli.selection import Request
from gradfeat.drawing.numbers import listed
from gradfeat.lab import Experiment, ExperimentError, Store
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import names as shipped


def _console() -> Console:
    return Console(highlight=False)


# list


def list_them(names: Sequence[str]) -> int:
    """Print a row an experiment; return 1 where a file of several cannot be used."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("experiment", no_wrap=True)
    table.add_column("question", ratio=1)
    table.add_column("settings x seeds", no_wrap=True)
    problems = []
    for name in names or shipped():
        try:
            found = loaded(name)
        except ExperimentError as error:
            problems.append(str(error))
            continue
        table.add_row(Text(name), Text(found.question), Text(_sizes(found)))
    if table.row_count:
        _console().print(table)
    for problem in problems:
        refuse(problem)
    return 2 if problems else 0


def _sizes(experiment: Experiment) -> str:
    return "\n".join(
        f"{scale} {len(experiment.cells(scale))} x {len(experiment.seed_list(scale))}"
        for scale in experiment.grids
    )


# run


def run_them(names: Sequence[str], request: Request, figures: Figures | None) -> int:
    """Run each, print claims, failures and where the figure is; return 1 if cells failed."""
    experiments = _loaded(names)
    for _, experiment in experiments:
        request.check(experiment)
    console, codes = _console(), [0]
    arrays = figures is not None
    with hired(request.dask, request.jobs) as executor, opened(request.store) as store:
        for name, experiment in experiments:
            ran = computed(name, experiment, request, store, console, arrays, executor)
            codes.append(_told(ran, request, console, figures))
    return max(codes)


def _loaded(names: Sequence[str]) -> list[tuple[str, Experiment]]:
    """Return the experiments, each once; refuse two of one name, as results would mix."""
    found: dict[str, tuple[str, Experiment]] = {}
    for name in dict.fromkeys(names):
        experiment = loaded(name)
        if experiment.name in found:
            raise Refused(
                f"{found[experiment.name][0]!r} and {name!r} are both called {experiment.name!r}: "
                "rename one, or run one at a time on stores of their own."
            )
        found[experiment.name] = name, experiment
    return list(found.values())


def _told(ran: Ran, request: Request, console: Console, figures: Figures | None) -> int:
    code = 1 if ran.failures else 0
    try:
        print_claims(ran.judged(), console)
        if figures is not None:
            _draw(ran, figures, request.selection.scale, console)
    except (Refused, ExperimentError) as error:
        code = refuse(str(error))
    if not ran.table.empty:
        text = f"Means over seeds: {shown_by(ran, request)}"
        console.print(text, markup=False, soft_wrap=True)
    print_failures(ran, request, console)
    return code


def _draw(ran: Ran, figures: Figures, scale: str, console: Console) -> None:
    figure = drawn(ran.experiment, ran.table, [point.cell for point in ran.points])
    if figure is None:
        return
    paths = figures.paths(ran.experiment, scale)
    saved(ran.experiment, figure, paths)
    console.print(f"Figure: {listed([str(p) for p in paths])}", markup=False, soft_wrap=True)


# verify


def verify_them(names: Sequence[str], request: Request) -> int:
    """Print the claims of each and a summary; return 1 if a claim fails or cells failed."""
    experiments = _loaded(names or shipped())
    scale = request.selection.scale
    if not names:
        experiments = [pair for pair in experiments if scale in pair[1].grids]
    for _, experiment in experiments:
        request.check(experiment)
    console, judged, runs, code = _console(), [], [], 0
    with opened(request.store) as store:
        for name, experiment in experiments:
            ran = computed(name, experiment, request, store, console, arrays=True)
            runs.append(ran)
            try:
                own = ran.judged()
            except ExperimentError as error:
                code = refuse(str(error))
                own = []
            judged.extend(own)
            print_claims(own, console)
            print_failures(ran, request, console)
    _summarise(judged, runs, console)
    failed = any(v.outcome == "fails" for _, v in judged) or any(ran.failures for ran in runs)
    return code or int(failed)


def _summarise(judged: Judged, runs: Sequence[Ran], console: Console) -> None:
    total, lost = sum(len(r.points) for r in runs), sum(len(r.failures) for r in runs)
    there, seconds = sum(r.cached for r in runs), sum(r.seconds for r in runs)
    cells = f"{total:,} cells, {lost:,} failed, {there:,} there before; {duration(seconds)}"
    text = f"{len(runs)} experiment{'s' * (len(runs) != 1)}, {counted(judged)}; {cells}"
    console.print(Text(text, style="bold"))


# status


def show_status(path: Path) -> None:
    """Print a row for each experiment and version in the store."""
    with Store.open(path, readonly=True) as store:
        found = store.status()
    if found.empty:
        _console().print(f"nothing is stored in {path} yet", markup=False, soft_wrap=True)
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("experiment", overflow="fold")
    for name in ("version", "done", "failed", "running"):
        table.add_column(name, justify="right")
    table.add_column("last finished", no_wrap=True)
    table.add_column("computed for", justify="right", no_wrap=True)
    for row in found.to_dict("records"):
        counts = [f"{row[name]:,}" for name in ("version", "done", "failed", "running")]
        time = duration(row["seconds"]) if row["done"] + row["failed"] else ""
        table.add_row(Text(row["experiment"]), *counts, _local(row["last"]), time)
    _console().print(table)


def _local(stamp: str) -> str:
    return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
