"""ONNX files say what `predict` says, or one sentence why they cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import gradfeat
from gradfeat.errors import ModelFileError
from gradfeat.table import onnx_file
from gradfeat.table.encode import TableEncoder
from gradfeat.table.target import TargetScale

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((80, 3)), RNG.standard_normal((20, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
FAST = {"search": None, "alpha": 1e-3}


def evaluated(path, rows: np.ndarray) -> np.ndarray:
    """What the file says of rows."""
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        gradfeat.GradientFeatureRegressor(width=32),
        gradfeat.RandomFeaturesRegressor(width=32, activation="tanh"),
        gradfeat.KernelRegressor(kernel="laplace", **FAST),
        gradfeat.KernelRegressor(kernel="gaussian", dtype="float32", **FAST),
        gradfeat.RFMRegressor(kernel="matern52", directions=2, n_iter=2, alpha=1e-3),
        gradfeat.RFMRegressor(),  # a weighted mean of fits
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors_to_rounding(model, tmp_path):
    model.fit(X, np.column_stack([Y, -2 * Y]))
    gradfeat.export_onnx(model, tmp_path / "m.onnx")
    expected = model.predict(NEW)
    # Sums of 80 terms of cancelling coefficients, in the model's own float type.
    rounding = 1e-4 if model.dtype == "float32" else 1e-9
    got = evaluated(tmp_path / "m.onnx", NEW)
    np.testing.assert_allclose(got, expected, atol=rounding * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_give_probabilities(classes, tmp_path):
    labels = np.digitize(Y, np.quantile(Y, np.linspace(0, 1, classes + 1)[1:-1]))
    model = gradfeat.KernelClassifier(kernel="laplace", search=None, alpha=1e-2).fit(X, labels)
    gradfeat.export_onnx(model, tmp_path / "m.onnx")
    got = evaluated(tmp_path / "m.onnx", NEW)
    np.testing.assert_allclose(got, model.predict_proba(NEW), atol=1e-9)


@pytest.mark.slow
def test_a_table_of_numbers_with_gaps_and_a_target_as_logarithm(tmp_path):
    table = pd.DataFrame(X, columns=list("abc")).assign(y=np.exp(Y))
    table.loc[::7, "b"] = np.nan
    model = gradfeat.compare(table, "y", methods=["kernel"], time=3, target_transform="log").best
    gradfeat.export_onnx(model, tmp_path / "m.onnx")
    got = evaluated(tmp_path / "m.onnx", table[list(model.encoder.columns_)].to_numpy())
    np.testing.assert_allclose(got[:, 0], model.predict(table), rtol=1e-5)  # kinks at own rows


def test_values_declared_missing_are_so_in_the_file_too():
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[::7, "b"], frame.loc[::9, "a"] = -999, -1
    encoder = TableEncoder(("-999", "a=-1", "n/k")).fit(frame)
    table = torch.tensor(frame[list(encoder.columns_)].to_numpy())
    got = onnx_file._encoding(encoder)(table)
    np.testing.assert_array_equal(got, encoder.transform(frame))


@pytest.mark.slow
def test_a_target_as_logarithm_is_taken_back_up_to_the_same_value(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    encoder = TableEncoder().fit(frame)
    fitted = gradfeat.LinearRegressor(alpha=1.0).fit(encoder.transform(frame), Y)
    model = gradfeat.TableModel.of(encoder, fitted, "y", scale=TargetScale(1.0))
    gradfeat.export_onnx(model, tmp_path / "m.onnx")
    far = pd.DataFrame([[0.0, 0.0, 1e6], [0.0, 0.0, -1e6]], columns=list("abc"))
    got = evaluated(tmp_path / "m.onnx", far.to_numpy())[:, 0]
    np.testing.assert_allclose(got, model.predict(far), rtol=1e-12)


def test_what_onnx_cannot_hold_is_one_sentence(tmp_path):
    place = tmp_path / "m.onnx"
    frame = pd.DataFrame({"a": X[:, 0], "town": np.where(X[:, 1] > 0, "Bern", "Chur")})
    mixed = gradfeat.TableModel(gradfeat.LinearRegressor(alpha=1.0)).fit(frame, Y)
    trees = gradfeat.TableModel(HistGradientBoostingRegressor(max_iter=2)).fit(frame, Y)
    foreign = make_pipeline(gradfeat.LinearRegressor()).fit(X, Y)
    refused = (mixed, "town"), (trees, "skl2onnx"), (foreign, "A Pipeline is not"), (None, "A None")
    for model, word in refused:
        with pytest.raises(ModelFileError, match=word):
            gradfeat.export_onnx(model, place)
    with pytest.raises(NotFittedError):
        gradfeat.export_onnx(gradfeat.RFMRegressor(), place)
    assert not place.exists()


@pytest.mark.slow
def test_a_kernel_without_an_operation_and_a_place_that_is_none_are_one_sentence(tmp_path):
    network = gradfeat.KernelRegressor(kernel="ntk", **FAST).fit(X, Y)
    with pytest.raises(ModelFileError, match="kernel of distances"):
        gradfeat.export_onnx(network, tmp_path / "m.onnx")
    erf = gradfeat.RandomFeaturesRegressor(width=8, activation="erf").fit(X, Y)
    with pytest.raises(ModelFileError, match="float32 alone"):
        gradfeat.export_onnx(erf, tmp_path / "m.onnx")
    linear = gradfeat.LinearRegressor(alpha=1.0).fit(X, Y)
    with pytest.raises(ModelFileError, match="cannot be written"):
        gradfeat.export_onnx(linear, tmp_path / "none" / "m.onnx")


def test_an_agop_transformer_is_a_product_and_columns_keep_their_names(tmp_path):
    """It ended in an AttributeError, and names of columns were x0, x1."""
    frame = pd.DataFrame(X, columns=list("abc"))
    model = gradfeat.AGOPTransformer(2, search=None, n_iter=2).fit(frame, Y)
    gradfeat.export_onnx(model, tmp_path / "t.onnx")
    got, new = evaluated(tmp_path / "t.onnx", NEW), pd.DataFrame(NEW, columns=list("abc"))
    np.testing.assert_allclose(got, model.transform(new), atol=1e-12)
    session = runtime.InferenceSession(tmp_path / "t.onnx")
    assert session.get_modelmeta().custom_metadata_map["columns"] == "a\nb\nc"
