"""What kind of values X, y and class weights hold, in containers of any library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from gradfeat.estimators import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RFMClassifier,
)

X = np.random.default_rng(0).standard_normal((40, 2))
DAYS = pd.Series(pd.date_range("2020-01-01", periods=40)).mask(X[:, 0] > 1)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"day": DAYS}),
        pd.DataFrame({"a": X[:, 0], "day": DAYS.dt.tz_localize("UTC")}),
        pd.DataFrame({"a": X[:, 0], "day": DAYS - DAYS[0]}),
        pl.DataFrame({"a": X[:, 0], "day": DAYS.to_numpy()}),
        pa.table({"a": X[:, 0], "day": DAYS}),
    ],
)
def test_dates_in_frames_are_refused_by_their_column(frame: Any):
    """A missing one was the least integer, and fitted as a number."""
    with pytest.raises(ValueError, match=r"X holds dates or durations \('day' is D"):
        LinearRegressor().fit(frame, X[:, 0])


@pytest.mark.parametrize("y", [DAYS, pl.Series(DAYS.to_numpy()), pd.DataFrame({"y": DAYS})])
def test_a_target_of_dates_is_refused(y: Any):
    with pytest.raises(ValueError, match="y holds dates or durations"):
        KernelRegressor(search=None).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.array([2**53, 2**53 + 1] * 20, dtype="Int64"), "i"),
        (pd.array([2**53, 2**53 + 1] * 20, dtype="int64[pyarrow]"), "i"),
        (pd.array([True, False] * 20, dtype="boolean"), "b"),
    ],
)
def test_labels_that_may_be_missing_keep_their_kind(labels: Any, kind: str):
    """They were floats, in which the two large ones are the same class."""
    fitted = LinearClassifier().fit(X, pd.Series(labels))
    assert len(fitted.classes_) == 2
    assert fitted.predict(X).dtype.kind == kind


@pytest.mark.parametrize(
    "labels",
    [[0, "a"] * 20, np.array([0, "a"] * 20, dtype=object), np.array([0, 1] * 20, dtype=object)],
)
def test_labels_of_several_kinds_are_refused(labels: Any):
    """In a list 0 became the text '0'; of objects "continuous values" were told."""
    with pytest.raises(ValueError, match=r"y holds objects of type int.*: give labels of one kind"):
        KernelClassifier(search=None).fit(X, labels)


@pytest.mark.parametrize("weight", [-1.0, np.nan, "1"])
def test_a_class_weight_that_is_no_weight_is_refused(weight: Any):
    model = RFMClassifier(n_iter=1, search=None, class_weight={0: 1.0, 1: weight})
    with pytest.raises(ValueError, match=r"class_weight of 1 is .*: give a non-negative number"):
        model.fit(X, np.arange(40) % 2)


def test_the_default_type_of_torch_changes_no_fit():
    """Penalties were rounded to it, and p-values of a first gradient taken from it."""
    model, found = GradientFeatureRegressor(width=16), []
    for kind in (torch.float32, torch.float16, torch.float64):
        torch.set_default_dtype(kind)
        try:
            fitted = model.fit(X, X[:, 0] ** 2)
            found.append([*fitted.predict(X), fitted.settings_["alpha"]])
        finally:
            torch.set_default_dtype(torch.float32)
    assert found[0] == found[1] == found[2]


def test_which_class_is_called_the_first_of_several_changes_no_fit():
    """In 10 to 13 % of rows another class was predicted where three exchanged their names."""
    rng = np.random.default_rng(0)
    X, T = rng.standard_normal((150, 4)), rng.standard_normal((50, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    y, names = np.digitize(f, [-0.4, 0.4]), np.array([1, 2, 0])
    model = GradientFeatureClassifier(width=64, search=None)
    one, other = model.fit(X, y).predict_proba(T), model.fit(X, names[y]).predict_proba(T)
    np.testing.assert_allclose(other[:, names], one, atol=1e-9)
    Y = np.column_stack([f, f**2, np.cos(f)])
    several = GradientFeatureRegressor(width=64, search=None)
    one, other = several.fit(X, Y).predict(T), several.fit(X, Y[:, names]).predict(T)
    np.testing.assert_allclose(other, one[:, names], atol=1e-9)
