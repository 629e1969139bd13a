"""Named random streams: the same numbers whatever else was drawn, on every device."""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def _seed_of(seed: int, name: str) -> int:
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def stream(seed: int, name: str) -> torch.Generator:
    """CPU generator number (`seed`, `name`), independent of every other name.

    Draw on the CPU, then move: the numbers are the same on every device.

    >>> a, b = (torch.rand(2, generator=stream(0, "W0")) for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    return torch.Generator("cpu").manual_seed(_seed_of(seed, name))


def numpy_stream(seed: int, name: str) -> np.random.Generator:
    """Return the NumPy counterpart of :func:`stream` (its own numbers, same independence)."""
    return np.random.default_rng(_seed_of(seed, name))
