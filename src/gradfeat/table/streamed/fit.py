"""Fit one method by passes over the rows, and score it on the test rows; a failure is a result."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from gradfeat.maths.streams import numpy_stream
from gradfeat.models.search.search import search_deadline
from gradfeat.rows.errors import EngineError, SourceError
from gradfeat.rows.rows import Rows
from gradfeat.table.fitting import Fitted, Floats, failed, predictions, scored
from gradfeat.table.methods import Method, Situation, validation_folds
from gradfeat.table.prepared import Prepared
from gradfeat.table.request import Request
from gradfeat.table.scores import RESAMPLES, Predictions, replicates
from gradfeat.table.streamed.parts import Parts

#: Test rows that are predicted at once, and numbers of resamples that are held at once.
AT_ONCE, RESAMPLED = 4096, 2**21


def fit_in_passes(
    method: Method, rows: Rows, found: Parts, request: Request, seconds: float
) -> Fitted:
    """Fit and score one method; what it cannot do becomes its result.

    Raises
    ------
    SourceError, EngineError
        Where rows or workers fail: no other method could do better.
    """
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), search_deadline(seconds):
            warnings.simplefilter("ignore")
            estimator = method.make(situation(found, request, seconds)).fit(rows)
            said = in_chunks(estimator, found.held)
    except (SourceError, EngineError):
        raise
    except (ValueError, MemoryError, RuntimeError, np.linalg.LinAlgError) as error:
        return failed(method, found.n_train, error)
    took = time.perf_counter() - start
    draws = resampled(found.held.y_test.astype(float), said, request.seed)
    return scored(method, estimator, said, draws, took, found.n_train)


def situation(found: Parts, request: Request, seconds: float) -> Situation:
    """What a method is made for."""
    held = found.held
    classification = held.target.task == "classification"
    return Situation(
        found.n_train,
        found.fewest,
        classification,
        request.seed,
        request.device,
        validation_folds(held.y_train, classification),
        held.train.shape[1],
        held.target.outputs,
        seconds,
        request.width,
    )


def in_chunks(estimator: Any, held: Prepared) -> Predictions:
    """Predictions of the test rows, some thousands at a time."""
    starts = range(0, len(held.test), AT_ONCE)
    chunks = [replace(held, test=held.test[s : s + AT_ONCE]) for s in starts]
    said = [predictions(estimator, chunk) for chunk in chunks]
    shares = [each.probabilities for each in said if each.probabilities is not None]
    values = np.concatenate([each.values for each in said])
    return Predictions(values, np.concatenate(shares) if shares else None)


def resampled(y: Floats, said: Predictions, seed: int) -> dict[str, tuple[float, Floats]]:
    """Scores and their resamples, as of :func:`~gradfeat.table.scores.resamples`.

    The resamples are the same numbers, drawn a few at a time so that memory is bounded.
    """
    rng, n = numpy_stream(seed, "test bootstrap"), len(y)
    each = max(1, min(RESAMPLES, RESAMPLED // n))
    sizes = [min(each, RESAMPLES - start) for start in range(0, RESAMPLES, each)]
    many = [
        replicates(y, said, rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64))
        for size in sizes
    ]
    return {
        name: (value, np.concatenate([draws[name][1] for draws in many]))
        for name, (value, _) in many[0].items()
    }
