"""fit: read a table, held or streamed, compare the methods, write files."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from gradfeat.cli.guard import Refused, Stopped
from gradfeat.cli.plain_values import finite
from gradfeat.cli.progress import PAUSE, TimeBar, duration
from gradfeat.drawing.numbers import count
from gradfeat.reports import render, terminal_table
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Engine, Tick
from gradfeat.rows.in_process import Threads
from gradfeat.rows.on_workers import DaskEngine, Pool
from gradfeat.rows.source import PIECE_ROWS
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.atomic import check_folder, write_folder
from gradfeat.table.compare import Comparison, PassLog, compare, compare_streamed
from gradfeat.table.read import read_table, why_streamed
from gradfeat.table.request import Request
from gradfeat.table.results import FitReport
from gradfeat.table.table_model import TableModel


def in_words(tick: Tick, begun_at: int) -> str:
    """Rows a second and the time left.

    Parameters
    ----------
    tick : Tick
    begun_at : int
        Pieces that the pass began with.

    Examples
    --------
    >>> in_words(Tick("look", 2, 4, 10.0, 2000), begun_at=0)
    '50 %, 200 rows/s, about 10 s left'
    """
    parts, done = [], tick.pieces - begun_at
    if tick.of:
        parts.append(f"{100 * tick.pieces / tick.of:.0f} %")
    if tick.rows and tick.seconds:
        parts.append(f"{tick.rows / tick.seconds:,.0f} rows/s")
    if tick.of and done > 0 and tick.pieces < tick.of:
        left = tick.seconds * (tick.of - tick.pieces) / done
        parts.append(f"about {duration(left)} left")
    if tick.of and tick.pieces == tick.of and not tick.rows:
        parts.append("done before")
    return ", ".join(parts)


class PassBar:
    """Of passes, one after the other.

    Plain lines come at most once in `PAUSE` seconds within a pass, and at the end of each.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = self._spoken = time.monotonic()
        self._begun_at = 0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("Look", total=None, words="")

    def __enter__(self) -> PassBar:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def tell(self, purpose: str, tick: Tick) -> None:
        """At the start of a pass, and as its pieces are summed."""
        if tick.seconds == 0.0:
            self._begun_at = tick.pieces
        words, label = in_words(tick, self._begun_at), f"{purpose}: {tick.label}"
        if self._console.is_terminal:
            self._bar.update(
                self._task, description=label, completed=tick.pieces, total=tick.of, words=words
            )
        elif tick.pieces == tick.of or self._due():
            self._spoken = time.monotonic()
            self._console.print(
                f"{self._spoken - self._start:6.1f} s  {label}, {words}",
                markup=False,
                soft_wrap=True,
            )

    def _due(self) -> bool:
        return time.monotonic() - self._spoken >= PAUSE


#: Values of a table that are read at once, by each thread or process.
PIECE_NUMBERS = 2**22


@dataclass(frozen=True)
class Streaming:
    """Whether rows stream, and what computes then (options of `gradfeat fit`).

    Attributes
    ----------
    asked : bool or None
        Asked for or not; None: where the table is large.
    jobs : int or None
        Processes; None: threads.
    dask : str or None
        Address of a scheduler, or ``local``.
    checkpoint : Checkpoint
        Where finished passes are kept.
    """

    asked: bool | None
    jobs: int | None
    dask: str | None
    checkpoint: Checkpoint

    def why(self, data: str) -> str:
        """Why the rows stream, in words; empty where the table is held in memory.

        Raises
        ------
        Refused
            For options that contradict each other.
        """
        spread = self.dask is not None or (self.jobs or 1) > 1
        if spread and self.asked is False:
            raise Refused(
                "--jobs and --dask spread rows that stream, and --no-stream asks for none: "
                "leave one of them out."
            )
        return why_streamed(data, True if spread else self.asked)


def fit_table(data: str, request: Request, streaming: Streaming, out: Path) -> None:
    """Compare the methods on a table; write report, model and results to the folder `out`."""
    console = Console(highlight=False)
    check_folder(out)
    if why := streaming.why(data):
        with _kept_until_done(streaming.checkpoint):
            _conclude(_fit_streamed(data, why, request, streaming, console), out, console)
    else:
        _conclude(_fit_in_memory(data, request, console), out, console)


def _conclude(found: Comparison, out: Path, console: Console) -> None:
    console.print(terminal_table(found.report))
    _write(found, out, console)


def _fit_in_memory(data: str, request: Request, console: Console) -> Comparison:
    frame = read_table(data)
    console.print(
        f"{Path(data).name}: {len(frame):,} rows, {frame.shape[1]} columns; target "
        f"{request.target}",
        markup=False,
    )
    with TimeBar(console) as progress:
        return compare(frame, request, progress.tell)


def _fit_streamed(
    data: str, why: str, request: Request, streaming: Streaming, console: Console
) -> Comparison:
    table = _opened(data, console, why)
    with PassBar(console) as bar:
        log = PassLog(bar.tell)
        with _engine(streaming, log) as (engine, computes):
            return compare_streamed(table, request, engine, log, computes)


def _opened(data: str, console: Console, why: str) -> Tables:
    """The table, with a line that says what it is; fewer rows at a time where they are wide."""
    table = tables(data)
    at_once = max(1024, PIECE_NUMBERS // len(table.names))
    if at_once < PIECE_ROWS:
        table = tables(data, piece_rows=at_once)
    rows = "rows not counted yet" if table.rows is None else f"{table.rows:,} rows"
    pieces = "" if table.count is None else f" in {count(table.count, 'piece')}"
    console.print(
        f"{Path(data).name}: {rows}, {len(table.names)} columns; streamed{pieces}: {why}",
        markup=False,
        soft_wrap=True,
    )
    return table


@contextmanager
def _kept_until_done(checkpoint: Checkpoint) -> Iterator[None]:
    """Passes that are kept within the block are removed at its end; others in the folder stay.

    Raises
    ------
    Stopped
        At Ctrl-C, with what is kept.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(
            f"stopped; the passes so far are kept in '{checkpoint.folder}', and the same command "
            "goes on from there."
        ) from None
    checkpoint.clear_opened()


@contextmanager
def _engine(streaming: Streaming, log: PassLog) -> Iterator[tuple[Engine, str]]:
    """What computes, and what it is in words."""
    kept = streaming.checkpoint
    match streaming:
        case Streaming(dask="local"):
            jobs = streaming.jobs or Threads().n
            with local_cluster(jobs) as client:
                engine = DaskEngine(cluster=client, report=log, checkpoint=kept)
                yield engine, f"a Dask cluster of {count(jobs, 'process')} on this machine"
        case Streaming(dask=str(address)):
            yield DaskEngine(cluster=address, report=log, checkpoint=kept), f"Dask at {address}"
        case Streaming(jobs=int(jobs)):
            with Pool(jobs=jobs, report=log, checkpoint=kept) as pool:
                yield pool, count(jobs, "process")
        case _:
            threads = Threads(report=log, checkpoint=kept)
            yield threads, count(threads.n, "thread")


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
    return f"none of this fit: the trained network and boosting are not saved{old}"


def _plain(report: FitReport) -> dict[str, Any]:
    """The report without its arrays of rows, for other programs; what is not finite is null."""
    record = dataclasses.asdict(dataclasses.replace(report, y_true=np.zeros(0), y_pred=np.zeros(0)))
    del record["y_true"], record["y_pred"]
    if record["directions"] is not None:
        del record["directions"]["projections"]
    return finite(record)
