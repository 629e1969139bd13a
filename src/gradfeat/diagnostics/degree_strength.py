"""How much of a target's variance sits at one Hermite degree: an unbiased estimate."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.memory import rows_per_block
from .hermite_features import degree_coefficients, feature_count
from .hermite_kernels import hermite_kernels

#: Bytes of kernels held at once: larger blocks leave the cache and take half as long again.
BLOCK_BYTES = 32 * 2**20


def degree_strength(
    Z: Float[Tensor, "n d"], Y: Float[Tensor, "n b"], k: int
) -> Float[Tensor, " b"]:
    """T_k = sum_{i != j} y_i y_j h_k(z_i, z_j) / (n (n - 1)) for each column y of Y.

    For z ~ N(0, I) it estimates sum_{|alpha| = k} E[y phi_alpha(z)]^2, the part of E y^2 at degree
    k, without bias. It does not change when z is rotated. The sum over pairs goes through the
    C(d + k - 1, k) features where they are fewer than rows, else through blocks of the kernel.

    Parameters
    ----------
    Z : Tensor (n, d)
        Whitened inputs, n >= 2.
    Y : Tensor (n, b)
        Centred targets.
    k : int
        Degree, at least 1.

    Source: science key Damian22 (C_k, the Hermite tensors); Hoeffding 1948 (U-statistics).

    Examples
    --------
    >>> Z = torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> strengths = [float(degree_strength(Z, Z[:, :1], k)) for k in (1, 2)]
    >>> [round(t, 1) for t in strengths]
    [1.0, 0.0]
    """
    n, d = Z.shape
    squares = Z.square().sum(1)
    own = hermite_kernels(squares, 2 * squares, d, k)[k]
    by_features = feature_count(d, k) <= n
    sums = _through_features(Z, Y, k) if by_features else _through_kernel(Z, Y, k)
    return (sums - own @ Y.square()) / (n * (n - 1))


def _through_features(Z: Tensor, Y: Tensor, k: int) -> Tensor:
    """Sum over all pairs, as n^2 |c|^2."""
    return len(Z) ** 2 * degree_coefficients(Z, Y, k).square().sum(0)


def _through_kernel(Z: Tensor, Y: Tensor, k: int) -> Tensor:
    """Sum over all pairs, some rows of the kernel matrix at a time."""
    n, d = Z.shape
    squares, total = Z.square().sum(1), Y.new_zeros(Y.shape[1])
    step = rows_per_block((k + 3) * n * Z.element_size(), BLOCK_BYTES)
    for rows in torch.arange(n).split(step):
        s, A = Z[rows] @ Z.T, squares[rows, None] + squares
        total += (Y[rows] * (hermite_kernels(s, A, d, k)[k] @ Y)).sum(0)
    return total
