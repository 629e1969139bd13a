"""Hermite polynomials of one total degree as features, and the gradients of series in them."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..maths.hermite import orthonormal_hermite
from ..maths.memory import BLOCK_BYTES, rows_per_block


def feature_count(d: int, k: int) -> int:
    """Number of multi-indices alpha in N^d with |alpha| = k: C(d + k - 1, k).

    Examples
    --------
    >>> feature_count(10, 4)
    715
    """
    return math.comb(d + k - 1, k)


def axes_of(d: int, k: int) -> Int[Tensor, "p k"]:
    """Each multi-index of degree k as its ascending list of k axes, in lexicographic order.

    Examples
    --------
    >>> axes_of(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    if k == 0:
        return torch.zeros(1, 0, dtype=torch.long)
    axes = torch.combinations(torch.arange(d), r=k, with_replacement=True)
    return axes.reshape(-1, k)


def hermite_features(Z: Float[Tensor, "n d"], axes: Int[Tensor, "p k"]) -> Float[Tensor, "p n"]:
    """phi_alpha(z_i) = prod_a He_{alpha_a}(z_ia) / sqrt(alpha_a!), one row a feature.

    Examples
    --------
    >>> hermite_features(torch.tensor([[2.0, 3.0]]).double(), axes_of(2, 2))[:, 0].tolist()[1]
    6.0
    """
    n, d = Z.shape
    k = axes.shape[1]
    table = torch.as_tensor(orthonormal_hermite(k, Z.T.numpy())).movedim(-1, 1)
    flat = table.reshape(d * (k + 1), n)
    out = torch.ones(len(axes), n, dtype=Z.dtype)
    for j in range(k):
        earlier = (axes[:, :j] == axes[:, j : j + 1]).any(1)
        degree = (axes == axes[:, j : j + 1]).sum(1).where(~earlier, 0)
        out *= flat[axes[:, j] * (k + 1) + degree]
    return out


def degree_coefficients(
    Z: Float[Tensor, "n d"], Y: Float[Tensor, "n b"], k: int
) -> Float[Tensor, "p b"]:
    """c_alpha = (1/n) sum_i y_i phi_alpha(z_i), |alpha| = k, for each column y of Y.

    Features are formed some at a time, within `gradfeat.maths.memory.BLOCK_BYTES`.

    Examples
    --------
    >>> Z = torch.tensor([[1.0], [-1.0]]).double()
    >>> degree_coefficients(Z, 3 * Z, 1).tolist()
    [[3.0]]
    """
    axes = axes_of(Z.shape[1], k)
    step = rows_per_block(2 * Z.element_size() * len(Z), BLOCK_BYTES)
    parts = [hermite_features(Z, some) @ Y for some in axes.split(step)]
    return torch.cat(parts) / len(Z)


def gradient_coefficients(c: Float[Tensor, "p b"], d: int, k: int) -> Float[Tensor, "b d q"]:
    """Coefficients of the gradient of f = sum_{|alpha| = k} c_alpha phi_alpha, for each column.

    d f/dz_a = sum_{|beta| = k-1} sqrt(beta_a + 1) c_{beta + e_a} phi_beta, so that G G^T is
    E[grad f grad f^T] for Z ~ N(0, I_d), with trace k sum c_alpha^2.

    Examples
    --------
    >>> gradient_coefficients(torch.tensor([[0.0], [1.0], [0.0]]), 2, 2)[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    lower = axes_of(d, k - 1)
    base = d ** torch.arange(k - 1, -1, -1)
    codes = axes_of(d, k) @ base
    rows = []
    for a in range(d):
        joined = torch.cat([lower, torch.full((len(lower), 1), a)], dim=1).sort(1).values
        at = torch.searchsorted(codes, joined @ base)
        rows.append(((lower == a).sum(1) + 1.0).sqrt()[:, None].to(c) * c[at])
    return torch.stack(rows).permute(2, 0, 1)
