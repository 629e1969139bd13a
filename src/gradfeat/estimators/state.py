"""Turning the parts of a fitted estimator into JSON and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..maths.activations import Activation, activation_from_spec
from .container import Contents, ModelFileError

State = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def contents_of(estimator: Any) -> Contents:
    """Everything of a fitted estimator that predicts: its ``to_state`` under its name.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        When the estimator has not been fitted.
    ModelFileError
        When it holds a function that only exists in this process.
    """
    check_is_fitted(estimator)
    try:
        state, arrays = estimator.to_state()
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    return Contents(type(estimator).__name__, state, arrays)


def params_state(estimator: BaseEstimator) -> State:
    """Constructor parameters: an Activation is its description, a dict pairs, a generator None."""
    return {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return value.item()
        case torch.Tensor():
            return value.item()
        case Activation():
            return {"activation": value.spec()}
        case np.random.RandomState() | np.random.Generator():
            return None
        case dict():
            return {"pairs": [[_plain(key), _plain(item)] for key, item in value.items()]}
    raise ValueError(f"the parameter {value!r} cannot be saved.")


def params_from(state: State) -> State:
    return {name: _restored(value) for name, value in state.items()}


def _restored(value: Any) -> Any:
    match value:
        case {"activation": spec}:
            return activation_from_spec(spec)
        case {"pairs": pairs}:
            return dict(pairs)
    return value


def labels_state(labels: NDArray[Any]) -> State:
    """Array of labels, with its type."""
    return {"dtype": labels.dtype.str, "values": labels.tolist()}


def labels_from(state: State) -> NDArray[Any]:
    return np.array(state["values"], dtype=np.dtype(state["dtype"]))


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Arrays:
    return {name: t.detach().cpu().numpy() for name, t in tensors.items()}


def with_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {f"{prefix}.{name}": a for name, a in arrays.items()}


def under_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names start with `prefix`, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
