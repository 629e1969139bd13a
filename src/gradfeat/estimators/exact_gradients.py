"""Gradients of fitted estimators in the units of the inputs and of the outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..models.search.calibration import two_sided
from .base import FeatureModel
from .classifier import FeatureClassifier


@dataclass(frozen=True, eq=False)
class EstimatorGradient:
    """x (n, d) -> gradients (n, c, d): of the predictions, or of the classes' probabilities.

    With f the fitted function of standardised inputs z, dy_c/dx_j is df_c/dz_j times
    scale(y_c)/scale(x_j). Classifiers: p = softmax(s f + t), dp_k = s p_k (df_k - sum_l p_l df_l);
    of two classes only the second, which the first one mirrors.
    """

    model: FeatureModel

    def __call__(self, X: Tensor) -> Tensor:
        """Gradients at the rows of X."""
        model = self.model
        Z = model._where.tensor(model._inputs(X.numpy()))
        J = model.predictor_.gradient(Z).double().cpu().numpy()
        J = J * (model._outputs.scale[:, None] / model._inputs.scale)
        match model:
            case FeatureClassifier():
                J = _of_probabilities(model, Z, J)
        return torch.from_numpy(J)


def _of_probabilities(
    model: FeatureClassifier, Z: Tensor, J: NDArray[np.float64]
) -> NDArray[np.float64]:
    if len(model.classes_) == 1:
        return np.zeros_like(J[:, :1])
    f = two_sided(model._outputs.inverse(model.predictor_(Z).double().cpu().numpy()))
    p = np.exp(model._calibration(f))[:, :, None]
    slopes = two_sided(J)
    slopes = model._calibration.scale * p * (slopes - (p * slopes).sum(axis=1, keepdims=True))
    return slopes[:, 1:] if len(model.classes_) == 2 else slopes


def output_count(model: FeatureModel) -> int:
    """How many functions :class:`EstimatorGradient` differentiates."""
    match model:
        case FeatureClassifier():
            return max(1, len(model.classes_) - (len(model.classes_) == 2))
    return len(model._outputs.scale)
