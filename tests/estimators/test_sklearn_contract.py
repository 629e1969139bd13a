"""All of scikit-learn's own estimator checks, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gradfeat.estimators import (
    AGOPTransformer,
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkClassifier,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)

NETS = [
    GradientFeatureRegressor,
    GradientFeatureClassifier,
    RandomFeaturesRegressor,
    RandomFeaturesClassifier,
]
ESTIMATORS = [
    *(make(width=64) for make in NETS),
    GradientFeatureRegressor(width=32, n_steps=None),
    InducedNetworkRegressor(neurons=200, search=None),
    InducedNetworkClassifier(neurons=200, search=None),
    KernelRegressor(),
    KernelClassifier(),
    LinearRegressor(),
    LinearRegressor(alpha=1.0, standardise=False),
    LinearClassifier(),
    RandomFeaturesRegressor(width=64, alpha=1.0, standardise=False),
    RFMRegressor(n_iter=1, kernel="laplace", diagonal=False),
    RFMClassifier(n_iter=1, kernel="laplace", diagonal=False),
    AGOPTransformer(n_iter=1, kernel="laplace"),
]


def refused_on_purpose(estimator):
    """Checks that call for what would not be exact."""
    match estimator:
        case LinearRegressor(standardise=False) | RandomFeaturesRegressor(standardise=False):
            return {"check_fit_score_takes_y": "fit keeps no sums that partial_fit could add to"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=refused_on_purpose)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    check(estimator)
