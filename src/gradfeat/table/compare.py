"""Fit every method on the same training rows, score them on the same test rows."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.rows.engine import Engine, Tick
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.budgets import direct_rows
from gradfeat.table.errors import TableError
from gradfeat.table.fitting import Fitted, fit_method
from gradfeat.table.interpret import directions, first_step
from gradfeat.table.methods import Method
from gradfeat.table.notes import unread_sentence
from gradfeat.table.prepared import Prepared, prepare, prepare_streamed
from gradfeat.table.request import Request, check_device, chosen_methods
from gradfeat.table.results import Directions, FitReport, PassTime, Streaming
from gradfeat.table.scores import merit, verdict
from gradfeat.table.table_model import TableModel

#: Called before each method: its label, the share of the work done, seconds since the start.
Progress = Callable[[str, float, float], None]

#: Told how far a pass is, and which method it is for.
PassProgress = Callable[[str, Tick], None]


@dataclass(frozen=True)
class Comparison:
    """The report, and the best gradfeat model as a table model (None if all of them failed)."""

    report: FitReport
    model: TableModel | None


@dataclass(eq=False)
class PassLog:
    """The passes over the rows: the reporter that an engine is made with.

    Attributes
    ----------
    progress : callable (str, Tick)
        Told of every tick, with what it is for.
    purpose : str
        What the passes are for.
    taken : list of PassTime
        Those that are finished.
    """

    progress: PassProgress
    purpose: str = ""
    taken: list[PassTime] = field(default_factory=list)
    _last: Tick | None = None

    def __call__(self, tick: Tick) -> None:
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
            self.taken.append(PassTime(label, last.rows, last.seconds))


def compare(frame: pd.DataFrame, request: Request, progress: Progress) -> Comparison:
    """Hold out test rows of a table in memory, fit and score every method, say what the best reads.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, target included.
    request : Request
        Options.
    progress : callable
        Told before each method.

    Raises
    ------
    TableError
        For a table, target or option that cannot be used, in one sentence.
    """
    start = time.perf_counter()

    def begin(label: str, done: float) -> None:
        progress(label, done, time.perf_counter() - start)

    methods = _checked(request)
    return _compared(methods, prepare(frame, request), request, begin, start)


def compare_streamed(
    table: Tables, request: Request, engine: Engine, log: PassLog, computes: str
) -> Comparison:
    """The same of a table whose rows stream; methods that cannot are fitted to a sample.

    Parameters
    ----------
    table : Tables
        Where the rows are.
    request : Request
        Options.
    engine : Engine
        What computes, made with ``report=log``.
    log : PassLog
        Of its passes.
    computes : str
        What computes, in words: ``2 threads``.

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
    methods = _checked(request)
    log.begin("Look")
    prepared = prepare_streamed(table, request, engine)

    def begin(label: str, done: float) -> None:
        log.begin(label if done < 1.0 else "")

    found = _compared(methods, prepared, request, begin, start)
    streaming = Streaming(table.count or 0, computes, len(prepared.train), tuple(log.taken))
    return replace(found, report=replace(found.report, streaming=streaming))


def _checked(request: Request) -> tuple[Method, ...]:
    check_device(request.device)
    return chosen_methods(request.methods)


def _compared(
    methods: Sequence[Method],
    table: Prepared,
    request: Request,
    begin: Callable[[str, float], None],
    start: float,
) -> Comparison:
    budget = _row_budget(methods, table, request)
    total, done, fits = sum(m.share for m in methods), 0.0, []
    for method in methods:
        begin(method.label, done / total)
        seconds = request.seconds * method.share / total
        fits.append(fit_method(method, table, request, budget, seconds))
        done += method.share
    begin("Summary", 1.0)
    return conclude(table, fits, request, time.perf_counter() - start)


def _row_budget(methods: Sequence[Method], table: Prepared, request: Request) -> int:
    """Rows that a direct method may take in memory, from half of the time of the slowest one."""
    share = max(m.share for m in methods) / sum(m.share for m in methods)
    return direct_rows(0.5 * share * request.seconds, table.train.shape[1], table.target.outputs)


def conclude(
    table: Prepared,
    fits: list[Fitted],
    request: Request,
    seconds: float,
) -> Comparison:
    """The report of fitted methods, and the best gradfeat model.

    Raises
    ------
    TableError
        Where none was fitted.
    """
    fitted = [f for f in fits if f.predictions is not None]
    if not fitted:
        reasons = "; ".join(f"{f.result.label}: {f.result.error}" for f in fits)
        raise TableError(f"No method could be fitted ({reasons}).")
    score = next(iter(fitted[0].draws))

    def worth(fit: Fitted) -> float:
        return merit(score, fit.draws[score][0])

    best = max(fitted, key=worth)
    ours = [f for f in fitted if f.method.family != "reference"]
    learned = [f for f in ours if f.method.family == "learned"] or ours
    leader, kept = max(learned, key=worth, default=None), max(ours, key=worth, default=None)
    draws = {f.method.name: f.draws[score] for f in fitted}
    report = FitReport(
        data=request.data,
        target=request.target,
        task=table.target.task,
        classes=table.target.classes,
        n_rows=table.n_rows,
        n_train=table.n_train,
        n_test=len(table.test),
        split=table.split,
        columns=table.encoder.notes_,
        methods=tuple(f.result for f in fits),
        verdict=verdict([f.method for f in fitted], draws, score, len(table.test)),
        directions=None if leader is None else _read(leader, table, request.seed),
        best=best.method.name,
        y_true=table.y_test,
        y_pred=_values(best, table),
        seed=request.seed,
        versions=_versions(),
        command=request.command,
        seconds=seconds,
        warnings=_remarks(table, fits),
        first_step=first_step(fitted, table),
        unread=table.unread,
    )
    model = None if kept is None else _table_model(kept, table, request)
    return Comparison(report, model)


def _values(fit: Fitted, table: Prepared) -> NDArray[Any]:
    values = np.zeros(0) if fit.predictions is None else fit.predictions.values
    return values.astype(int) if table.target.classes else values


def _read(leader: Fitted, table: Prepared, seed: int) -> Directions | None:
    e = table.encoder
    return directions(
        leader.method.name,
        leader.estimator,
        table.test,
        e.feature_names_,
        e.source_,
        tuple(c for c in e.columns_ if c in e.source_),
        seed,
    )


def _remarks(table: Prepared, fits: list[Fitted]) -> tuple[str, ...]:
    remarks = [table.target.note] if table.target.note else []
    for fit in fits:
        n, rows = table.n_train, fit.result.rows_used
        if rows < n and not fit.result.error:
            why = "to keep to the time asked for"
            if fit.result.sampled:
                why = "which it needs in memory: a random sample"
            remarks.append(
                f"{fit.result.label} was fitted on {rows:,} of the {n:,} training rows, {why}."
            )
    remarks += [unread_sentence(table.unread)] if table.unread else []
    rows = "the training rows" if table.rows is None else "a sample of the training rows"
    return (*remarks, *_first_gradient(fits, rows))


def _first_gradient(fits: list[Fitted], rows: str) -> list[str]:
    """Is the first gradient step beyond chance? In a sentence, where it was tested."""
    fitted = [fit for fit in fits if fit.estimator is not None]
    tests = [fit.method.first_gradient(fit.estimator) for fit in fitted]
    return [
        f"The first gradient step is {'informative' if test.informative else 'not informative'} "
        f"here: permutation p-values {test.linear_p:.2g} for its linear part and "
        f"{test.gradient_p:.2g} for what lies beyond it, over {rows}."
        for test in tests
        if test is not None
    ]


def _table_model(kept: Fitted, table: Prepared, request: Request) -> TableModel:
    about = {
        "method": kept.method.label,
        "data": request.data,
        "task": table.target.task,
        "train_rows": kept.result.rows_used,
        "test_rows": len(table.test),
        "scores": [[n, s.estimate, s.low, s.high] for n, s in kept.result.scores.items()],
        "settings": kept.result.settings,
        "seed": request.seed,
    }
    return TableModel(table.encoder, kept.estimator, request.target, table.target.classes, about)


def _versions() -> dict[str, str]:
    packages = ("gradfeat", "torch", "numpy", "scikit-learn", "pandas", "skrub")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}
