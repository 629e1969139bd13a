"""How many directions of the inputs the target depends on, and which: a sequential test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.null_draws import NullDraws, p_value
from .hermite_degrees import Residual, degree_coefficients, feature_count, gradient_coefficients

#: Degrees with more features than this are left out: their tensors are too large.
MOST_FEATURES = 12_000

#: Numbers in the gradient tensors of the null that are held at once.
AT_ONCE = 8_000_000


@dataclass(frozen=True)
class DirectionCount:
    """Directions beyond chance, leading first."""

    directions: Float[Tensor, "d r"]  #: (d, r), orthonormal, in the inputs given.
    #: (d,), eigenvalues of the combined matrix, decreasing, all of them.
    values: Float[Tensor, " d"]
    #: (s,), what chance reaches once the directions before are set aside; s = r + 1, or d if r = d.
    thresholds: Float[Tensor, " s"]
    #: degrees, left_out: degrees that were looked at, and those whose tensors are too large.
    degrees: tuple[int, ...]
    left_out: tuple[int, ...]


def count_directions(
    Z: Float[Tensor, "n d"],
    residuals: Sequence[Residual],
    degrees: Sequence[int],
    nulls: NullDraws,
    level: float,
) -> DirectionCount:
    """Directions of D = sum_k D_k / tau_k over the given degrees, tested one after the other.

    D_k = E[grad f_k grad f_k^T], f_k the part of the target at degree k, estimated from the
    coefficients of f_k; tau_k is the median over random signs of its largest eigenvalue, so that
    every degree counts by what it has beyond its own noise. One direction that several degrees
    share is one direction of D. With U the first r eigenvectors, direction r + 1 counts where the
    (r + 1)-th eigenvalue is beyond the largest one of (I - UU^T) D* (I - UU^T), D* from random
    signs; by interlacing the test is conservative. The first that does not count ends it, so the
    number is too large with probability about `level` at most.

    `Z`: whitened inputs; `residuals`: for degrees 1, 2, ...; `degrees`: degrees that are beyond
    chance; `nulls`: signs (the shuffles are not used); `level`: of each step.
    Source: Li 1992 and Cook 1998 for degree 2 (principal Hessian directions).

    >>> from gradfeat.diagnostics.hermite_degrees import residuals_by_degree
    >>> from gradfeat.maths.null_draws import null_draws
    >>> Z = torch.randn(800, 4, generator=torch.Generator().manual_seed(0)).double()
    >>> y = Z[:, :1] + Z[:, :1] * Z[:, 1:2]
    >>> left = residuals_by_degree(Z, y, 2)
    >>> count_directions(Z, left, [1, 2], null_draws(800, 99, 0), 0.05).directions.shape
    torch.Size([4, 2])
    """
    d = Z.shape[1]
    used = tuple(k for k in degrees if feature_count(d, k) <= MOST_FEATURES)
    left_out = tuple(k for k in degrees if k not in used)
    total = torch.zeros(1 + nulls.signs.shape[1], d, d, dtype=Z.dtype)
    for k in used:
        products = _gradient_products(Z, residuals[k - 1], k, nulls)
        total += products / torch.linalg.eigvalsh(products[1:])[:, -1].median()
    values, V = torch.linalg.eigh(total[0])
    values, V = values.flip(0), V.flip(1)
    r, thresholds = _sequential(values, V, total[1:], level) if used else (0, [])
    return DirectionCount(V[:, :r], values, torch.tensor(thresholds), used, left_out)


def _gradient_products(Z: Tensor, residual: Residual, k: int, nulls: NullDraws) -> Tensor:
    """D_k of the targets, and with each of the signs: (1 + draws, d, d), summed over outputs."""
    d = Z.shape[1]
    width = d * feature_count(d, k - 1)
    out = Z.new_zeros(1 + nulls.signs.shape[1], d, d)
    for r in residual.values.T:
        Y = torch.cat([r[:, None], residual.targets(r, nulls)[1]], dim=1)
        c = degree_coefficients(Z, Y, k)
        for at in torch.arange(len(out)).split(max(1, AT_ONCE // width)):
            G = gradient_coefficients(c[:, at], d, k)
            out[at] += G @ G.mT
    return out


def _sequential(values: Tensor, V: Tensor, null: Tensor, level: float) -> tuple[int, list[float]]:
    """Number of directions that count, and the threshold of each step."""
    thresholds = []
    for r in range(len(values)):
        rest = V[:, r:]
        largest = torch.linalg.eigvalsh(rest.T @ null @ rest)[:, -1]
        thresholds.append(float(largest.quantile(1 - level)))
        if p_value(float(values[r]), largest) > level:
            return r, thresholds
    return len(values), thresholds
