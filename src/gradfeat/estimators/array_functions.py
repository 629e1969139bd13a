"""Models of arrays and data frames as functions of tensors, with checked inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import _check_response_method
from torch import Tensor


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


def numeric_table(X: Any) -> NDArray[np.float64]:
    """X (n, d) as finite float64 numbers, a copy.

    Raises
    ------
    ValueError
        For columns that are not numbers, values that are missing or infinite, or another shape.

    Examples
    --------
    >>> numeric_table(pd.DataFrame({"a": [1, 2]})).tolist()
    [[1.0], [2.0]]
    """
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


def _as_floats(X: Any) -> NDArray[np.float64]:
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
    """What a scikit-learn model says: probabilities or decision values of classes, or predictions.

    Raises
    ------
    ValueError
        When it has none of them.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> response(LogisticRegression()).__name__, response(Ridge()).__name__
    ('predict_proba', 'predict')
    """
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

    Parameters
    ----------
    call : callable
        Of arrays, or of data frames where X is one; the latter keep the names of their columns.
    X : array or data frame
        What tells the kind.
    two_classes : bool
        Keep only the last of two columns, which the first one mirrors.
    """
    columns = X.columns if type(X) is pd.DataFrame else None

    def f(points: Tensor) -> Tensor:
        table: Any = points.numpy().copy()  # the model may write into it
        if columns is not None:
            table = pd.DataFrame(table, columns=columns)
        out = torch.from_numpy(_numbers(call(table), len(points)))
        return out[:, 1:] if two_classes and out.shape[1] == 2 else out

    return f


def _numbers(out: Any, n: int) -> NDArray[np.float64]:
    """Outputs as finite numbers (n, c)."""
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
