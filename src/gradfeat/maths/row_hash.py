"""A 63-bit number for each row of a table, from its values alone."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64: every bit of the result depends on every bit of `h`.

    Source: Steele, Lea & Flood 2014.

    Examples
    --------
    >>> mixed(np.array([0, 1], dtype=np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def started(n: int, seed: int) -> NDArray[np.uint64]:
    """Hashes of n rows before any of their values."""
    return mixed(np.full(n, np.uint64(seed), dtype=np.uint64) + _MULTIPLIER)


def with_bits(h: NDArray[np.uint64], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`h` with one more column mixed in, given as 64 bits a row."""
    return mixed(h * _MULTIPLIER + bits)


def column_hash(values: NDArray[np.float64], h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`h` with one more column of values (n,) mixed in; 0.0 and -0.0 are the same value."""
    return with_bits(h, np.ascontiguousarray(values + 0.0).view(np.uint64))


def row_hash(X: Float[Tensor, "n d"], y: Float[Tensor, "n c"], seed: int) -> Int[Tensor, " n"]:
    """Hash (n,) of the values of each row (x, y), uniform on 0 to 2^63 - 1; on the CPU.

    Examples
    --------
    >>> X = torch.tensor([[0.0], [1.0], [-0.0]])
    >>> h = row_hash(X, X, seed=0)
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    h = started(len(X), seed)
    for part in (X, y):
        for column in part.double().cpu().numpy().T:
            h = column_hash(column, h)
    return torch.from_numpy((h >> np.uint64(1)).astype(np.int64))
