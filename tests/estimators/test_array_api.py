"""Torch in, torch out under scikit-learn's dispatch; its own checks stand with its contract."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone, is_classifier
from small_fits import binary, classifiers, regression, regressors, transformer

from gradfeat.estimators import KernelRegressor


@pytest.mark.skipif(
    os.environ.get("SCIPY_ARRAY_API") != "1", reason="SciPy reads its switch when imported"
)
@pytest.mark.parametrize("model", [*regressors(), *classifiers(), transformer()])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_torch_in_gives_torch_out_under_dispatch(model, dtype) -> None:
    """Tensors come back, of X's device, with the numbers of the NumPy fit."""
    X, y = binary(60)
    X = torch.tensor(X, dtype=dtype).numpy().astype(np.float64)
    reference = clone(model).fit(X, y)
    with config_context(array_api_dispatch=True):
        T, t = torch.tensor(X, dtype=dtype), torch.tensor(y)
        fitted = clone(model).fit(T, t)
        names = ["transform"] if type(model) is type(transformer()) else ["predict"]
        names += ["predict_proba", "decision_function"] if is_classifier(model) else []
        for name in names:
            out = getattr(fitted, name)(T)
            assert type(out) is torch.Tensor, name
            assert out.device == T.device
            # float32 is widened before the fit: only the order of sums can differ.
            assert np.abs(out.numpy() - getattr(reference, name)(X)).max() < 1e-10, name
        fitted_parts = ["components_"] if "transform" in names else ["agop_", "importances_"]
        assert all(type(getattr(fitted, part)) is torch.Tensor for part in fitted_parts)


def test_torch_in_gives_numpy_out_without_dispatch() -> None:
    X, y = regression(40)
    fitted = KernelRegressor(search=None).fit(torch.tensor(X), torch.tensor(y))
    assert type(fitted.predict(torch.tensor(X))) is np.ndarray
