"""The AGOP summary is computed when it is asked for, once, and is in every copy and file."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

from gradfeat import KernelRegressor, LinearRegressor, load, save
from gradfeat.estimators import base
from gradfeat.estimators.agop_of import agop


@pytest.fixture
def model():
    X = np.random.default_rng(0).standard_normal((30, 50))
    return KernelRegressor(search=None).fit(X, X[:, 0] + X[:, 1] ** 2)


@pytest.fixture
def computed(monkeypatch):
    """How often a summary was computed."""
    times = []
    inner = base.mean_outer_products
    monkeypatch.setattr(base, "mean_outer_products", lambda *a: times.append(1) or inner(*a))
    return times


def test_a_fit_and_predictions_compute_none(computed, model):
    model.predict(np.zeros((1, 50)))
    assert not computed
    assert model.importances_.shape == (50,)
    assert model.agop_.shape == (50, 50)
    assert model.directions_.shape == (50, model.n_effective_directions_)
    assert len(computed) == 1


def test_its_numbers_are_those_of_the_whole_matrix(model):
    """Of 30 rows in 50 columns: a factor of 30 rows."""
    G = model.agop_
    values = np.linalg.eigvalsh(G)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values.clip(0), atol=1e-12 * values[0])
    np.testing.assert_allclose(model.importances_, G.diagonal() / G.trace())
    assert np.abs(np.linalg.norm(G @ model.directions_, axis=0) / values[0]).max() == pytest.approx(
        1.0
    )
    V = model.leading_directions(40)
    np.testing.assert_allclose(V.T @ V, np.eye(40), atol=1e-10)


def test_it_is_the_agop_of_the_model(model):
    X = np.random.default_rng(0).standard_normal((30, 50))
    target = X[:, 0] + X[:, 1] ** 2
    np.testing.assert_allclose(agop(model, X), model.agop_ * target.var(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_hold_it_and_no_rows(again, model, computed):
    other = again(model)
    assert len(computed) == 1
    assert type(other._summary._compute) is not functools.partial
    np.testing.assert_array_equal(other.agop_, model.agop_)


@pytest.mark.parametrize("width", [10, 50])
def test_files_hold_it(tmp_path, width):
    X = np.random.default_rng(0).standard_normal((30, width))
    model = LinearRegressor().fit(X, X[:, 0])
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").importances_, model.importances_)
    assert (tmp_path / "m").stat().st_size < 40_000


def test_before_a_fit_there_is_none():
    assert not hasattr(LinearRegressor(), "agop_")
