"""Large arrays are taken in chunks: memory follows the table, and the fit is the same."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gradfeat import (
    GradientFeatureRegressor,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesRegressor,
)
from gradfeat.estimators import scaled, training
from gradfeat.maths import limits


def table(n: int, kind: str = "int8") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, (n, 20)).astype(kind)
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinearRegressor(),
        lambda: LinearRegressor(penalty_by="gcv"),
        lambda: LinearRegressor(standardise=False, alpha=2.0),
        lambda: RandomFeaturesRegressor(width=16, penalty_by="gcv"),
        lambda: GradientFeatureRegressor(width=16, penalty_by="gcv", whiten=False),
    ],
)
@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_in_chunks_it_is_the_same_fit(monkeypatch, make, kind):
    X, y = table(600, kind)
    w = np.random.default_rng(1).integers(1, 4, 600).astype(float)
    whole = make().fit(X, y, w)
    monkeypatch.setattr(training, "LARGE_TABLE", 0)
    monkeypatch.setattr(training, "CHUNK_NUMBERS", 1000)
    # Gram matrices in place of singular values: half the digits at small penalties.
    np.testing.assert_allclose(make().fit(X, y, w).predict(X), whole.predict(X), rtol=0, atol=1e-4)


def test_classes_keep_their_labels_and_probabilities(monkeypatch):
    X, y = table(600)
    labels = np.where(y > 0, "yes", "no")
    whole = LinearClassifier().fit(X, labels)
    monkeypatch.setattr(training, "LARGE_TABLE", 0)
    model = LinearClassifier().fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.05)


def test_memory_follows_the_table(monkeypatch):
    """A table of 4 MB, which is 32 MB in float64, takes less than half of that."""
    monkeypatch.setattr(training, "LARGE_TABLE", 2**20)
    monkeypatch.setattr(training, "SAMPLE_ROWS", 2000)
    X, y = table(200_000)
    tracemalloc.start()
    LinearRegressor(penalty_by="gcv").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * X.size


@pytest.mark.parametrize("make", [LinearRegressor, KernelRegressor])
def test_many_rows_are_predicted_some_at_a_time(monkeypatch, make):
    X, y = table(300, "float64")
    model, seen = make().fit(X, y), []
    whole, kind = model.predict(X), type(model.predictor_)
    predict = kind.__call__
    monkeypatch.setattr(kind, "__call__", lambda f, Z: seen.append(len(Z)) or predict(f, Z))
    monkeypatch.setattr(scaled, "AT_ONCE", 64 * X[0].nbytes)
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-9, atol=1e-9 * np.abs(y).max())
    assert seen == [64, 64, 64, 64, 44]


@pytest.mark.parametrize("make", [LinearRegressor, KernelRegressor])
def test_what_will_not_fit_is_refused_with_its_bytes(monkeypatch, make):
    X, y = table(1000)
    monkeypatch.setattr(limits, "available_memory", lambda: 100_000)
    with pytest.raises(MemoryError, match=r"needs 800 kB and 80 kB are allowed"):
        make().fit(X, y)
