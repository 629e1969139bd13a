"""Inputs of online training: a fresh row a step for several networks, each from its generator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

#: Steps whose inputs are drawn at once.
CHUNK = 100


def online_inputs(draws: list[np.random.Generator], steps: int, d: int) -> Iterator[np.ndarray]:
    """Standard normal inputs (networks, d) of each step."""
    for first in range(0, steps, CHUNK):
        n = min(CHUNK, steps - first)
        yield from np.stack([draw.normal(size=(n, d)) for draw in draws], 1)
