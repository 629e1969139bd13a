"""A table model as an estimator of scikit-learn's kind, on tables of mixed columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from gradfeat import LinearClassifier, LinearRegressor, TableModel, load, save
from gradfeat.errors import TableError
from table.streamed_tables import mixed


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return mixed(120)


@pytest.fixture(scope="module")
def X(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="y")


@pytest.fixture(scope="module")
def labels(frame: pd.DataFrame) -> pd.Series:
    return pd.Series(np.where(frame["a"] + frame["b"].fillna(0) > 0, "up", "down"), name="way")


def ridge() -> TableModel:
    return TableModel(make_pipeline(StandardScaler(), Ridge()))


def logistic() -> TableModel:
    return TableModel(make_pipeline(StandardScaler(), LogisticRegression()))


def test_it_is_what_its_estimator_is(X, labels):
    assert is_regressor(ridge())
    assert is_classifier(logistic())
    assert is_classifier(TableModel(LinearClassifier()))
    assert not hasattr(ridge(), "predict_proba")
    model = logistic().fit(X, labels)
    assert model.classes_.tolist() == ["down", "up"]
    assert model.feature_names_in_.tolist() == [*X.columns]
    assert (model.n_features_in_, model.target) == (7, "way")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize("codes", [(3, 7), (True, False), (1.0, 2.0)])
def test_labels_keep_their_type(X, labels, tmp_path, codes):
    y = labels.map({"up": codes[0], "down": codes[1]})
    model = logistic().fit(X, y)
    save(model, tmp_path / "m.gradfeat")
    for same in (model, load(tmp_path / "m.gradfeat")):
        said = same.predict(X)
        assert said.dtype == y.dtype
        assert (said == y).mean() > 0.8
        assert same.score(X, y) == (said == y).mean()


def test_clones_are_unfitted_and_have_the_same_parameters(X, frame):
    model = ridge().fit(X, frame["y"])
    again = clone(model.set_params(estimator__ridge__alpha=3.0))
    assert again.get_params()["estimator__ridge__alpha"] == 3.0
    assert not hasattr(again, "encoder")
    with pytest.raises(NotFittedError):
        again.predict(X)


def test_scores_are_cross_validated_and_parameters_searched(X, frame, labels):
    y = frame["a"] + (frame["kind"] == "p")
    scores = cross_validate(ridge(), X, y, cv=3)["test_score"]
    assert scores.mean() > 0.9
    alphas = [1e-2, 1e5]
    found = GridSearchCV(ridge(), {"estimator__ridge__alpha": alphas}, cv=3).fit(X, y)
    assert found.best_params_ == {"estimator__ridge__alpha": 1e-2}
    probabilities = cross_validate(logistic(), X, labels, cv=3, scoring="roc_auc")["test_score"]
    assert probabilities.mean() > 0.8


@pytest.mark.parametrize("make", [LinearRegressor, LinearClassifier])
def test_copies_by_pickle_and_by_file_predict_the_same(X, frame, labels, tmp_path, make):
    y = labels if make is LinearClassifier else frame["y"]
    model = TableModel(make(random_state=0)).fit(X, y)
    save(model, tmp_path / "m.gradfeat")
    for copy in (pickle.loads(pickle.dumps(model)), load(tmp_path / "m.gradfeat")):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        assert type(copy.estimator) is make
        assert is_classifier(copy) == is_classifier(model)


@pytest.mark.parametrize("estimator", [RidgeClassifier(), LinearSVC(), Perceptron()])
def test_a_classifier_without_probabilities_predicts_labels_alone(X, labels, tmp_path, estimator):
    model = TableModel(estimator).fit(X, labels)
    encoded = model.encoder.transform(X)
    _, codes = np.unique(labels, return_inverse=True)
    expected = np.array(["down", "up"])[clone(estimator).fit(encoded, codes).predict(encoded)]
    save(model, tmp_path / "m.gradfeat")
    loaded = load(tmp_path / "m.gradfeat")
    assert (model.predict(X) == expected).all()
    assert (loaded.predict(X) == expected).all()
    assert loaded.score(X, labels) == (expected == labels).mean()
    table = loaded.predictions(X)
    assert list(table.columns) == ["predicted_way"]
    assert (table["predicted_way"] == expected).all()
    assert not hasattr(loaded, "predict_proba")
    assert hasattr(TableModel(LogisticRegression()), "predict_proba")
    with pytest.raises(TableError, match="no intervals"):
        loaded.predictions(X, interval=90)


def test_tables_of_other_libraries_are_read_alike(X, frame):
    model = ridge().fit(X, frame["y"])
    for one in (pl.from_pandas(X), pl.from_pandas(X).to_arrow()):
        np.testing.assert_allclose(model.predict(one), model.predict(X), rtol=1e-12)
    assert ridge().fit(pl.from_pandas(X), pl.Series(frame["y"].to_numpy())).score(X, frame["y"]) > 0
    numbers = frame[["a", "whole"]].to_numpy(dtype=float)
    assert ridge().fit(numbers, frame["y"]).predict(numbers).shape == (120,)


def test_weights_are_handed_on(X, frame):
    weights = (frame["a"] > 0).astype(float)
    one = TableModel(Ridge()).fit(X, frame["y"], sample_weight=weights)
    other = TableModel(Ridge()).fit(X, frame["y"])
    assert not np.allclose(one.predict(X), other.predict(X))


def test_what_cannot_be_fitted_is_refused(X, frame):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ridge().fit(X, frame["y"].head(10))
    with pytest.raises(ValueError, match="NaN"):
        ridge().fit(X, frame["y"].where(frame["y"] > 0))
    with pytest.raises(ValueError, match="Unknown label type"):
        logistic().fit(X, frame["y"])
    with pytest.raises(TableError, match="lacks 'kind'"):
        ridge().fit(X, frame["y"]).predict(X.drop(columns="kind"))


def test_cells_that_are_not_what_their_column_held_are_counted_in_a_warning():
    frame = pd.DataFrame({"x": np.arange(40.0), "k": ["a", "b", "c", "d"] * 10})
    model = ridge().fit(frame, np.arange(40.0))
    with pytest.warns(UserWarning, match=r"Taken as missing: 2 cells of 'k' .*'e', row 2"):
        model.predict(frame.assign(k=["a", "e", "e", "b"] * 10).head(4))
    with pytest.warns(UserWarning, match="1 cell of 'x' that is no number"):
        model.predictions(pd.DataFrame({"x": ["?"], "k": ["a"]}))
    with pytest.warns(UserWarning, match=r"Taken as missing: 1 cell of 'x'.*'--', row 3"):
        ridge().fit(pd.DataFrame({"x": ["1", "2", "--", "4", "5"]}), [1.0, 2, 3, 4, 5])


def test_a_declared_category_is_kept_by_clones_and_model_files(tmp_path):
    frame = pd.DataFrame({"x": np.arange(120) % 3, "z": np.arange(120.0)})
    y = np.array([0.0, 9.0, 2.0])[frame["x"]]
    model = clone(TableModel(Ridge(alpha=1e-9), category=["x"])).fit(frame, y)
    assert model.encoder.feature_names_ == ("x_0", "x_1", "x_2", "z")
    assert np.allclose(model.predict(frame), y, atol=1e-6)  # the penalty leaves 1e-9 / 40 of it
    save(model, tmp_path / "m.gradfeat")
    assert load(tmp_path / "m.gradfeat").encoder.category == ("x",)
    with pytest.raises(TableError, match="no column 'xx' to read as levels"):
        clone(model).set_params(category=["xx"]).fit(frame, y)
