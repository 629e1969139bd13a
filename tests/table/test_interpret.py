"""What a model reads, folded back to the original columns."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.estimators import RFMRegressor
from gradfeat.maths.gradients import effective_number
from gradfeat.table.interpret import bars_of, directions, fold, slope_shares, spectrum_bands
from gradfeat.table.results import ColumnGroup

# Sums of a few squares of order one.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(120, 4))
    given = RFMRegressor(n_iter=2, bandwidth=3.0, alpha=1e-2, search=None, random_state=0)
    model = given.fit(X[:90], X[:90, 0] ** 2 + 0.5 * X[:90, 1])
    return model, X[90:]


def test_fold_keeps_the_norm_and_the_sign_of_the_largest_part():
    values = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 2)))[0]
    owner = ("a", "a", "b", "c", "c")
    found = fold(values, owner, ("a", "b", "c"))
    np.testing.assert_allclose((found**2).sum(axis=0), 1.0, atol=ROUNDING)
    np.testing.assert_allclose(found[1], values[2], atol=ROUNDING)
    for j in range(2):
        largest = values[:2, j][np.abs(values[:2, j]).argmax()]
        assert np.sign(found[0, j]) == np.sign(largest)


def test_effective_number():
    assert effective_number(np.array([0.96, 0.04])) == 1
    assert effective_number(np.array([0.9, 0.06, 0.04])) == 2
    assert effective_number(np.zeros(3)) == 0


def test_bands_contain_the_spectrum_which_is_the_models_own(fitted):
    model, X = fitted
    values, low, high, number = spectrum_bands(_gradients(model, X), 0)
    assert values.sum() == pytest.approx(1.0)
    assert (np.diff(values) <= 0).all()
    assert (low[:2] <= values[:2]).all()
    assert (values[:2] <= high[:2]).all()
    assert number.low <= number.estimate <= number.high
    M = model.predictor_.agop(_tensor(model.standardised(X))).numpy()
    own = np.linalg.eigvalsh(M)[::-1]
    np.testing.assert_allclose(values, own / own.sum(), atol=1e-10)


def _tensor(Z: np.ndarray):
    import torch

    return torch.as_tensor(Z)


def _gradients(model, X: np.ndarray) -> np.ndarray:
    return model.predictor_.gradient(_tensor(model.standardised(X))).numpy()


@pytest.mark.parametrize(("slopes", "joint"), [((50.0, -50.0), 0.0), ((0.5, 0.5), 0.5)])
def test_the_slope_of_columns_that_agree_is_that_of_moving_them_together(slopes, joint):
    """f = x + 50 a - 50 b reads nothing of a = b, and f = x + (a + b)/2 reads as much as of x."""
    x, a = np.random.default_rng(0).normal(size=(2, 400))
    J = np.tile([1.0, *slopes], (400, 1, 1))
    raw = (J[0, 0] ** 2) / (J[0, 0] ** 2).sum()
    owner, Z = np.array([*"xab"]), np.column_stack([x, a, a])
    found = slope_shares(raw, J, Z, owner, [ColumnGroup(("a", "b"), 1.0)])
    np.testing.assert_allclose([found[0], found[1:].sum()], [1 - joint, joint], atol=ROUNDING)
    np.testing.assert_allclose(slope_shares(raw, J, Z, owner, []), raw)


def test_directions_of_original_columns(fitted):
    model, X = fitted
    owner = ("a", "b", "c", "c")
    found = directions("rfm", model, X, ("a", "b", "c_p", "c_q"), owner, ("a", "b", "c"), 0)
    assert found is not None
    assert found.importances.sum() == pytest.approx(1.0)
    assert found.importances.argmax() == 0
    assert found.bars.names == ("a", "b", "c_p", "c_q")
    assert found.bars.weights.shape == (4, found.loadings.shape[1])
    assert found.projections.shape == (30, 2)


def test_as_many_directions_are_effective_as_the_model_says(fitted, monkeypatch):
    """Of its training rows, as `gradfeat show` has it."""
    model, X = fitted
    monkeypatch.setattr(type(model), "n_effective_directions_", 4)
    found = directions("rfm", model, X, tuple("abcd"), tuple("abcd"), tuple("abcd"), 0)
    assert found is not None
    assert (found.n_effective.estimate, found.n_effective.high) == (4, 4)
    assert found.n_effective.low == spectrum_bands(_gradients(model, X), 0)[3].low < 4


def test_one_input_and_a_constant_fit():
    X = np.random.default_rng(2).normal(size=(40, 1))
    model = RFMRegressor(random_state=0).fit(X, X[:, 0])
    found = directions("rfm", model, X, ("a",), ("a",), ("a",), 0)
    assert found is not None
    assert np.isnan(found.projections[:, 1]).all()
    constant = RFMRegressor(random_state=0).fit(X, np.zeros(40))
    assert directions("rfm", constant, X, ("a",), ("a",), ("a",), 0) is None


def test_a_date_has_a_sign_in_its_seconds_and_a_size_in_what_comes_round():
    """Two moments whose difference counts are taken from each other, not added up."""
    parts = ("seconds", "hour_circular_0", "hour_circular_1")
    encoded = tuple(f"{moment}_{part}" for moment in ("start", "end") for part in parts)
    L = np.array([[-0.7, 0.3, 0.4, 0.7, 0.0, 0.0]]).T
    found = bars_of(None, L, encoded, ("start",) * 3 + ("end",) * 3, frozenset())
    assert found.names == ("start_seconds", "start_hour", "end_seconds", "end_hour")
    assert found.signed == (True, False, True, False)
    np.testing.assert_allclose(found.weights[:, 0], [-0.7, 0.5, 0.7, 0.0])


def test_a_level_has_a_bar_and_texts_have_a_size_without_a_sign():
    """c is of two levels; of d, hashed to three numbers, nothing is more or less."""
    X = np.random.default_rng(3).normal(size=(300, 6))
    X[:, 1] = X[:, 0] > 0.4
    X[:, 2] = 1 - X[:, 1]
    given = RFMRegressor(n_iter=2, bandwidth=3.0, alpha=1e-2, search=None, random_state=0)
    model = given.fit(X, 2 * X[:, 1] + X[:, 0])
    L = model.leading_directions(2)
    encoded = ("a", "c_yes", "c_no", "d_0", "d_1", "d_2")
    found = bars_of(model, L, encoded, ("a", "c", "c", "d", "d", "d"), frozenset({"c"}))
    assert found.names == ("a", "c: yes", "c: no", "d")
    assert found.signed == (True, True, True, False)
    np.testing.assert_allclose(found.weights[3], np.linalg.norm(L[3:], axis=0))
    # positions of a row of each level, of which the mean over rows is 0
    Z = model.standardised(X)[:, 1:3] @ L[1:3]
    yes = X[:, 1] == 1
    for k, level in ((1, yes), (2, ~yes)):
        expected = level.mean() ** 0.5 * Z[level].mean(axis=0)
        np.testing.assert_allclose(found.weights[k], expected, atol=ROUNDING)
    np.testing.assert_allclose((found.weights[1:3] ** 2).sum(axis=0), Z.var(axis=0), atol=ROUNDING)


def test_a_level_of_two_rows_does_not_lead_a_direction():
    """Its standardised column is 14 in its rows, and every other number is of size 1."""
    rng = np.random.default_rng(4)
    level = np.r_[np.zeros(2), rng.integers(1, 4, 398)].astype(int)
    X = np.column_stack([rng.normal(size=400), np.eye(4)[level]])
    model = RFMRegressor(n_iter=1, bandwidth=3.0, alpha=1e-2, search=None).fit(X, X[:, 0])
    L = np.array([[0.6, 0.4, 0.3, 0.3, 0.3]]).T
    names = ("a", "c_rare", "c_x", "c_y", "c_z")
    found = bars_of(model, L, names, ("a", *["c"] * 4), frozenset({"c"}))
    size = dict(zip(found.names, np.abs(found.weights[:, 0]), strict=True))
    assert max(size, key=size.get) == "a"
    assert size["c: rare"] < 0.5
