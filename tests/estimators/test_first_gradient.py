"""Gradient features say whether their first gradient step found anything (case 24)."""

from __future__ import annotations

import numpy as np
import pytest

import gradfeat
from gradfeat import GradientFeatureClassifier, GradientFeatureRegressor, RFMRegressor


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((1500, 6))


def test_a_target_without_linear_or_quadratic_part_is_not_informative(X):
    z = X[:, 0]
    model = GradientFeatureRegressor(width=64).fit(X, z**3 - 3 * z)
    assert model.first_gradient_ is not None
    assert not model.first_gradient_.informative
    assert np.isfinite(model.predict(X)).all()


def test_directions_are_those_of_the_fit_whatever_the_test_of_its_first_step_says():
    """They were empty at R2 .98, with a p of .3: the test sees no cube, two steps do."""
    X = np.random.default_rng(0).standard_normal((1500, 5))
    z = X[:, 0]
    model = GradientFeatureRegressor(width=256, n_steps=2).fit(X, z**3 - 3 * z)
    assert not model.first_gradient_.informative
    assert abs(model.directions_[0, 0]) > 0.95


def test_a_quadratic_target_is_informative_beyond_its_linear_part(X):
    model = GradientFeatureRegressor(width=64).fit(X, X[:, 0] ** 2)
    assert model.first_gradient_.gradient_p == pytest.approx(0.01)
    assert model.n_effective_directions_ >= 1
    assert abs(model.directions_[0, 0]) > 0.95


def test_a_linear_target_is_informative_through_its_linear_part(X):
    noise = np.random.default_rng(1).standard_normal(len(X))
    model = GradientFeatureRegressor(width=64).fit(X, X[:, 1] + noise)
    assert model.first_gradient_.linear_p == pytest.approx(0.01)


def test_the_verdict_is_saved_with_the_model(X, tmp_path):
    model = GradientFeatureClassifier(width=64).fit(X, X[:, 0] ** 2 > 1)
    gradfeat.save(model, tmp_path / "m.gradfeat")
    assert gradfeat.load(tmp_path / "m.gradfeat").first_gradient_ == model.first_gradient_


def test_methods_that_do_not_rest_on_the_first_gradient_do_not_claim_one(X):
    model = RFMRegressor(n_iter=1, alpha=1e-2, bandwidth=5.0, search=None).fit(X[:200], X[:200, 0])
    assert model.first_gradient_ is None
