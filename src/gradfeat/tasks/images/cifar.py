"""CIFAR-10 and CIFAR-100: batches as pickles ("python version") and as bytes ("binary version").

Source: Krizhevsky, "The CIFAR-10 and CIFAR-100 datasets", dataset layout.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of
from gradfeat.tasks.images.pickled import plain_pickle

_SHAPE = (3, 32, 32)  # a record holds all of red, then green, then blue
_BYTES = 3 * 32 * 32


def read_cifar_python(path: Path) -> Images:
    """One pickled batch: ``data`` (n, 3072) bytes with ``labels``, or ``fine_labels``.

    Raises
    ------
    ImageFileError
        Where the pickle asks for anything but arrays (it is not run), or has no such entries.
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

    Raises
    ------
    ImageFileError
        Where the file is not a whole number of records with labels below 10, or 100.
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
