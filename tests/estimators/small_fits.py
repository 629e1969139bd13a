"""Small data and quick settings that the tests of the estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradfeat.estimators import (
    AGOPTransformer,
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

Floats = NDArray[np.float64]

#: In 100 rows few gradients stand out from noise: any length counts here, so that x_0^2 is found.
FINE: dict[str, Any] = {"search": None, "neurons": 400, "least_norm": 1e-3}


def regressors() -> list[Any]:
    """Every regressor, each at a setting that fits 100 rows in a fraction of a second."""
    return [
        GradientFeatureRegressor(width=64),
        RandomFeaturesRegressor(width=64),
        KernelRegressor(search=None),
        RFMRegressor(search=None, n_iter=2),
        InducedNetworkRegressor(**FINE),
    ]


def classifiers() -> list[Any]:
    """Every classifier, likewise."""
    return [
        GradientFeatureClassifier(width=64),
        RandomFeaturesClassifier(width=64),
        KernelClassifier(search=None),
        RFMClassifier(search=None, n_iter=2),
        InducedNetworkClassifier(**FINE),
    ]


def transformer() -> AGOPTransformer:
    """The transformer, likewise."""
    return AGOPTransformer(n_components=2, search=None, n_iter=2)


def named(estimators: list[Any]) -> dict[str, Any]:
    """Arguments of ``pytest.mark.parametrize``: the estimators, with their names as ids."""
    return {
        "argnames": "model",
        "argvalues": estimators,
        "ids": [type(e).__name__ for e in estimators],
    }


def regression(n: int = 100, d: int = 4, seed: int = 0) -> tuple[Floats, Floats]:
    """X (n, d) Gaussian and y = x_0^2 + x_1."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] ** 2 + X[:, 1]


def binary(n: int = 100, d: int = 4, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """X (n, d) Gaussian and y = 1 where x_0^2 + x_1 > 1, else 0."""
    X, f = regression(n, d, seed)
    return X, (f > 1).astype(np.int64)
