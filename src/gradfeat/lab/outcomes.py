"""What a trial returned, in the form that is stored: JSON numbers and compressed arrays."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfeat.maths.unpacking import inflate

#: SQLite takes blobs up to 10^9 bytes; compression is not relied on.
LARGEST_ARRAY = 900_000_000


@dataclass(frozen=True)
class PackedArray:
    """An array as compressed bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    blob: bytes


@dataclass(frozen=True)
class Outcome:
    """Result of one cell and seed: metrics (JSON) and arrays, or the text of its failure."""

    metrics: str
    arrays: tuple[PackedArray, ...]
    error: str | None
    seconds: float


def pack(name: str, array: np.ndarray) -> PackedArray:
    """Compress a real array, C order.

    >>> unpack(pack("a", np.arange(3.0)))
    array([0., 1., 2.])
    """
    if array.dtype.kind not in "biuf":
        raise ValueError(f"array {name!r} has dtype {array.dtype}: return real numbers.")
    if array.nbytes > LARGEST_ARRAY:
        raise ValueError(
            f"array {name!r} takes {array.nbytes:,} bytes: return at most {LARGEST_ARRAY:,}."
        )
    blob = zlib.compress(np.ascontiguousarray(array).tobytes(), 1)
    return PackedArray(name, array.dtype.str, array.shape, blob)


def unpack(packed: PackedArray) -> np.ndarray:
    """The array that was packed; ValueError, TypeError or zlib.error for bytes of none."""
    dtype, size = np.dtype(packed.dtype), math.prod(packed.shape)
    if dtype.kind not in "biuf" or size < 0 or dtype.itemsize * size > LARGEST_ARRAY:
        raise ValueError(f"array {packed.name!r} has dtype {dtype} and shape {packed.shape}")
    data = inflate(packed.blob, f"array {packed.name!r}", dtype.itemsize * size)
    return np.frombuffer(data, dtype).reshape(packed.shape).copy()


def encode_metrics(metrics: Mapping[str, int | float]) -> str:
    """JSON that any reader takes: numbers that are not finite become their names.

    >>> encode_metrics({"a": 1.5, "b": float("nan")})
    '{"a": 1.5, "b": "nan"}'
    """
    plain = {n: v if math.isfinite(v) else str(v) for n, v in metrics.items()}
    return json.dumps(plain, allow_nan=False)


def decode_metrics(text: str) -> dict[str, float]:
    return {name: _number(value) for name, value in json.loads(text).items()}


def _number(value: Any) -> int | float:
    return value if value.__class__ in (int, float) else float(value)


def outcome_of(returned: Any, taken: Iterable[str], seconds: float) -> Outcome:
    match returned:
        case Mapping() if returned:
            items = [_item(name, value, set(taken)) for name, value in returned.items()]
        case _:
            came = repr(returned) if returned in (None, {}) else f"a {type(returned).__name__}"
            raise ValueError(
                f"the trial returned {came}: return a dict of numbers and NumPy "
                "arrays by name, not empty."
            )
    metrics = {name: number for name, number, _ in items if number is not None}
    arrays = tuple(pack(name, array) for name, _, array in items if array is not None)
    return Outcome(encode_metrics(metrics), arrays, None, seconds)


def _item(name: Any, value: Any, taken: set[str]) -> tuple[str, int | float | None, Any]:
    if name.__class__ is not str or not name or name in taken:
        raise ValueError(f"the trial returned {name!r} as a name: use text that is no setting.")
    match value:
        case bool() | int() | np.bool_() | np.integer():
            return name, int(value), None
        case float() | np.floating():
            return name, float(value), None
        case np.ndarray() if value.ndim == 0:
            return name, float(value), None
        case np.ndarray():
            return name, None, value
        case _:
            raise ValueError(
                f"the trial returned a {type(value).__module__}.{type(value).__name__} as "
                f"{name!r}: return a number, or a NumPy array (of a tensor: .numpy(force=True))."
            )
