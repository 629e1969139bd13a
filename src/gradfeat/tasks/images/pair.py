"""Two classes of images as a task with labels -1 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gradfeat.tasks.base import Sample, check_rows
from gradfeat.tasks.images.collection import Images


@dataclass(frozen=True, eq=False)
class ImagePair:
    """Rows x = (brightness - mean image) / scale with mean |x|^2 = 1, labels -1 and 1.

    `scale` is one number, so that directions stay directions of brightness. Mean and scale are
    those of all rows of the pair, labels unseen; they put inputs where the inputs of sparse
    coding are, so that the same initialisation suits both. This is no
    :class:`~gradfeat.tasks.base.Task`: nobody knows true directions of images.

    Source: Shi22, the experiments on real images (pairs of classes).

    >>> from gradfeat.maths.streams import stream
    >>> from gradfeat.tasks.images.read import read_images
    >>> pair = ImagePair.of(read_images("digits"), 0, 1)
    >>> train, test = pair.split(0.25, stream(0, "split"))
    >>> train.sample(100, stream(0, "train")).X.shape, len(test.y)
    (torch.Size([100, 64]), 90)
    """

    X: Float[Tensor, "n d"]
    y: Float[Tensor, "n 1"]
    mean: Float[Tensor, " d"]
    scale: float
    shape: tuple[int, ...]  #: (h, w) or (h, w, 3) of an image.
    name: str

    @classmethod
    def of(cls, images: Images, negative: int, positive: int, *, grey: bool = False) -> ImagePair:
        """The images of two label numbers, -1 and 1; `grey` turns colours to brightness.

        Raises ValueError when a label does not occur, both are the same, or all images are equal.
        """
        _check_labels(images, negative, positive)
        where = (images.y == negative) | (images.y == positive)
        X = torch.from_numpy(images.rows(where, grey=grey))
        y = torch.from_numpy(np.where(images.y[where] == positive, 1.0, -1.0))[:, None]
        mean = X.mean(0)
        X -= mean
        scale = float(X.square().sum(1).mean().sqrt())
        if scale == 0:
            raise ValueError(f"All images of {images.name} are equal: give images that differ.")
        shape = images.shape[:2] if grey else images.shape
        X /= scale
        return cls(X, y, mean, scale, shape, f"{images.name} {negative}/{positive}")

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """n rows without replacement, drawn from `generator` alone.

        Raises ValueError when `n` is below 1 or above the number of rows.
        """
        if check_rows(n) > len(self.y):
            raise ValueError(
                f"A sample of {n:,} rows was asked for and {self.name} has {len(self.y):,}: ask "
                "for at most as many, rows are drawn without replacement."
            )
        chosen = torch.randperm(len(self.y), generator=generator)[:n]
        return Sample(self.X[chosen], self.y[chosen])

    def split(self, test_share: float, generator: torch.Generator) -> tuple[ImagePair, ImagePair]:
        """Training and test part: of each class `test_share` of its rows (rounded) are for test.

        Raises ValueError when a class would have no row in one of the parts.
        """
        held = torch.zeros(len(self.y), dtype=torch.bool)
        for label in (-1.0, 1.0):
            rows = torch.nonzero(self.y[:, 0] == label)[:, 0]
            order = rows[torch.randperm(len(rows), generator=generator)]
            held[order[: _test_rows(len(rows), test_share)]] = True
        return self._part(~held), self._part(held)

    def _part(self, where: Tensor) -> ImagePair:
        return replace(self, X=self.X[where], y=self.y[where])


def _test_rows(n: int, share: float) -> int:
    count = round(share * n) if 0 < share < 1 else 0
    if not 0 < count < n:
        raise ValueError(
            f"A test share of {share} of a class of {n} rows leaves no row in one part: give a "
            "share between 0 and 1 that leaves some in both."
        )
    return count


def _check_labels(images: Images, negative: int, positive: int) -> None:
    there = images.classes
    for label in (negative, positive):
        if label not in there:
            shown = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
            raise ValueError(
                f"There is no class {label} in {images.name}: choose two of the labels {shown}."
            )
    if negative == positive:
        raise ValueError(f"Both classes are {negative}: choose two that differ.")
