"""Which Hermite degrees of a target are beyond chance, by the variance that sits at each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.limits import rows_per_block
from ..maths.streams import NullDraws, p_value
from .hermite_degrees import Residual, degree_coefficients, feature_count


def hermite_kernels(
    s: Float[Tensor, "*shape"], squares: Float[Tensor, "*shape"], d: int, k_max: int
) -> list[Float[Tensor, "*shape"]]:
    """h_k(x, z) = sum_{|alpha| = k} He_alpha(x) He_alpha(z) / alpha! for k = 0, ..., k_max.

    A polynomial in s = x.z and A = |x|^2 + |z|^2 by
    (k+1) h_{k+1} = s h_k + (2(k-1) + d - A) h_{k-1} + s h_{k-2} - (k-3+d) h_{k-3},
    which is Mehler's kernel sum_k rho^k h_k differentiated in rho. For x, z ~ N(0, I_d) and any f,
    E f(x) f(z) h_k(x, z) is the part of E f^2 at degree k.

    `s`, `squares`: x.z, and |x|^2 + |z|^2; `d`: dimension of x and z.
    Source: Mehler 1866.

    >>> x, z = torch.tensor(2.0), torch.tensor(3.0)
    >>> [float(h) for h in hermite_kernels(x * z, x**2 + z**2, 1, 2)]
    [1.0, 6.0, 12.0]
    """
    h = [torch.ones_like(s)]
    for k in range(k_max):
        total = s * h[k]
        if k >= 1:
            total += (2 * (k - 1) + d - squares) * h[k - 1]
        if k >= 2:
            total += s * h[k - 2]
        if k >= 3:
            total -= (k - 3 + d) * h[k - 3]
        h.append(total / (k + 1))
    return h


#: Bytes of kernels held at once: larger blocks leave the cache and take half as long again.
BLOCK_BYTES = 32 * 2**20


def degree_strength(
    Z: Float[Tensor, "n d"], Y: Float[Tensor, "n b"], k: int
) -> Float[Tensor, " b"]:
    """T_k = sum_{i != j} y_i y_j h_k(z_i, z_j) / (n (n - 1)) for each column y of Y.

    For z ~ N(0, I) it estimates sum_{|alpha| = k} E[y phi_alpha(z)]^2, the part of E y^2 at degree
    k, without bias. It does not change when z is rotated. The sum over pairs goes through the
    C(d + k - 1, k) features where they are fewer than rows, else through blocks of the kernel.

    `Z`: whitened inputs, n >= 2; `Y`: centred targets; `k`: degree, at least 1.
    Source: science key Damian22 (C_k, the Hermite tensors); Hoeffding 1948 (U-statistics).

    >>> Z = torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> strengths = [float(degree_strength(Z, Z[:, :1], k)) for k in (1, 2)]
    >>> [round(t, 1) for t in strengths]
    [1.0, 0.0]
    """
    n, d = Z.shape
    squares = Z.square().sum(1)
    own = hermite_kernels(squares, 2 * squares, d, k)[k]
    sums = (_through_features if feature_count(d, k) <= n else _through_kernel)(Z, Y, k)
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


@dataclass(frozen=True)
class DegreeTest:
    """One degree: its strength, what chance gives, and the p-value."""

    degree: int  #: k.
    #: T_k over the variance of the target, less its mean over random signs: about the share of the
    #: variance at this degree. (The mean is zero for Gaussian inputs; taking out lower degrees
    #: moves it where features of different degree are correlated.)
    strength: float
    #: (2, draws), the same of shuffled targets, and of targets with random signs.
    null: Float[Tensor, "2 draws"]
    p_value: float  #: The larger of the two p-values.

    def critical(self, level: float) -> float:
        """Strength that has p <= level: smaller ones would not be seen.

        The k-th largest of the null, k the integer part of level (1 + draws).
        """
        draws = self.null.shape[1]
        k = max(1, min(draws, int(level * (1 + draws) + 1e-9)))
        return float(self.null.topk(k, dim=1).values[:, -1].max())


def degree_test(
    Z: Float[Tensor, "n d"], residual: Residual, total: float, k: int, nulls: NullDraws
) -> DegreeTest:
    """Test degree k of the targets against shuffles and random signs.

    `Z`: whitened inputs; `residual`: targets without lower degrees
    (`gradfeat.diagnostics.hermite_degrees`); `total`: variance of the targets, summed over outputs;
    `k`: degree; `nulls`: shuffles and signs.
    The p-value is 1 where lower degrees leave nothing.

    >>> from gradfeat.diagnostics.hermite_degrees import residuals_by_degree
    >>> from gradfeat.maths.streams import null_draws
    >>> Z = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> y = Z[:, :1] ** 2 - 1
    >>> two = residuals_by_degree(Z, y, 2)[1]
    >>> degree_test(Z, two, 2.0, 2, null_draws(500, 99, 0)).p_value
    0.01
    """
    draws = nulls.orders.shape[1]
    strengths = torch.zeros(1 + 2 * draws, dtype=Z.dtype)
    for r in residual.values.T:
        Y = torch.cat([r[:, None], *residual.targets(r, nulls)], dim=1)
        strengths += degree_strength(Z, Y, k) / total
    strengths -= strengths[1 + draws :].mean()
    observed, null = float(strengths[0]), strengths[1:].reshape(2, draws)
    p = max(p_value(observed, one) for one in null)
    return DegreeTest(k, observed, null, p)


def information_exponent(tests: list[DegreeTest], level: float) -> int | None:
    """Lowest degree with p <= level / number of degrees (Bonferroni); None where there is none.

    >>> nothing = DegreeTest(1, 0.0, torch.zeros(2, 9), 0.8)
    >>> information_exponent([nothing, DegreeTest(2, 0.5, torch.zeros(2, 9), 0.001)], 0.05)
    2
    """
    return min((t.degree for t in tests if t.p_value <= level / len(tests)), default=None)
