"""The target of the fifth talk in numbers: a polynomial of one direction, plus noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.hermite import HermiteSeries, root_factorials


@dataclass(frozen=True)
class Teacher:
    """y = sum_k c_{*k} He_k(b.x) + noise eps, |b| = 1, eps ~ N(0, 1), x ~ N(0, I_d).

    Raises ValueError when there is no coefficient, one is not finite, or the noise is negative or
    not finite.
    Source: Moniri24, Section 2.

    >>> setting_2 = Teacher((0.0, 1.0, 0.5**0.5))
    >>> float(setting_2.power.round(9)), float(setting_2.beyond_linear.round(9))
    (2.0, 1.0)
    """

    coefficients: Sequence[float]  #: c_{*0}, c_{*1}, ...
    noise: ArrayLike = 0.0  #: Standard deviation sigma_eps, 0 or more.

    def __post_init__(self) -> None:
        series = HermiteSeries(tuple(float(c) for c in self.coefficients))
        noise = np.asarray(self.noise, dtype=np.float64)
        if not (np.isfinite(noise).all() and (noise >= 0).all()):
            raise ValueError(f"The noise is {self.noise}: give standard deviations of 0 or more.")
        object.__setattr__(self, "coefficients", series.coefficients)
        object.__setattr__(self, "noise", noise)

    @property
    def mean(self) -> float:
        """c_{*0} = E y."""
        return self.coefficients[0]

    @property
    def linear(self) -> float:
        """c_{*1}."""
        return self.coefficients[1] if len(self.coefficients) > 1 else 0.0

    @property
    def target_power(self) -> float:
        """c_*^2 = E f*^2."""
        return HermiteSeries(tuple(self.coefficients)).norm_squared()

    @property
    def power(self) -> np.ndarray:
        """E y^2 = c_*^2 + sigma_eps^2."""
        return self.target_power + np.square(self.noise)

    @property
    def beyond_linear(self) -> np.ndarray:
        """E y^2 - c_{*1}^2: what no linear function of x predicts, the least linear test error."""
        return self.power - self.linear**2

    def components(self, k_max: int) -> np.ndarray:
        """E[f* He_k(b.x)]/sqrt(k!) = sqrt(k!) c_{*k} for k = 0, ..., k_max.

        >>> Teacher((0.0, 1.0, 0.5**0.5)).components(3).round(3).tolist()
        [0.0, 1.0, 1.0, 0.0]
        """
        size = max(k_max + 1, len(self.coefficients))
        c = np.zeros(size)
        c[: len(self.coefficients)] = self.coefficients
        return (c * root_factorials(size - 1))[: k_max + 1]
