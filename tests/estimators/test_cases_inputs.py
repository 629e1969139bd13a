"""Small cases that must come out right: what goes in and what comes back."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from small_fits import binary, classifiers, named, regression, regressors, transformer

from gradfeat.estimators import (
    GradientFeatureClassifier,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RFMRegressor,
)
from gradfeat.table.table_model import TableModel

#: float32 inputs are widened before anything is computed, so only the sum order can differ.
ROUNDING = 1e-10


@cache
def fitted_to_binary(model: Any) -> Any:
    """`model` fitted to 100 rows, once for all tests that only ask it something."""
    X, y = binary()
    return clone(model).fit(pd.DataFrame(X, columns=list("abcd")), y)


@cache
def predicted_on_regression(model: Any) -> np.ndarray:
    """What `model` says of the rows that it is fitted to, computed once."""
    X, y = regression()
    return clone(model).fit(X, y).predict(X)


@pytest.mark.parametrize(**named(regressors()))
def test_case_01_integer_targets_stay_regression(model: Any) -> None:
    """Row 1: X (300, 6), y integers to 1000, a regressor: regression, never turned into classes."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 6)), rng.integers(0, 1000, 300)
    out = clone(model).fit(X, y).predict(X)
    assert is_regressor(model)
    assert not is_classifier(model)
    assert out.dtype.kind == "f"
    assert not np.isin(out, y).any()
    assert np.array_equal(out, clone(model).fit(X, y.astype(float)).predict(X))


@pytest.mark.parametrize(
    "labels",
    [[-1, 1], [10, 1000], ["no", "yes"], [False, True], [1.0, 2.0], ["a", "b", "c"]],
    ids=repr,
)
@pytest.mark.parametrize(**named(classifiers()))
def test_case_02_labels_come_back_as_given(model: Any, labels: list[Any]) -> None:
    """Row 2: labels {-1, 1}, {10, 1000}, {"yes", "no"}, booleans: the labels given come back."""
    X, f = regression(90)
    y = np.array(labels)[np.argsort(np.argsort(f)) * len(labels) // len(f)]
    fitted = clone(model).fit(X, y)
    out = fitted.predict(X)
    assert fitted.classes_.tolist() == labels
    assert out.dtype == y.dtype
    assert (out == y).mean() > 0.8


@pytest.mark.parametrize("dtype", [object, "category", "str", "boolean"])
def test_case_02_labels_of_pandas_types_come_back(dtype: Any) -> None:
    """Row 2: the labels of a pandas column of any type come back as its values."""
    X, y = binary()
    values = y.astype(bool) if dtype == "boolean" else np.array(["no", "yes"])[y]
    column = pd.Series(values, dtype=dtype)
    fitted = GradientFeatureClassifier(width=64).fit(X, column)
    assert set(fitted.predict(X).tolist()) == set(values.tolist())


@pytest.mark.parametrize(**named(classifiers()))
def test_case_02_one_class_only(model: Any) -> None:
    """Row 2: one class only: that class is predicted, with probability one."""
    X, _ = binary()
    fitted = clone(model).fit(X, np.full(len(X), "only"))
    assert set(fitted.predict(X).tolist()) == {"only"}
    assert fitted.predict_proba(X).tolist() == [[1.0]] * len(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(**named([*regressors(), *classifiers(), transformer()]))
def test_case_04_a_value_that_is_not_finite_is_refused(model: Any, bad: float) -> None:
    """Row 4: X with one NaN, with one inf: a sentence that says so, at fit and at predict."""
    X, y = binary()
    spoilt = X.copy()
    spoilt[3, 1] = bad
    says = "contains NaN" if np.isnan(bad) else "contains infinity"
    with pytest.raises(ValueError, match=says):
        clone(model).fit(spoilt, y)
    fitted = fitted_to_binary(model)
    use = getattr(fitted, "predict", None) or fitted.transform
    with pytest.raises(ValueError, match=says):
        use(pd.DataFrame(spoilt, columns=list("abcd")))


@pytest.mark.parametrize(**named(regressors()))
def test_case_04_a_target_that_is_not_finite_is_refused(model: Any) -> None:
    """Row 4: a NaN among the targets is refused too."""
    X, y = regression()
    y[5] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        clone(model).fit(X, y)


CONTAINERS = {
    "float64": lambda a: a,
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "int8": lambda a: a.astype(np.int8),
    "object": lambda a: a.astype(object),
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "list of lists": lambda a: a.tolist(),
    "torch float64": torch.tensor,
    "torch float32": lambda a: torch.tensor(a, dtype=torch.float32),
    "pandas": lambda a: pd.DataFrame(a, columns=list("abcd")),
    "polars": lambda a: pl.DataFrame(a, schema=list("abcd")),
}


WHOLE = np.random.default_rng(0).integers(-5, 6, (80, 4)).astype(float)
ABOVE = (WHOLE[:, 0] > WHOLE[:, 1]).astype(int)


@cache
def said_of_whole_numbers(model: Any) -> np.ndarray:
    """What `model` says of the float64 array that it is fitted to, computed once."""
    fitted = clone(model).fit(WHOLE, ABOVE)
    return (getattr(fitted, "predict", None) or fitted.transform)(WHOLE)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(**named([regressors()[0], classifiers()[2], transformer()]))
def test_case_04_every_container_gives_the_same_answer(model: Any, container: str) -> None:
    """Row 4: whole numbers as float64, float32, float16, int8, object, lists, torch, frames."""
    X = CONTAINERS[container](WHOLE)
    fitted = clone(model).fit(X, ABOVE)
    out = getattr(fitted, "predict", None) or fitted.transform
    np.testing.assert_allclose(out(X), said_of_whole_numbers(model), atol=ROUNDING)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda a: a + 1j, "Complex data not supported"),
        (sparse.csr_matrix, "Sparse data was passed"),
        (lambda a: a.astype(str), "could not convert string|Unable to convert"),
        (lambda a: a[0], "Expected 2D array"),
        (lambda a: a[None], "dim 3"),
        (lambda a: a[:, :0], "0 feature"),
        (lambda a: a[:0], "0 sample"),
    ],
    ids=["complex", "sparse", "words", "one row", "3-D", "no columns", "no rows"],
)
@pytest.mark.parametrize(**named([RFMRegressor(search=None), GradientFeatureClassifier(width=64)]))
def test_case_04_what_is_not_a_table_of_numbers_is_refused(
    model: Any, make: Any, says: str
) -> None:
    """Row 4: complex, sparse and other X that is not a dense table of numbers: a ValueError."""
    X = np.abs(binary()[0])
    words = make(np.char.add("w", X.astype(str))) if "convert" in says else make(X)
    with pytest.raises((ValueError, TypeError), match=says):
        clone(model).fit(words, binary()[1])


@pytest.mark.parametrize("shape", [(100,), (100, 1), (100, 3)], ids=str)
@pytest.mark.parametrize(**named(regressors()))
def test_case_05_predictions_have_the_shape_of_the_targets(model: Any, shape: Any) -> None:
    """Row 5: y of shape (n,), (n, 1), (n, 3): output of the same shape."""
    X, f = regression()
    y = np.resize(f.repeat(int(np.prod(shape)) // 100), shape)
    out = clone(model).fit(X, y).predict(X)
    assert out.shape == y.shape
    assert np.corrcoef(out.ravel(), y.ravel())[0, 1] > 0.9


@pytest.mark.parametrize(**named(regressors()[2:]))
def test_case_05_several_targets_are_as_many_fits(model: Any) -> None:
    """Row 5: with the settings given, each column of (n, 3) is predicted as it is alone."""
    X, f = regression()
    y = np.column_stack([f, f, f])
    expected = clone(model).fit(X, f).predict(X)
    out = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(out, np.column_stack([expected] * 3), atol=1e-8)


@pytest.mark.parametrize(**named(regressors()))
def test_case_06_a_constant_target_is_predicted(model: Any) -> None:
    """Row 6: y = 1 everywhere: predicts 1 (not .98), far from the data too."""
    X, _ = regression()
    fitted = clone(model).fit(X, np.ones(len(X)))
    np.testing.assert_allclose(fitted.predict(5 * X), 1.0, atol=1e-12)
    assert fitted.n_effective_directions_ == 0
    assert not fitted.importances_.any()


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (-3.0, 250.0)])
@pytest.mark.parametrize(**named([*regressors(), KernelRegressor()]))
def test_case_06_shift_and_scale_of_the_target(model: Any, shift: float, scale: float) -> None:
    """Row 6: y with mean 1e6 and sd 1; y times 1e-6: the fit moves along, nothing else changes."""
    X, y = regression()
    expected = predicted_on_regression(model)
    out = (clone(model).fit(X, shift + scale * y).predict(X) - shift) / scale
    # 1e6 + y rounds y to 1e-10; solves multiply that by their condition, at most 1e4 here.
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize(**named(regressors()))
def test_case_07_one_column_times_a_million(model: Any) -> None:
    """Row 7: one column multiplied by 1e6: the same score from the default scaling."""
    X, y = regression()
    Z = X * np.array([1e6, 1, 1, 1])
    score, expected = clone(model).fit(Z, y).score(Z, y), clone(model).fit(X, y).score(X, y)
    assert score == pytest.approx(expected, abs=1e-6)  # rounding times condition


def test_case_07_a_warning_names_the_column_where_nothing_rescales() -> None:
    """Row 7: standardise=False and a column 1e6 times larger: a warning that names it."""
    X, y = regression()
    frame = pd.DataFrame(X * np.array([1, 1e6, 1, 1]), columns=["a", "height", "c", "d"])
    with pytest.warns(UserWarning, match=r"^height spreads over .*standardise=True"):
        KernelRegressor(search=None, standardise=False).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRegressor(search=None, standardise=False).fit(X, y)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.int32(2), np.float32(2), np.array(2.0), torch.tensor(2), torch.tensor(2.0)]
)
@pytest.mark.parametrize(**named([KernelRegressor(search=None), RFMRegressor(search=None)]))
def test_case_15_a_bandwidth_of_any_number_type(model: Any, value: Any) -> None:
    """Row 15: a bandwidth given as int, float, numpy and torch scalar: identical results."""
    X, y = regression(60)
    out = clone(model).set_params(bandwidth=value).fit(X, y).predict(X)
    assert np.array_equal(out, clone(model).set_params(bandwidth=2.0).fit(X, y).predict(X))


def _outputs(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@pytest.mark.parametrize(**named([*regressors(), *classifiers(), KernelRegressor()]))
def test_case_19_integer_weights_repeat_rows_and_zero_drops_them(model: Any) -> None:
    """Row 19: integer sample_weight against repeated rows, zero against dropped: equal to 1e-8."""
    X, y = binary(80)
    w = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = _outputs(clone(model).fit(X, y, sample_weight=w), X)
    repeated = _outputs(clone(model).fit(X.repeat(w, axis=0), y.repeat(w)), X)
    unweighted = _outputs(clone(model).fit(X, y), X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)
    assert np.abs(weighted - unweighted).max() > 1e-3
    only = w > 0
    zeroed = _outputs(clone(model).fit(X, y, sample_weight=only.astype(float)), X)
    dropped = _outputs(clone(model).fit(X[only], y[only]), X)
    np.testing.assert_allclose(zeroed, dropped, atol=1e-8)


@pytest.mark.parametrize(**named([*regressors(), *classifiers(), KernelRegressor()]))
def test_case_19_the_scale_of_weights_changes_no_fit(model: Any) -> None:
    """Row 19: weights that sum to 1, as of surveys, are those of mean 1, to rounding."""
    X, y = binary(80)
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    expected = _outputs(clone(model).fit(X, y, sample_weight=w), X)
    for scale in (1e-6, 1 / w.sum(), 50.0):
        scaled = _outputs(clone(model).fit(X, y, sample_weight=scale * w), X)
        np.testing.assert_allclose(scaled, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("weight", "says"),
    [(0.0, "sample_weight is zero|at least one non-zero"), (-1.0, "Negative values")],
)
def test_case_19_weights_that_cannot_be(weight: float, says: str) -> None:
    """Row 19: weights that are all zero, or negative, are refused."""
    X, y = regression()
    with pytest.raises(ValueError, match=says):
        KernelRegressor(search=None).fit(X, y, sample_weight=np.full(len(X), weight))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda f: f.drop(columns="b"), "missing(.|\n)*- b"),
        (lambda f: f.assign(extra=1.0), "unseen at fit time:\n- extra"),
        (lambda f: f[["d", "c", "b", "a"]], "same order"),
        (lambda f: f.rename(columns={"b": "other"}), "- other(.|\n)*- b"),
    ],
    ids=["missing", "extra", "reordered", "renamed"],
)
@pytest.mark.parametrize(**named([*regressors(), *classifiers(), transformer()]))
def test_case_23_columns_by_name(model: Any, change: Any, names: str) -> None:
    """Row 23: predict with a column missing, extra, reordered: refused by name, as scikit-learn."""
    frame = pd.DataFrame(binary()[0], columns=list("abcd"))
    fitted = fitted_to_binary(model)
    use = getattr(fitted, "predict", None) or fitted.transform
    assert fitted.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match=names):
        use(change(frame))


ONE = KernelRegressor(search=None)


@pytest.mark.parametrize(
    ("X", "y", "w", "says"),
    [
        (np.eye(4), np.array([None, 1.0, 2.0, 3.0], object), None, "Input y contains NaN"),
        (np.ma.masked_greater(np.eye(4), 0.5), np.arange(4.0), None, "4 cells are masked"),
        (np.eye(4), np.ma.masked_less(np.arange(4.0), 1), None, "y is a masked array"),
        (np.eye(4), np.arange(4.0), np.ma.masked_less(np.arange(4.0), 1), "sample_weight is a ma"),
        (np.eye(4), np.arange(4.0), float("nan"), "sample_weight contains NaN"),
        (np.eye(4), np.arange(4.0), float("inf"), "sample_weight contains infinity"),
        (np.eye(4), np.arange(4.0), [10**400] * 4, "beyond the largest float"),
        (np.eye(4), np.arange(4.0), [1e300, 1.0, 1.0, 1.0], "largest sample_weight is 1e.300"),
        (np.eye(4), np.arange(4.0), [1e-300] * 4, "largest sample_weight is 1e-300"),
        (np.eye(4).tolist(), [10**400, 1, 2, 3], None, "beyond the largest float"),
        (np.eye(4) * np.longdouble("1e400"), np.arange(4.0), None, "X contains infinity"),
        (np.array([["2020", "NaT"]] * 4, "M8[D]"), np.arange(4.0), None, "X holds dates"),
        (np.eye(4), np.arange(4).astype("m8[s]"), None, "y holds dates or durations"),
        (torch.eye(4).to_sparse(), torch.arange(4.0), None, "X is sparse"),
        (torch.eye(4, device="meta"), torch.arange(4.0), None, "X has no values"),
    ],
    ids=str,
)
def test_what_is_no_number_is_refused(X: Any, y: Any, w: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        clone(ONE).fit(X, y, sample_weight=w)


def test_masked_arrays_without_masked_cells_are_arrays() -> None:
    X, y = regression(30)
    same = clone(ONE).fit(np.ma.array(X), np.ma.array(y)).predict(np.ma.array(X))
    assert np.array_equal(same, clone(ONE).fit(X, y).predict(X))


def test_tensors_with_a_graph_are_tensors() -> None:
    """The numbers of a tensor that requires gradients are those of the tensor."""
    X, y = regression(30)
    Z = torch.nn.Parameter(torch.tensor(X))
    out = clone(ONE).fit(Z, torch.tensor(y, requires_grad=True)).predict(Z)
    assert np.array_equal(out, clone(ONE).fit(X, y).predict(X))


def test_numbers_of_sixteen_bits_are_numbers() -> None:
    """NumPy has no bfloat16; small whole numbers are the same in it."""
    X, y = torch.arange(60.0).reshape(20, 3) % 7, torch.arange(20.0)
    out = clone(ONE).fit(X.bfloat16(), y).predict(X.bfloat16())
    assert np.array_equal(out, clone(ONE).fit(X, y).predict(X))


def test_targets_of_the_smallest_number_have_finite_predictions() -> None:
    """Their standard deviation is below the smallest number."""
    X = regression(30)[0]
    for model in (ONE, LinearRegressor()):
        said = clone(model).fit(X, np.where(X[:, 0] > 0, 5e-324, 0.0)).predict(X)
        assert (np.abs(said) <= 1e-300).all()


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, object), pd.Series, pl.Series])
def test_rows_without_a_label_are_refused(missing: Any, kind: Any) -> None:
    X, y = binary(20)
    labels = ["yes" if one else "no" for one in y[:19] > 0]
    given = kind([*labels, None if kind is pl.Series else missing])
    for model in (LinearClassifier(), TableModel(LinearClassifier())):
        with pytest.raises(ValueError, match="None in 1 of 20 rows, which have no label"):
            model.fit(X, given)


@pytest.mark.parametrize(**named([*classifiers(), *regressors(), KernelClassifier()]))
def test_which_class_is_called_the_first_and_the_sign_of_targets_change_no_fit(model: Any) -> None:
    X, y = binary(80)
    one, other = clone(model).fit(X, y), clone(model).fit(X, -y)
    if is_classifier(model):
        first, second = one.predict_proba(X), other.predict_proba(X)[:, ::-1]
    else:
        first, second = one.predict(X), -other.predict(X)
    np.testing.assert_allclose(first, second, atol=ROUNDING)


@pytest.mark.parametrize("model", [KernelClassifier(), RFMRegressor(n_iter=2)], ids=str)
def test_the_order_of_columns_and_the_names_of_classes_change_no_split(model: Any) -> None:
    X, _ = binary(120)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])
    one, other = clone(model).fit(X, y), clone(model).fit(X[:, ::-1], y)
    expected = _outputs(one, X)
    np.testing.assert_allclose(_outputs(other, X[:, ::-1]), expected, atol=1e-6)  # of conditions
    if is_classifier(model):
        renamed = clone(model).fit(X, np.array([2, 0, 1])[y]).predict_proba(X)
        np.testing.assert_allclose(renamed[:, [2, 0, 1]], expected, atol=1e-6)
