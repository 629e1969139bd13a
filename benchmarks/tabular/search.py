"""Searches: every setting is fitted on four fifths of the rows and judged on the last fifth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from problem import Array, Fitted, Problem, squared_error

Settings = Mapping[str, Any]
Fit = Callable[[Problem, Settings], Fitted]


@dataclass(frozen=True)
class Searched:
    """A fit on all training rows with the best settings."""

    fitted: Fitted
    settings: Settings

    def __call__(self, X: Array) -> Array:
        return self.fitted(X)


def judged(fit: Fit, held: Problem, settings: Settings) -> float:
    """Squared error on the held-out rows; infinite where the outputs are not finite."""
    error = squared_error(held, fit(held, settings)(held.X_test))
    return error if math.isfinite(error) else math.inf


def best_of(fit: Fit, problem: Problem, candidates: Iterable[Settings]) -> Searched:
    """Judge every candidate; refit the best on all rows."""
    held = problem.held_out()
    best = min(candidates, key=lambda settings: judged(fit, held, settings))
    return Searched(fit(problem, best), best)
