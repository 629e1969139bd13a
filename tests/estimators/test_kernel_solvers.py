"""The estimators' choice of a solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_fits import binary, regression

from gradfeat import KernelClassifier, KernelRegressor
from gradfeat.estimators.persistence import contents_of, estimator_from

FIXED = {"bandwidth": 2.0, "alpha": 1.0, "search": None}


def test_none_is_direct_where_it_fits_and_nystrom_centres_elsewhere():
    X, y = regression(600)
    whole = KernelRegressor(**FIXED).fit(X, y)
    assert whole.settings_["solver"] == "direct"
    # The matrix of 600 rows takes 3 MB and tiles; 245 centres and tiles take less.
    limit = KernelRegressor(**FIXED, memory_limit=17_000_000).fit(X, y)
    assert limit.settings_["solver"] == "nystrom"
    assert len(limit.predictor_.tensors()["Z"]) == 244
    assert limit.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)


@pytest.mark.parametrize("name", ["direct", "cg", "nystrom_cg", "eigenpro", "richardson"])
def test_every_solver_of_the_full_system_gives_the_fit_and_its_own_digits(name):
    X, y = regression(200)
    given = KernelRegressor(**FIXED, solver=name).fit(X, y)
    exact = KernelRegressor(**FIXED).fit(X, y).predict(X)
    assert given.settings_["solver"] == name
    # Tolerances up to 1e-4 of |y|, about 1.5 here, over 200 rows.
    np.testing.assert_allclose(given.predict(X), exact, atol=1e-4 * 1.5 * 200**0.5)
    assert np.array_equal(given.predict(X), exact) == (name == "direct")


def test_nystrom_centres_are_fewer_and_survive_saving():
    X, y = binary(400)
    model = KernelClassifier(**FIXED, solver="nystrom").fit(X, y)
    assert len(model.predictor_.tensors()["Z"]) == 200
    again: Any = estimator_from(contents_of(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params()["solver"] == "nystrom"


def test_another_name_is_refused():
    X, y = regression(20)
    with pytest.raises(ValueError, match=r"solver is 'lu': allowed are 'direct', .*None"):
        KernelRegressor(solver="lu").fit(X, y)
