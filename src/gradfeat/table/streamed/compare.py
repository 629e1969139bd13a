"""Compare methods on a table that is passed over instead of held."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gradfeat.rows.engine import Engine, Tick
from gradfeat.rows.rows import Rows
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.compare import Comparison, conclude
from gradfeat.table.errors import TableError, near_names
from gradfeat.table.prepared import kept_names
from gradfeat.table.request import Request, check_device
from gradfeat.table.results import FitReport, PassTaken, Streaming
from gradfeat.table.streamed.fit import fit_in_passes
from gradfeat.table.streamed.frames import FrameRows
from gradfeat.table.streamed.look import Look
from gradfeat.table.streamed.methods import left_out, methods_in_passes
from gradfeat.table.streamed.parts import Parts, parts, sketch_size
from gradfeat.table.streamed.rows import EncodedRows

#: What the first gradient is tested on.
_SAMPLE = "a sample of the training rows"

#: Told how far a pass is, and which method it is for.
Progress = Callable[[str, Tick], None]


@dataclass(eq=False)
class Passes:
    """What is told of every pass: the reporter that an engine is made with.

    Attributes
    ----------
    progress : callable (str, Tick)
        Told of every tick, with what it is for.
    """

    progress: Progress
    purpose: str = ""
    taken: list[PassTaken] = field(default_factory=list)
    _last: Tick | None = None

    def __call__(self, tick: Tick) -> None:
        """Of an engine."""
        if self._last is not None and tick.seconds == 0.0:
            self._close()
        self._last = tick
        self.progress(self.purpose, tick)

    def begin(self, purpose: str) -> None:
        """What the next passes are for."""
        self._close()
        self.purpose = purpose

    def _close(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            label = f"{self.purpose}: {last.label}"
            self.taken.append(PassTaken(label, last.rows, last.seconds))


@dataclass(frozen=True, eq=False)
class Passing:
    """Who passes over the rows.

    Attributes
    ----------
    engine : Engine
        Made with ``report=passes``.
    passes : Passes
        What it tells.
    words : str
        What computes: ``2 threads``.
    """

    engine: Engine
    passes: Passes
    words: str


def compare_in_passes(table: Tables, request: Request, passing: Passing) -> Comparison:
    """Look at the rows, hold some out, fit every method by passes over the others, score them.

    Parameters
    ----------
    table : Tables
        Where the rows are.
    request : Request
        Options.
    passing : Passing
        Who passes over them.

    Raises
    ------
    TableError
        For a table, target or option that cannot be used.
    SourceError
        For rows that cannot be read.
    EngineError
        Where workers or the checkpoint fail.
    """
    start = time.perf_counter()
    methods = methods_in_passes(request.methods)
    _refuse_time(request)
    check_device(request.device)
    table = table.select(_columns(table, request))
    found = _looked(table, request, passing)
    rows = Rows(EncodedRows(table, found.coding, found.n_train)).on(passing.engine)
    total, fits = sum(method.share for method in methods), []
    for method in methods:
        passing.passes.begin(method.label)
        seconds = request.seconds * method.share / total
        fits.append(fit_in_passes(method, rows, found, request, seconds))
    passing.passes.begin("")
    took = time.perf_counter() - start
    comparison = conclude(found.held, fits, request, took, _SAMPLE)
    return replace(comparison, report=_report(comparison.report, found, table, request, passing))


def _looked(table: Tables, request: Request, passing: Passing) -> Parts:
    passing.passes.begin("Look")
    first = next(frame for piece in table.pieces() for frame in piece.read())
    size = sketch_size(first)
    look = Look(request.target, size, request.seed)
    seen = look.finish(passing.engine.state(look, FrameRows(table), "rows and target"))
    return parts(seen, request, size)


def _columns(table: Tables, request: Request) -> list[str]:
    names = kept_names(table.names, request.ignore)
    if request.target not in names:
        raise TableError(
            f"The table has no column {request.target!r}{near_names(request.target, names)}"
        )
    if len(names) == 1:
        raise TableError(
            "The table has no column beside the target: give at least one to predict from."
        )
    return names


def _refuse_time(request: Request) -> None:
    if request.time_column is not None:
        raise TableError(
            "--time-column holds out the last rows of a table in memory, and this one is passed "
            "over: leave it out, or give --no-stream where the table fits in memory."
        )


def _report(
    report: FitReport, found: Parts, table: Tables, request: Request, passing: Passing
) -> FitReport:
    share = f"{found.n_rows - found.n_train:,} of {found.n_rows:,} rows held out"
    sample = len(found.held.train)
    remark = left_out(request.methods)
    streaming = Streaming(table.count or 0, passing.words, sample, tuple(passing.passes.taken))
    return replace(
        report,
        n_rows=found.n_rows,
        n_train=found.n_train,
        n_test=found.n_test,
        split=f"{share}: by a hash of their contents, seed {request.seed}",
        warnings=(*report.warnings, *([remark] if remark else [])),
        streaming=streaming,
    )
