"""transform and refit_head: kept features, the ridge condition, reductions, few rows, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from small_fits import binary, named, regression

from gradfeat import load, save
from gradfeat.estimators import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)

REGRESSORS: list[Any] = [
    GradientFeatureRegressor(width=64, alpha=0.1, search=None),
    RandomFeaturesRegressor(width=64, alpha=0.1),
]
CLASSIFIERS: list[Any] = [
    GradientFeatureClassifier(width=64, search=None),
    RandomFeaturesClassifier(width=64),
]


@pytest.fixture(scope="module", params=REGRESSORS, ids=lambda m: type(m).__name__)
def fitted(request: pytest.FixtureRequest) -> Any:
    return request.param.fit(*regression())


def new_rows(n: int = 40, seed: int = 5) -> tuple[Any, Any]:
    """Rows of another draw, and 1000 + 50 |x_0|."""
    X, _ = regression(n, seed=seed)
    return X, 1000 + 50 * np.abs(X[:, 0])


def test_features_are_the_neurons_of_the_net(fitted):
    X, _ = new_rows()
    net, Z = fitted.predictor_, torch.tensor(fitted.standardised(X))
    assert fitted.transform(X).shape == (40, 64)
    features = torch.relu(Z @ net.W.T + net.b).numpy()
    # Sums of 4 and of 64 products in another order.
    np.testing.assert_allclose(fitted.transform(X), features, rtol=0, atol=1e-13)
    from_features = fitted.transform(X) @ net.a.numpy() + Z.numpy() @ net.beta.numpy()
    expected = fitted._outputs.inverse(from_features + net.offset.numpy())[:, 0]
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=1e-10, atol=1e-10)


def test_only_the_head_is_new_and_the_source_stays(fitted):
    before = {name: t.clone() for name, t in fitted.predictor_.tensors().items()}
    X, y = new_rows()
    predicted, features = fitted.predict(X), fitted.transform(X)
    new = fitted.refit_head(X, y)
    assert type(new) is type(fitted)
    assert new is not fitted
    np.testing.assert_array_equal(new.transform(X), features)
    np.testing.assert_array_equal(fitted.predict(X), predicted)
    assert all(torch.equal(t, before[name]) for name, t in fitted.predictor_.tensors().items())
    assert new.score(X, y) > 0.8 > fitted.score(X, y)
    assert new.importances_.argmax() == 0
    assert new.first_gradient_ is None


def test_the_new_head_is_stationary(fitted):
    X, y = new_rows()
    net = fitted.refit_head(X, y).predictor_
    Z = torch.tensor(fitted.standardised(X))
    t = torch.tensor((y - y.mean()) / y.std())[:, None]
    error = t - net(Z)
    # Rounding times cond(F), which the spectrum's cut at n eps bounds by 1 / sqrt(40 eps) = 1e7.
    rounding = 1e-8 * float(net.a.abs().max())
    assert float((net.features(Z).T @ error - 0.1 * net.a).abs().max()) < rounding
    assert abs(float(error.sum())) < 1e-8 * len(y)


def test_the_same_rows_and_target_give_back_random_features():
    X, y = regression()
    fitted = RandomFeaturesRegressor(width=64, alpha=0.1).fit(X, y)
    again = fitted.refit_head(X, y)
    np.testing.assert_allclose(again.predict(X), fitted.predict(X), rtol=1e-10, atol=1e-10)


def test_the_same_rows_and_target_give_nearly_back_gradient_features():
    """Not to rounding: beta is fitted with a, not before it; the fits differ less than they err."""
    X, y = regression(400)
    fitted = GradientFeatureRegressor(width=64, search=None).fit(X, y)
    gap = np.mean((fitted.refit_head(X, y).predict(X) - fitted.predict(X)) ** 2)
    assert gap < np.mean((y - fitted.predict(X)) ** 2) < 0.05 * y.var()


def test_integer_weights_are_repeated_rows(fitted):
    X, y = new_rows()
    w = np.arange(len(y)) % 3
    repeated = fitted.refit_head(np.repeat(X, w, axis=0), np.repeat(y, w))
    weighted = fitted.refit_head(X, y, sample_weight=w)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    plain = fitted.refit_head(X, y).predict(X)
    assert np.abs(weighted.predict(X) - plain).max() > 1e-3


def test_targets_in_any_number_and_unit(fitted):
    X, y = new_rows()
    one, both = fitted.refit_head(X, y), fitted.refit_head(X, np.column_stack([y, 1e-6 * y + 3]))
    assert both.predict(X).shape == (40, 2)
    # Equal fits but for the order of sums: the penalty is given, each target is standardised.
    np.testing.assert_allclose(both.predict(X)[:, 1], 1e-6 * one.predict(X) + 3, rtol=1e-9)
    assert both.refit_head(X, y).predict(X) == pytest.approx(one.predict(X), rel=1e-9)
    assert fitted.refit_head(X, np.full(40, 7.0)).predict(X) == pytest.approx(np.full(40, 7.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 20])
def test_far_fewer_rows_than_neurons(n, dtype):
    X, y = regression(200, d=30)
    fitted = GradientFeatureRegressor(width=1024, search=None, dtype=dtype).fit(X, y)
    new = fitted.refit_head(X[:n], np.abs(X[:n, 0]))
    assert np.isfinite(new.predict(X)).all()
    assert np.isfinite(new.agop_).all()


def test_parameters_of_the_head_are_used():
    X, y = new_rows()
    fitted = GradientFeatureRegressor(width=64, search=None).fit(*regression())
    found = [
        fitted.set_params(**params).refit_head(X, y).predict(X)
        for params in ({"alpha": 10.0}, {"alpha": None}, {"penalty_by": "validation"})
    ]
    assert np.abs(found[0] - found[1]).max() > 1e-3
    with pytest.raises(ValueError, match="alpha is -1"):
        fitted.set_params(alpha=-1).refit_head(X, y)


def test_saved_and_loaded_it_predicts_the_same(tmp_path, fitted):
    X, y = new_rows()
    new = fitted.refit_head(X, y)
    save(new, tmp_path / "m.gradfeat")
    back = load(tmp_path / "m.gradfeat")
    np.testing.assert_array_equal(back.predict(X), new.predict(X))
    np.testing.assert_array_equal(back.transform(X), new.transform(X))
    np.testing.assert_array_equal(back.refit_head(X, y).predict(X), new.predict(X))


@pytest.mark.parametrize(**named(CLASSIFIERS))
def test_other_classes(model):
    X, y = binary(200)
    fitted = model.fit(X, y)
    Z, _ = regression(150, seed=9)
    kinds = np.array(["low", "mid", "top"])[np.digitize(np.abs(Z[:, 0]), [0.4, 1.0])]
    new = fitted.refit_head(Z[:100], kinds[:100])
    assert fitted.classes_.tolist() == [0, 1]
    assert new.classes_.tolist() == ["low", "mid", "top"]
    P = new.predict_proba(Z)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    # Calibrated on left-out rows: better than the shares of the classes on rows not seen.
    chosen = P[100:][kinds[100:, None] == new.classes_]
    shares = np.unique(kinds[:100], return_counts=True)[1] / 100
    assert -np.log(chosen).mean() < -(shares * np.log(shares)).sum()
    assert (new.predict(Z[100:]) == kinds[100:]).mean() > 0.6
    back = new.refit_head(X, y)
    assert back.predict_proba(X).shape == (200, 2)
    assert back.score(X, y) > 0.8
    assert set(new.refit_head(Z[:5], ["one"] * 5).predict(Z)) == {"one"}
    assert np.isfinite(new.refit_head(Z[:2], ["p", "q"]).predict_proba(Z)).all()


def test_pipelines_and_set_output():
    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GradientFeatureRegressor(width=32, search=None).set_output(transform="pandas")
    out = model.fit(frame, y).transform(frame)
    assert list(out.columns) == [f"gradientfeatureregressor{j}" for j in range(32)]
    assert model.get_feature_names_out().tolist() == list(out.columns)
    assert out.index.equals(frame.index)
    new = model.refit_head(frame, y)
    pd.testing.assert_frame_equal(new.transform(frame), out)
    pipe = make_pipeline(GradientFeatureRegressor(width=64, search=None), Ridge(1e-3))
    assert pipe.fit(X, y).score(X, y) > 0.9


def test_other_columns_are_refused_in_one_sentence():
    X, y = regression(30)
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = GradientFeatureRegressor(width=16, search=None).fit(frame, y)
    for other, words in (
        (frame.rename(columns={"b": "q"}), "X lacks 'b' and adds 'q': give the columns"),
        (frame[["b", "a", "c", "d"]], "X has its columns in another order: give"),
        (frame[["a"]], "X lacks 'b', 'c', 'd': give"),
        (frame.assign(**{f"e{j}": 0.0 for j in range(7)}), "'e4' and 2 more: give"),
    ):
        with pytest.raises(ValueError, match=words) as refused:
            fitted.refit_head(other, y)
        assert "\n" not in str(refused.value)
    bare = GradientFeatureRegressor(width=16, search=None).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        bare.refit_head(X[:, :3], y)


def test_what_cannot_be_fitted_is_refused(fitted):
    X, y = new_rows()
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2"):
        fitted.refit_head(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        fitted.refit_head(X, np.where(np.arange(40) == 3, np.nan, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.refit_head(X, y[:-1])
    with pytest.raises(ValueError, match="at least one non-zero"):
        fitted.refit_head(X, y, np.zeros(40))
    for call in (lambda m: m.refit_head(X, y), lambda m: m.transform(X)):
        with pytest.raises(NotFittedError):
            call(GradientFeatureRegressor())


def test_few_rows_suffice_on_learned_directions():
    """N = 30 rows in d = 50, after learning x_0^2 from 800: against a fit of the 30 alone."""
    gains = np.array([_gain(seed) for seed in range(4)])
    # One-sided, z = 4 standard errors of the mean over seeds; R2 gains are about 0.9.
    assert gains.mean() - 4 * gains.std(ddof=1) / len(gains) ** 0.5 > 0.5


def _gain(seed: int) -> float:
    """R2 on |x_0| of the refitted head, less that of a fresh fit."""
    model = GradientFeatureRegressor(
        width=64, n_steps=3, whiten=False, search=None, random_state=seed
    )
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((800, 50)), rng.standard_normal((1030, 50))
    t = np.abs(Z[:, 0])
    new = model.fit(X, X[:, 0] ** 2).refit_head(Z[:30], t[:30])
    fresh = GradientFeatureRegressor(**model.get_params()).fit(Z[:30], t[:30])
    return new.score(Z[30:], t[30:]) - fresh.score(Z[30:], t[30:])


@pytest.mark.parametrize("classes", [False, True])
def test_the_metric_of_a_machine_serves_another_target_of_few_rows(tmp_path, classes):
    """y and z are of the first two of 20 inputs; 100 rows do not tell that of z alone."""
    rng = np.random.default_rng(0)
    X, U = rng.standard_normal((300, 20)), rng.standard_normal((400, 20))
    z, truth = (np.sin(2 * A[:, 0]) + A[:, 1] for A in (X, U))
    y = X[:, 0] * X[:, 1]
    make, alone = (RFMClassifier, KernelClassifier) if classes else (RFMRegressor, KernelRegressor)
    if classes:
        y, z, truth = y > 0, np.where(z > 0, "plus", "minus"), np.where(truth > 0, "plus", "minus")
    source = make(n_iter=3).fit(X, y)
    before = source.predict(U)
    new = source.refit_head(X[:100], z[:100])
    assert new.score(U, truth) > 0.9 > alone().fit(X[:100], z[:100]).score(U, truth)
    np.testing.assert_array_equal(source.predict(U), before)
    save(new, tmp_path / "m.gradfeat")
    np.testing.assert_allclose(
        load(tmp_path / "m.gradfeat").predict(U[:9]) == truth[:9], True
    ) if classes else None
    assert new.importances_[:2].sum() > 0.95


def test_a_machine_of_a_constant_or_of_more_columns_than_rows_is_refitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 90))
    constant = RFMRegressor(n_iter=1).fit(X, np.ones(60))
    assert np.isfinite(constant.refit_head(X, X[:, 0]).predict(X)).all()
    wide = RFMRegressor(n_iter=1).fit(X, X[:, 0])
    assert wide.refit_head(X, 3 * X[:, 0]).score(X, 3 * X[:, 0]) > 0.9


def test_an_induced_network_keeps_its_first_layer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    source = InducedNetworkRegressor(neurons=500, search=None).fit(X, X[:, 0])
    new = source.refit_head(X, np.abs(X[:, 0]))
    np.testing.assert_array_equal(new.predictor_.W, source.predictor_.W)
    assert new.score(X, np.abs(X[:, 0])) > 0.8
