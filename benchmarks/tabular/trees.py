"""Gradient boosting: scikit-learn's histogram trees, XGBoost, CatBoost; defaults and searches.

A search draws its settings once, from ranges that their users take, and puts the default first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from problem import Array, Fitted, Problem
from search import Searched, Settings, best_of

Make = Callable[[bool, Settings], Any]


def _hist(classes: bool, settings: Settings) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return make(random_state=0, **settings)


def _xgboost(classes: bool, settings: Settings) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    make = XGBClassifier if classes else XGBRegressor
    return make(random_state=0, n_jobs=1, **settings)


def _catboost(classes: bool, settings: Settings) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostClassifier if classes else CatBoostRegressor
    fixed = {"random_seed": 0, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return make(**fixed, **settings)


def fitted(make: Make, problem: Problem, settings: Settings) -> Fitted:
    """Fit on the rows as they are; probabilities where there are classes."""
    model = make(problem.classes, settings).fit(problem.X, problem.y)

    def predict(X: Array) -> Array:
        return model.predict_proba(X) if problem.classes else model.predict(X)

    return predict


def _draws(count: int, draw: Callable[[np.random.Generator], Settings]) -> list[Settings]:
    rng = np.random.default_rng(0)
    return [{}, *(draw(rng) for _ in range(count - 1))]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _hist_draw(rng: np.random.Generator) -> Settings:
    return {
        "learning_rate": _log_uniform(rng, 0.02, 0.3),
        "max_iter": int(rng.choice([100, 200, 400])),
        "max_leaf_nodes": int(_log_uniform(rng, 8, 64)),
        "min_samples_leaf": int(_log_uniform(rng, 3, 50)),
        "l2_regularization": _log_uniform(rng, 1e-3, 10),
        "max_features": float(rng.uniform(0.5, 1.0)),
    }


def _xgboost_draw(rng: np.random.Generator) -> Settings:
    return {
        "learning_rate": _log_uniform(rng, 0.02, 0.3),
        "n_estimators": int(rng.choice([100, 200, 400, 800])),
        "max_depth": int(rng.integers(3, 10)),
        "min_child_weight": _log_uniform(rng, 1, 30),
        "subsample": float(rng.uniform(0.6, 1.0)),
        "colsample_bytree": float(rng.uniform(0.5, 1.0)),
        "reg_lambda": _log_uniform(rng, 1e-2, 10),
    }


# A third of the default's rounds, at a rate to match: its default is the slowest of all.
SHORT = {"iterations": 300, "learning_rate": 0.1}
CATBOOST = (
    {},
    {**SHORT, "depth": 4},
    {**SHORT, "depth": 6},
    {**SHORT, "depth": 8},
    {**SHORT, "depth": 6, "l2_leaf_reg": 1},
    {**SHORT, "depth": 6, "l2_leaf_reg": 10},
)


def hist(problem: Problem) -> Fitted:
    return fitted(_hist, problem, {})


def hist_search(problem: Problem) -> Searched:
    return best_of(lambda p, s: fitted(_hist, p, s), problem, _draws(12, _hist_draw))


def xgboost(problem: Problem) -> Fitted:
    return fitted(_xgboost, problem, {})


def xgboost_search(problem: Problem) -> Searched:
    return best_of(lambda p, s: fitted(_xgboost, p, s), problem, _draws(12, _xgboost_draw))


def catboost(problem: Problem) -> Fitted:
    return fitted(_catboost, problem, {})


def catboost_search(problem: Problem) -> Searched:
    return best_of(lambda p, s: fitted(_catboost, p, s), problem, CATBOOST)
