"""Fit every method on the same training rows, score them on the same test rows."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.errors import TableError
from gradfeat.table.first_step import first_step
from gradfeat.table.fitting import Fitted, fit_method
from gradfeat.table.interpret import directions
from gradfeat.table.methods import Method, direct_rows
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.request import Request, check_device, chosen_methods
from gradfeat.table.results import Directions, FitReport
from gradfeat.table.scores import merit, resamples
from gradfeat.table.table_model import TableModel
from gradfeat.table.verdict import verdict

#: Called before each method: its label, the share of the work done, seconds since the start.
Progress = Callable[[str, float, float], None]


@dataclass(frozen=True)
class Comparison:
    """The report, and the best gradfeat model as a table model (None if all of them failed)."""

    report: FitReport
    model: TableModel | None


def compare(frame: pd.DataFrame, request: Request, progress: Progress) -> Comparison:
    """Hold out test rows, fit and score every method, say what the best learner reads.

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
    methods = chosen_methods(request.methods)
    check_device(request.device)
    table = prepare(frame, request)
    budget = _row_budget(methods, table, request)
    W = resamples(len(table.split.test), request.seed)
    total, done, fits = sum(m.share for m in methods), 0.0, []
    for method in methods:
        progress(method.label, done / total, time.perf_counter() - start)
        fits.append(
            fit_method(method, table, request, W, budget, request.seconds * method.share / total)
        )
        done += method.share
    progress("Summary", 1.0, time.perf_counter() - start)
    return conclude(table, fits, request, time.perf_counter() - start)


def _row_budget(methods: Sequence[Method], table: Prepared, request: Request) -> int:
    """Rows that a direct method may take, from half of the time of the slowest one."""
    share = max(m.share for m in methods) / sum(m.share for m in methods)
    return direct_rows(0.5 * share * request.seconds, table.train.shape[1], table.target.outputs)


def conclude(
    table: Prepared,
    fits: list[Fitted],
    request: Request,
    seconds: float,
    rows: str = "the training rows",
) -> Comparison:
    """The report of fitted methods, and the best gradfeat model; `rows` are those of tests.

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
    ours = [f for f in fitted if "predictor_" in vars(f.estimator)]
    learned = [f for f in ours if f.method.family == "learned"] or ours
    leader, kept = max(learned, key=worth, default=None), max(ours, key=worth, default=None)
    draws = {f.method.name: f.draws[score] for f in fitted}
    report = FitReport(
        data=request.data,
        target=request.target,
        task=table.target.task,
        classes=table.target.classes,
        n_rows=len(table.target.values),
        n_train=len(table.train),
        n_test=len(table.test),
        split=table.split.description,
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
        warnings=_remarks(table, fits, rows),
        first_step=first_step(fitted, table),
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


def _remarks(table: Prepared, fits: list[Fitted], tested: str) -> tuple[str, ...]:
    remarks = [table.target.note] if table.target.note else []
    for fit in fits:
        n, rows = len(table.train), fit.result.rows_used
        if rows < n and not fit.result.error:
            remarks.append(
                f"{fit.result.label} was fitted on {rows:,} of the {n:,} training rows, to keep "
                "to the time asked for."
            )
    return (*remarks, *_first_gradient(fits, tested))


def _first_gradient(fits: list[Fitted], rows: str) -> list[str]:
    """Is the first gradient step beyond chance? In a sentence, where it was tested."""
    tests = [vars(f.estimator).get("first_gradient_") for f in fits if f.estimator is not None]
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
