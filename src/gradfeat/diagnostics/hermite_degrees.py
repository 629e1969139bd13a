"""Hermite features of one total degree, and what is left of targets once lower ones are fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..maths.hermite import orthonormal_hermite
from ..maths.limits import BLOCK_BYTES, rows_per_block
from ..maths.streams import NullDraws


def feature_count(d: int, k: int) -> int:
    """Number of multi-indices alpha in N^d with |alpha| = k: C(d + k - 1, k).

    >>> feature_count(10, 4)
    715
    """
    return math.comb(d + k - 1, k)


def axes_of(d: int, k: int) -> Int[Tensor, "p k"]:
    """Each multi-index of degree k as its ascending list of k axes, in lexicographic order.

    >>> axes_of(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    if k == 0:
        return torch.zeros(1, 0, dtype=torch.long)
    return torch.combinations(torch.arange(d), r=k, with_replacement=True).reshape(-1, k)


def hermite_features(Z: Float[Tensor, "n d"], axes: Int[Tensor, "p k"]) -> Float[Tensor, "p n"]:
    """phi_alpha(z_i) = prod_a He_{alpha_a}(z_ia) / sqrt(alpha_a!), one row a feature.

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

    Features are formed some at a time, within `gradfeat.maths.limits.BLOCK_BYTES`.

    >>> Z = torch.tensor([[1.0], [-1.0]]).double()
    >>> degree_coefficients(Z, 3 * Z, 1).tolist()
    [[3.0]]
    """
    axes = axes_of(Z.shape[1], k)
    step = rows_per_block(2 * Z.element_size() * len(Z), BLOCK_BYTES)
    parts = [hermite_features(Z, some) @ Y for some in axes.split(step)]
    return torch.cat(parts) / len(Z)


#: Lower degrees are fitted while their features are at most this share of the rows.
MOST_FEATURES = 1 / 3

#: Of a row that the fit follows entirely, so much counts as left.
LEAST_KEPT = 0.05

#: A residual with less than this share of the variance is rounding.
NOTHING = 1e-12


@dataclass(frozen=True)
class Residual:
    """Targets minus the least-squares fit of all degrees up to `removed`."""

    values: Float[Tensor, "n c"]  #: (n, c), zero where what is left is rounding.
    #: (n, p), orthonormal; spans the features of those degrees at the rows, constants included.
    basis: Float[Tensor, "n p"]
    removed: int  #: Highest degree fitted, 0 for the mean alone.

    def targets(
        self, r: Float[Tensor, " n"], nulls: NullDraws
    ) -> tuple[Float[Tensor, "n draws"], Float[Tensor, "n draws"]]:
        """One output as it would be if the inputs said nothing: shuffled, and with random signs.

        The fit of the same degrees is taken out of each draw, so that a null sees what the target
        sees, whatever the correlation of its features with those of lower degree. That shrinks
        row i by 1 - h_i, h_i its leverage, as it shrank the target's own error; so shuffles start
        from r_i / sqrt(1 - h_i), of equal variance, and signs from r_i / (1 - h_i), the residual
        of a fit without row i.

        Source: Freedman & Lane 1983; MacKinnon & White 1985 (HC2, HC3); Davidson & Flachaire 2008.
        """
        kept = (1 - self.basis.square().sum(1)).clamp(min=LEAST_KEPT)
        return self._of(nulls.shuffled(r / kept.sqrt())), self._of(nulls.flipped(r / kept))

    def _of(self, Y: Float[Tensor, "n b"]) -> Float[Tensor, "n b"]:
        """Other targets minus the fit of the same degrees to them."""
        return torch.addmm(Y, self.basis, self.basis.T @ Y, alpha=-1)


def residuals_by_degree(
    Z: Float[Tensor, "n d"], y: Float[Tensor, "n c"], k_max: int
) -> list[Residual]:
    """Residuals to test degrees 1, ..., k_max on: degree k has degrees below k taken out.

    On inputs that are not Gaussian the Hermite polynomials of different degree are correlated;
    taking the lower ones out keeps a linear target from being seen at degree 2. Degrees whose
    features would exceed a third of the rows are not taken out (the fit would follow the noise).

    >>> Z = torch.randn(200, 2, generator=torch.Generator().manual_seed(0)).double()
    >>> [round(float(r.values.abs().max()), 8) for r in residuals_by_degree(Z, Z[:, :1], 3)][1:]
    [0.0, 0.0]
    """
    n, d = Z.shape
    features = torch.ones(n, 1, dtype=Z.dtype)
    out = [_residual(features, y, 0)]
    for k in range(1, k_max):
        last = out[-1]
        if last.removed < k - 1 or features.shape[1] + feature_count(d, k) > MOST_FEATURES * n:
            out.append(last)
            continue
        features = torch.cat([last.basis, hermite_features(Z, axes_of(d, k)).T], dim=1)
        out.append(_residual(features, y, k))
    return out


def _residual(features: Tensor, y: Tensor, removed: int) -> Residual:
    basis = torch.linalg.qr(features)[0]
    left = y - basis @ (basis.T @ y)
    rounding = left.square().sum() <= NOTHING * (y - y.mean(0)).square().sum()
    return Residual(torch.zeros_like(left) if rounding else left, basis, removed)
