"""Options of a run: whether rows stream, and what computes then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gradfeat.drawing.numbers import count
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Engine, Report
from gradfeat.rows.in_process import Threads
from gradfeat.rows.on_workers import DaskEngine, Pool
from gradfeat.rows.source import PIECE_ROWS
from gradfeat.rows.sources.in_memory import FrameTables
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Tables, held
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.errors import TableError
from gradfeat.table.read import why_streamed

#: Values of a table that are read at once, by each thread or process.
PIECE_NUMBERS = 2**22


@dataclass(frozen=True)
class RunOptions:
    """Whether rows stream, and what computes then.

    `stream`: asked for or not; None: where the table is large; `dask`: address of a scheduler, or
    ``local``; `checkpoint`: where finished passes are kept; None: nowhere.
    """

    stream: bool | None = None
    jobs: int | None = None
    dask: str | None = None
    checkpoint: Checkpoint | None = None

    def why_streamed(self, path: str | None) -> str:
        """Why the rows of a file, or of a frame, stream: in words; empty where they are held."""
        spread = self.dask is not None or (self.jobs or 1) > 1
        if spread and self.stream is False:
            raise TableError(
                "--jobs and --dask spread rows that stream, and --no-stream asks for none: "
                "leave one of them out."
            )
        asked = True if spread else self.stream
        if path is None:
            return "as asked" if asked else ""
        return why_streamed(path, asked)

    @contextmanager
    def engine(self, report: Report) -> Iterator[tuple[Engine, str]]:
        """What computes passes, and what it is in words."""
        kept = self.checkpoint
        match self:
            case RunOptions(dask="local"):
                jobs = self.jobs or Threads().n
                with local_cluster(jobs) as client:
                    engine = DaskEngine(cluster=client, report=report, checkpoint=kept)
                    yield engine, f"a Dask cluster of {count(jobs, 'process')} on this machine"
            case RunOptions(dask=str(address)):
                engine = DaskEngine(cluster=address, report=report, checkpoint=kept)
                yield engine, f"Dask at {address}"
            case RunOptions(jobs=int(jobs)):
                with Pool(jobs=jobs, report=report, checkpoint=kept) as pool:
                    yield pool, count(jobs, "process")
            case _:
                threads = Threads(report=report, checkpoint=kept)
                yield threads, count(threads.n, "thread")


def opened(path: str, text: TextOptions, *, streamed: bool) -> Tables:
    """The table of a file, folder, pattern of names or URL; fewer rows a chunk where they are wide.

    Rows that do not stream are read here, and are one chunk.
    """
    table = tables(path, text=text)
    if not streamed:
        frame = held(table)
        return FrameTables(frame, len(frame), read_from=table)
    at_once = max(1024, PIECE_NUMBERS // len(table.names))
    return tables(path, piece_rows=at_once, text=text) if at_once < PIECE_ROWS else table
