"""Inputs and targets of zero mean and unit spread; outputs back in the target's units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from problem import Array, Fitted, Problem, one_hot, probabilities

Predict = Callable[[Array], Array]


def column_scale(X: Array, *, keep_binary: bool = False) -> tuple[Array, Array]:
    """Mean and spread of each column; 0 and 1 for constant and, if asked, 0/1 columns."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    kept = spread == 0
    if keep_binary:
        kept |= ((X == 0) | (X == 1)).all(axis=0)
    return np.where(kept, 0, mean), np.where(kept, 1, spread)


def least_squares(problem: Problem, fit: Callable[[Array, Array], Predict]) -> Fitted:
    """Fit (n, c) standardised targets, one-hot for classes; see `probabilities`."""
    centre, spread = column_scale(problem.X)
    y = one_hot(problem.y, problem.n_classes) if problem.classes else problem.y[:, None]
    mean = y.mean(axis=0)
    unit = 1.0 if problem.classes else y.std() or 1.0
    outputs = fit((problem.X - centre) / spread, (y - mean) / unit)

    def predict(X: Array) -> Array:
        values = outputs((X - centre) / spread).reshape(len(X), -1) * unit + mean
        return probabilities(values) if problem.classes else values[:, 0]

    return predict
