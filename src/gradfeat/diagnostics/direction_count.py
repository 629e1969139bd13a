"""How the target bends, and which directions it depends on: tests against chance.

H = E[grad^2 f] has a spectrum; directions are counted one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.limits import BLOCK_BYTES, rows_per_block
from ..maths.streams import NullDraws, p_value
from .hermite_degrees import Residual, axes_of, degree_coefficients, feature_count


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
    >>> from gradfeat.maths.streams import null_draws
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
    >>> from gradfeat.maths.streams import null_draws
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


def gradient_coefficients(c: Float[Tensor, "p b"], d: int, k: int) -> Float[Tensor, "b d q"]:
    """Coefficients of the gradient of f = sum_{|alpha| = k} c_alpha phi_alpha, for each column.

    d f/dz_a = sum_{|beta| = k-1} sqrt(beta_a + 1) c_{beta + e_a} phi_beta, so that G G^T is
    E[grad f grad f^T] for Z ~ N(0, I_d), with trace k sum c_alpha^2.

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
