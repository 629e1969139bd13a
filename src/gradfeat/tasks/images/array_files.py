"""Images and labels in NPZ archives of arrays, and in IDX files, the format of MNIST.

Source: LeCun, Cortes and Burges, "The MNIST database of handwritten digits", file formats.
"""

from __future__ import annotations

import gzip
import math
import zipfile
import zlib
from pathlib import Path

import numpy as np

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
            data = gzip.decompress(data)
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
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
            names = {name.lower(): name for name in archive.files}
            pairs = _pairs(names, path.name)
            parts = [images_of(archive[x], archive[y], path.name) for x, y in pairs]
    except ImageFileError:
        raise
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
