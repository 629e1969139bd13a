"""What a model loses where columns are shuffled, against scikit-learn's permutation importance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression

from gradfeat.table.encode import TableEncoder
from gradfeat.table.results import ColumnGroup
from gradfeat.table.shuffling import HeldRows, blocks_of, correlated_groups, importances

LONG = 60.0


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, X @ [2.0, 0.5, 1.0, 0.0] + 0.1 * rng.normal(size=600)


def rows_of(X, y):
    return HeldRows(X, y, False, np.arange(len(X)))


def test_of_single_columns_they_are_scikit_learns(rows):
    X, y = rows
    model = LinearRegression().fit(X, y)
    blocks = blocks_of(tuple("abcd"), (), {})
    found = importances("m", model.predict, rows_of(X, y), blocks, LONG, 0)
    assert found is not None
    assert (found.score, found.rows, found.shuffles) == ("R2", 600, 10)
    theirs = permutation_importance(model, X, y, n_repeats=10, random_state=0)
    ours = {one.columns[0]: one.loss for one in found.losses}
    for name, mean, spread in zip(
        "abcd", theirs["importances_mean"], theirs["importances_std"], strict=True
    ):
        # Both are means of 10 shuffles: 4.5 standard errors of their difference.
        assert ours[name].estimate == pytest.approx(mean, abs=4.5 * spread * (2 / 10) ** 0.5 + 1e-6)
        assert ours[name].low <= ours[name].estimate <= ours[name].high
    assert [one.columns[0] for one in found.losses][:3] == ["a", "c", "b"]


def test_of_classes_the_loss_is_of_accuracy(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y > 0)
    held = HeldRows(X, (y > 0).astype(float), True, np.arange(len(X)))
    found = importances("m", model.predict, held, blocks_of(tuple("abcd"), (), {}), LONG, 0)
    assert found is not None
    assert found.score == "accuracy"
    theirs = permutation_importance(model, X, y > 0, n_repeats=10, random_state=0)
    ours = {one.columns[0]: one.loss.estimate for one in found.losses}
    assert ours["a"] == pytest.approx(theirs["importances_mean"][0], abs=0.03)
    assert ours["d"] == pytest.approx(0.0, abs=0.02)


def test_of_probabilities_the_loss_is_of_log_loss(rows):
    """Of a rare class the predicted class is the same in all rows, and what it rests on moves."""
    X, y = rows
    rare = y > np.quantile(y, 0.97)
    model = LogisticRegression(C=0.01).fit(X[:, [0, 3]], rare)
    assert not model.predict(X[:, [0, 3]]).any()
    blocks, units = blocks_of(("a", "d"), (), {}), np.arange(len(X))
    held = HeldRows(X[:, [0, 3]], rare.astype(float), True, units, probabilities=True)
    found = importances("m", model.predict_proba, held, blocks, LONG, 0)
    assert found is not None
    assert (found.score, found.worse, found.lost) == ("log-loss", "rises", "log-loss gained")
    assert [(one.columns, one.sure) for one in found.losses] == [(("a",), True), (("d",), False)]
    theirs = permutation_importance(
        model, X[:, [0, 3]], rare, scoring="neg_log_loss", n_repeats=10, random_state=0
    )
    error = 4.5 * theirs["importances_std"][0] * (2 / 10) ** 0.5
    assert found.losses[0].loss.estimate == pytest.approx(theirs["importances_mean"][0], abs=error)
    # By accuracy nothing moves, and the interval is of how often an answer may change elsewhere.
    wrong = replace(held, probabilities=False)
    found = importances("m", model.predict, wrong, blocks, LONG, 0)
    assert found is not None
    bound = 1 - 0.025 ** (1 / 600)
    assert {(one.loss.low, one.loss.high) for one in found.losses} == {(-bound, bound)}


@pytest.mark.parametrize(("second", "tied"), [(2.0, 2), (1.0, 1)])
def test_of_columns_that_rows_do_not_order_so_many_are_tied(rows, second, tied):
    X, _ = rows
    y = X @ [2.0, second, 0.3, 0.0]
    found = importances(
        "m", lambda Z: Z @ [2.0, second, 0.3, 0.0], rows_of(X, y), blocks_of(tuple("abcd"), (), {}),
        LONG, 0,
    )  # fmt: skip
    assert found is not None
    assert found.tied == tied


def test_encoded_columns_of_one_column_and_correlated_columns_move_together():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 500))
    X = np.column_stack([x, x + 1e-3 * rng.normal(size=500), z > 0, z <= 0])
    y = x + z
    model = LinearRegression().fit(X, y)
    blocks = blocks_of(("a", "b", "c", "c"), correlated_groups(X, ("a", "b", "c", "c")), {})
    assert [block.columns for block in blocks] == [("a", "b"), ("c",)]
    found = importances("m", model.predict, rows_of(X, y), blocks, LONG, 0)
    assert found is not None
    ours = {one.columns: one.loss.estimate for one in found.losses}
    # Shuffling x alone costs 2 var(x) / var(y), whatever share of it stands in which copy.
    assert ours[("a", "b")] == pytest.approx(2 * x.var() / y.var(), abs=0.15)


def test_without_time_the_largest_shares_come_first_and_the_rest_as_one(rows):
    X, y = rows
    X = np.tile(X, (1, 5))
    names = tuple(f"x{i}" for i in range(20))
    blocks = blocks_of(names, (), {"x7": 0.9, "x2": 0.5})
    assert [block.columns[0] for block in blocks[:3]] == ["x7", "x2", "x0"]
    model = LinearRegression().fit(X, y)
    found = importances("m", model.predict, rows_of(X, y), blocks, 0.0, 0)
    assert found is not None
    assert found.shuffles == 1
    rest = [one for one in found.losses if one.rest]
    assert len(rest) == 1
    assert len(rest[0].columns) == 20 - (len(found.losses) - 1)
    assert "x7" not in rest[0].columns
    assert found.losses.index(rest[0]) == sum(one.sure for one in found.losses) - rest[0].sure


def test_what_is_beyond_chance_comes_before_what_may_cost_more():
    """Shuffling b changes the prediction of one row alone, which many resamples lack."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), np.zeros((300, 2))])
    X[0] = 1.0, 9.0, 1.0

    def predict(X):
        return 0.1 * X[:, 0] + X[:, 1] * X[:, 2]

    held, blocks = (
        rows_of(X, predict(X)),
        blocks_of(tuple("abc"), (), {})[:2],
    )
    found = importances("m", predict, held, blocks, LONG, 0)
    assert [(one.columns[0], one.sure) for one in found.losses] == [("a", True), ("b", False)]
    assert found.losses[1].loss.estimate > found.losses[0].loss.estimate


def test_nothing_is_lost_of_a_target_that_is_the_same_everywhere(rows):
    X, _ = rows
    same = rows_of(X, np.ones(600))
    assert importances("m", lambda X: X[:, 0], same, blocks_of(tuple("abcd"), (), {}), 1, 0) is None
    assert importances("m", lambda X: X[:, 0], same, [], 1, 0) is None


def test_groups_are_of_columns_that_say_the_same_under_any_encoding():
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, 300))
    level = rng.integers(0, 3, 300)
    one_hot = (level[:, None] == np.arange(3)).astype(float)
    X = np.column_stack([x, np.exp(x), noise, one_hot, one_hot[:, [2, 0, 1]], level]).astype(float)
    source = ("x", "exp", "noise", *["state"] * 3, *["code"] * 3, "number")
    assert [g.columns for g in correlated_groups(X, source)] == [
        ("x", "exp"),
        ("state", "code", "number"),
    ]


def test_columns_that_follow_from_others_are_grouped_with_them():
    """A grade and its sub-grades, a number and its bands; not levels that are drawn apart."""
    rng = np.random.default_rng(0)
    sub, x, other = rng.integers(35, size=2000), rng.normal(size=2000), rng.integers(35, size=2000)
    codes = [sub // 5, sub, np.digitize(x, np.linspace(-2, 2, 12)), other]
    parts = [np.eye(k.max() + 1)[k] for k in codes]
    names = ("grade", "sub", "band", "other")
    source = [name for name, part in zip(names, parts, strict=True) for _ in part.T]
    X = np.column_stack([*parts, x])
    found = correlated_groups(X, [*source, "x"])
    assert [group.columns for group in found] == [("grade", "sub"), ("band", "x")]


def test_many_levels_of_few_rows_explain_nothing():
    rng = np.random.default_rng(0)
    levels = np.eye(50)[rng.integers(50, size=60)]
    assert not correlated_groups(np.column_stack([levels, rng.normal(size=60)]), ["a"] * 50 + ["b"])


@pytest.mark.parametrize(("correlation", "grouped"), [(0.97, True), (0.7, False)])
def test_groups_begin_at_a_correlation_of_nine_tenths(correlation, grouped):
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 1000))
    X = np.column_stack([x, correlation * x + (1 - correlation**2) ** 0.5 * z])
    found = correlated_groups(X, ("a", "b"))
    assert bool(found) == grouped
    assert all(isinstance(group, ColumnGroup) and group.correlation < 0.99 for group in found)
    assert correlated_groups(X[:10], ("a", "b")) == ()


def test_dates_that_follow_each_other_are_one_group():
    """Hours and months differ: each alone made a linear model lose 84 of R2, by opposite slopes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=500, freq="h")})
    frame["p"] = pd.date_range("2020-01-01", periods=500, freq="MS")
    frame["other"] = rng.permutation(frame["p"])
    encoder = TableEncoder().fit(frame)
    found = correlated_groups(encoder.transform(frame), encoder.source_, encoder.feature_names_)
    assert [(group.columns, group.correlation) for group in found] == [(("t", "p"), 1.0)]
