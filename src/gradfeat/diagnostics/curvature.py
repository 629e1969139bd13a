"""The spectrum of H = E[grad^2 f], and what chance makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.memory import BLOCK_BYTES, rows_per_block
from ..maths.null_draws import NullDraws, p_value
from .hermite_degrees import Residual


@dataclass(frozen=True)
class CurvatureTest:
    """Eigenvalues of H against those of targets that the inputs say nothing about."""

    #: (d,), decreasing, with sign for one output; for several the roots of those of sum_c H_c^2.
    eigenvalues: Float[Tensor, " d"]
    #: low, high (d,): the middle 95 % of each ordered eigenvalue, over shuffles and over signs: the
    #: wider ends.
    low: Float[Tensor, " d"]
    high: Float[Tensor, " d"]
    #: Absolute eigenvalue that `1 - level` of the shuffles, and of the signs, stay below.
    threshold: float
    p_value: float  #: Of the largest absolute eigenvalue: the larger one of the two nulls.


def hessian_means(Z: Float[Tensor, "n d"], Y: Float[Tensor, "n b"]) -> Float[Tensor, "b d d"]:
    """H = (1/n) sum_i y_i (z_i z_i^T - I) for each column y of Y.

    By Stein's identity it estimates E[grad^2 f] for z ~ N(0, I) and f = E[y | z].

    Source: Stein 1981; science key Damian22, section 2.

    >>> Z = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> hessian_means(Z, torch.tensor([[2.0], [0.0]]))[0].tolist()
    [[0.0, 0.0], [0.0, -1.0]]
    """
    n, d = Z.shape
    out = Z.new_zeros(Y.shape[1], d * d)
    for rows in torch.arange(n).split(rows_per_block(d * d * Z.element_size(), BLOCK_BYTES)):
        products = (Z[rows, :, None] * Z[rows, None, :]).reshape(len(rows), -1)
        out += Y[rows].T @ products
    H = out.reshape(-1, d, d) / n
    return H - Y.mean(0)[:, None, None] * torch.eye(d, dtype=Z.dtype)


def curvature_test(
    Z: Float[Tensor, "n d"], residual: Residual, nulls: NullDraws, level: float
) -> CurvatureTest:
    """Spectrum of H of the targets without their linear part, against both nulls.

    `Z`: whitened inputs; `residual`: of degree 1; `nulls`: shuffles and signs; `level`: of the
    threshold.

    >>> from gradfeat.diagnostics.hermite_degrees import residuals_by_degree
    >>> from gradfeat.maths.null_draws import null_draws
    >>> Z = torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> two = residuals_by_degree(Z, Z[:, :1] ** 2 / 2, 2)[1]
    >>> found = curvature_test(Z, two, null_draws(2000, 99, 0), 0.05)
    >>> found.p_value, bool(found.eigenvalues[1] < found.threshold < found.eigenvalues[0])
    (0.01, True)
    """
    values = _spectra(Z, residual, nulls)
    null = values[1:].reshape(2, -1, Z.shape[1])
    ends = torch.tensor([0.025, 0.975], dtype=Z.dtype)
    low, high = null.quantile(ends, dim=1)
    size, largest = float(values[0].abs().max()), null.abs().amax(2)
    threshold = float(largest.quantile(1 - level, dim=1).max())
    p = max(p_value(size, one) for one in largest)
    return CurvatureTest(values[0], low.amin(0), high.amax(0), threshold, p)


def _spectra(Z: Tensor, residual: Residual, nulls: NullDraws) -> Tensor:
    """Eigenvalues, decreasing, of the targets, each shuffle and each sign: (1 + 2 draws, d)."""
    Y = []
    for r in residual.values.T:
        Y.append(torch.cat([r[:, None], *residual.targets(r, nulls)], dim=1))
    if len(Y) == 1:
        return torch.linalg.eigvalsh(hessian_means(Z, Y[0])).flip(1)
    squares = torch.stack([H @ H for H in (hessian_means(Z, one) for one in Y)]).sum(0)
    return torch.linalg.eigvalsh(squares).flip(1).clamp(min=0).sqrt()
