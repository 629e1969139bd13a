"""MAT files as SVHN has them: X (h, w, 3, n) and y (n, 1)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of
from gradfeat.tasks.images.mat_arrays import mat_arrays

_NEW = b"MATLAB 7.3"


def read_mat(path: Path) -> Images:
    """Arrays ``X`` (h, w, n) or (h, w, 3, n) and ``y``; labels as stored (SVHN: 10 is digit 0).

    Raises
    ------
    ImageFileError
        Where the file is damaged, of version 7.3, or has no such arrays.

    Source: Netzer et al. 2011, "Reading digits in natural images", format 2.
    """
    data = path.read_bytes()
    if data.startswith(_NEW):
        raise ImageFileError(
            f"'{path.name}' is a MAT file of version 7.3: save it again by save(..., '-v7')."
        )
    try:
        found = mat_arrays(data)
    except (ValueError, KeyError, StopIteration, struct.error, zlib.error):
        raise ImageFileError(f"'{path.name}' is a damaged MAT file: get it again.") from None
    X, y = found.get("X"), found.get("y")
    if X is None or y is None or X.ndim not in (3, 4):
        raise ImageFileError(
            f"'{path.name}' has no X of shape (h, w, 3, n) with y: give a MAT file as SVHN has it."
        )
    return images_of(np.moveaxis(X, -1, 0), y.reshape(-1, 1), path.name)
