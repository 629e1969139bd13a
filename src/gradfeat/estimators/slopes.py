"""How any model is differentiated: exactly, by autograd, or by finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import _check_response_method, check_is_fitted, validate_data
from torch import Tensor, nn

from ..maths import gradients
from ..maths.gradients import central_gradient, has_jumps
from ..maths.modules import check_differentiable, float_place
from ..models.base import Predictor
from .base import FeatureModel
from .checks import Floats, to_numpy

#: Least step of finite differences relative to the column's largest value: some roundings.
LEAST_STEP = 16 * np.finfo(np.float64).eps

#: Rows on which finite differences are tried at two steps, to tell jumps from slopes.
TRIAL_ROWS = 100

#: From this step on, finite differences are meant to look across jumps.
COARSE_STEP = 0.1


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradients of a model in the columns' own units, and what they need.

    `gradient`: Of and to float64 tensors. `bytes_per_row`: Scratch for one row beyond the result.
    """

    gradient: Callable[[Tensor], Tensor]
    outputs: int
    bytes_per_row: int = 0


def model_slopes(
    model: Any, X: Any, points: Tensor, scale: Tensor, step: float, batch_size: int
) -> Slopes:
    """How to differentiate `model`, decided by its type and that of X, at `points` (float64).

    `scale` (d,) are standard deviations of the columns; the rest as in
    :func:`gradfeat.estimators.agop_of.agop`.
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


@runtime_checkable
class PandasTable(Protocol):
    """A table that can turn into a pandas data frame: polars, pyarrow."""

    def to_pandas(self) -> pd.DataFrame:
        """The same columns and names."""
        ...


def pandas_or_same(X: Any) -> Any:
    """A polars or pyarrow table as a pandas data frame; anything else as it is."""
    match X:
        case PandasTable():
            return X.to_pandas()
    return X


def numeric_table(X: Any) -> Floats:
    """X (n, d) as finite float64 numbers, a copy."""
    match X:
        case pd.DataFrame():
            _check_numeric(X)
            table = X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        case Tensor():
            table = X.detach().cpu().double().clone().numpy()
        case _:
            table = _as_floats(X)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"X has shape {table.shape}: give a table (n, d) with rows and columns.")
    bad = ~np.isfinite(table).all(0)
    if bad.any():
        raise ValueError(
            f"X has missing or infinite values in column {_name(X, int(bad.argmax()))}: a "
            "derivative needs finite numbers; fill in or drop these rows."
        )
    return table


def _check_numeric(X: pd.DataFrame) -> None:
    for name, kind in X.dtypes.items():
        if not is_numeric_dtype(kind):
            raise ValueError(
                f"column {name!r} of X is {kind}, and only numbers have derivatives: encode it "
                "first and give the model of the encoded table, such as "
                "agop(pipeline[-1], pipeline[:-1].transform(X))."
            )


def _as_floats(X: Any) -> Floats:
    try:
        table = np.array(X)
        if table.dtype.kind != "c":
            return table.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"X is a {type(X).__name__} that is not a dense table of real numbers: give an array, a "
        "data frame or a tensor (n, d)."
    )


def _name(X: Any, column: int) -> str:
    return repr(X.columns[column]) if type(X) is pd.DataFrame else str(column)


def response(model: BaseEstimator) -> Callable[[Any], Any]:
    """Of a scikit-learn model: probabilities or decision values of classes, or predictions."""
    classes = is_classifier(model)
    methods = ["predict_proba", "decision_function"] if classes else ["predict"]
    try:
        return _check_response_method(model, methods)
    except AttributeError:
        raise ValueError(
            f"{type(model).__name__} has no {' and no '.join(methods)}: give a regressor, a "
            "classifier with probabilities or decision values, or a function of X."
        ) from None


def array_function(
    call: Callable[[Any], Any], X: Any, *, two_classes: bool = False
) -> Callable[[Tensor], Tensor]:
    """`call` as a function (p, d) -> (p, c) of tensors: it gets the kind of table that X is.

    A data frame keeps the names of its columns. `two_classes` keeps only the last of two columns,
    which the first one mirrors.
    """
    columns = X.columns if type(X) is pd.DataFrame else None

    def f(points: Tensor) -> Tensor:
        table: Any = points.numpy().copy()  # the model may write into it
        if columns is not None:
            table = pd.DataFrame(table, columns=columns)
        out = torch.from_numpy(_numbers(call(table), len(points)))
        return out[:, 1:] if two_classes and out.shape[1] == 2 else out

    return f


def _numbers(out: Any, n: int) -> Floats:
    try:
        values = np.asarray(out)
    except ValueError:  # a list of arrays of several sizes
        values = np.asarray(None)
    if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or len(values) != n:
        raise ValueError(
            f"the model gave a {type(out).__name__} of {values.dtype} and shape {values.shape} "
            f"for {n} rows: allowed are numbers, one row for each row of X; wrap the model in a "
            "function that returns them (for labels, its probabilities)."
        )
    values = values.astype(np.float64).reshape(n, -1)
    if not np.isfinite(values).all():
        raise ValueError(
            "the model gave values that are not finite: give one that is finite near X."
        )
    return values
