"""The methods that a comparison fits, each with its own small validated search."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import BaseCrossValidator, GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from gradfeat.estimators import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkClassifier,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)
from gradfeat.table.epochs import epochs
from gradfeat.table.gradient_rows import gradient_rows
from gradfeat.table.results import Family

#: Neurons of random features and gradient features, unless asked otherwise.
WIDTH = 1024


@dataclass(frozen=True)
class Situation:
    """What a method is made for.

    `rows` are those of the fit, `outputs` the number of quantities or codes predicted, `fewest`
    the rows of the rarest class (all rows of a regression), and `width` the neurons of random
    features and gradient features.
    """

    rows: int
    fewest: int
    classification: bool
    seed: int
    device: str | None
    folds: BaseCrossValidator
    columns: int
    outputs: int
    seconds: float
    width: int = WIDTH


@dataclass(frozen=True)
class Method:
    """A row of the comparison.

    Attributes
    ----------
    name, label : str
        On the command line, and printed.
    family : {"fixed", "learned", "reference"}
        What its features are.
    make : callable (Situation) -> estimator
        An unfitted estimator.
    share : float
        Its share of the time, relative to the others.
    square : bool
        Whether it forms matrices of rows x rows.
    threads : int or None
        OpenMP threads; None leaves them alone. Trees on small tables lose more by waiting for
        each other than they gain.
    """

    name: str
    label: str
    family: Family
    make: Callable[[Situation], Any]
    share: float
    square: bool
    threads: int | None = None


def validation_folds(y: NDArray[Any], classification: bool) -> BaseCrossValidator:
    """Three folds, fewer for fewer rows; classes in proportion where one has a row for each.

    Examples
    --------
    >>> validation_folds(np.array([0, 0, 0, 1]), True).get_n_splits()
    3
    """
    k = max(2, min(3, len(y)))
    if classification and np.unique(y, return_counts=True)[1].max() >= k:
        return StratifiedKFold(k)
    return KFold(k)


def log_likelihood(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Mean log-probability of the labels; a class absent from the training fold has 1e-15.

    Unlike scikit-learn's scorer it is defined for rare classes too.
    """
    P = np.clip(estimator.predict_proba(X), 1e-15, None)
    owned = y[:, None] == estimator.classes_
    return float(np.log(np.where(owned.any(axis=1), (P * owned).sum(axis=1), 1e-15)).mean())


def _linear(s: Situation) -> Any:
    """Columns are first brought to one, so that the squares of extreme values do not overflow."""
    if not s.classification:
        return make_pipeline(
            MaxAbsScaler(), StandardScaler(), RidgeCV(alphas=np.logspace(-3, 5, 17))
        )
    grid = {"logisticregression__C": [1e-3, 1e-2, 1e-1, 1.0, 10.0]}
    model = LogisticRegression(max_iter=1000, tol=1e-3)
    pipe = make_pipeline(MaxAbsScaler(), StandardScaler(), model)
    return GridSearchCV(pipe, grid, cv=s.folds, scoring=log_likelihood)


def _boosting(s: Situation) -> Any:
    make = HistGradientBoostingClassifier if s.classification else HistGradientBoostingRegressor
    grid = {"learning_rate": [0.05, 0.15]}
    scoring = log_likelihood if s.classification else "neg_mean_squared_error"
    model = make(random_state=s.seed, max_iter=300).set_params(early_stopping=True)
    return GridSearchCV(model, grid, cv=s.folds, scoring=scoring)


def _random_features(s: Situation) -> Any:
    make = RandomFeaturesClassifier if s.classification else RandomFeaturesRegressor
    return make(width=s.width, random_state=s.seed, device=s.device)


def _kernel(s: Situation) -> Any:
    make = KernelClassifier if s.classification else KernelRegressor
    return make(kernel=None, random_state=s.seed, device=s.device)


def _gradient_features(s: Situation) -> Any:
    make = GradientFeatureClassifier if s.classification else GradientFeatureRegressor
    return make(width=s.width, n_steps=None, whiten=None, random_state=s.seed, device=s.device)


def _induced(s: Situation) -> Any:
    make = InducedNetworkClassifier if s.classification else InducedNetworkRegressor
    rows = gradient_rows(s.seconds, s.columns, s.outputs)
    return make(feature_rows=rows, random_state=s.seed, device=s.device)


def _rfm(s: Situation) -> Any:
    make = RFMClassifier if s.classification else RFMRegressor
    return make(kernel=None, random_state=s.seed, device=s.device)


#: Neurons and weight decay of the trained network: usual sizes, not searched.
HIDDEN, WEIGHT_DECAY = 256, 1e-3
#: Rows of the rarest class from which on some are held out to stop its training.
HELD_OUT_ROWS = 30


def _trained_network(s: Situation) -> Any:
    """Both layers by Adam; a tenth of the rows says when to stop, where there are enough."""
    options: dict[str, Any] = {
        "hidden_layer_sizes": (HIDDEN,),
        "alpha": WEIGHT_DECAY,
        "early_stopping": s.fewest >= HELD_OUT_ROWS,
        "max_iter": epochs(s.seconds, s.rows, s.columns, s.outputs, HIDDEN),
        "random_state": s.seed,
    }
    if s.classification:
        return make_pipeline(MaxAbsScaler(), StandardScaler(), MLPClassifier(**options))
    network = make_pipeline(MaxAbsScaler(), StandardScaler(), MLPRegressor(**options))
    return TransformedTargetRegressor(network, transformer=StandardScaler())


TREE_THREADS = max(1, (os.cpu_count() or 1) // 4)

METHODS = (
    Method("linear", "Linear model", "fixed", _linear, 1.0, False),
    Method("random-features", "Random features", "fixed", _random_features, 1.0, False),
    Method("kernel", "Kernel ridge", "fixed", _kernel, 2.0, True),
    Method("induced-network", "Induced network", "learned", _induced, 2.0, False),
    Method("gradient-features", "Gradient features", "learned", _gradient_features, 3.0, False),
    Method("rfm", "Recursive feature machine", "learned", _rfm, 6.0, True),
    Method("trained-network", "Trained network (Adam)", "reference", _trained_network, 2.0, False),
    Method("boosting", "Gradient boosting", "reference", _boosting, 2.0, False, TREE_THREADS),
)


#: Direct solves in all rows that a fit is taken to cost.
SOLVES = 2


def direct_rows(seconds: float, columns: int, outputs: int) -> int:
    """Rows that two direct solves with AGOP passes can take in about `seconds`, here and now.

    One Cholesky factorisation of 1,000 rows is timed; the rest scales by counting operations.
    Kernel ridge and RFM solve once in all rows, and search on a few thousand of them.

    Examples
    --------
    >>> direct_rows(10.0, 10, 1) > direct_rows(1.0, 10, 1)
    True
    """
    K = torch.eye(1000, dtype=torch.float64)
    torch.linalg.cholesky(K)
    start = time.perf_counter()
    torch.linalg.cholesky(K)
    rate = 1e9 / 3 / max(time.perf_counter() - start, 1e-4)
    per_pair = (60.0 + 4.0 * (columns + 1) * outputs + 4.0 * columns) / rate
    n = 500
    while SOLVES * ((1.1 * n) ** 3 / 3 / rate + (1.1 * n) ** 2 * per_pair) < seconds:
        n = int(1.1 * n)
    return n
