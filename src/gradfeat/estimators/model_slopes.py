"""How any model is differentiated: exactly, by autograd, or by finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from ..maths import gradients
from ..maths.gradients import central_gradient, has_jumps
from ..maths.modules import check_differentiable, float_place
from ..models.base import Predictor
from .array_functions import array_function, response
from .arrays import to_numpy
from .base import FeatureModel

#: Least step of finite differences relative to the column's largest value: some roundings.
LEAST_STEP = 16 * np.finfo(np.float64).eps

#: Rows on which finite differences are tried at two steps, to tell jumps from slopes.
TRIAL_ROWS = 100

#: From this step on, finite differences are meant to look across jumps.
COARSE_STEP = 0.1


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradients of a model in the columns' own units, and what they need.

    Attributes
    ----------
    gradient : callable (n, d) -> (n, c, d)
        Of and to float64 tensors.
    outputs : int
        c.
    bytes_per_row : int
        Scratch for one row beyond the result.
    """

    gradient: Callable[[Tensor], Tensor]
    outputs: int
    bytes_per_row: int = 0


def model_slopes(
    model: Any, X: Any, points: Tensor, scale: Tensor, step: float, batch_size: int
) -> Slopes:
    """How to differentiate `model`, decided by its type and that of X.

    Parameters
    ----------
    model, X, step, batch_size
        As in :func:`gradfeat.estimators.agop_of.agop`.
    points : Tensor (n, d)
        The rows, float64.
    scale : Tensor (d,)
        Standard deviations of the columns.

    Raises
    ------
    ValueError
        For a model that is not allowed, or outputs that are not.

    Examples
    --------
    >>> X = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64)
    >>> slopes = model_slopes(lambda X: X[:, 0] * X[:, 1], X.numpy(), X, X.std(0), 1e-3, 100)
    >>> slopes.gradient(X).round(decimals=6).tolist()
    [[[2.0, 1.0]], [[5.0, 3.0]]]
    """
    match (model, X):
        case (FeatureModel(), _):
            return _of_estimator(model, X)
        case (BaseEstimator(), _):
            f = array_function(response(model), X, two_classes=is_classifier(model))
            return _differences(f, points, scale, step, batch_size)
        case (nn.Module(), _):
            return _autograd(model, points, np.shape(X)[1:], *float_place(model, points))
        case (type(), _):
            raise ValueError(f"model is the class {model.__name__}: give a fitted object of it.")
        case (Predictor(), _):
            return _of_predictor(model, points)
        case (Callable(), Tensor()):
            return _autograd(model, points, X.shape[1:], X.device, X.dtype)
        case (Callable(), _):
            return _differences(array_function(model, X), points, scale, step, batch_size)
    raise ValueError(
        f"model is a {type(model).__name__}: give an estimator, a torch module or a function of X, "
        "such as model.predict."
    )


def _of_estimator(model: FeatureModel, X: Any) -> Slopes:
    check_is_fitted(model)
    table: Any = to_numpy(X) if type(X) is Tensor else X
    validate_data(model, table, reset=False)
    function, scratch = model._function(), model.predictor_.scratch_per_row()
    return Slopes(function.gradient, function.outputs, scratch)


def _of_predictor(model: Predictor, points: Tensor) -> Slopes:
    place = next(iter(model.tensors().values()))
    outputs = model(points[:1].to(place)).shape[1]
    scratch = model.scratch_per_row()
    return Slopes(lambda rows: model.gradient(rows.to(place)).to(points), outputs, scratch)


def _autograd(
    call: Callable[[Tensor], Tensor],
    points: Tensor,
    shape: tuple[int, ...],
    device: torch.device,
    dtype: torch.dtype,
) -> Slopes:
    def f(rows: Tensor) -> Tensor:
        return call(rows.reshape(len(rows), *shape))

    def gradient(rows: Tensor) -> Tensor:
        with torch.inference_mode(False):
            placed = rows.to(device, dtype, copy=True)
            return gradients.autodiff_gradient(f, placed).to(points)

    with torch.inference_mode(False):
        outputs = check_differentiable(f, points[:2].to(device, dtype, copy=True))
    return Slopes(gradient, outputs)


def _differences(
    f: Callable[[Tensor], Tensor], points: Tensor, scale: Tensor, step: float, batch_size: int
) -> Slopes:
    if not scale.any():
        raise ValueError(
            "every column of X is constant, so finite differences have no scale to step by: give "
            "rows that differ."
        )
    steps = (step * scale).maximum(LEAST_STEP * points.abs().amax(0)).where(scale > 0, 0.0)
    outputs = f(points[:1]).shape[1]
    trial = points[:: -(-len(points) // TRIAL_ROWS)]
    if step < COARSE_STEP and has_jumps(f, trial, steps, batch_size):
        warnings.warn(
            f"at a step of {step:g} standard deviations the model is flat but for jumps (trees, "
            "boosting, rounded outputs), so its AGOP means nothing: give a larger step, such as "
            "step=0.25.",
            UserWarning,
            stacklevel=4,
        )
    return Slopes(lambda rows: central_gradient(f, rows, steps, batch_size), outputs)
