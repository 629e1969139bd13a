"""Intervals of new rows hold their targets as often as they say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from gradfeat.errors import TableError
from gradfeat.estimators import LinearClassifier, LinearRegressor
from gradfeat.table.conformal import bound
from gradfeat.table.encode import TableEncoder
from gradfeat.table.scores import Predictions, held_scores
from gradfeat.table.table_model import TableModel, probabilities

PERCENT, TIMES = 80.0, 300


def rows(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Skewed noise that grows with x: the model is wrong about both."""
    x = rng.uniform(-1, 1, n)
    return pd.DataFrame({"x": x}), x + rng.exponential(1 + np.abs(x), n)


ENCODER = TableEncoder().fit(rows(np.random.default_rng(9), 30)[0])


def made(fitted, classes: tuple[str, ...]):
    """A function from a generator to a table model, with scores of 30 rows of its own."""

    def model(rng: np.random.Generator) -> TableModel:
        frame, y = rows(rng, 30)
        X, P = frame.to_numpy(), None  # a column of numbers is encoded as itself
        if classes:
            y, P = np.digitize(y, CUTS), probabilities(fitted, X, 3)
        said = Predictions(fitted.predict(X).astype(float), P)
        return TableModel.of(ENCODER, fitted, "y", classes, {}, held_scores(y, said))

    return model


X0, Y0 = rows(np.random.default_rng(9), 30)
CUTS = [0.5, 1.5]
regressor = made(LinearRegressor(search=None).fit(ENCODER.transform(X0), Y0), ())
classifier = made(
    LinearClassifier(search=None).fit(ENCODER.transform(X0), np.digitize(Y0, CUTS)),
    ("low", "mid", "high"),
)


def covered(model: TableModel, frame: pd.DataFrame, y: np.ndarray) -> int:
    said = model.in_columns(model.outputs(frame.to_numpy()), PERCENT)
    if not model.classes:
        return int(((said["low_y"] <= y) & (y <= said["high_y"])).sum())
    labels = np.array(model.classes)[np.digitize(y, CUTS)]
    sets = [json.loads(text) for text in said["set_y"]]
    assert all(p in one for p, one in zip(said["predicted_y"], sets, strict=True))
    return sum(label in one for label, one in zip(labels, sets, strict=True))


@pytest.mark.parametrize("make", [regressor, classifier])
def test_coverage_over_held_out_and_new_rows(make):
    """80 % or more; of quantities at most 1 in (m + 1) = 31 more.

    New held-out rows for each new row, so that counts are binomial; 1e-4 either side.
    """
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(TIMES):
        model = make(rng)
        found += covered(model, *rows(rng, 1))
    assert found >= binom.ppf(1e-4, TIMES, PERCENT / 100)
    if not make(rng).classes:
        assert found <= binom.ppf(1 - 1e-4, TIMES, PERCENT / 100 + 1 / 31)


def test_intervals_hold_the_prediction_and_grow_with_the_percentage():
    model, (frame, _) = regressor(np.random.default_rng(1)), rows(np.random.default_rng(2), 20)
    narrow, wide = (model.predictions(frame, interval=p) for p in (50, 90))
    assert list(wide.columns) == ["predicted_y", "low_y", "high_y"]
    assert (wide["low_y"] < narrow["low_y"]).all()
    middle = (wide["low_y"] + wide["high_y"]) / 2
    np.testing.assert_allclose(middle, wide["predicted_y"], atol=1e-12)
    assert list(model.predictions(frame).columns) == ["predicted_y"]


def test_the_bound_is_the_order_statistic():
    scores = np.arange(1.0, 10.0)
    assert bound(scores, 90) == 9.0  # ceil(.9 * 10) of 9
    assert bound(scores, 50) == 5.0
    for percent, words in ((95, "at most 90 %"), (0.9, "as 90"), (100, "to below 100")):
        with pytest.raises(TableError, match=words):
            bound(scores, percent)
    with pytest.raises(TableError, match="no scores"):
        bound(np.zeros(0), 90)


def test_scores_of_many_rows_are_thinned_evenly():
    y = np.arange(30_000.0)
    kept = held_scores(y, Predictions(np.zeros(30_000), None))
    assert (len(kept), kept[0], kept[-1]) == (10_000, 0.0, 29_999.0)
