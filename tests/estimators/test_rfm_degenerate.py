"""Recursive feature machines where data are odd: finite, sensible, free of units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradfeat.estimators import RFMClassifier, RFMRegressor

#: A fit in float64 repeats itself in other units to this: rounding times the condition that
#: penalties of 1e-6 on kernels of norm n = 60 allow, 60 / 1e-6 * 1e-16 = 6e-9.
ROUNDING = 1e-8


def rows(n: int, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def target(X: np.ndarray) -> np.ndarray:
    return X[:, 0] + X[:, 1] ** 2


X, T = rows(60), rows(20, seed=1)


@pytest.fixture(scope="module")
def usual() -> np.ndarray:
    out = RFMRegressor().fit(X, target(X)).predict(T)
    assert np.corrcoef(out, target(T))[0, 1] > 0.99
    return out


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())


@pytest.mark.parametrize("size", [1e6, 1e-6, 1e300, 1e-300])
def test_predictions_scale_with_the_targets(usual: np.ndarray, size: float) -> None:
    out = RFMRegressor().fit(X, size * target(X)).predict(T)
    assert close(out / size, usual, ROUNDING)


@pytest.mark.parametrize("size", [1e9, 1e-9])
def test_units_of_a_column_do_not_matter(usual: np.ndarray, size: float) -> None:
    unit = np.array([1.0, size, 1.0, 1.0])
    out = RFMRegressor().fit(X * unit, target(X)).predict(T * unit)
    assert close(out, usual, ROUNDING)


def test_a_constant_column_has_no_importance(usual: np.ndarray) -> None:
    """Median distances and held-out choices move a little: agreement to 1 %."""
    model = RFMRegressor().fit(np.c_[X, np.full(60, 3.0)], target(X))
    assert model.importances_[4] == 0
    assert close(model.predict(np.c_[T, np.full(20, 3.0)]), usual, 0.01)


def test_constant_columns_alone_give_the_mean() -> None:
    out = RFMRegressor().fit(np.ones((30, 3)), target(X[:30])).predict(np.ones((2, 3)))
    np.testing.assert_allclose(out, target(X[:30]).mean(), rtol=1e-6)


def test_repeated_rows_weigh_twice() -> None:
    twice = RFMRegressor().fit(np.r_[X, X], np.r_[target(X), target(X)]).predict(T)
    weighed = RFMRegressor().fit(X, target(X), sample_weight=np.full(60, 2)).predict(T)
    assert close(twice, weighed, ROUNDING)


def test_conflicting_targets_meet_in_the_middle(usual: np.ndarray) -> None:
    """Equal rows with targets y - .1 and y + .1 say y; noise of .1 is 4 % of the largest target."""
    out = RFMRegressor().fit(np.r_[X, X], np.r_[target(X) - 0.1, target(X) + 0.1]).predict(T)
    assert close(out, usual, 0.05)


@pytest.mark.parametrize("model", [RFMRegressor(), RFMRegressor(directions=None)])
def test_more_columns_than_rows(model: RFMRegressor) -> None:
    wide = rows(15, 40)
    out = model.fit(wide, wide[:, 0])
    assert np.isfinite(out.predict(rows(5, 40, seed=1))).all()
    assert np.corrcoef(out.predict(wide), wide[:, 0])[0, 1] > 0.9


@pytest.mark.parametrize("options", [{}, {"directions": 2}, {"directions": None}, {"search": None}])
def test_a_constant_target_is_predicted_and_has_no_directions(options: dict[str, Any]) -> None:
    model = RFMRegressor(**options).fit(X, np.full(60, 7.0))
    assert model.predict(T).tolist() == [7.0] * 20
    assert model.importances_.tolist() == [0.0] * 4
    assert model.n_effective_directions_ == 0


def test_noise_is_not_believed() -> None:
    """Beyond the targets seen nothing is predicted."""
    noise = np.random.default_rng(2).standard_normal(60)
    assert np.abs(RFMRegressor().fit(X, noise).predict(T)).max() < 2 * np.abs(noise).max()


@pytest.mark.parametrize("n", [2, 3])
def test_two_and_three_rows(n: int) -> None:
    """As many equations as unknowns: the targets come back but for the penalty, 1e-3 at most."""
    y = target(X[:n])
    assert close(RFMRegressor().fit(X[:n], y).predict(X[:n]), y, 5e-3)
    assert RFMClassifier().fit(X[:n], range(n)).predict(X[:n]).tolist() == list(range(n))


def test_heavy_tails_stay_finite() -> None:
    y = np.random.default_rng(3).standard_cauchy(60) ** 3
    out = RFMRegressor().fit(X, y).predict(T)
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 2 * np.abs(y).max()


def test_two_distinct_targets() -> None:
    """Chance is half; 60 rows in four inputs tell the sign of the first."""
    out = RFMRegressor().fit(X, (X[:, 0] > 0).astype(float)).predict(T)
    assert ((out > 0.5) == (T[:, 0] > 0)).mean() >= 0.8


def test_one_column() -> None:
    """Noiseless and smooth: to 5 % of the largest value, which lies outside the rows seen."""
    assert close(RFMRegressor().fit(X[:, :1], X[:, 0] ** 2).predict(T[:, :1]), T[:, 0] ** 2, 0.05)


def test_collinear_columns(usual: np.ndarray) -> None:
    """Columns that repeat others change distances, not what can be learnt: to 2 %."""
    more = [np.c_[A, A[:, 0] + A[:, 1], A[:, 0]] for A in (X, T)]
    assert close(RFMRegressor().fit(more[0], target(X)).predict(more[1]), usual, 0.02)


def test_outputs_of_different_size() -> None:
    """Each output in its own units, and its own size does not matter for the other."""
    both = np.c_[target(X), X[:, 2]]
    out = RFMRegressor().fit(X, both).predict(T)
    scaled = RFMRegressor().fit(X, both * [1.0, 1e6]).predict(T)
    assert close(scaled / [1.0, 1e6], out, ROUNDING)
    assert close(out, np.c_[target(T), T[:, 2]], 0.1)


@pytest.mark.parametrize("rare", [1, 2])
def test_a_class_may_be_missing_from_a_fold(rare: int) -> None:
    labels = np.array(["a"] * 30 + ["b"] * (30 - rare) + ["z"] * rare)
    P = RFMClassifier().fit(X, labels).predict_proba(T)
    assert P.shape == (20, 3)
    assert (P > 0).all()
    np.testing.assert_allclose(P.sum(1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        *(
            ({"directions": bad}, r"directions is .*: give an integer of at least 1, 'auto' or")
            for bad in (0, -1, 2.5, "all", True)
        ),
        ({"diagonal": "yes"}, "diagonal is 'yes': allowed are True, False, None"),
        ({"centre_gradients": "yes"}, "centre_gradients is 'yes': allowed are True, False"),
        ({"kernel": "foo"}, "kernel is 'foo': allowed are"),
        ({"search": "slow"}, "search is 'slow': allowed are"),
        ({"normalisation": "sum"}, "normalisation is 'sum': allowed are"),
        ({"alpha": -1}, "alpha is -1: give a non-negative number"),
        ({"bandwidth": 0}, "bandwidth is 0: give a positive number"),
        ({"n_iter": 1.5}, "n_iter is 1.5: give an integer"),
        ({"agop_power": 0}, "agop_power is 0: give a positive number"),
        ({"agop_rows": 0}, "agop_rows is 0: give an integer"),
        ({"memory_limit": 0}, "memory_limit is 0: give a positive number"),
        ({"dtype": "half"}, "dtype is 'half': allowed are"),
    ],
)
@pytest.mark.parametrize("kind", [RFMRegressor, RFMClassifier])
def test_a_value_not_allowed_gives_a_sentence(kind: Any, options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        kind(**options).fit(X, np.arange(60) % 2)


def test_a_whole_float_is_a_number_of_directions() -> None:
    options: list[dict[str, Any]] = [{"directions": 2}, {"directions": 2.0}]
    two = [RFMRegressor(**one).fit(X, target(X)).predict(T) for one in options]
    assert np.array_equal(*two)


def test_a_prediction_does_not_depend_on_the_rows_beside_it():
    """Coefficients of hundreds cancel in it, which float32 would do in the order of the block."""
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(-1, 1, (1500, 4)), rng.uniform(-1, 1, (100, 4))
    y = rng.standard_normal(1500)
    model = RFMRegressor(search=None, directions=1, dtype="float32").fit(X, y)
    alone = np.concatenate([model.predict(z[None]) for z in Z])
    # The sum is in float64; its result is rounded to float32.
    assert np.abs(model.predict(Z) - alone).max() <= 1e-6 * np.abs(alone).max()


@pytest.mark.parametrize("diagonal", [True, False])
def test_the_largest_power_leaves_one_direction(diagonal: bool) -> None:
    """Shares of the trace all vanished, and every prediction was nan."""
    fitted = RFMRegressor(agop_power=1e308, diagonal=diagonal, search=None, trees=False)
    out = fitted.fit(X, X[:, 0] + 0.1 * X[:, 1]).predict(T)
    assert np.isfinite(out).all()
    assert np.corrcoef(out, T[:, 0])[0, 1] > 0.9
