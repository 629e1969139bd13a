"""Stationary kernels on a uniform input in [-1, 1]: eigenfunctions by quadrature."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ..maths.hermite import RealFunction
from .kernel_curve import KernelLaw
from .zonal_spectrum import ZonalSpectrum

#: Nodes on either side of 0, where a target may jump.
_NODES = 300


def interval_law(profile: RealFunction, g: RealFunction, k_max: int = 150) -> KernelLaw:
    """Of k(x, z) = profile(|x - z|) and the target g, x uniform on [-1, 1].

    Eigenpairs of W^{1/2} K W^{1/2} at Gauss-Legendre nodes on [-1, 0] and on [0, 1]: Nystrom's
    method. g may jump or have a kink at 0 and nowhere else.

    Parameters
    ----------
    profile : callable
        Of the distance, (p,) or (p, q) alike; profile(0) > 0.
    g : callable
        (p,) -> (p,).
    k_max : int
        Eigenvalues listed, the largest first, at most 600; the sum of the others is the tail.

    Raises
    ------
    ValueError
        When `k_max` is out of range.

    Source: Mercer's theorem; Rasmussen & Williams 2006, section 4.3.2.

    Examples
    --------
    >>> law = interval_law(lambda t: np.exp(-t), np.sign)
    >>> round(sum(law.shares) + law.beyond, 12), len(law.shares)
    (1.0, 150)
    """
    if not 1 <= k_max <= 2 * _NODES:
        raise ValueError(f"k_max is {k_max}: give a number from 1 to {2 * _NODES}.")
    x, weights = _nodes()
    root = np.sqrt(weights)
    K = profile(np.abs(x[:, None] - x))
    e, V = np.linalg.eigh(root[:, None] * K * root)
    e, V = np.maximum(e[::-1][:k_max], 0), V[:, ::-1][:, :k_max]
    values = np.asarray(g(x), dtype=np.float64)
    shares = (V.T @ (root * values)) ** 2
    tail = max(float(profile(np.zeros(1))[0]) - math.fsum(e), 0.0)
    beyond = max(float(weights @ values**2) - math.fsum(shares), 0.0)
    spectrum = ZonalSpectrum((1.0,) * k_max, tuple(e.tolist()), tail)
    return KernelLaw(spectrum, tuple(shares.tolist()), beyond)


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    t, weights = special.roots_legendre(_NODES)
    return np.r_[(t - 1) / 2, (t + 1) / 2], np.r_[weights, weights] / 4


def minimax_exponent(order: float, dimension: int = 1) -> float:
    """2 t/(2 t + p): E (f - f*)^2 ~ n^(-this) for f* of Sobolev order t in p inputs, with noise.

    Kernel ridge with a chosen penalty reaches it up to twice the order of the kernel's own space
    (up to that order without conditions at the boundary).

    Parameters
    ----------
    order : float
        t, above 0.
    dimension : int
        p, at least 1.

    Raises
    ------
    ValueError
        When t or p is out of range.

    Source: Stone 1982; Caponnetto & De Vito 2007 for kernel ridge.

    Examples
    --------
    >>> minimax_exponent(0.5), minimax_exponent(1.5), minimax_exponent(1.5, 3)
    (0.5, 0.75, 0.5)
    """
    if not (order > 0 and dimension >= 1):
        raise ValueError(f"order is {order} and dimension {dimension}: give > 0 and 1 or more.")
    return 2 * order / (2 * order + dimension)
