"""fit and predict on tables that are passed over: engines, progress, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gradfeat.cli.guard import Refused, Stopped
from gradfeat.cli.pass_bar import PassBar
from gradfeat.drawing.numbers import count
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.dask_engine import DaskEngine
from gradfeat.rows.engine import Engine
from gradfeat.rows.pool import Pool
from gradfeat.rows.source import PIECE_ROWS
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Tables
from gradfeat.rows.threads import Threads
from gradfeat.table.compare import Comparison
from gradfeat.table.request import Request
from gradfeat.table.streamed.compare import Passes, Passing, compare_in_passes
from gradfeat.table.streamed.decide import why_passed_over

#: Values of a table that are read at once, by each thread or process.
PIECE_NUMBERS = 2**22


@dataclass(frozen=True)
class Means:
    """How rows are passed over (the options of `gradfeat fit`).

    Attributes
    ----------
    stream : bool or None
        Asked for or not; None: where the table is large.
    jobs : int or None
        Processes; None: threads.
    dask : str or None
        Address of a scheduler, or ``local``.
    checkpoint : Checkpoint
        Where passes are kept.
    """

    stream: bool | None
    jobs: int | None
    dask: str | None
    checkpoint: Checkpoint

    def why(self, data: str) -> str:
        """Why the rows are passed over; empty where the table is held in memory.

        Raises
        ------
        Refused
            For options that contradict each other.
        """
        spread = self.dask is not None or (self.jobs or 1) > 1
        if spread and self.stream is False:
            raise Refused(
                "--jobs and --dask spread passes over the rows, and --no-stream asks for none: "
                "leave one of them out."
            )
        return why_passed_over(data, True if spread else self.stream)


def opened(data: str, console: Console, why: str) -> Tables:
    """The table, with a line that says what it is; fewer rows at a time where they are wide."""
    table = tables(data)
    at_once = max(1024, PIECE_NUMBERS // len(table.names))
    if at_once < PIECE_ROWS:
        table = tables(data, piece_rows=at_once)
    rows = "rows not counted yet" if table.rows is None else f"{table.rows:,} rows"
    pieces = "" if table.count is None else f" in {count(table.count, 'piece')}"
    console.print(
        f"{Path(data).name}: {rows}, {len(table.names)} columns; passed over{pieces}: {why}",
        markup=False,
        soft_wrap=True,
    )
    return table


def fit_in_passes(
    data: str, why: str, request: Request, means: Means, console: Console
) -> Comparison:
    """Compare the methods by passes over the rows of a table; `why` is said in the first line."""
    table = opened(data, console, why)
    with PassBar(console) as bar:
        passes = Passes(bar.tell)
        with _engine(means, passes) as (engine, words):
            return compare_in_passes(table, request, Passing(engine, passes, words))


@contextmanager
def kept_until_done(checkpoint: Checkpoint) -> Iterator[None]:
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
def _engine(means: Means, passes: Passes) -> Iterator[tuple[Engine, str]]:
    kept = means.checkpoint
    match means:
        case Means(dask="local"):
            jobs = means.jobs or Threads().n
            with local_cluster(jobs) as client:
                engine = DaskEngine(cluster=client, report=passes, checkpoint=kept)
                yield engine, f"a Dask cluster of {count(jobs, 'process')} on this machine"
        case Means(dask=str(address)):
            yield DaskEngine(cluster=address, report=passes, checkpoint=kept), f"Dask at {address}"
        case Means(jobs=int(jobs)):
            with Pool(jobs=jobs, report=passes, checkpoint=kept) as pool:
                yield pool, count(jobs, "process")
        case _:
            threads = Threads(report=passes, checkpoint=kept)
            yield threads, count(threads.n, "thread")
