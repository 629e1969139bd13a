"""A kernel and a target in one expansion: all that the learning curve of ridge needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from .kernel_curve import ridge_risk
from .zonal_spectrum import ZonalSpectrum

#: Penalties between which a kernel with k(x, x) = 1 chooses: the factor between two is 10^(1/2).
PENALTIES: Final = tuple(float(p) for p in np.geomspace(1e-7, 1e4, 23))


@final
@dataclass(frozen=True, eq=False)
class KernelLaw:
    """Eigenvalues of the kernel, shares of the target in its eigenfunctions, and the rest.

    Attributes
    ----------
    spectrum : ZonalSpectrum
        Eigenvalues in groups, with the number in each group; of any kernel, zonal or not.
    shares : tuple of float
        E (part of a group)^2 of f*.
    beyond : float
        E f*^2 minus the shares.
    """

    spectrum: ZonalSpectrum
    shares: tuple[float, ...]
    beyond: float

    def risk(self, n: ArrayLike, ridge: float, noise: float = 0.0) -> np.ndarray:
        """E (f - f*)^2 of ridge on n rows, see `ridge_risk`."""
        return ridge_risk(
            self.spectrum, self.shares, n, ridge=ridge, noise=noise, beyond=self.beyond
        )


def tuned_risk(laws: Iterable[KernelLaw], n: ArrayLike, noise: float = 0.0) -> np.ndarray:
    """The least risk at each n over several kernels and `PENALTIES`.

    What a choice by leave-one-out aims at; its own error is left out.

    Source: Simon et al. 2021 for each of them.

    Examples
    --------
    >>> law = KernelLaw(ZonalSpectrum((1.0, 10.0), (0.0, 0.1)), (0.0, 1.0), 0.0)
    >>> tuned_risk([law], [20, 200], noise=0.5).round(3).tolist()
    [0.177, 0.013]
    """
    return np.min([law.risk(n, p, noise) for law in laws for p in PENALTIES], axis=0)
