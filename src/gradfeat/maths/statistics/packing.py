"""Symmetric matrices as one triangle."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def to_triangle(A: Float[Tensor, "n n"]) -> Float[Tensor, " t"]:
    """The upper triangle, row by row: t = n (n + 1) / 2 numbers.

    Examples
    --------
    >>> to_triangle(torch.tensor([[1.0, 2.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    return torch.cat([A[i, i:] for i in range(len(A))]) if len(A) else A.new_zeros(0)


def from_triangle(t: Float[Tensor, " t"]) -> Float[Tensor, "n n"]:
    """The square matrix with this upper triangle, and zeros below it.

    Examples
    --------
    >>> from_triangle(torch.tensor([1.0, 2.0, 3.0])).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    n = int(((8 * t.numel() + 1) ** 0.5 - 1) / 2 + 0.5)
    A, start = t.new_zeros(n, n), 0
    for i in range(n):
        A[i, i:] = t[start : start + n - i]
        start += n - i
    return A
