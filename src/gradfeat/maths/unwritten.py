"""Room for matrices that are filled later, apart from what counts bytes: that needs no torch."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


def unwritten(n: int, m: int, like: Tensor) -> Float[Tensor, "n m"]:
    """A matrix to be filled, of the type and device of `like`.

    On a CPU NumPy allocates it: it asks the system for huge pages, without which the first write of
    a large matrix costs as much as its exponentials.
    """
    if like.device.type != "cpu":
        return like.new_empty(n, m)
    return torch.from_numpy(np.empty((n, m), dtype=like.new_empty(0).numpy().dtype))


class Arena:
    """Room for copies of many small matrices, taken from few parts of memory of `entries` numbers.

    A larger matrix gets a part of its own.
    """

    def __init__(self, entries: int = 2**24) -> None:
        self._entries = entries
        self._part = torch.empty(0)

    def keep(self, A: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        size = A.numel()
        if size > len(self._part) or self._part.dtype != A.dtype:
            self._part = unwritten(1, max(size, self._entries), A)[0]
        room, self._part = self._part[:size], self._part[size:]
        return room.view(A.shape).copy_(A)
