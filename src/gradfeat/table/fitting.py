"""Fit and score one method; a failure is a result."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gradfeat.models.search.search import search_deadline
from gradfeat.table.methods import Method, Situation, validation_folds
from gradfeat.table.prepared import Prepared
from gradfeat.table.request import Request
from gradfeat.table.results import MethodResult
from gradfeat.table.scores import Predictions, interval, replicates
from gradfeat.table.split import split_rows
from gradfeat.table.table_model import probabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fitted method."""

    method: Method
    result: MethodResult
    estimator: Any = None
    predictions: Predictions | None = None
    draws: dict[str, tuple[float, Floats]] = field(default_factory=dict)


def fit_method(
    method: Method, table: Prepared, request: Request, W: Floats, budget: int, seconds: float
) -> Fitted:
    """Fit and score one method; a failure becomes its result."""
    rows = min(len(table.train), budget) if method.square else len(table.train)
    X, y = table.train, table.y_train
    if rows < len(X):
        fewer = split_rows(len(X), y, table.target.task, rows / len(X), request.seed)
        X, y = X[fewer.test], y[fewer.test]
    classification = table.target.task == "classification"
    situation = Situation(
        len(X),
        int(np.unique(y, return_counts=True)[1].min()) if classification else len(X),
        classification,
        request.seed,
        request.device,
        validation_folds(y, classification),
        X.shape[1],
        table.target.outputs,
        seconds,
        request.width,
    )
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), search_deadline(0.5 * seconds), _threads(method):
            warnings.simplefilter("ignore")
            estimator = method.make(situation).fit(X, y)
            said = predictions(estimator, table)
    except (ValueError, MemoryError, RuntimeError, np.linalg.LinAlgError) as error:
        return failed(method, len(X), error)
    took = time.perf_counter() - start
    return scored(
        method, estimator, said, replicates(table.y_test.astype(float), said, W), took, len(X)
    )


def failed(method: Method, rows: int, error: Exception) -> Fitted:
    """A method that could not be fitted."""
    sentence = _sentence(error)
    return Fitted(
        method,
        MethodResult(method.name, method.label, method.family, {}, 0.0, rows, {}, error=sentence),
    )


def scored(
    method: Method,
    estimator: Any,
    said: Predictions,
    draws: dict[str, tuple[float, Floats]],
    seconds: float,
    rows: int,
) -> Fitted:
    """A method with its scores."""
    scores = {name: interval(value, many) for name, (value, many) in draws.items()}
    settings = _settings(estimator)
    result = MethodResult(method.name, method.label, method.family, scores, seconds, rows, settings)
    return Fitted(method, result, estimator, said, draws)


def _threads(method: Method) -> AbstractContextManager[Any]:
    """Limit OpenMP threads where the method asks for it."""
    if method.threads is None:
        return nullcontext()
    return threadpool_limits(limits=method.threads, user_api="openmp")


def predictions(estimator: Any, table: Prepared) -> Predictions:
    """What a fitted estimator says about the test rows."""
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
