"""AGOP of any model: three routes to one matrix, units, and sentences for what has none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from torch import nn

from gradfeat import RFMClassifier, RFMRegressor, agop
from gradfeat.estimators.agop_of import _spread

SPREADS = np.array([1.0, 20.0, 1e-3, 1e6])
Z = np.random.default_rng(0).standard_normal((120, 4))
X = Z * SPREADS + np.array([0.0, 1.0, 5.0, 1e7])
y = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2])
u = np.array([0.6, 0.0, -0.8, 0.0])
w = np.random.default_rng(1).random(120)

#: Truncation, step^2/6 = 2e-7 times third derivatives of order one.
DIFFERENCES = 1e-6


def scaled(xp: Any, T: Any) -> Any:
    """Columns of order one, from those of X."""
    spreads = torch.tensor(SPREADS) if xp is torch else SPREADS
    means = torch.tensor([0.0, 1.0, 5.0, 1e7]) if xp is torch else np.array([0.0, 1.0, 5.0, 1e7])
    return (T - means) / spreads


FUNCTIONS = {
    "linear": lambda xp, T: scaled(xp, T) @ (torch.tensor(u) if xp is torch else u),
    "quadratic": lambda xp, T: scaled(xp, T)[:, 0] * scaled(xp, T)[:, 1],
    "single index": lambda xp, T: xp.sin(scaled(xp, T) @ (torch.tensor(u) if xp is torch else u)),
}
GRADIENTS = {
    "linear": lambda z: np.tile(u, (len(z), 1)),
    "quadratic": lambda z: np.stack([z[:, 1], z[:, 0], 0 * z[:, 0], 0 * z[:, 0]], 1),
    "single index": lambda z: np.cos(z @ u)[:, None] * u,
}


def expected(J: Any, weights: Any = None, centre: bool = False) -> Any:
    """Weighted mean of outer products of gradients (n, d)."""
    p = np.full(len(J), 1 / len(J)) if weights is None else weights / weights.sum()
    J = J - p @ J if centre else J
    return (J * p[:, None]).T @ J


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("centre", [False, True])
def test_autograd_and_differences_equal_the_formula(name: str, centre: bool) -> None:
    G = expected(GRADIENTS[name](Z), w, centre) / np.outer(SPREADS, SPREADS)
    options = {"weights": w, "centre": centre, "standardise": False}
    by_arrays = agop(lambda T: FUNCTIONS[name](np, T), X, **options)
    by_tensors = agop(lambda T: FUNCTIONS[name](torch, T), torch.tensor(X), **options)
    units = np.outer(SPREADS, SPREADS)
    np.testing.assert_allclose(by_tensors.numpy() * units, G * units, atol=1e-9)  # X rounds at 1e7
    np.testing.assert_allclose(by_arrays * units, G * units, atol=DIFFERENCES)


def test_a_module_equals_the_same_function_by_differences() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    exact = agop(net, Z)
    by_tensors = agop(net.forward, torch.tensor(Z))
    np.testing.assert_allclose(by_tensors.numpy(), exact, rtol=1e-12, atol=1e-15)
    with torch.no_grad():
        differences = agop(lambda T: net(torch.tensor(T)).numpy(), Z)
    np.testing.assert_allclose(differences, exact, atol=DIFFERENCES)


def test_standardised_units_multiply_by_the_weighted_standard_deviations() -> None:
    p = w / w.sum()
    scale = np.sqrt(p @ (X - p @ X) ** 2)
    own = agop(lambda T: scaled(np, T)[:, 0] * scaled(np, T)[:, 3], X, weights=w, standardise=False)
    units = agop(lambda T: scaled(np, T)[:, 0] * scaled(np, T)[:, 3], X, weights=w)
    np.testing.assert_allclose(units, own * np.outer(scale, scale), rtol=1e-9)
    assert units[3, 3] > 1e-2 > 1e-6 > own[3, 3]


def test_constant_columns_have_derivative_zero_whatever_their_size() -> None:
    table = np.hstack([Z, np.full((120, 1), 1e9), np.zeros((120, 1))])
    np.testing.assert_array_equal(agop(lambda T: T.sum(1), table)[4:], 0)
    f = torch.tensor(table)
    np.testing.assert_array_equal(agop(lambda T: T.sum(1), f)[4:], 0)
    assert agop(lambda T: T.sum(1), f, standardise=False)[4, 4] == pytest.approx(1)
    assert _spread(f, torch.ones(120).double())[4:].tolist() == [0, 0]


def test_ridge_is_its_coefficients_and_lasso_is_not_taken_for_a_tree() -> None:
    for model in (Ridge().fit(X, y), Lasso(0.1).fit(Z, y)):
        table = X if type(model) is Ridge else Z
        G = agop(model, table, standardise=False)
        c = model.coef_
        size = np.outer(table.std(0), table.std(0))
        np.testing.assert_allclose(G * size, np.outer(c, c) * size, atol=1e-8)


def test_kernel_and_network_of_scikit_learn_equal_their_exact_gradients() -> None:
    svr = SVR(gamma=0.3).fit(Z, y)
    T = torch.tensor(Z)
    V, c = torch.tensor(svr.support_vectors_), torch.tensor(svr.dual_coef_[0])
    kernel = agop(lambda T: torch.exp(-0.3 * torch.cdist(T, V) ** 2) @ c, T)
    np.testing.assert_allclose(agop(svr, Z), kernel.numpy(), atol=DIFFERENCES * 10)
    mlp = MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlp.fit(Z, y)
    A, a = (torch.tensor(v) for v in mlp.coefs_)
    b = torch.tensor(mlp.intercepts_[0])
    np.testing.assert_allclose(
        agop(mlp, Z), agop(lambda T: torch.tanh(T @ A + b) @ a, T).numpy(), atol=DIFFERENCES
    )


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=10, early_stopping=False),
        HistGradientBoostingRegressor(max_iter=1, max_depth=1, early_stopping=False),
        RandomForestRegressor(60, random_state=0),
    ],
    ids=["boosting", "stump", "forest"],
)
def test_models_with_jumps_warn_at_a_small_step_and_not_at_a_large_one(model: Any) -> None:
    model.fit(Z, 5 * Z[:, 0])
    with pytest.warns(UserWarning, match=r"step=0\.25"):
        agop(model, Z)
    G = agop(model, Z, step=0.25)
    assert G[0, 0] > 0.9 * np.trace(G) > 0


def test_functions_that_are_smooth_or_constant_do_not_warn() -> None:
    for f in (lambda T: T[:, 0] * 0 + 7, lambda T: np.maximum(T[:, 0] - 0.5, 0), np.sin):
        agop(f, Z)
    agop(lambda T: np.asarray(np.sin(T), dtype=np.float32), Z)  # rounding below the slopes


def test_of_two_classes_the_second_probability_counts() -> None:
    labels = np.where(y > 0, "up", "down")
    logistic = LogisticRegression().fit(Z, labels)
    p = logistic.predict_proba(Z)[:, 1:]
    exact = expected(p * (1 - p) * logistic.coef_)
    np.testing.assert_allclose(agop(logistic, Z, standardise=False), exact, atol=DIFFERENCES)
    of_decisions = agop(logistic.decision_function, Z, standardise=False)
    np.testing.assert_allclose(of_decisions, logistic.coef_.T @ logistic.coef_, rtol=1e-8)
    by_decisions = RidgeClassifier().fit(Z, labels)
    c = np.atleast_2d(by_decisions.coef_)
    np.testing.assert_allclose(agop(by_decisions, Z, standardise=False), c.T @ c, rtol=1e-8)


def test_several_outputs_add_up() -> None:
    model = Ridge().fit(Z, np.stack([y, Z[:, 3]], 1))
    G = agop(model, Z, standardise=False)
    np.testing.assert_allclose(G, model.coef_.T @ model.coef_, atol=1e-9)


def test_a_pipeline_gets_the_data_frame_with_its_names() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    pipe = make_pipeline(make_column_transformer((StandardScaler(), ["d", "a"])), Ridge())
    G = agop(pipe.fit(frame, y), frame)
    c = pipe[-1].coef_[[1, 0]]
    np.testing.assert_allclose(G[np.ix_([0, 3], [0, 3])], np.outer(c, c), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(G[1:3], 0)
    np.testing.assert_allclose(agop(pipe, pl.DataFrame(frame.to_dict("list"))), G, rtol=1e-9)


def test_fitted_functions_of_gradfeat_take_arrays_and_tensors() -> None:
    fitted = RFMRegressor(search=None, n_iter=1).fit(Z, y)
    G = fitted.predictor_.agop(torch.tensor(Z)).numpy()
    np.testing.assert_allclose(agop(fitted.predictor_, Z, standardise=False), G, rtol=1e-9)
    T = torch.tensor(Z).float()
    result = agop(fitted.predictor_, T, standardise=False)
    assert result.dtype == torch.float32
    np.testing.assert_allclose(result.numpy(), G, rtol=1e-4, atol=1e-6)  # X is float32


def test_regressors_of_gradfeat_agree_with_their_summary_in_other_units() -> None:
    model = RFMRegressor(search=None, n_iter=2).fit(X, 1000 * y)
    G = agop(model, X)
    np.testing.assert_allclose(G, model.agop_ * np.var(1000 * y), rtol=1e-9)


def test_exact_gradients_of_gradfeat_equal_differences_of_predictions() -> None:
    table = X[:40]
    model = RFMRegressor(kernel="gaussian", search=None, n_iter=1).fit(
        table, np.stack([y, w], 1)[:40]
    )
    exact = agop(model, table)
    np.testing.assert_allclose(agop(model.predict, table), exact, atol=1e-5 * exact.max())
    for labels in (y > 0, np.digitize(y, [-0.5, 0.5]), np.zeros(120)):
        coded = RFMClassifier(kernel="gaussian", search=None, n_iter=1).fit(X, labels)
        several = len(coded.classes_) > 2
        call = coded.predict_proba if several else lambda T, m=coded: m.predict_proba(T)[:, -1]
        G = agop(coded, X)
        np.testing.assert_allclose(agop(call, X), G, atol=1e-5 * max(G.max(), 1e-9))


def test_batches_change_nothing_and_bound_the_calls() -> None:
    sizes: list[int] = []

    def f(T: Any) -> Any:
        sizes.append(len(T))
        return np.sin(T[:, 0]) * T[:, 1]

    whole = agop(f, Z)
    sizes.clear()
    np.testing.assert_allclose(agop(f, Z, batch_size=5), whole, rtol=1e-12, atol=1e-15)
    assert max(sizes) <= 5
    seen: list[int] = []

    def g(T: torch.Tensor) -> torch.Tensor:
        seen.append(len(T))
        return T.sin().sum(1)

    T = torch.tensor(Z)
    np.testing.assert_allclose(agop(g, T, batch_size=7), agop(lambda T: T.sin().sum(1), T))
    assert 1 < max(seen) <= 7


def test_rows_are_drawn_by_the_seed_among_those_with_weight() -> None:
    few = (np.arange(120) < 30).astype(float)
    f = lambda T: T[:, 0] ** 2  # noqa: E731
    one, same, other = (agop(f, Z, rows=20, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert abs(one - other).max() > 1e-3
    np.testing.assert_array_equal(agop(f, Z, weights=few, rows=30), agop(f, Z, weights=few))
    dropped = agop(f, Z[:30], weights=np.ones(30))
    np.testing.assert_allclose(agop(f, Z, weights=few), dropped, rtol=1e-9)


def test_a_module_is_left_as_it_was() -> None:
    net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 1))
    net[1].eval()
    net[0].weight.requires_grad_(False)
    before = [t.clone() for t in net.state_dict().values()]
    state = torch.get_rng_state()
    with torch.no_grad():
        one, two = agop(net, Z), agop(net, Z)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        given = agop(net, torch.tensor(Z).float()).numpy()
    np.testing.assert_allclose(given, one, rtol=1e-5, atol=1e-8)  # X and the result are float32
    np.testing.assert_array_equal(one, two)
    assert one.max() > 0
    assert [part.training for part in net] == [True, False, True, True]
    assert net.training
    assert all(p.grad is None for p in net.parameters())
    assert [p.requires_grad for p in net[0].parameters()] == [False, True]
    assert all(map(torch.equal, before, net.state_dict().values()))
    assert torch.equal(state, torch.get_rng_state())


def test_images_are_flattened() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    images = torch.rand(10, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    G = agop(net, images)
    assert (G.shape, G.dtype) == ((16, 16), torch.float32)
    np.testing.assert_allclose(agop(net, images.numpy()), G.numpy(), rtol=1e-5, atol=1e-9)


MIXED = pd.DataFrame({"a": Z[:, 0], "kind": np.where(y > 0, "x", "z")})
T32 = torch.tensor(Z).float()


@pytest.mark.parametrize(
    ("model", "table", "sentence"),
    [
        (make_pipeline(OneHotEncoder(), Ridge()), MIXED, "column 'kind' of X is .*encode it"),
        (lambda T: np.where(T[:, 0] > 0, "up", "down"), Z, "numbers, one row for each row"),
        (lambda T: T.sum(), Z, "numbers, one row for each row"),
        (lambda T: [T, T[:, :1]], Z, "numbers, one row for each row"),
        (lambda T: np.log(np.abs(T) * 0 - 1), Z, "not finite"),
        (lambda T: T, np.where(Z > 2, np.nan, Z), "missing or infinite values in column"),
        (lambda T: T, np.ones((5, 2)), "every column of X is constant"),
        (lambda T: T, Z[:, 0], "give a table"),
        (lambda T: T.detach(), T32, "autograd cannot follow"),
        (lambda T: torch.ones(len(T)), T32, "autograd cannot follow"),
        (lambda T: T.sum(), T32, "one row for each row"),
        (lambda T: (T, T), T32, "gave a tuple"),
        (lambda T: T.argmax(1), T32, "floating tensor"),
        (lambda T: T - T.mean(0), T32, "changes with another row"),
        (lambda T: T, T32.long(), "give floating numbers"),
        (lambda T: T, T32 / 0, "missing or infinite"),
        (Ridge, Z, "is the class Ridge"),
        ("ridge", Z, "give an estimator"),
        (StandardScaler(), Z, "has no predict"),
        (SVC(), "words", "not a dense table"),
        (np.real, Z * 1j, "not a dense table of real numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_has_no_gradient_is_told_in_a_sentence(model: Any, table: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        agop(model, table)


def test_a_model_that_writes_into_its_rows_and_weights_of_any_kind() -> None:
    def f(T: Any) -> Any:
        T *= 2
        return T[:, 0] ** 2

    given = Z.copy()
    given.flags.writeable = False
    G = agop(f, given, weights=w.tolist())
    np.testing.assert_allclose(agop(f, given, weights=torch.tensor(w)), G, rtol=1e-12)
    np.testing.assert_allclose(agop(f, given, weights=pd.Series(w)), G, rtol=1e-12)
    clean = agop(lambda T: 4 * T[:, 0] ** 2, Z, weights=w)
    np.testing.assert_allclose(G, clean, rtol=1e-9)


@pytest.mark.parametrize(
    "option",
    [{"step": 0}, {"rows": 0}, {"batch_size": 0}, {"weights": np.zeros(120)}, {"weights": -w}],
)
def test_options_out_of_range_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"give|[Nn]egative|non-zero"):
        agop(np.sin, Z, **option)
