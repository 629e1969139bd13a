"""What models of other libraries lose without a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import gradfeat
from gradfeat.errors import TableError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.standard_normal((400, 4)), columns=list("abcd")).assign(
    kind=RNG.choice(["red", "blue", "green"], 400)
)
Y = 2 * FRAME["a"] + FRAME["b"] + 3 * (FRAME["kind"] == "red")
FIRST, LATER = slice(0, 250), slice(250, 400)


def test_a_pipeline_of_mixed_columns_loses_what_scikit_learn_says():
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(columns, Ridge()).fit(FRAME[FIRST], Y[FIRST])
    found = gradfeat.importances(model, FRAME[LATER], Y[LATER]).set_index("column")
    other = permutation_importance(model, FRAME[LATER], Y[LATER], n_repeats=30, random_state=0)
    theirs = pd.Series(other.importances_mean, index=FRAME.columns)
    assert found.index.tolist()[:3] == ["a", "kind", "b"]
    # Means of 10 and of 30 shuffles of 150 rows: their standard errors, four of them.
    error = 4 * pd.Series(other.importances_std, index=FRAME.columns) * (1 / 10 + 1 / 30) ** 0.5
    assert ((found["loss"] - theirs).abs() < error + 1e-12).all()
    assert (found["low"] <= found["loss"]).all()


def test_correlated_columns_of_an_array_are_shuffled_together():
    X = FRAME[["a", "b", "c"]].to_numpy()
    X = np.column_stack([X, X[:, 0] + 0.01 * X[:, 2]])
    model = RandomForestRegressor(20, random_state=0).fit(X[FIRST], X[FIRST, 0])
    found = gradfeat.importances(model, X[LATER], X[LATER, 0])
    assert found["group"].tolist()[:2] == ["x0 with x3"] * 2
    assert found["loss"][0] > 1


def test_classes_are_judged_by_accuracy_whatever_model_reads_the_columns():
    y = np.where(FRAME["a"] > 0, "up", "down")
    forest = RandomForestClassifier(30, random_state=0)
    for model, columns in ((forest, FRAME[["a", "b"]]), (gradfeat.TableModel(forest), FRAME)):
        fitted = model.fit(columns[FIRST], y[FIRST])
        found = gradfeat.importances(fitted, columns[LATER], y[LATER])
        assert found["column"][0] == "a"
        assert 0.4 < found["loss"][0] < 0.6  # half of the rows are on the other side


class Foreign:
    """A model of a library that knows nothing of scikit-learn, whose predictions are given."""

    def __init__(self, predict):
        self.predict = predict


class ForeignClassifier(Foreign):
    def predict_proba(self, X):
        raise NotImplementedError


def test_a_model_without_tags_of_scikit_learn_has_importances():
    found = gradfeat.importances(Foreign(lambda X: 2 * X["a"]), FRAME, Y)
    assert found["column"][0] == "a"
    sides = np.array(["down", "up"])
    model = ForeignClassifier(lambda X: sides[1 * (X["a"] > 0)])
    found = gradfeat.importances(model, FRAME, sides[1 * (FRAME["a"] > 0)])
    assert 0.4 < found["loss"][0] < 0.6


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda X: np.zeros((len(X), 2)), r"predicts an array of shape \(256, 2\) for 256 rows"),
        (lambda X: X["a"][:3], r"shape \(3,\) for 256 rows: give a model that predicts one"),
        (lambda X: X["a"].mask(X["a"] > 1), "What Foreign predicts is 'nan' in some"),
        (lambda X: X["kind"], "What Foreign predicts is '(red|blue|green)' in some rows"),
    ],
)
def test_predictions_that_are_not_one_number_a_row_are_refused(predict, words):
    with pytest.raises(TableError, match=words):
        gradfeat.importances(Foreign(predict), FRAME, Y)


def test_what_cannot_be_asked_is_said():
    model = Ridge().fit(FRAME[["a"]], Y)
    for y, words in (
        (FRAME["kind"], "target of Ridge is 'red'"),
        (pd.to_datetime(Y), "target of Ridge is '19"),
        (Y.where(Y > 0), "has missing values: leave their rows out"),
    ):
        with pytest.raises(TableError, match=words):
            gradfeat.importances(model, FRAME[["a"]], y)
    with pytest.raises(TableError, match="time is '5': give a number"):
        gradfeat.importances(model, FRAME[["a"]], Y, time="5")  # pyright: ignore[reportArgumentType]
    forest = RandomForestClassifier(2).fit(FRAME[["a"]], FRAME["kind"])
    with pytest.raises(TableError, match="give the classes that the model was fitted to"):
        gradfeat.importances(forest, FRAME[["a"]], np.arange(400) % 3)
    with pytest.raises(TableError, match="missing values"):
        gradfeat.importances(forest, FRAME[["a"]], FRAME["kind"].where(Y > 0, None))
    with pytest.raises(TableError, match="without predict"):
        gradfeat.importances(len, FRAME, Y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        gradfeat.importances(model, FRAME[["a"]], Y[:5])
    with pytest.raises(TableError, match="same in all rows"):
        gradfeat.importances(model, FRAME[["a"]], np.ones(400))


def test_truth_values_that_may_be_missing_are_classes_of_a_model():
    y = pd.Series(Y > 0, dtype="boolean")
    model = gradfeat.LinearClassifier().fit(FRAME[["a", "b"]], y)
    assert gradfeat.importances(model, FRAME[["a", "b"]], y)["loss"][0] > 0.2


def test_losses_are_of_probabilities_where_nearly_all_rows_are_predicted_as_one_class():
    """Accuracy lost nothing without any column; the command line has judged by log-loss here."""
    rare = np.where(Y + 0.3 * FRAME["b"] > np.quantile(Y, 0.95), "yes", "no")
    model = LogisticRegression(C=0.01).fit(FRAME[["a", "b"]], rare)
    assert (model.predict(FRAME[["a", "b"]]) == "no").mean() > 0.9
    found = gradfeat.importances(model, FRAME[["a", "b"]], rare)
    assert found["score"].tolist() == ["log-loss", "log-loss"]
    assert found["low"][0] > 0
    P = model.predict_proba(FRAME[["a", "b"]])
    shuffled = FRAME.assign(a=np.random.default_rng(0).permutation(FRAME["a"]))
    rise = log_loss(rare, model.predict_proba(shuffled[["a", "b"]])) - log_loss(rare, P)
    assert found["column"][0] == "a"
    assert 0.5 < found["loss"][0] / rise < 2


@pytest.mark.parametrize("rows", [2, 9])
def test_few_rows_have_no_interval(rows):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = Ridge(1e-6).fit(X, X[:, 0])
    found = gradfeat.importances(model, X[:rows], X[:rows, 0])
    assert found["loss"][0] > 0
    assert found[["low", "high"]].isna().all(axis=None)
    assert gradfeat.importances(model, X[:10], X[:10, 0])[["low", "high"]].notna().all(axis=None)
