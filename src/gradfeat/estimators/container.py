"""The model file: one safetensors file with a JSON description, a version and a checksum.

And how the parts of a fitted estimator become JSON and arrays, and come back.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import ModelFileError
from ..maths.activations import Activation, activation_from_spec
from ..maths.files import refused, replace_file
from ..maths.unpacking import FOREIGN, json_object

#: Version of the layout written; files of a later one are refused.
FORMAT_VERSION = 2

State = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Contents:
    """What a model file holds: the kind of model, a JSON-able state, named arrays."""

    kind: str
    state: State
    arrays: Arrays

    def including(self, **parts: Contents) -> Contents:
        """These, with the contents of parts under their names."""
        states = {name: {"kind": p.kind, "state": p.state} for name, p in parts.items()}
        named = {f"{name}.{key}": a for name, p in parts.items() for key, a in p.arrays.items()}
        return Contents(self.kind, self.state | {"parts": states}, {**self.arrays, **named})

    def part(self, name: str) -> Contents:
        """One of the parts that :meth:`including` took."""
        described = self.state["parts"][name]
        return Contents(described["kind"], described["state"], under_prefix(name, self.arrays))


def _checksum(kind: str, state: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(f"{FORMAT_VERSION}/{kind}/{state}".encode())
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}/{a.dtype.str}/{a.shape}".encode())
        digest.update(a.tobytes())
    return digest.hexdigest()


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write `contents` to `path`: complete, or not at all (an older file stays whole)."""
    data = as_bytes(contents)
    with refused(path, ModelFileError):
        replace_file(path, data)


def as_bytes(contents: Contents) -> bytes:
    try:
        state = json.dumps(contents.state, sort_keys=True)
    except TypeError as error:
        raise ModelFileError(f"This model cannot be saved ({error}).") from None
    arrays = {name: np.array(a, order="C") for name, a in contents.arrays.items()}
    metadata = {
        "format": "gradfeat",
        "format_version": str(FORMAT_VERSION),
        "kind": contents.kind,
        "state": state,
        "sha256": _checksum(contents.kind, state, arrays),
    }
    return to_bytes(arrays, metadata=metadata)


def read(path: str | os.PathLike[str]) -> Contents:
    metadata, arrays = _open(Path(path))
    if metadata.get("format") != "gradfeat":
        raise ModelFileError(f"{path} is not a gradfeat model: give a file that gradfeat saved.")
    version = metadata.get("format_version", "")
    if version != str(FORMAT_VERSION):
        raise ModelFileError(
            f"{path} has model format {version} and this gradfeat reads format "
            f"{FORMAT_VERSION}: use the gradfeat version that saved it, or a newer one."
        )
    kind, state = metadata.get("kind", ""), metadata.get("state", "")
    if metadata.get("sha256") != _checksum(kind, state, arrays):
        raise ModelFileError(
            f"{path} was changed after it was saved (its checksum differs): restore a good copy "
            "or fit again."
        )
    with rebuilding(path):
        return Contents(kind, json_object(state), _finite(arrays))


@contextlib.contextmanager
def rebuilding(path: str | os.PathLike[str], kind: str = "model") -> Iterator[None]:
    """A model from a file, whose checksum says nothing of who wrote it.

    Raises ModelFileError for contents that no gradfeat wrote: a part missing, of another type or
    size.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what arrays of other sizes are multiplied
            yield
    except ModelFileError:
        raise
    except FOREIGN as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
        raise ModelFileError(
            f"{path} holds a {kind} that this gradfeat cannot rebuild ({what}): restore a good "
            "copy, fit again, or use the version that saved it."
        ) from error


def _finite(arrays: Arrays) -> Arrays:
    for name, a in arrays.items():
        if a.dtype.kind == "f" and not np.isfinite(a).all():
            raise ValueError(f"the array {name!r} holds numbers that are not finite")
    return arrays


def _open(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
        raise ModelFileError(f"{path} is no regular file: give the path of a saved model.")
    try:
        with safe_open(path, framework="numpy") as handle:
            metadata = handle.metadata() or {}
            return metadata, {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError.absent(path) from None
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{path} cannot be read as a model ({error}): the file is damaged, cut short, or not "
            "a gradfeat model; restore a good copy or fit again."
        ) from None


def contents_of(estimator: Any) -> Contents:
    """Everything of a fitted estimator that predicts: its ``to_state`` under its name."""
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
        case torch.device():
            return str(value)
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
    values = labels.view(np.int64) if labels.dtype.kind in "mM" else labels  # dates are no JSON
    return {"dtype": labels.dtype.str, "values": values.tolist()}


def labels_from(state: State) -> NDArray[Any]:
    return np.array(state["values"], dtype=np.dtype(state["dtype"]))


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Arrays:
    return {name: t.detach().cpu().numpy() for name, t in tensors.items()}


def with_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {f"{prefix}.{name}": a for name, a in arrays.items()}


def under_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    start = f"{prefix}."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
