"""From what scikit-learn users pass in to tensors, and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, device, get_namespace
from sklearn.utils.validation import _check_sample_weight

from ..maths.blocks import Block
from .rows import distinct_rows
from .scaling import Standardiser

#: In whose namespace fitted arrays are where rows came from no array.
NUMPY = np.zeros((0, 0))


@dataclass(frozen=True)
class Placement:
    """Where tensors live and their float type."""

    device: torch.device
    dtype: torch.dtype

    def tensor(self, a: NDArray[np.float64]) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(a)).to(device=self.device, dtype=self.dtype)


def placement(X: Any, where: str | None, dtype: str | None) -> Placement:
    """Device and dtype of a fit: asked for, or those of a torch input, or float64 on the CPU.

    Raises
    ------
    ValueError
        When `dtype` is not float32 or float64, or the device does not exist here.

    Examples
    --------
    >>> placement(np.ones((2, 2)), None, None)
    Placement(device=device(type='cpu'), dtype=torch.float64)
    """
    match dtype:
        case None | "float64":
            kind = torch.float64
        case "float32":
            kind = torch.float32
        case _:
            raise ValueError(f"dtype is {dtype!r}: allowed are None, 'float32' and 'float64'.")
    return Placement(_device_of(X) if where is None else _named_device(where), kind)


def _named_device(name: str) -> torch.device:
    try:
        where = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"device is {name!r}: give a torch device such as 'cpu'.") from None
    if where.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {name!r} and no CUDA device is here: use device='cpu'.")
    return where


def _device_of(X: Any) -> torch.device:
    return X.device if type(X) is torch.Tensor else torch.device("cpu")


def float_types(X: Any) -> tuple[Any, Any]:
    """Float types that validation leaves alone, in the namespace of X."""
    xp, _ = get_namespace(X)
    return xp.float64, xp.float32


def to_numpy(a: Any) -> NDArray[Any]:
    """Any validated array as NumPy (a torch tensor is copied to the CPU)."""
    if type(a) is torch.Tensor:
        return a.detach().cpu().numpy()
    return np.asarray(_convert_to_numpy(a, get_namespace(a)[0]))


def given_weights(sample_weight: Any) -> Any:
    """Row weights as scikit-learn's check takes them: None, one number for all rows, or an array.

    Examples
    --------
    >>> given_weights(None), given_weights(2.0), given_weights([1, 2]).tolist()
    (None, 2.0, [1, 2])
    """
    match sample_weight:
        case None | int() | float():
            return sample_weight
        case _:
            return to_numpy(sample_weight)


def like(values: NDArray[Any], X: Any) -> Any:
    """`values` in the namespace and on the device of X where array-API dispatch is on."""
    if not get_config()["array_api_dispatch"]:
        return values
    if type(X) is torch.Tensor:
        return torch.as_tensor(values).to(X.device)
    xp, is_array_api = get_namespace(X)
    return xp.asarray(values, device=device(X)) if is_array_api else values


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Distinct rows in standardised units, with the maps that lead there.

    Attributes
    ----------
    block : Block
        Inputs, targets and weights as tensors.
    inputs, outputs : Standardiser
        x -> z and y -> its standardised value.
    """

    block: Block
    inputs: Standardiser
    outputs: Standardiser


def training_data(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    sample_weight: ArrayLike | None,
    where: Placement,
    seed: int,
    *,
    standardise: bool,
    scale_targets: bool,
    inputs: Standardiser | None = None,
) -> TrainingData:
    """Merge equal rows, standardise (by `inputs`, where they were learnt before), move.

    Raises
    ------
    ValueError
        When weights are negative or all zero.
    """
    w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    X, y, w = distinct_rows(X, y, w, seed)
    if len(X) == 0:
        raise ValueError("every sample_weight is zero: give at least one row a positive weight.")
    if inputs is None:
        inputs = Standardiser.fit(X, w) if standardise else Standardiser.identity(X.shape[1])
    outputs = Standardiser.fit(y, w)
    if not scale_targets:
        outputs = Standardiser(outputs.mean, np.ones(y.shape[1]))
    block = Block(where.tensor(inputs(X)), where.tensor(outputs(y)), where.tensor(w))
    return TrainingData(block, inputs, outputs)


def warn_ill_scaled(X: NDArray[np.float64], names: list[str], *, standardise: bool) -> None:
    """Warn, naming the columns, when one column's spread swamps the others and nothing rescales."""
    if standardise or X.shape[1] < 2:
        return
    spread = X.std(axis=0)
    typical = np.median(spread[spread > 0]) if (spread > 0).any() else 0.0
    large = [name for name, s in zip(names, spread, strict=True) if s > 1e4 * typical > 0]
    if large:
        warnings.warn(
            f"{', '.join(large)} spreads over 10,000 times more than the typical column and will "
            "swamp the distances: use standardise=True, or rescale it.",
            UserWarning,
            stacklevel=4,
        )
