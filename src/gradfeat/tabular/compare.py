"""Fit every method on the same training rows, score them on the same test rows."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gradfeat.estimators.search import search_deadline
from gradfeat.tabular.encode import TableEncoder
from gradfeat.tabular.errors import TableError
from gradfeat.tabular.interpret import directions
from gradfeat.tabular.methods import METHODS, Method, Situation, direct_rows, validation_folds
from gradfeat.tabular.results import Directions, FitReport, MethodResult
from gradfeat.tabular.scores import Predictions, interval, merit, replicates, resamples
from gradfeat.tabular.split import Split, parse_time, split_rows
from gradfeat.tabular.table_model import TableModel, probabilities
from gradfeat.tabular.target import Target, prepare_target
from gradfeat.tabular.verdict import verdict

Floats = NDArray[np.float64]

#: Called before each method: its label, the share of the work done, seconds since the start.
Progress = Callable[[str, float, float], None]


@dataclass(frozen=True)
class Request:
    """What a comparison is asked for (the options of `gradfeat fit`)."""

    data: str
    target: str
    task: Literal["auto", "regression", "classification"] = "auto"
    methods: tuple[str, ...] = tuple(m.name for m in METHODS)
    seconds: float = 60.0
    seed: int = 0
    time_column: str | None = None
    device: str | None = None
    command: str = ""


@dataclass(frozen=True)
class Comparison:
    """The report, and the best gradfeat model as a table model (None if all of them failed)."""

    report: FitReport
    model: TableModel | None


@dataclass(frozen=True, eq=False)
class _Table:
    """Encoded training and test rows."""

    target: Target
    split: Split
    encoder: TableEncoder
    train: Floats
    test: Floats

    @property
    def y_train(self) -> NDArray[Any]:
        return self.target.values[self.split.train]

    @property
    def y_test(self) -> NDArray[Any]:
        return self.target.values[self.split.test]


@dataclass(frozen=True, eq=False)
class _Fit:
    """One fitted method."""

    method: Method
    result: MethodResult
    estimator: Any = None
    predictions: Predictions | None = None
    draws: dict[str, tuple[float, Floats]] = field(default_factory=dict)


def chosen_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order of the comparison.

    Raises
    ------
    TableError
        For a name that is not a method, with the names that are.

    Examples
    --------
    >>> [m.label for m in chosen_methods(["rfm", "linear"])]
    ['Linear model', 'Recursive feature machine']
    """
    known = [m.name for m in METHODS]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise TableError(
            f"The methods asked for include {', '.join(map(repr, unknown)) or 'none'}: allowed are "
            f"{', '.join(known)}."
        )
    return tuple(m for m in METHODS if m.name in names)


def check_device(name: str | None) -> None:
    """Refuse a device on which nothing can be computed here.

    Raises
    ------
    TableError
        With the devices that are here.

    Examples
    --------
    >>> check_device("cpu")
    """
    try:
        torch.zeros(1, dtype=torch.float64, device=name).item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        here = "cpu and cuda" if torch.cuda.is_available() else "cpu"
        raise TableError(
            f"The device {name!r} cannot be used here: allowed {'is' if here == 'cpu' else 'are'} "
            f"{here}."
        ) from None


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
    table = _prepare(frame, request)
    budget = _row_budget(methods, table, request)
    W = resamples(len(table.split.test), request.seed)
    total, done, fits = sum(m.share for m in methods), 0.0, []
    for method in methods:
        progress(method.label, done / total, time.perf_counter() - start)
        fits.append(_fit(method, table, request, W, budget, request.seconds * method.share / total))
        done += method.share
    progress("Summary", 1.0, time.perf_counter() - start)
    return _conclude(table, fits, request, time.perf_counter() - start)


def _prepare(frame: pd.DataFrame, request: Request) -> _Table:
    target = prepare_target(frame, request.target, request.task)
    frame = frame.iloc[target.rows]
    when = None if request.time_column is None else parse_time(frame, request.time_column)
    inputs = _inputs(frame, {request.target, request.time_column})
    split = split_rows(len(frame), target.values, target.task, seed=request.seed, time=when)
    encoder = TableEncoder().fit(inputs.iloc[split.train])
    train, test = (encoder.transform(inputs.iloc[rows]) for rows in (split.train, split.test))
    return _Table(target, split, encoder, train, test)


def _inputs(frame: pd.DataFrame, others: set[str | None]) -> pd.DataFrame:
    inputs = frame.drop(columns=[c for c in frame.columns if str(c) in others])
    if inputs.shape[1] == 0:
        raise TableError(
            "The table has no column beside the target and the time: give at least one to predict "
            "from."
        )
    return inputs


def _row_budget(methods: Sequence[Method], table: _Table, request: Request) -> int:
    """Rows that a direct method may take, from half of the time of the slowest one."""
    share = max(m.share for m in methods) / sum(m.share for m in methods)
    outputs = max(1, len(table.target.classes) if len(table.target.classes) > 2 else 1)
    return direct_rows(0.5 * share * request.seconds, table.train.shape[1], outputs)


def _fit(
    method: Method, table: _Table, request: Request, W: Floats, budget: int, seconds: float
) -> _Fit:
    """Fit and score one method; a failure becomes its result."""
    rows = min(len(table.train), budget) if method.square else len(table.train)
    X, y = table.train, table.y_train
    if rows < len(X):
        fewer = split_rows(len(X), y, table.target.task, rows / len(X), request.seed)
        X, y = X[fewer.test], y[fewer.test]
    classification = table.target.task == "classification"
    situation = Situation(
        classification, request.seed, request.device, validation_folds(y, classification)
    )
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), search_deadline(0.5 * seconds), _threads(method):
            warnings.simplefilter("ignore")
            estimator = method.make(situation).fit(X, y)
            said = _predict(estimator, table)
    except (ValueError, MemoryError, RuntimeError, np.linalg.LinAlgError) as error:
        lost = MethodResult(
            method.name, method.label, method.family, {}, 0.0, len(X), {}, error=_sentence(error)
        )
        return _Fit(method, lost)
    took = time.perf_counter() - start
    draws = replicates(table.y_test.astype(float), said, W)
    scores = {name: interval(value, many) for name, (value, many) in draws.items()}
    result = MethodResult(
        method.name, method.label, method.family, scores, took, len(X), _settings(estimator)
    )
    return _Fit(method, result, estimator, said, draws)


def _threads(method: Method) -> AbstractContextManager[Any]:
    """Limit OpenMP threads where the method asks for it."""
    if method.threads is None:
        return nullcontext()
    return threadpool_limits(limits=method.threads, user_api="openmp")


def _predict(estimator: Any, table: _Table) -> Predictions:
    if not table.target.classes:
        values = np.asarray(estimator.predict(table.test), dtype=float)
        return Predictions(_finite(values), None)
    P = _finite(probabilities(estimator, table.test, len(table.target.classes)))
    return Predictions(P.argmax(axis=1).astype(float), P)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise ValueError(
            "some of its predictions are not finite: look for values of extreme size in the table."
        )
    return values


def _sentence(error: Exception) -> str:
    """What a library says, without the traces and advice that follow it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = lines or [type(error).__name__]
    return lines[-1] if "Traceback" in str(error) else lines[0]


def _settings(estimator: Any) -> dict[str, str]:
    """What the search chose, readable."""
    chosen = vars(estimator).get("settings_") or vars(estimator).get("best_params_") or {}
    words = {True: "yes", False: "no"}
    return {
        name.rpartition("__")[2].replace("_", " "): (
            words[value]
            if isinstance(value, bool)
            else f"{value:.3g}"
            if isinstance(value, float)
            else str(value)
        )
        for name, value in chosen.items()
    }


def _conclude(table: _Table, fits: list[_Fit], request: Request, seconds: float) -> Comparison:
    fitted = [f for f in fits if f.predictions is not None]
    if not fitted:
        reasons = "; ".join(f"{f.result.label}: {f.result.error}" for f in fits)
        raise TableError(f"No method could be fitted ({reasons}).")
    score = next(iter(fitted[0].draws))

    def worth(fit: _Fit) -> float:
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
        warnings=_remarks(table, fits),
    )
    model = None if kept is None else _table_model(kept, table, request)
    return Comparison(report, model)


def _values(fit: _Fit, table: _Table) -> NDArray[Any]:
    values = np.zeros(0) if fit.predictions is None else fit.predictions.values
    return values.astype(int) if table.target.classes else values


def _read(leader: _Fit, table: _Table, seed: int) -> Directions | None:
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


def _remarks(table: _Table, fits: list[_Fit]) -> tuple[str, ...]:
    remarks = [table.target.note] if table.target.note else []
    for fit in fits:
        n, rows = len(table.train), fit.result.rows_used
        if rows < n and not fit.result.error:
            remarks.append(
                f"{fit.result.label} was fitted on {rows:,} of the {n:,} training rows, to keep "
                "to the time asked for."
            )
    return (*remarks, *_first_gradient(fits))


def _first_gradient(fits: list[_Fit]) -> list[str]:
    """Is the first gradient step beyond chance? In a sentence, where it was tested."""
    tests = [vars(f.estimator).get("first_gradient_") for f in fits if f.estimator is not None]
    return [
        f"The first gradient step is {'informative' if test.informative else 'not informative'} "
        f"here: permutation p-values {test.linear_p:.2g} for its linear part and "
        f"{test.gradient_p:.2g} for what lies beyond it, over the training rows."
        for test in tests
        if test is not None
    ]


def _table_model(kept: _Fit, table: _Table, request: Request) -> TableModel:
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
