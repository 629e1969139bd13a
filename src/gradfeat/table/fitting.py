"""Fit and score one method; a failure is a result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gradfeat.errors import EngineError, SourceError, TableError
from gradfeat.estimators.checks import probabilities
from gradfeat.maths.limits import USED_UP, Deadline, memory_was_refused, within
from gradfeat.table.budgets import direct_rows, rows_within
from gradfeat.table.methods import Method, MethodInput, validation_folds
from gradfeat.table.prepared import Prepared
from gradfeat.table.request import Request
from gradfeat.table.results import MethodResult
from gradfeat.table.scores import Draws, Predictions, intervals, resampled
from gradfeat.table.target import Target

Floats = NDArray[np.float64]

#: Test rows that are predicted at once.
AT_ONCE = 4096

#: The share of the time of a method that its search may take: of rows that are searched in folds,
#: which a last fit costs less than, and of more rows.
FOLDS_SHARE, SEARCH_SHARE = 0.75, 0.5
#: Seconds that a last fit may take in any case: a linear model then has all rows of most tables.
LEAST = 0.25
#: Rows up to which a search has folds.
FOLDED = 1500

#: What stands in the place of a method's scores where no time was left.
NO_TIME = "no time was left; give --time more seconds, or fewer --methods"


@dataclass(frozen=True)
class MethodTime:
    """What a method may take.

    It ends by the `deadline`, its share of what is left; `asked` are the seconds of its share of
    all that were asked for, whatever others took, and `pass_seconds` what a pass over rows that
    stream took. `told` hears how far it is.
    """

    deadline: Deadline
    asked: float
    pass_seconds: float = 0.0
    told: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method as it was fitted and scored.

    `draws`: Its scores with their resamples; `judged`: those of what rests on its features alone.
    """

    method: Method
    result: MethodResult
    estimator: Any = None
    predictions: Predictions | None = None
    draws: Draws = field(default_factory=dict)
    judged: Draws = field(default_factory=dict)


def fit_method(
    method: Method, table: Prepared, request: Request, time_: MethodTime | None
) -> Fitted:
    """Fit a method to the training rows, in memory or as they stream, and score it.

    A method that needs its rows in memory is fitted to those that are held, as is one whose passes
    would take longer than its time. Where that is too short for all rows that are held, it has the
    first of them: they are ordered by hash, so these are a random sample.
    """
    if time_ is None:
        return failed(method, NO_TIME, 0)
    start = time.perf_counter()
    streams = _streams(method, table, request, time_)
    held = len(table.train) if streams else _rows_in_time(method, table, request, time_)
    X, y = table.train[:held], table.y_train[:held]
    rows = table.n_train if streams else held
    sampled = table.rows is not None and not streams and len(table.train) < table.n_train
    share = 1.0 if streams else FOLDS_SHARE if rows <= FOLDED else SEARCH_SHARE
    search = within(time_.deadline.part(share), time_.told)
    try:
        with warnings.catch_warnings(), search, _threads(method):
            warnings.simplefilter("ignore")
            estimator = method.make(situation(table, request, time_, rows, y))
            estimator = estimator.fit(table.rows) if streams else estimator.fit(X, y)
            said = predictions(estimator, table.test, table.target)
            alone = method.features_alone(estimator)
            rests = said if alone is estimator else predictions(alone, table.test, table.target)
    except (SourceError, EngineError):
        raise
    except (ValueError, MemoryError, RuntimeError, np.linalg.LinAlgError) as error:
        return failed(method, _sentence(error), rows, sampled=sampled)
    took = time.perf_counter() - start
    y_test = table.y_test.astype(float)
    draws = resampled(y_test, said, table.units, request.seed)
    judged = draws if rests is said else resampled(y_test, rests, table.units, request.seed)
    scores = intervals(table.y_test, draws, table.units)
    settings = _readable(method.settings(estimator))
    family = "fixed" if method.unlearned(estimator) else method.family
    named = (method.name, method.label, family)
    result = MethodResult(
        *named, scores, took, rows, settings, sampled=sampled, rows_there=table.n_train
    )
    return Fitted(method, result, estimator, said, draws, judged)


def failed(method: Method, why: str, rows: int, *, sampled: bool = False) -> Fitted:
    """A method without a fit, and why, in a sentence."""
    nothing = MethodResult(method.name, method.label, method.family, {}, 0.0, rows, {})
    return Fitted(method, replace(nothing, error=why, sampled=sampled))


def _streams(method: Method, table: Prepared, request: Request, time_: MethodTime) -> bool:
    """Whether it is fitted to all rows as they stream."""
    every = len(table.train) == table.n_train
    if table.rows is None or method.in_memory or (method.square and every):
        return False
    if every:
        return True
    passes = method.passes * time_.pass_seconds
    seconds = time_.deadline.left - passes
    work = method.work(situation(table, request, time_, table.n_train, table.y_train))
    return seconds > 0 and (not work or rows_within(seconds, work, request.width) >= table.n_train)


def _rows_in_time(method: Method, table: Prepared, request: Request, time_: MethodTime) -> int:
    """Rows that are held and that the method is fitted to."""
    n, seconds, d = len(table.train), max(LEAST, 0.5 * time_.deadline.left), table.train.shape[1]
    work = method.work(situation(table, request, time_, n, table.y_train))
    if n <= FOLDED:
        return n
    if method.square:
        return min(n, direct_rows(seconds, d, table.target.outputs))
    return min(n, rows_within(seconds, work, request.width)) if work else n


def situation(
    table: Prepared, request: Request, time_: MethodTime, rows: int, y: NDArray[Any]
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
        time_.deadline.left,
        time_.asked,
        request.width,
    )


def _threads(method: Method) -> AbstractContextManager[Any]:
    """Limit OpenMP threads where the method asks for it."""
    if method.threads is None:
        return nullcontext()
    return threadpool_limits(limits=method.threads, user_api="openmp")


def predictions(estimator: Any, X: Floats, target: Target) -> Predictions:
    """What a fitted estimator says about encoded rows (n, d), some thousands at a time."""
    parts = [X[s : s + AT_ONCE] for s in range(0, len(X), AT_ONCE)]
    if not target.classes:
        f = np.concatenate([*map(estimator.predict, parts)]).astype(float)
        return Predictions(_finite(target.scale.back(f)), None)
    said = partial(probabilities, estimator, K=len(target.classes))
    P = _finite(np.concatenate([*map(said, parts)]))
    return Predictions(P.argmax(axis=1).astype(float), P)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise TableError(
            "some of its predictions are not finite: look for values of extreme size in the table."
        )
    return values


def _sentence(error: Exception) -> str:
    """What a library says, without the traces and advice that follow it."""
    if memory_was_refused(error):
        return USED_UP
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
