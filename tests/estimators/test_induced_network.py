"""Induced networks as estimators: what they find, keep, bound, and do where nothing is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_fits import FINE, binary, classifiers, named, regression, regressors

from gradfeat import load, save
from gradfeat.estimators import InducedNetworkClassifier, InducedNetworkRegressor
from gradfeat.maths.blocks import Block, collect
from gradfeat.maths.statistics.moments import Moments, whitening
from gradfeat.models.gradient_features.found_features import FoundFeatures
from gradfeat.models.induced import network
from gradfeat.models.induced.network import InducedNetwork
from gradfeat.models.search.induced_space import InducedFit
from gradfeat.rows.rows import in_memory

QUICK: dict[str, Any] = {"neurons": 400, "search": None}


def correlated(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns with correlation .9 to their neighbour, and y = |x_0 - x_1| + noise."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    X = 0.9**0.5 * common + 0.1**0.5 * rng.standard_normal((n, 4))
    return X, np.abs(X[:, 0] - X[:, 1]) + 0.05 * rng.standard_normal(n)


def test_the_planted_direction_is_found_in_columns_that_move_together():
    X, y = correlated()
    model = InducedNetworkRegressor(**QUICK).fit(X, y)
    found = model.gradient_features_
    assert found.n_directions == 1
    # .95 is what the talk asks of a planted direction.
    assert abs(found.directions[:, 0] @ [1, -1, 0, 0]) / 2**0.5 > 0.95
    assert model.score(*correlated(seed=1)) > 0.9
    plain = InducedNetworkRegressor(**QUICK, whiten=False, linear="ridge").fit(X, y)
    assert plain.score(*correlated(seed=1)) < 0.5


def test_the_search_whitens_where_that_helps():
    X, y = correlated(600)
    model = InducedNetworkRegressor(neurons=200, width=0.1, bias_scale=1.0).fit(X, y)
    assert model.settings_["whiten"] is True
    given = InducedNetworkRegressor(neurons=200, width=0.1, bias_scale=1.0, whiten=False)
    assert given.fit(X, y).settings_["whiten"] is False


def test_every_number_of_the_set_is_a_share_within_its_interval():
    X, y = regression(400)
    found = InducedNetworkRegressor(**FINE).fit(X, y).gradient_features_
    q = len(found.signs)
    assert q > 1
    assert found.directions.shape == (4, q)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=0), 1.0, atol=1e-12)
    assert (found.low <= found.mass).all()
    assert (found.mass <= found.high).all()
    assert (found.mass >= found.p).all()
    assert (np.diff(found.mass) <= 0).all()
    assert 0 <= found.unexplained + found.short <= 1
    for k in range(found.n_directions):
        assert found.mass[found.leading(k)] == found.mass[found.group == k].max()


def test_both_signs_of_b_are_one_direction():
    X, _ = regression(1000)
    found = InducedNetworkRegressor(**QUICK).fit(X, np.maximum(X[:, 0], 0)).gradient_features_
    assert sorted(found.signs) == [-1, 1]
    assert found.group.tolist() == [0, 0]
    assert found.n_directions == 1


@pytest.mark.parametrize("linear", ["ridge", "none"])
def test_nothing_found_is_a_linear_or_a_constant_model(linear):
    X, _ = regression(200)
    y = 3 + np.random.default_rng(8).standard_normal(200)
    model = InducedNetworkRegressor(**QUICK, linear=linear).fit(X, y)
    found = model.gradient_features_
    assert (found.n_directions, found.directions.shape) == (0, (4, 0))
    assert found.short == 1.0
    bends = model.predict(2 * X) - 2 * model.predict(X) + model.predict(0 * X)
    np.testing.assert_allclose(bends, 0.0, atol=1e-12)
    if linear == "none":
        np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-12)


def test_classes_that_say_nothing_get_their_shares():
    X, _ = regression(200)
    y = np.random.default_rng(9).permutation(np.arange(200) % 4 == 0)
    P = InducedNetworkClassifier(**QUICK, linear="none").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(P[:, 1], 0.25, atol=0.01)  # folds hold 40 rows


@pytest.mark.parametrize(**named([regressors()[-1], classifiers()[-1]]))
def test_the_set_is_saved_and_restored(model, tmp_path):
    X, y = binary(80)
    fitted = model.fit(X, y)
    save(fitted, tmp_path / "m.gradfeat")
    found, again = fitted.gradient_features_, load(tmp_path / "m.gradfeat").gradient_features_
    assert found.n_directions > 0
    assert found.numbers() == again.numbers()
    for name, array in found.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array, strict=True)


def test_without_whitening_it_is_the_network_of_the_learner():
    X, y = regression(200)
    Z, t = torch.as_tensor(X), torch.as_tensor(y)[:, None]
    inner = InducedNetwork(neurons=400, linear="ridge")
    net, found = InducedFit(inner, False, 200).with_features(in_memory(Z, t), seed=1)
    assert torch.equal(net(Z), inner.fit(in_memory(Z, t), seed=1)(Z))
    np.testing.assert_array_equal(np.unique(np.abs(net.W.numpy()), axis=0).T, abs(_one(found)))


def _one(found: FoundFeatures) -> np.ndarray:
    """The directions, each once."""
    return np.unique(np.abs(found.directions).T, axis=0).T


def test_whitened_it_is_the_network_of_the_whitened_inputs():
    X, y = (torch.as_tensor(a) for a in correlated(300))
    y, inner = y[:, None], InducedNetwork(neurons=400)
    mean, P = whitening(collect(Moments(), [Block(X, y, torch.ones(300).double())]))
    net = InducedFit(inner, True, 300).fit(in_memory(X, y))
    inside = inner.fit(in_memory((X - mean) @ P, y))
    # Whitening multiplies rounding by the condition of the inputs, about 20.
    torch.testing.assert_close(net(X), inside((X - mean) @ P), rtol=1e-9, atol=1e-9)


def test_a_search_finds_directions_on_its_own_training_rows_alone(monkeypatch):
    X, y = regression(100)
    rows: list[Any] = []
    find = network.gradient_feature_set

    def recorded(Z: Any, *rest: Any, **options: Any) -> Any:
        rows.append(len(Z))
        return find(Z, *rest, **options)

    monkeypatch.setattr(network, "gradient_feature_set", recorded)
    InducedNetworkRegressor(neurons=200, width=0.1, bias_scale=1.0, linear="none").fit(X, y)
    assert rows == [80] * 10 + [100]  # 5 folds, whitened and not; then the fit


def test_gradients_are_averaged_over_so_many_rows():
    X, y = regression(100)
    assert InducedNetworkRegressor(**FINE, feature_rows=60).fit(X, y).gradient_features_.rows == 60
    assert InducedNetworkRegressor(**FINE).fit(X, y).gradient_features_.rows == 100


@pytest.mark.parametrize(("loss", "K"), [("squared", 3), ("logistic", 2)])
def test_bounds_hold_for_each_output(loss, K):
    X, f = regression(60)
    y = np.digitize(f, [0.8] if K == 2 else [0.3, 1.3])
    model = InducedNetworkClassifier(**FINE, loss=loss, B_a2=0.5, linear="none").fit(X, y)
    size = 0.5 if (loss, K) == ("logistic", 2) else 1.0  # decisions are half of the logit of two
    assert np.linalg.norm(model.predictor_.a.numpy() / size, axis=0).max() < 0.5 * (1 + 1e-6)
    assert model.score(X, y) > np.bincount(y).max() / len(y) + 0.1


def test_the_logistic_loss_is_another_fit_than_the_squared_one():
    X, y = binary(200)
    fits = [
        InducedNetworkClassifier(**FINE, loss=loss, B_a1=2.0, linear="none").fit(X, y)
        for loss in ("squared", "logistic")
    ]
    P = [fit.predict_proba(X) for fit in fits]
    assert np.abs(P[0] - P[1]).max() > 1e-3
    assert min(fit.score(X, y) for fit in fits) > 0.85


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"loss": "hinge"}, "loss is 'hinge': allowed are 'squared', 'logistic'"),
        ({"loss": "logistic"}, "give a finite bound and linear='none', or the squared loss"),
        ({"loss": "logistic", "B_a1": 1.0, "linear": "ridge"}, "and linear is 'ridge': give"),
    ],
)
def test_a_loss_that_cannot_be_is_one_sentence(params, says):
    with pytest.raises(ValueError, match=r"^[^\n]+\.$") as refused:
        InducedNetworkClassifier(**params).fit(*binary(30))
    assert says in str(refused.value)
