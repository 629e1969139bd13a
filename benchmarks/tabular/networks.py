"""Networks: scikit-learn's perceptrons with a search, RealMLP and TabM of pytabkit as they come."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from problem import Array, Fitted, Problem
from search import Searched, Settings, best_of
from standardised import Predict, column_scale, least_squares

GRID = [
    {"hidden_layer_sizes": layers, "alpha": alpha}
    for layers, alpha in product(((256,), (128, 128)), (1e-4, 1e-1))
]
TRAINING = {"early_stopping": True, "max_iter": 200, "n_iter_no_change": 10, "random_state": 0}


def _regressor(X: Array, y: Array, settings: Settings) -> Predict:
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(**TRAINING, **settings).fit(X, y.ravel())
    return lambda X: np.asarray(model.predict(X))


def _classifier(problem: Problem, settings: Settings) -> Fitted:
    from sklearn.neural_network import MLPClassifier

    centre, spread = column_scale(problem.X)
    model = MLPClassifier(**TRAINING, **settings)
    model.fit((problem.X - centre) / spread, problem.y)
    return lambda X: np.asarray(model.predict_proba((X - centre) / spread))


def _fit(problem: Problem, settings: Settings) -> Fitted:
    if problem.classes:
        return _classifier(problem, settings)
    return least_squares(problem, lambda X, y: _regressor(X, y, settings))


def mlp(problem: Problem) -> Searched:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return best_of(_fit, problem, GRID)


def _with_defaults(regressor: Any, classifier: Any, problem: Problem) -> Fitted:
    """A model of pytabkit with its defaults, which standardises inputs and targets by itself."""
    make = classifier if problem.classes else regressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(device="cpu", n_threads=1, random_state=0)
        model.fit(np.float32(problem.X), problem.y if problem.classes else problem.y.ravel())

    def predict(X: Array) -> Array:
        outputs = model.predict_proba if problem.classes else model.predict
        return np.asarray(outputs(np.float32(X)))

    return predict


def realmlp(problem: Problem) -> Fitted:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    return _with_defaults(RealMLP_TD_Regressor, RealMLP_TD_Classifier, problem)


def tabm(problem: Problem) -> Fitted:
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    return _with_defaults(TabM_D_Regressor, TabM_D_Classifier, problem)
