"""All of scikit-learn's own estimator checks, with no expected failures."""

from __future__ import annotations

import pytest
import torch
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

#: Every class, quick to fit: checks call `fit` some hundred times each.
ESTIMATORS = [
    GradientFeatureRegressor(width=32, search=None),
    GradientFeatureClassifier(width=32, search=None),
    RandomFeaturesRegressor(width=32),
    RandomFeaturesRegressor(width=32, alpha=1.0, standardise=False),
    RandomFeaturesClassifier(width=32),
    InducedNetworkRegressor(neurons=50, p=0.2, search=None),
    InducedNetworkClassifier(neurons=50, p=0.2, search=None),
    KernelRegressor(search=None),
    KernelClassifier(search=None),
    LinearRegressor(),
    LinearRegressor(alpha=1.0, standardise=False),
    LinearClassifier(),
    RFMRegressor(n_iter=1, search=None),
    RFMClassifier(n_iter=1, search=None, alpha=1e-2),
    AGOPTransformer(n_iter=1, search=None),
]
#: The same classes where they search: what is checked stands above, the search in
#: test_cases_behaviour.py and test_head_search.py.
SEARCHING = [
    GradientFeatureRegressor(width=32),
    GradientFeatureRegressor(width=32, n_steps=None),
    GradientFeatureClassifier(width=64),
    KernelRegressor(),
    KernelClassifier(),
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


@pytest.fixture(autouse=True)
def without_a_gpu_none_is_asked_for(monkeypatch):
    """scikit-learn asks whether torch is built for CUDA, as that of PyPI is, not for a GPU."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", torch.cuda.is_available)


def with_slow_ones_marked(checks):
    """A hundred rounds of a recursive feature machine are a sixth of all checks' time."""
    names, cases = checks.args
    slow = [
        pytest.param(*case, marks=pytest.mark.slow)
        if "class_weight_classifiers" in str(case[1]) and type(case[0]) is RFMClassifier
        else case
        for case in cases
    ]
    return pytest.mark.parametrize(names, slow, **checks.kwargs)


@with_slow_ones_marked(
    parametrize_with_checks(ESTIMATORS, expected_failed_checks=refused_on_purpose)
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(SEARCHING)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check_where_settings_are_searched(estimator, check):
    check(estimator)
