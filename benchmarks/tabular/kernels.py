"""Kernel ridge and ridge on random features, by scikit-learn; Gaussian kernel, a grid each."""

from __future__ import annotations

from itertools import product
from typing import Any

from problem import Array, Fitted, Problem
from search import Searched, Settings, best_of
from standardised import Predict, least_squares

FEATURES = 1000

# gamma times the number of inputs, and the penalty.
GRID = [
    {"gamma": gamma, "alpha": alpha}
    for gamma, alpha in product((0.03, 0.1, 0.3, 1.0), (1e-3, 1e-2, 1e-1))
]


def _kernel_ridge(X: Array, y: Array, settings: Settings) -> Predict:
    from sklearn.kernel_ridge import KernelRidge

    gamma = settings["gamma"] / X.shape[1]
    return KernelRidge(kernel="rbf", gamma=gamma, alpha=settings["alpha"]).fit(X, y).predict


def _ridge_on(features: Any, X: Array, y: Array, alpha: float) -> Predict:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(features, Ridge(alpha=alpha)).fit(X, y).predict


def _random_features(X: Array, y: Array, settings: Settings) -> Predict:
    from sklearn.kernel_approximation import RBFSampler

    gamma = settings["gamma"] / X.shape[1]
    sampler = RBFSampler(gamma=gamma, n_components=FEATURES, random_state=0)
    return _ridge_on(sampler, X, y, settings["alpha"])


def _nystroem(X: Array, y: Array, settings: Settings) -> Predict:
    from sklearn.kernel_approximation import Nystroem

    gamma = settings["gamma"] / X.shape[1]
    features = min(FEATURES, len(X))
    sampler = Nystroem(kernel="rbf", gamma=gamma, n_components=features, random_state=0)
    return _ridge_on(sampler, X, y, settings["alpha"])


def _searched(problem: Problem, method: Any) -> Searched:
    def fit(p: Problem, settings: Settings) -> Fitted:
        return least_squares(p, lambda X, y: method(X, y, settings))

    return best_of(fit, problem, GRID)


def kernel_ridge(problem: Problem) -> Searched:
    return _searched(problem, _kernel_ridge)


def random_features(problem: Problem) -> Searched:
    return _searched(problem, _random_features)


def nystroem(problem: Problem) -> Searched:
    return _searched(problem, _nystroem)
