"""CIFAR-10 and CIFAR-100: batches as pickles ("python version") and as bytes ("binary version").

Source: Krizhevsky, "The CIFAR-10 and CIFAR-100 datasets", dataset layout.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of

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

    Raises ImageFileError where it asks for anything else, or is damaged.

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


_SHAPE = (3, 32, 32)  # a record holds all of red, then green, then blue
_BYTES = 3 * 32 * 32


def read_cifar_python(path: Path) -> Images:
    """One pickled batch: ``data`` (n, 3072) bytes with ``labels``, or ``fine_labels``.

    Raises ImageFileError where the pickle asks for anything but arrays (it is not run), or has no
    such entries.
    """
    batch = plain_pickle(path.read_bytes(), path.name)
    entries = batch if type(batch) is dict else {}
    named = {str(k, "latin1") if type(k) is bytes else k: v for k, v in entries.items()}
    labels = named.get("labels", named.get("fine_labels"))
    data = _array(named.get("data"))
    if labels is None or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != _BYTES:
        raise ImageFileError(
            f"'{path.name}' is no CIFAR batch: give one with data of 3,072 bytes an image and "
            "labels or fine_labels."
        )
    return _images(data, _array(labels), path.name)


def read_cifar_binary(path: Path) -> Images:
    """Records of a label (CIFAR-100: a coarse and a fine label, which counts) and 3,072 bytes.

    Raises ImageFileError where the file is not a whole number of records with labels below 10, or
    100.
    """
    data = np.frombuffer(path.read_bytes(), np.uint8)
    for labels, classes in ((1, 10), (2, 100)):
        if len(data) and not len(data) % (_BYTES + labels):
            records = data.reshape(-1, _BYTES + labels)
            y = records[:, labels - 1]
            if y.max() < classes:
                return _images(records[:, labels:], y, path.name)
    raise ImageFileError(
        f"'{path.name}' of {len(data):,} bytes is no CIFAR file: give whole records of 3,073 bytes "
        "with labels below 10, or of 3,074 with fine labels below 100."
    )


def _array(value: object) -> np.ndarray:
    """`value` as an array; lists of different lengths make one without numbers."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty(0, dtype=object)


def _images(data: np.ndarray, labels: np.ndarray, name: str) -> Images:
    return images_of(np.moveaxis(data.reshape(-1, *_SHAPE), 1, 3), labels, name)
