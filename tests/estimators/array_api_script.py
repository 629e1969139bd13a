"""Run with SCIPY_ARRAY_API=1: torch tensors in, torch tensors out; scikit-learn's own checks."""

from __future__ import annotations

import sys

import numpy as np
import torch
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_array_api_input_and_values
from small_fits import binary, classifiers, regressors, transformer


def same_as_numpy(model, dtype: torch.dtype) -> None:
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
            assert type(out) is torch.Tensor, (model, name, type(out))
            assert out.device == T.device
            close = np.abs(out.numpy() - getattr(reference, name)(X)).max()
            # float32 is widened before the fit: only the order of sums can differ.
            assert close < 1e-10, (model, name, dtype, close)
        fitted_parts = ["components_"] if "transform" in names else ["agop_", "importances_"]
        assert all(type(getattr(fitted, part)) is torch.Tensor for part in fitted_parts)


def main() -> None:
    """Every estimator at its quick setting."""
    for model in [*regressors(), *classifiers(), transformer()]:
        for dtype in (torch.float64, torch.float32):
            same_as_numpy(model, dtype)
    for model in [regressors()[0], classifiers()[0], transformer()]:
        name = type(model).__name__
        check_array_api_input_and_values(name, model, "torch", "cpu", "float64")
    sys.stdout.write("done")


if __name__ == "__main__":
    main()
