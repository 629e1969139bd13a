"""What the experiments on images share: a pair by its name, the steps that are looked at."""

from __future__ import annotations

import re

from gradfeat.tasks.images import ImagePair, read_images


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
