"""Labelled images as they are stored, checked: small numbers until somebody asks for rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int64, Shaped

# Red, green and blue in brightness. Source: ITU-R BT.601.
_BRIGHTNESS = np.array([0.299, 0.587, 0.114])


class ImageFileError(ValueError):
    """A source of images that cannot be used: one sentence saying what came and what to do."""


@dataclass(frozen=True, eq=False)
class Images:
    """n images with their labels; brightness = pixels / scale, in [0, 1]."""

    #: (n, d), as stored, usually uint8: a row is an image, row by row, the colours of a pixel
    #: together.
    pixels: Shaped[np.ndarray, "n d"]
    y: Int64[np.ndarray, " n"]  #: (n,), label numbers.
    shape: tuple[int, ...]  #: (h, w) or (h, w, 3), d = their product.
    scale: float  #: The pixel value of full brightness: 255 for bytes.
    name: str  #: Of the source.

    @property
    def classes(self) -> tuple[int, ...]:
        """The labels that occur, rising."""
        return tuple(np.unique(self.y).tolist())

    def rows(
        self, where: Bool[np.ndarray, " n"], *, grey: bool = False
    ) -> Float[np.ndarray, "k c"]:
        """Brightness of the images `where`, float64 in [0, 1]; only these are converted.

        `grey` makes 0.299 R + 0.587 G + 0.114 B of colours; grey images stay as they are.
        """
        X = self.pixels[where].astype(np.float64) / self.scale
        colours = self.shape[2:] == (3,)
        return X.reshape(len(X), -1, 3) @ _BRIGHTNESS if grey and colours else X


def images_of(pixels: np.ndarray, labels: np.ndarray, name: str) -> Images:
    """Images of arrays (n, h, w), (n, h, w, 1 or 3), (n, 3, h, w) or (n, d), and labels (n,).

    Whole numbers up to 255 are kept as bytes; of floats, 1 is full brightness where none is
    above 1, else 255.

    Raises ImageFileError where shapes, numbers of rows, pixel values or labels are not of images.

    >>> images = images_of(np.full((2, 3, 3), 51, np.uint8), np.array([[7], [1]]), "two")
    >>> images.shape, images.classes, float(images.rows(images.y == 1)[0, 0])
    ((3, 3), (1, 7), 0.2)
    """
    pixels = _channels_last(pixels, name)
    y = _labels(labels, name)
    if len(pixels) != len(y) or not len(y):
        raise ImageFileError(
            f"'{name}' has {len(pixels):,} images and {len(y):,} labels: give as many labels as "
            "images, at least 1."
        )
    stored, scale = _stored(pixels, name)
    shape = pixels.shape[1:]
    return Images(stored.reshape(len(y), math.prod(shape)), y, shape, scale, name)


def joined(parts: Sequence[Images], name: str) -> Images:
    """All images of several files in their order, which must have the same shape and scale."""
    kinds = sorted({(part.shape, part.scale) for part in parts})
    if len(kinds) > 1:
        raise ImageFileError(
            f"'{name}' has parts of shapes {', '.join(str(shape) for shape, _ in kinds)} and full "
            f"brightness {', '.join(f'{scale:g}' for _, scale in kinds)}: name one of its files."
        )
    pixels = np.concatenate([part.pixels for part in parts])
    y = np.concatenate([part.y for part in parts])
    return Images(pixels, y, parts[0].shape, parts[0].scale, name)


def _channels_last(pixels: np.ndarray, name: str) -> np.ndarray:
    """(n, h, w) or (n, h, w, 3); rows (n, d) are squares where d is one, else one line."""
    if pixels.ndim == 2:
        side = math.isqrt(pixels.shape[1])
        square = (side, side) if side**2 == pixels.shape[1] else (1, pixels.shape[1])
        pixels = pixels.reshape(len(pixels), *square)
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3) and pixels.shape[3] not in (1, 3):
        pixels = np.moveaxis(pixels, 1, 3)
    if pixels.ndim == 4 and pixels.shape[3] == 1:
        pixels = pixels[..., 0]
    if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] != 3):
        raise ImageFileError(
            f"'{name}' has pixels of shape {pixels.shape}: give (n, h, w), (n, h, w, 3) or (n, d)."
        )
    return pixels


def _labels(labels: np.ndarray, name: str) -> np.ndarray:
    y = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if y.ndim != 1 or not _whole(y):
        raise ImageFileError(
            f"'{name}' has labels of shape {labels.shape} and type {labels.dtype}: give one whole "
            "number an image."
        )
    return y.astype(np.int64)


def _whole(y: np.ndarray) -> bool:
    if y.dtype.kind == "f":
        return bool((np.isfinite(y) & (y == np.floor(y))).all())
    return y.dtype.kind in "iub"


def _stored(pixels: np.ndarray, name: str) -> tuple[np.ndarray, float]:
    """Pixels in the smallest type that holds them, and full brightness."""
    if pixels.dtype == np.uint8:
        return pixels, 255.0
    if pixels.dtype.kind not in "iufb" or not pixels.size:
        raise ImageFileError(
            f"'{name}' has pixels of shape {pixels.shape} and type {pixels.dtype}: give numbers."
        )
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0 and high <= 255):  # nan fails too
        raise ImageFileError(
            f"'{name}' has pixels from {low:g} to {high:g}: give 0 to 1, or 0 to 255."
        )
    if pixels.dtype.kind == "f":
        return (pixels, 1.0) if high <= 1 else (pixels, 255.0)
    return pixels.astype(np.uint8), 255.0
