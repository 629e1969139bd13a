"""Fit and score one method; a failure is a result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gradfeat.models.search.search import search_deadline
from gradfeat.rows.errors import EngineError, SourceError
from gradfeat.table.methods import Method, MethodInput, validation_folds
from gradfeat.table.prepared import Prepared
from gradfeat.table.request import Request
from gradfeat.table.results import MethodResult
from gradfeat.table.scores import Predictions, intervals, resampled
from gradfeat.table.table_model import probabilities
from gradfeat.table.target import Target

Floats = NDArray[np.float64]

#: Test rows that are predicted at once.
AT_ONCE = 4096

#: The share of the time of a method that its search may take, of rows in memory: the fit to all
#: rows takes the rest. A fit that streams is as long as its passes, whatever the time.
SEARCH_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Fitted:
    method: Method
    result: MethodResult
    estimator: Any = None
    predictions: Predictions | None = None
    draws: dict[str, tuple[float, Floats]] = field(default_factory=dict)


def fit_method(
    method: Method, table: Prepared, request: Request, budget: int, seconds: float
) -> Fitted:
    """Fit a method to the training rows, in memory or as they stream, and score it.

    A method that needs its rows in memory is fitted to those that are held. One that forms
    matrices of rows x rows does so where all training rows are held, of the first `budget` of
    them: they are ordered by hash, so these are a random sample.

    Raises
    ------
    SourceError, EngineError
        Where rows or workers fail: no other method could do better.
    """
    every = len(table.train) == table.n_train
    streams = table.rows is not None and not (method.in_memory or (method.square and every))
    held = len(table.train) if streams or not method.square else min(len(table.train), budget)
    X, y = table.train[:held], table.y_train[:held]
    rows = table.n_train if streams else held
    sampled = table.rows is not None and method.in_memory
    start = time.perf_counter()
    try:
        share = 1.0 if streams else SEARCH_SHARE
        with warnings.catch_warnings(), search_deadline(share * seconds), _threads(method):
            warnings.simplefilter("ignore")
            estimator = method.make(situation(table, request, seconds, rows, y))
            estimator = estimator.fit(table.rows) if streams else estimator.fit(X, y)
            said = predictions(estimator, table.test, table.target)
    except (SourceError, EngineError):
        raise
    except (ValueError, MemoryError, RuntimeError, np.linalg.LinAlgError) as error:
        nothing = MethodResult(method.name, method.label, method.family, {}, 0.0, rows, {})
        return Fitted(method, replace(nothing, error=_sentence(error), sampled=sampled))
    took = time.perf_counter() - start
    draws = resampled(table.y_test.astype(float), said, request.seed)
    scores = intervals(table.y_test, draws)
    settings = _readable(method.settings(estimator))
    named = (method.name, method.label, method.family)
    result = MethodResult(
        *named, scores, took, rows, settings, sampled=sampled, rows_there=table.n_train
    )
    return Fitted(method, result, estimator, said, draws)


def situation(
    table: Prepared, request: Request, seconds: float, rows: int, y: NDArray[Any]
) -> MethodInput:
    """What a method is made for that is fitted to so many rows, with targets `y` where held."""
    classification = table.target.task == "classification"
    fewest = rows
    if classification:
        all_held = rows == len(y)
        fewest = int(np.unique(y, return_counts=True)[1].min()) if all_held else table.fewest
    return MethodInput(
        rows,
        fewest,
        classification,
        request.seed,
        request.device,
        validation_folds(y, classification),
        table.train.shape[1],
        table.target.outputs,
        seconds,
        request.width,
    )


def _threads(method: Method) -> AbstractContextManager[Any]:
    """Limit OpenMP threads where the method asks for it."""
    if method.threads is None:
        return nullcontext()
    return threadpool_limits(limits=method.threads, user_api="openmp")


def predictions(estimator: Any, X: Floats, target: Target) -> Predictions:
    """What a fitted estimator says about encoded rows (n, d), some thousands at a time."""
    starts = range(0, len(X), AT_ONCE)
    said = [_said(estimator, X[s : s + AT_ONCE], target) for s in starts]
    shares = [each.probabilities for each in said if each.probabilities is not None]
    values = np.concatenate([each.values for each in said])
    return Predictions(values, np.concatenate(shares) if shares else None)


def _said(estimator: Any, X: Floats, target: Target) -> Predictions:
    if not target.classes:
        f = np.asarray(estimator.predict(X), dtype=float)
        return Predictions(_finite(target.scale.back(f)), None)
    P = _finite(probabilities(estimator, X, len(target.classes)))
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


def _readable(chosen: Mapping[str, Any]) -> dict[str, str]:
    """What a search chose, as text."""
    return {name.rpartition("__")[2].replace("_", " "): _word(v) for name, v in chosen.items()}


def _word(value: Any) -> str:
    match value:
        case True | False:
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case _:
            return str(value)
