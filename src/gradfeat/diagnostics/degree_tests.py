"""Which Hermite degrees of a target are beyond chance, and the lowest of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.null_draws import NullDraws, p_value
from .degree_strength import degree_strength
from .lower_degrees import Residual


@dataclass(frozen=True)
class DegreeTest:
    """One degree: its strength, what chance gives, and the p-value.

    Attributes
    ----------
    degree : int
        k.
    strength : float
        T_k over the variance of the target, less its mean over random signs: about the share of
        the variance at this degree. (The mean is zero for Gaussian inputs; taking out lower
        degrees moves it where features of different degree are correlated.)
    null : Tensor (2, draws)
        The same of shuffled targets, and of targets with random signs.
    p_value : float
        The larger of the two p-values.
    """

    degree: int
    strength: float
    null: Float[Tensor, "2 draws"]
    p_value: float

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

    Parameters
    ----------
    Z : Tensor (n, d)
        Whitened inputs.
    residual : Residual
        Targets without lower degrees (`gradfeat.diagnostics.lower_degrees`).
    total : float
        Variance of the targets, summed over outputs.
    k : int
        Degree.
    nulls : NullDraws
        Shuffles and signs.

    Returns
    -------
    DegreeTest
        With p-value 1 where lower degrees leave nothing.

    Examples
    --------
    >>> from gradfeat.diagnostics.lower_degrees import residuals_by_degree
    >>> from gradfeat.maths.null_draws import null_draws
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

    Examples
    --------
    >>> nothing = DegreeTest(1, 0.0, torch.zeros(2, 9), 0.8)
    >>> information_exponent([nothing, DegreeTest(2, 0.5, torch.zeros(2, 9), 0.001)], 0.05)
    2
    """
    found = [test.degree for test in tests if test.p_value <= level / len(tests)]
    return min(found, default=None)
