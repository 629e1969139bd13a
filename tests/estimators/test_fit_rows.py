"""Estimators fitted to rows that are passed over are those fitted in memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from small_fits import named

from gradfeat.errors import SourceError
from gradfeat.estimators import (
    AGOPTransformer,
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkRegressor,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)
from gradfeat.estimators.agop_of import agop
from gradfeat.rows.in_process import Threads
from gradfeat.rows.rows import Rows
from gradfeat.rows.sources.open import from_frames
from gradfeat.rows.sources.tables import ArrayRows
from gradfeat.table.saved import load, save

REGRESSORS = [
    LinearRegressor(),
    RandomFeaturesRegressor(width=32),
    RandomFeaturesRegressor(width=32, penalty_by="gcv", standardise=False),
    GradientFeatureRegressor(width=32),
    GradientFeatureRegressor(width=32, n_steps=None, whiten=None, alpha=1.0),
    GradientFeatureRegressor(width=32, n_steps=2, update="gradient", whiten=False, alpha=1.0),
]
CLASSIFIERS = [
    LinearClassifier(),
    RandomFeaturesClassifier(width=32),
    GradientFeatureClassifier(width=32, alpha=1.0),
]


def table(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 100]
    y = np.sin(X[:, 0]) + (X[:, 1] - 5) ** 2 / 100 + 0.2 * rng.standard_normal(n)
    return X, y


def passed(X, y, w=None, piece_rows=70, **options) -> Rows:
    return Rows(ArrayRows(X, y, w, piece_rows=piece_rows, **options))


@pytest.mark.parametrize(**named(REGRESSORS))
def test_a_regressor_is_the_same(model):
    X, y = table()
    w = np.random.default_rng(1).integers(1, 4, 400).astype(float)
    order = np.random.default_rng(2).permutation(400)
    model.fit(X, y, w)
    said, agop_, settings = model.predict(X), model.agop_, model.settings_
    for rows in (passed(X, y, w), passed(X[order], y[order], w[order], 33).on(Threads(2))):
        model.fit(rows)
        assert model.settings_ == pytest.approx(settings, rel=1e-9)
        # Rounding of the sums times the condition of the head (1e4 here).
        np.testing.assert_allclose(model.predict(X), said, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.agop_, agop_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(**named(CLASSIFIERS))
def test_a_classifier_is_the_same(model, classes):
    X, y = table()
    labels = np.digitize(y, [0.5, 1.0][: classes - 1]) * 2
    model.fit(X, labels)
    said, seen = model.predict_proba(X), model.classes_
    model.fit(passed(X, labels))
    np.testing.assert_array_equal(model.classes_, seen)
    np.testing.assert_allclose(model.predict_proba(X), said, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        RFMRegressor(n_iter=1, kernel="laplace", diagonal=False, directions=2),
        KernelRegressor(kernel="gaussian"),
        RFMClassifier(n_iter=1, kernel="laplace", diagonal=False, directions=2),
    ],
    ids=str,
)
def test_kernel_machines_learn_from_rows(model):
    X, y = table(800)
    target = y if "Regressor" in type(model).__name__ else (y > 0.5).astype(int)
    memory = model.fit(X[:500], target[:500]).score(X[500:], target[500:])
    rows = model.fit(passed(X[:500], target[:500], piece_rows=200))
    # Centres in place of all points, and a head without their search on the same splits.
    assert rows.score(X[500:], target[500:]) > memory - 0.05


@pytest.mark.parametrize(
    "model", [LinearClassifier(), KernelRegressor(kernel="gaussian", bandwidth=2.0)]
)
def test_the_scale_of_weights_changes_no_streamed_fit(model):
    X, y = table(200)
    target = y if "Regressor" in type(model).__name__ else (y > 1.2).astype(float)
    said = model.fit(passed(X, target)).predict(X)
    for scale in (1e-6, 50.0):
        scaled = model.fit(passed(X, target, np.full(len(X), scale))).predict(X)
        np.testing.assert_allclose(scaled, said, rtol=1e-6, atol=1e-8)


def test_class_weights_count():
    X, y = table()
    labels = (y > 1.2).astype(int)
    model = RFMClassifier(n_iter=1, kernel="laplace", diagonal=False, directions=1)
    shares = [
        model.set_params(class_weight=weight).fit(passed(X, labels)).predict(X).mean()
        for weight in (None, "balanced", {0: 1.0, 1: 50.0})
    ]
    assert shares[0] < shares[1] < shares[2]


def test_many_rows_are_searched_on_a_sample_that_order_does_not_change(monkeypatch):
    monkeypatch.setattr("gradfeat.estimators.training.SAMPLE_ROWS", 150)
    X, y = table()
    model = GradientFeatureRegressor(width=32, n_steps=None, whiten=None, alpha=1.0)
    first = model.fit(passed(X, y)).predict(X)
    settings, order = model.settings_, np.random.default_rng(5).permutation(400)
    again = model.fit(passed(X[order], y[order], piece_rows=41)).predict(X)
    assert model.settings_ == pytest.approx(settings, rel=1e-9)
    np.testing.assert_allclose(again, first, rtol=1e-9, atol=1e-9)


def test_several_targets_names_and_files(tmp_path):
    import pandas as pd

    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, z=-y)
    rows = from_frames(frame, ["y", "z"], piece_rows=90)
    model = RandomFeaturesRegressor(width=32).fit(rows)
    assert list(model.feature_names_in_) == list("abcde")
    said = model.predict(frame[list("abcde")])
    np.testing.assert_allclose(said[:, 0], -said[:, 1], atol=1e-10)
    save(model, tmp_path / "m.gradfeat")
    np.testing.assert_array_equal(load(tmp_path / "m.gradfeat").predict(frame[list("abcde")]), said)


def test_float32_is_taken():
    X, y = table()
    wide = GradientFeatureRegressor(width=32, alpha=1.0).fit(passed(X, y))
    narrow = GradientFeatureRegressor(width=32, alpha=1.0, dtype="float32").fit(passed(X, y))
    assert narrow.predictor_.tensors()["W"].dtype == torch.float32
    gap = np.abs(narrow.predict(X) - wide.predict(X)).max()
    assert 0 < gap < 1e-3  # 6e-8 times the head's condition


def test_scores_of_rows_are_those_of_arrays():
    X, y = table()
    w = np.random.default_rng(1).uniform(0.5, 2, 400)
    model = GradientFeatureRegressor(width=32, alpha=1.0).fit(X, y)
    found = model.score_rows(passed(X, y, w))
    said = model.predict(X)
    assert float(found.r2[0]) == pytest.approx(r2_score(y, said, sample_weight=w), abs=1e-10)
    assert float(found.mse[0]) == pytest.approx(mean_squared_error(y, said, sample_weight=w))
    labels = np.digitize(y, [0.5, 1.0]) + 3
    classifier = LinearClassifier().fit(X, labels)
    scores = classifier.score_rows(passed(X, labels, w))
    P = classifier.predict_proba(X)
    assert scores.accuracy == pytest.approx(
        accuracy_score(labels, P.argmax(1) + 3, sample_weight=w)
    )
    assert scores.log_loss == pytest.approx(log_loss(labels, P, sample_weight=w))
    unseen = classifier.score_rows(passed(X, labels + 10.0))
    assert unseen.accuracy == 0
    assert unseen.log_loss == pytest.approx(-np.log(1e-15))
    with pytest.raises(
        ValueError, match="the rows have 4 inputs and the estimator was fitted on 5"
    ):
        model.score_rows(passed(X[:, :4], y))


@pytest.mark.parametrize("make", [LinearRegressor, RandomFeaturesRegressor])
def test_partial_fit_is_the_fit_to_all_rows(make):
    X, y = table()
    X = (X - X.mean(0)) / X.std(0)
    w = np.random.default_rng(1).uniform(0.5, 2, 400)
    options = {"standardise": False, "penalty_by": "gcv"}
    whole = make(**options).fit(X, y, w)
    model = make(**options)
    for rows in (slice(0, 1), slice(1, 150), slice(150, 151), slice(151, 400)):
        model.partial_fit(X[rows], y[rows], w[rows])
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-7, atol=1e-7)
    scale = (
        y.var(ddof=0) if w is None else np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    )
    np.testing.assert_allclose(model.agop_, whole.agop_ * scale, rtol=1e-6, atol=1e-9)


def test_partial_fit_is_refused_where_it_would_not_be_exact():
    X, y = table()
    for model, reason in (
        (LinearRegressor(alpha=1.0), "standardise is True"),
        (LinearRegressor(standardise=False), "chosen by 'loo', which needs the rows again"),
    ):
        with pytest.raises(AttributeError) as raised:
            model.partial_fit(X, y)
        assert reason in str(raised.value.__cause__)
    given = LinearRegressor(alpha=1.0, standardise=False)
    with pytest.raises(ValueError, match="keeps no sums"):
        given.fit(X, y).partial_fit(X, y)
    begun = LinearRegressor(alpha=1.0, standardise=False).partial_fit(X, y)
    with pytest.raises(ValueError, match="y has 2 columns and had 1 before"):
        begun.partial_fit(X, np.stack([y, y], 1))
    assert begun.fit(X, y)  # begins anew
    with pytest.raises(ValueError, match="keeps no sums"):
        begun.partial_fit(X, y)


def test_agop_over_rows_is_that_over_arrays():
    X, y = table()
    w = np.random.default_rng(1).uniform(0.5, 2, 400)
    model = GradientFeatureRegressor(width=32, alpha=1.0).fit(X, y)
    rows = passed(X, y, w)
    for of, options in (
        (model, {}),
        (model, {"centre": True, "standardise": False}),
        (model.predict, {"step": 1e-2}),
        (GradientFeatureClassifier(width=32).fit(X, y > 1), {}),
    ):
        expected = agop(of, X, weights=w, **options)
        np.testing.assert_allclose(agop(of, rows, **options), expected, rtol=1e-8, atol=1e-10)
    some = agop(model, rows, rows=50)
    assert not np.allclose(some, agop(model, rows))
    with pytest.raises(ValueError, match="weights came beside rows"):
        agop(model, rows, weights=w)


def test_directions_of_rows():
    X, y = table(500)
    rows = passed(X, y, piece_rows=200)
    found = AGOPTransformer(2, kernel="laplace", n_iter=1).fit(rows)
    assert found.transform(X).shape == (500, 2)
    assert set(np.abs(found.components_).argmax(1)) == {0, 1}
    labels = AGOPTransformer(1, task="classification", kernel="laplace", n_iter=1)
    assert labels.fit(passed(X, (X[:, 0] > 0).astype(int))).model_.classes_.tolist() == [0, 1]


def test_what_cannot_be_fitted_is_said_in_a_sentence():
    X, y = table()
    with pytest.raises(ValueError, match="carry their own: name the columns"):
        LinearRegressor().fit(passed(X, y), y)
    with pytest.raises(ValueError, match="needs its rows in memory"):
        InducedNetworkRegressor(search=None, neurons=100).fit(passed(X, y))
    with pytest.raises(ValueError, match="solver is 'eigenpro', which needs its rows in memory"):
        KernelRegressor(solver="eigenpro").fit(passed(X, y))
    with pytest.raises(SourceError, match="more than 1,000 distinct values: use a regressor"):
        LinearClassifier().fit(passed(*table(1500)))
    with pytest.raises(SourceError, match=r"such as 0.5, which are no classes"):
        LinearClassifier().fit(passed(X, (y > 1) / 2))
    with pytest.raises(SourceError, match="squares of input 'x1'"):
        LinearRegressor(standardise=False).fit(passed(X * [1, 1e200, 1, 1, 1], y))
    with pytest.raises(SourceError, match="1 row of positive weight"):
        LinearRegressor().fit(passed(X, y, np.eye(400)[0]))
    with pytest.raises(ValueError, match="y to be passed"):
        LinearRegressor().fit(X)


def test_constant_columns_and_targets_are_fitted():
    X, y = table()
    X[:, 2] = 7e5
    model = GradientFeatureRegressor(width=32, alpha=1.0)
    said = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(passed(X, y)).predict(X), said, rtol=1e-8, atol=1e-8)
    flat = LinearRegressor(alpha=1.0).fit(passed(X, np.full(400, 3.0)))
    np.testing.assert_allclose(flat.predict(X), 3.0, rtol=1e-12)


def test_partial_fit_keeps_its_features_whatever_the_random_state():
    X, y = table()
    X = (X - X.mean(0)) / X.std(0)
    options = {"width": 64, "standardise": False, "alpha": 1e-3}
    model = RandomFeaturesRegressor(**options, random_state=np.random.RandomState(0))
    for rows in (slice(0, 150), slice(150, 400)):
        model.partial_fit(X[rows], y[rows])
    assert model.score(X, y) > 0.5
    with pytest.raises(ValueError, match="parameter of the features was changed"):
        model.set_params(activation="tanh").partial_fit(X, y)
    model.set_params(activation="relu", alpha=10.0).partial_fit(X, y)  # the head may change


def test_float32_labels_and_gradients_are_read_as_they_are():
    X, y = table()
    labels = np.where(y > 1, 1.0, 3.0)
    rows = passed(X, labels, dtype=torch.float32)
    model = LinearClassifier().fit(X, labels)
    assert model.score_rows(rows).accuracy == pytest.approx(model.score(X, labels))
    fit = GradientFeatureRegressor(width=32, alpha=1.0).fit(X, y)
    # Rows are rounded to 6e-8 of their size.
    np.testing.assert_allclose(
        agop(fit, passed(X, y, dtype=torch.float32)), agop(fit, X), rtol=1e-4, atol=1e-6
    )


def test_scores_of_nothing_and_of_text():
    X, y = table()
    none = passed(X, y, np.zeros(400))
    assert LinearRegressor().fit(X, y).score_rows(none).mse.isnan().all()
    labels = np.where(y > 1, "a", "b")
    model = LinearClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="the classes are text"):
        model.score_rows(passed(X, y))
    numbers = LinearClassifier().fit(X, (y > 1).astype(int))
    assert np.isnan(numbers.score_rows(none).accuracy)


def test_two_rows_hold_none_out():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 3.0])
    # A hash of this seed holds neither of them out: the least penalty is taken.
    model = LinearRegressor(penalty_by="validation", random_state=1).fit(passed(X, y))
    np.testing.assert_allclose(model.predict(X), y, atol=0.5)


def test_a_random_state_draws_once_a_fit():
    X, y = table()
    make = RandomFeaturesRegressor(width=32, alpha=1.0)
    fits = [
        make.set_params(random_state=np.random.RandomState(3)).fit(*data).predict(X)
        for data in ((X, y), (passed(X, y),))
    ]
    np.testing.assert_allclose(fits[1], fits[0], rtol=1e-8, atol=1e-8)


def test_the_first_piece_is_looked_at_once():
    from gradfeat.rows import from_iterator

    X, y = table()
    calls = []

    def factory():
        calls.append(1)
        yield X[:200], y[:200]
        yield X[200:], y[200:]

    GradientFeatureRegressor(width=32, alpha=1.0, whiten=True, search=None).fit(
        from_iterator(factory)
    )
    # The source and the rows look once each; moments, linear part left out, gradient, equations.
    assert len(calls) == 6


@pytest.mark.parametrize("estimator", [LinearRegressor(), GradientFeatureRegressor(width=32)])
def test_numbers_of_any_size_are_fitted_as_in_memory(estimator):
    X, y = table()
    plain = clone(estimator).fit(passed(X, y)).predict(X)
    for power, target in ((-990, 0), (500, 0), (0, -700), (0, 600)):
        Z, z = X * [2.0**power, 1, 1, 1, 1], y * 2.0**target
        found = clone(estimator).fit(passed(Z, z)).predict(Z)
        np.testing.assert_allclose(found / 2.0**target, plain, rtol=1e-9)


def test_small_units_without_a_scale_and_large_labels_are_refused():
    X, y = table()
    with pytest.raises(SourceError, match="input 'x0' are below floating-point numbers"):
        LinearRegressor(standardise=False).fit(passed(X * [1e-162, 1, 1, 1, 1], y))
    with pytest.raises(SourceError, match="no room for all whole numbers"):
        LinearClassifier().fit(passed(X, 2.0**24 + (y > 1), dtype=torch.float32))


def test_other_targets_and_predictions_of_rows_are_refused():
    X, y = table()
    model = LinearRegressor().fit(X, y)
    with pytest.raises(ValueError, match="rows have 2 targets and the estimator was fitted to 1"):
        model.score_rows(passed(X, np.stack([y, y], 1)))
    with pytest.raises(ValueError, match="predict takes arrays: use score_rows"):
        model.predict(passed(X, y))
    flat = model.fit(X, np.full(400, 0.1)).score_rows(passed(X, np.full(400, 0.1)))
    assert flat.r2.isnan().all()
