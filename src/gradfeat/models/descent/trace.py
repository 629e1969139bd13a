"""Chosen numbers of a network while it trains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from ..base import Predictor

Measure = Callable[[Predictor], float]


def trace(
    path: Iterable[Predictor],
    measures: Mapping[str, Measure],
    at: Collection[int] | None = None,
) -> dict[str, np.ndarray]:
    """Each measure of the predictor after each step, or after the steps of `at` alone.

    Parameters
    ----------
    path : iterable of Predictor
        What ``fit_path`` yields: the predictors after steps 1, 2, ...
    measures : mapping of str to callable
        Numbers to take, by name.
    at : collection of int, optional
        Steps to look at; those beyond the last are never reached.

    Returns
    -------
    dict of str to ndarray
        ``step`` (int) and each measure (float), one entry a step looked at.

    Raises
    ------
    ValueError
        When a measure is called "step".

    Examples
    --------
    >>> import torch
    >>> from gradfeat.models.descent.gradient_descent import GradientDescent
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 20).double()[:, None]
    >>> learner = GradientDescent(width=20)
    >>> error = lambda f: float((f(X) - X).square().mean())
    >>> found = trace(learner.fit_path(in_memory(X, X)), {"error": error}, at=[1, 100])
    >>> found["step"].tolist(), bool(found["error"][1] < found["error"][0])
    ([1, 100], True)
    """
    if "step" in measures:
        raise ValueError("a measure is called 'step', the name of the steps: call it otherwise.")
    steps: list[int] = []
    values: dict[str, list[float]] = {name: [] for name in measures}
    for step, predictor in enumerate(path, 1):
        if at is None or step in at:
            steps.append(step)
            for name, measure in measures.items():
                values[name].append(measure(predictor))
    taken = {name: np.array(found, dtype=float) for name, found in values.items()}
    return {"step": np.array(steps, dtype=int), **taken}
