"""Pictures as files (PNG, JPEG, ...): one folder a class, or an attribute file as CelebA has it.

Source: Liu, Luo, Wang & Tang, "Deep learning face attributes in the wild" (2015), for the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of


def read_picture(path: Path, size: int, *, colour: bool = False) -> np.ndarray:
    """Return bytes (size, size), or (size, size, 3) of a colour picture, resized with averaging.

    Raises ImageFileError where there is no such file, or it is damaged or no picture.
    """
    from PIL import Image, UnidentifiedImageError  # comes with matplotlib

    try:
        with Image.open(path) as picture:
            plain = picture.convert("RGB" if colour else "L")
            small = plain.resize((size, size), Image.Resampling.BOX)
    except FileNotFoundError:
        raise ImageFileError(
            f"There is no picture '{path}': add it, or take its line out."
        ) from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise ImageFileError(
            f"'{path.name}' is damaged or no picture: replace it by a PNG or JPEG file, or take it "
            "out."
        ) from None
    return np.asarray(small)


def class_folder(folder: Path, pair: tuple[str, str]) -> list[list[Path]]:
    """Two sub-folders of pictures, of labels 0 and 1; names that start with a dot are left out.

    Raises ImageFileError where a sub-folder is not there or is empty.
    """
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    for name in pair:
        if name not in names:
            raise ImageFileError(
                f"'{folder.name}' has no sub-folder {name!r}: choose two of {_shown(names)}."
            )
    return [_files(folder / name) for name in pair]


def attribute_file(file: Path, attribute: str) -> list[list[Path]]:
    """Pictures without (label 0) and with (1) an attribute.

    The first line is the number of pictures, the second the names of the attributes, each other
    one a file name and 1 or -1 for each attribute. The pictures lie beside the file, or in one
    folder beside it (``img_align_celeba``).

    Raises ImageFileError where a line is not so, the attribute is not there or the same in every
    picture, or the first picture is in no such folder.
    """
    names, labels = _attributes(file, attribute)
    folder = _picture_folder(file, names[0])
    files = [[folder / n for n, y in zip(names, labels, strict=True) if y == s] for s in (-1, 1)]
    if not all(files):
        raise ImageFileError(
            f"{attribute!r} is the same in all pictures of '{file.name}': choose another attribute."
        )
    return files


def labelled(
    files: Sequence[Sequence[Path]],
    name: str,
    size: int,
    most: int,
    generator: torch.Generator,
    *,
    colour: bool = False,
) -> Images:
    """Pictures of labels 0 and 1 as images called `name`; at most `most` of each, at random.

    Raises ImageFileError where a file is missing, damaged or no picture.
    """
    pixels, labels = [], []
    for label, own in enumerate(files):
        chosen = torch.randperm(len(own), generator=generator)[:most].tolist()
        pixels += [read_picture(own[i], size, colour=colour) for i in chosen]
        labels += [label] * len(chosen)
    return images_of(np.stack(pixels), np.array(labels), name)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "") if names else "none"


def _files(folder: Path) -> list[Path]:
    found = [f for f in sorted(folder.iterdir()) if f.is_file() and not f.name.startswith(".")]
    if not found:
        raise ImageFileError(f"The folder '{folder.name}' has no files: put its pictures there.")
    return found


def _attributes(file: Path, attribute: str) -> tuple[list[str], list[int]]:
    """File names and values of one attribute."""
    try:
        lines = [line.split() for line in file.read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        lines = []
    if len(lines) < 3 or len(lines[0]) != 1 or not lines[0][0].isdigit():
        raise ImageFileError(
            f"'{file.name}' is no attribute file: give a count, a line of names, then lines of a "
            "file name and 1 or -1 for each, as CelebA has them."
        )
    (count,), header, *rows = lines
    if int(count) != len(rows):
        raise ImageFileError(
            f"'{file.name}' has {len(rows):,} lines of pictures and says {int(count):,}: get it "
            "again."
        )
    if attribute not in header:
        raise ImageFileError(
            f"'{file.name}' has no attribute {attribute!r}: choose one of {', '.join(header)}."
        )
    place = header.index(attribute) + 1
    for number, row in enumerate(rows, start=3):
        if len(row) != len(header) + 1 or row[place] not in ("1", "-1"):
            raise ImageFileError(
                f"Line {number} of '{file.name}' is no file name with {len(header)} values of 1 or "
                "-1: put it right."
            )
    return [row[0] for row in rows], [int(row[place]) for row in rows]


def _picture_folder(file: Path, name: str) -> Path:
    """The folder beside `file`, or that of the file itself, that has the first picture."""
    beside = sorted(entry for entry in file.parent.iterdir() if entry.is_dir())
    for folder in (file.parent, *beside):
        if (folder / name).is_file():
            return folder
    raise ImageFileError(
        f"'{name}' of '{file.name}' is neither beside it nor in a folder there: put the pictures "
        "into one folder beside the file."
    )
