"""MAT files of level 5 (MATLAB's -v6 and -v7) as SVHN has them: X (h, w, 3, n) and y (n, 1).

SciPy's reader ends the process on some damaged files; this one reads less and refuses them.

Source: MathWorks, "MAT-File Format", level 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of

_HEADER, _MATRIX, _COMPRESSED = 128, 14, 15
_TYPES: Final = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_NUMERIC: Final = range(6, 16)  # classes of arrays: double, single and the integers
_COMPLEX = 0x800


def mat_arrays(data: bytes) -> dict[str, np.ndarray]:
    """The real numeric arrays of a file's bytes by name; other variables are left out.

    Raises ValueError, KeyError, StopIteration, struct.error, zlib.error where the bytes are not
    what the format says.

    >>> from io import BytesIO
    >>> from scipy.io import savemat
    >>> savemat(file := BytesIO(), {"y": np.array([[3], [1]])})
    >>> mat_arrays(file.getvalue())["y"].tolist()
    [[3], [1]]
    """
    order = {b"IM": "<", b"MI": ">"}[data[_HEADER - 2 : _HEADER]]
    found = {}
    for kind, body in _elements(data[_HEADER:], order):
        if kind == _COMPRESSED:
            kind, body = next(_elements(zlib.decompress(body), order), (0, b""))
        if kind == _MATRIX:
            found |= _variable(body, order)
    return found


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Type and body of each element; bodies up to four bytes may sit in the tag itself."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        start = at + 8
        if kind >> 16:
            kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
        end = start + size
        if end > len(data) or (start == at + 4 and size > 4):
            raise ValueError("an element reaches beyond its place")
        yield kind, data[start:end]
        at = end if kind == _COMPRESSED else end + -end % 8


def _variable(body: bytes, order: str) -> dict[str, np.ndarray]:
    """Name and values of one array, none where it is no real array of numbers."""
    parts = _elements(body, order)
    (_, flags), dims, (_, name) = next(parts), next(parts), next(parts)
    first = struct.unpack_from(f"{order}I", flags)[0]
    if first & 0xFF not in _NUMERIC or first & _COMPLEX:
        return {}
    values, shape = _numbers(*next(parts), order), _numbers(*dims, order)
    return {name.decode("latin1"): values.reshape(shape.tolist(), order="F")}


def _numbers(kind: int, body: bytes, order: str) -> np.ndarray:
    return np.frombuffer(body, np.dtype(order + _TYPES[kind]))


_NEW = b"MATLAB 7.3"


def read_mat(path: Path) -> Images:
    """Arrays ``X`` (h, w, n) or (h, w, 3, n) and ``y``; labels as stored (SVHN: 10 is digit 0).

    Raises ImageFileError where the file is damaged, of version 7.3, or has no such arrays.
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
