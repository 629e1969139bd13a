"""Pickles of plain values and arrays; anything else is refused before it runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final, cast

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError

# What a damaged pickle may raise while it is put together.
_DAMAGED: Final = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError,
    OverflowError, MemoryError,
)  # fmt: skip


def _latin1(text: str, encoding: str) -> bytes:
    """How a pickle of protocol 2 writes bytes; no other encoding is needed."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(encoding)
    return text.encode("latin1")


# Its module was renamed in NumPy 2.
_RECONSTRUCT: Final = cast("Callable[..., Any]", np.empty(0).__reduce__()[0])
_ALLOWED: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("_codecs", "encode"): _latin1,
}


class _Refused(Exception):
    """A pickle that asks for something that is not allowed."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _ALLOWED:
            raise _Refused(f"{module}.{name}")
        return _ALLOWED[module, name]


def plain_pickle(data: bytes, name: str) -> Any:
    """The value pickled in `data`: numbers, texts, lists, dicts and NumPy arrays of these.

    Raises
    ------
    ImageFileError
        Where it asks for anything else, or is damaged.

    Examples
    --------
    >>> plain_pickle(pickle.dumps({"labels": [1, 2]}), "batch")
    {'labels': [1, 2]}
    """
    try:
        return _Unpickler(BytesIO(data), encoding="bytes").load()
    except _Refused as refused:
        raise ImageFileError(
            f"'{name}' is a pickle that asks for {refused}, which was not run: give one of plain "
            "arrays, as CIFAR has them."
        ) from None
    except _DAMAGED:
        raise ImageFileError(f"'{name}' is a damaged pickle: get it again.") from None
