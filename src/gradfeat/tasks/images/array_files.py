"""Images and labels as arrays: IDX files (of MNIST), NPZ archives, MAT files of level 5, CIFAR.

SciPy's reader of MAT files ends the process on some damaged ones; this one reads less and refuses.

Source: LeCun, Cortes and Burges, "The MNIST database of handwritten digits", file formats;
MathWorks, "MAT-File Format", level 5; Krizhevsky, "The CIFAR-10 and CIFAR-100 datasets", layout.
"""

from __future__ import annotations

import math
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from gradfeat.maths.unpacking import TooMuch, check_zip, gunzip, inflate
from gradfeat.tasks.images.collection import ImageFileError, Images, images_of, joined

_UNSIGNED_BYTE = 0x08
_GZIP = b"\x1f\x8b"


def read_idx(path: Path) -> Images:
    """Images and labels of a pair of files, given the name of either.

    The other name has ``labels`` for ``images`` and ``idx1`` for ``idx3``, with or without
    ``.gz``.

    Raises ImageFileError where either file is not there, cut short, or not of IDX bytes.
    """
    images, labels = _pair(path)
    return images_of(idx_array(images), idx_array(labels), images.name)


def idx_array(path: Path) -> np.ndarray:
    """The array of one IDX file of bytes, of the shape that its header says."""
    data = path.read_bytes()
    if data[:2] == _GZIP:
        try:
            data = gunzip(data, f"'{path.name}'")
        except TooMuch as error:
            raise ImageFileError(str(error)) from None
        except (OSError, EOFError, zlib.error):
            raise ImageFileError(f"'{path.name}' is a damaged gzip file: get it again.") from None
    if len(data) < 4 or data[:3] != bytes([0, 0, _UNSIGNED_BYTE]):
        raise ImageFileError(f"'{path.name}' is no IDX file of bytes: give one, as MNIST has them.")
    start = 4 + 4 * data[3]
    if start > len(data):
        raise ImageFileError(f"'{path.name}' ends in its header: get it again.")
    shape = np.frombuffer(data[4:start], ">u4").tolist()
    expected, given = math.prod(shape), len(data) - start
    if given != expected:
        raise ImageFileError(
            f"'{path.name}' has {given:,} bytes after its header, which says {expected:,}: get it "
            "again."
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def _pair(path: Path) -> tuple[Path, Path]:
    """Paths of the images and of the labels."""
    given, other = ("labels", "images") if "labels" in path.name else ("images", "labels")
    dims = {"images": "idx3", "labels": "idx1"}
    name = path.name.replace(given, other).replace(dims[given], dims[other])
    bare = name.removesuffix(".gz")
    for candidate in (name, bare, f"{bare}.gz"):
        partner = path.with_name(candidate)
        if candidate != path.name and partner.is_file():
            return (path, partner) if given == "images" else (partner, path)
    raise ImageFileError(f"'{path.name}' needs its {other} beside it: add the file '{name}'.")


_PARTS = (("x_train", "y_train"), ("x_test", "y_test"))
_WHOLE = (("x", "images"), ("y", "labels"))


def read_npz(path: Path) -> Images:
    """Arrays ``x_train, y_train`` and ``x_test, y_test``, or ``x`` and ``y``.

    ``x`` may be called ``images`` and ``y`` ``labels``; names may be in capitals.
    Nothing pickled is loaded.

    Raises ImageFileError where the archive is damaged, has no such arrays, or they are not of
    images.
    """
    try:
        check_zip(path, f"'{path.name}'")
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
            names = {name.lower(): name for name in archive.files}
            pairs = _pairs(names, path.name)
            parts = [images_of(archive[x], archive[y], path.name) for x, y in pairs]
    except ImageFileError:
        raise
    except TooMuch as error:
        raise ImageFileError(str(error)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError):
        raise ImageFileError(
            f"'{path.name}' is a damaged NPZ archive or holds other things than arrays of numbers: "
            "save it again by numpy.savez."
        ) from None
    return joined(parts, path.name)


def _pairs(names: dict[str, str], source: str) -> list[tuple[str, str]]:
    """Names, as stored, of the arrays of images and labels that belong together."""
    parts = [(names[x], names[y]) for x, y in _PARTS if x in names and y in names]
    pixels, labels = ([names[n] for n in options if n in names] for options in _WHOLE)
    if not parts and pixels and labels:
        parts = [(pixels[0], labels[0])]
    if not parts:
        there = ", ".join(names.values()) or "none"
        raise ImageFileError(
            f"'{source}' has the arrays {there}: name them x and y (or images and labels), or "
            "x_train, y_train, x_test and y_test."
        )
    return parts


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
            kind, body = next(_elements(inflate(body, "A variable"), order), (0, b""))
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
    except TooMuch as error:
        raise ImageFileError(f"'{path.name}': {error}") from None
    except (ValueError, KeyError, StopIteration, struct.error, zlib.error):
        raise ImageFileError(f"'{path.name}' is a damaged MAT file: get it again.") from None
    X, y = found.get("X"), found.get("y")
    if X is None or y is None or X.ndim not in (3, 4):
        raise ImageFileError(
            f"'{path.name}' has no X of shape (h, w, 3, n) with y: give a MAT file as SVHN has it."
        )
    return images_of(np.moveaxis(X, -1, 0), y.reshape(-1, 1), path.name)


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
