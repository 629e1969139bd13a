"""NPZ archives of arrays: images and labels, or training and test parts."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of, joined

_PARTS = (("x_train", "y_train"), ("x_test", "y_test"))
_WHOLE = (("x", "images"), ("y", "labels"))


def read_npz(path: Path) -> Images:
    """Arrays ``x_train, y_train`` and ``x_test, y_test``, or ``x`` and ``y``.

    ``x`` may be called ``images`` and ``y`` ``labels``; names may be in capitals.
    Nothing pickled is loaded.

    Raises
    ------
    ImageFileError
        Where the archive is damaged, has no such arrays, or they are not of images.
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
