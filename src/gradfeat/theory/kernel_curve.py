"""Learning curves of kernels: ridge from the eigenvalues, at finite n and d; and the staircase of
rotation-invariant ones, which degrees n = d^kappa rows are enough for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from ..maths.hermite import HermiteSeries, root_factorials
from ..maths.multi_hermite import MultiHermite
from ..maths.ranges import finite
from .zonal_spectrum import ZonalSpectrum

#: Penalties between which a kernel with k(x, x) = 1 chooses: the factor between two is 10^(1/2).
PENALTIES: Final = tuple(float(p) for p in np.geomspace(1e-7, 1e4, 23))


@final
@dataclass(frozen=True, eq=False)
class KernelLaw:
    """Eigenvalues of the kernel, shares of the target in its eigenfunctions, and the rest."""

    #: Eigenvalues in groups, with the number in each group; of any kernel, zonal or not.
    spectrum: ZonalSpectrum
    shares: tuple[float, ...]  #: E (part of a group)^2 of f*.
    beyond: float  #: E f*^2 minus the shares.

    def risk(self, n: ArrayLike, ridge: float, noise: float = 0.0) -> np.ndarray:
        """E (f - f*)^2 of ridge on n rows, see `ridge_risk`."""
        return ridge_risk(
            self.spectrum, self.shares, n, ridge=ridge, noise=noise, beyond=self.beyond
        )


def tuned_risk(laws: Iterable[KernelLaw], n: ArrayLike, noise: float = 0.0) -> np.ndarray:
    """The least risk at each n over several kernels and `PENALTIES`.

    What a choice by leave-one-out aims at; its own error is left out.

    Regime: that of `ridge_risk`.
    Source: Simon et al. 2021 for each of them.

    >>> law = KernelLaw(ZonalSpectrum((1.0, 10.0), (0.0, 0.1)), (0.0, 1.0), 0.0)
    >>> tuned_risk([law], [20, 200], noise=0.5).round(3).tolist()
    [0.177, 0.013]
    """
    return np.min([law.risk(n, p, noise) for law in laws for p in PENALTIES], axis=0)


def ridge_risk(
    spectrum: ZonalSpectrum,
    shares: Sequence[float],
    n: ArrayLike,
    *,
    ridge: float,
    noise: float = 0.0,
    beyond: float = 0.0,
) -> np.ndarray:
    """E (f(x) - f*(x))^2 of f(x) = k(x, X)(K + ridge I)^{-1} y on n rows: the smooth staircase.

    n/(n - sum_k N_k L_k^2) [sum_k share_k (1 - L_k)^2 + beyond + noise^2] - noise^2, where
    L_k = eigenvalue_k/(eigenvalue_k + kappa), N_k the multiplicities, and kappa > 0 solves
    n = sum_k N_k L_k + (ridge + tail)/kappa.

    `spectrum`: of the kernel, its tail acts as a ridge; `shares`: E (part of degree k)^2 of f*: at
    most as many degrees as the spectrum; `n`: rows, above 0; `ridge`: penalty, 0 or more, above 0
    where the tail is 0; `noise`: standard deviation of the label noise; `beyond`: the part of E
    f*^2 outside every eigenfunction, it acts as noise and stays in the risk.
    Regime: a deterministic equivalent: eigenfunctions as if Gaussian, n large. With d around 10
    it meets simulations from n of a few tens on.
    Raises ValueError when an argument is out of its range.
    Source: Simon et al. 2021, the eigenlearning equations; Bordelon, Canatar & Pehlevan 2020.

    >>> linear = ZonalSpectrum((1.0, 10.0), (0.0, 1.0))
    >>> ridge_risk(linear, (0.0, 1.0), [20, 200], ridge=1e-9, noise=0.5).round(4).tolist()
    [0.25, 0.0132]
    """
    n = np.asarray(n, dtype=np.float64)
    _check(spectrum, shares, n, ridge, (noise, beyond))
    N, eigenvalues = np.array(spectrum.multiplicities), np.array(spectrum.eigenvalues)
    L = eigenvalues / (eigenvalues + effective_ridge(spectrum, n, ridge=ridge)[..., None])
    left = 1 - L[..., : len(shares)]
    bias = left**2 @ np.asarray(shares, dtype=np.float64)
    return n / (n - L**2 @ N) * (bias + beyond + noise**2) - noise**2


def effective_ridge(spectrum: ZonalSpectrum, n: ArrayLike, *, ridge: float) -> np.ndarray:
    """kappa with n = sum_k N_k eigenvalue_k/(eigenvalue_k + kappa) + (ridge + tail)/kappa.

    A degree is learnt where its eigenvalue is well above kappa.

    Regime: that of `ridge_risk`.
    Raises ValueError as `ridge_risk`.
    Source: Simon et al. 2021.

    >>> float(effective_ridge(ZonalSpectrum((10.0,), (1.0,)), 20, ridge=15.0).round(12))
    1.0
    """
    n = np.asarray(n, dtype=np.float64)
    _check(spectrum, (), n, ridge, ())
    roots = [_root(spectrum, float(rows), ridge + spectrum.tail) for rows in n.ravel()]
    return np.reshape(roots, n.shape)


def _root(spectrum: ZonalSpectrum, n: float, penalty: float) -> float:
    """The root lies between penalty/n and (penalty + trace)/n; solved in log kappa."""
    from scipy.optimize import brentq

    N, eigenvalues = np.array(spectrum.multiplicities), np.array(spectrum.eigenvalues)

    def excess(log_kappa: float) -> float:
        kappa = np.exp(log_kappa)
        return float(N @ (eigenvalues / (eigenvalues + kappa)) + penalty / kappa - n)

    low, high = np.log(penalty / n), np.log((penalty + float(N @ eigenvalues)) / n)
    root = brentq(excess, low - 1e-9, high + 1e-9, xtol=1e-14, full_output=True)[0]
    return math.exp(root)


def _check(
    spectrum: ZonalSpectrum,
    shares: Sequence[float],
    n: np.ndarray,
    ridge: float,
    amounts: Sequence[float],
) -> None:
    given = np.array([*shares, *amounts])
    finite(n=n, shares=shares, noise=amounts)
    if not ((n > 0).all() and (given >= 0).all()):
        raise ValueError(
            f"n goes down to {n.min()}, the shares are {tuple(shares)} and the noise and the part"
            f" beyond {tuple(amounts)}: give n > 0 and numbers of 0 or more."
        )
    if not (0 <= ridge < math.inf and ridge + spectrum.tail > 0):
        raise ValueError(
            f"The ridge is {ridge} and the tail of the spectrum {spectrum.tail}: give a ridge"
            " above 0 and finite."
        )
    if len(shares) > len(spectrum.eigenvalues):
        raise ValueError(
            f"There are shares of {len(shares)} degrees and eigenvalues of"
            f" {len(spectrum.eigenvalues)}: give a spectrum of as many degrees."
        )


#: Relative distance of n from a power of d that is taken for rounding.
_EDGE = 1e-9


def degree_shares(g: MultiHermite) -> tuple[float, ...]:
    """E (part of degree k)^2 for k = 0, ..., degree of g: its shares of E g^2.

    >>> degree_shares(MultiHermite(((1, 1), (0, 0)), (2.0, 1.0)))
    (1.0, 0.0, 4.0)
    """
    return tuple(g.part(k).norm_squared() for k in range(g.degree + 1))


def series_shares(g: HermiteSeries) -> tuple[float, ...]:
    """c_k^2 k!: the shares of a function of one direction.

    >>> [round(s, 12) for s in series_shares(HermiteSeries((1.0, 0.0, 2.0)))]
    [1.0, 0.0, 8.0]
    """
    norms = root_factorials(len(g.coefficients) - 1)
    squares = np.square(np.multiply(g.coefficients, norms))
    return tuple(squares.tolist())


def degree_learned(d: int, n: ArrayLike) -> np.ndarray:
    """l = floor(log n / log d): the highest degree that n rows in d inputs are enough for.

    `d`: inputs, at least 2; `n`: rows, at least 1.
    Regime: d^{l+delta} <= n <= d^{l+1-delta}, d large; where n is a power of d, nan and a warning.
    Raises ValueError when d is below 2 or n below 1.
    Source: Ghorbani et al. 2021, Theorem 4.

    >>> degree_learned(10, [30, 300, 3000]).tolist()
    [1.0, 2.0, 3.0]
    """
    n = np.asarray(n, dtype=np.float64)
    finite(d=d, n=n)
    if d < 2 or not (n >= 1).all():
        raise ValueError(f"d is {d} and n at least {n.min()}: give d >= 2 and n >= 1.")
    kappa = np.log(n) / np.log(d)
    edge = np.abs(n / float(d) ** np.round(kappa) - 1) < _EDGE
    if edge.any():
        warnings.warn(
            f"The staircase jumps where n is a power of d = {d}, so it is nan at n ="
            f" {n[edge].tolist()}: give n between two powers.",
            RuntimeWarning,
            stacklevel=2,
        )
    return np.where(edge, np.nan, np.floor(kappa))


def staircase_risk(shares: Sequence[float], d: int, n: ArrayLike) -> np.ndarray:
    """sum_{k > l} share_k, l = floor(log n / log d): what a kernel leaves of E f*^2 at n rows.

    Kernel ridge or any method on a fixed rotation-invariant kernel whose every degree up to l is
    non-zero. For He_2/2 + He_p/sqrt(2 p!): 1 below d^2, 1/2 between d^2 and d^p, 0 above. (The
    ReLU tangent kernel without bias has no odd degree from 3 on and never learns those.)

    `shares`: of degree 0, 1, ...: `series_shares`, `degree_shares`; `d`: inputs, at least 2; `n`:
    rows, at least 1.
    Regime: as `degree_learned`; at finite d the steps are smooth, see `ridge_risk`.
    Raises ValueError as `degree_learned`, or where a share is negative.
    Source: Ghorbani et al. 2021, Theorem 4.

    >>> staircase_risk((0.0, 0.0, 0.5, 0.0, 0.5), 10, [30, 300, 3000, 30000]).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    finite(shares=shares)
    if not np.min(shares) >= 0:
        raise ValueError(f"The shares were {tuple(shares)}: give squares, 0 or more.")
    left = np.append(np.cumsum(np.asarray(shares, float)[::-1])[::-1], 0.0)
    learned = degree_learned(d, n)
    step = np.minimum(np.nan_to_num(learned) + 1, len(shares)).astype(int)
    return np.where(np.isnan(learned), np.nan, left[step])
