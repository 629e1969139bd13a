"""Gradient flow with a kernel, by ridge along a contour; both ends of a network's output scale.

Flow for a time T learns 1 - exp(-c k), c = 2 T/n, of the kernel matrix's eigenvector of eigenvalue
k. This is a mean of ridge over complex penalties -w, w around the spectrum, and two ridges with
effective penalties kappa, kappa' on the same rows have residuals whose product is, in the mean,

    [sum_k share_k (1 - L_k)(1 - L'_k) + beyond + noise^2]/(1 - sum_k N_k L_k L'_k/n).

The network: f = sum_{j<=m} a_j relu(w_j.x + b_j), w_j ~ N(0, (A/m) I/d), a_j ~ N(0, A/m), b_j = 0,
paired with opposite heads, so that f = 0 at the start; |x|^2 = d. This is alpha/m^gamma sum_j a_j
relu(w_j.x) with weights of order one, A = alpha m^{1-gamma}, and equal step sizes of both layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..maths.hermite import RealFunction, gauss_legendre
from ..maths.ranges import not_negative, positive
from .zonal_spectrum import ZonalSpectrum, spherical_shares, zonal_spectrum

#: Nodes of a panel of the contour, panels of a ray, and the ray's angle.
NODES, PANELS, ANGLE = 12, 14, math.pi / 4
#: Newton's method ends where kappa moves by less, in shares of itself.
TOLERANCE, MOST_STEPS = 1e-12, 60


def flow_risk(
    spectrum: ZonalSpectrum,
    shares: Sequence[float],
    n: float,
    *,
    time: float,
    noise: float = 0.0,
    beyond: float = 0.0,
) -> float:
    """E (f(x) - f*(x))^2 of gradient flow of (1/n) sum (f - y)^2 from 0 for this time.

    `spectrum`, `shares`, `noise`, `beyond`: as for `ridge_risk`; `n`: rows; `time`: above 0.
    Regime: a deterministic equivalent, that of `ridge_risk` at each penalty.
    Raises ValueError when n or the time is not a finite number above 0.
    Source: derived here from the equivalent of two ridges, Simon et al. 2021 where they are one.

    >>> linear = ZonalSpectrum((1.0, 10.0), (0.0, 1.0))
    >>> round(flow_risk(linear, (0.0, 1.0), 200, time=0.5), 2)  # exp(-2 T) = .14, .15 over rows
    0.15
    """
    positive(n=n, time=time)
    not_negative(noise=noise, beyond=beyond, shares=np.min(shares), most=np.max(shares))
    N, eigenvalues = np.array(spectrum.multiplicities), np.array(spectrum.eigenvalues)
    speed = 2 * time / n
    largest = n * float(eigenvalues.max()) + float(N @ eigenvalues) + spectrum.tail
    w, dw = _contour(1 / speed, 2 * largest)
    kappa = _kappas(N, eigenvalues, spectrum.tail - w, n)
    w, dw, kappa = np.r_[w, w.conj()], np.r_[dw, -dw.conj()], np.r_[kappa, kappa.conj()]
    L = eigenvalues[:, None] / (eigenvalues[:, None] + kappa)
    share, learned, noisy = np.asarray(shares), L[: len(shares)], beyond + noise**2
    both = ((1 - learned).T * share) @ (1 - learned) + noisy
    met = share @ learned  # E f* f
    product = both / (1 - (L.T * N) @ L / n) - noisy - share.sum() + met[:, None] + met  # E f f'
    weights = -np.expm1(-speed * w) / w * dw / (2j * math.pi)
    risk = beyond + share.sum() + weights @ (product @ weights - 2 * met)
    return float(risk.real)


def _contour(start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes above the real axis and their steps: from -start along a ray, and down to the axis."""
    x, mass = gauss_legendre(NODES)
    ends = np.r_[0.0, np.geomspace(start / 4, start + end, PANELS)]
    half = np.diff(ends)[:, None] / 2
    along = (ends[:-1, None] + half * (x + 1)).ravel()
    turn = np.exp(1j * ANGLE)
    angle = ANGLE * (1 - x) / 2
    arc = ends[-1] * np.exp(1j * angle)
    nodes = np.r_[along * turn, arc] - start
    return nodes, np.r_[(half * mass).ravel() * turn, -0.5j * ANGLE * mass * arc]


def _kappas(N: np.ndarray, eigenvalues: np.ndarray, penalties: np.ndarray, n: float) -> np.ndarray:
    """kappa with n = sum N L + penalty/kappa, by Newton's method from each one to the next."""
    found, kappa = [], complex(penalties[0].real + N @ eigenvalues) / n
    for penalty in penalties:
        for _ in range(MOST_STEPS):
            L = eigenvalues / (eigenvalues + kappa)
            step = kappa * (N @ L + penalty / kappa - n) / (N @ (L * (1 - L)) + penalty / kappa)
            kappa = kappa + step / max(1.0, 2 * abs(step / kappa))
            if abs(step) < TOLERANCE * abs(kappa):
                break
        found.append(kappa)
    return np.array(found)


def lazy_loss(g: RealFunction, d: int, n: float, time: float, noise: float = 0.0) -> float:
    """E (f - g)^2 of gradient flow with the start's tangent kernel, see `flow_risk`.

    `g`: target of one direction, x uniform on the sphere of radius sqrt(d); `n`: rows; `time`: step
    size times steps, of the loss (1/n) sum (f - y)^2 and the kernel divided by A; `noise`: of y.
    Regime: A and m large; a deterministic equivalent, n of at least a few tens.
    Raises ValueError where an argument is not positive, or the noise is below 0.
    Source: Jacot et al. 2018; Chizat, Oyallon & Bach 2019, Theorem 2.2; `flow_risk` for the loss.

    >>> round(lazy_loss(lambda z: z, 20, 100, 1e4), 2)
    0.03
    """
    positive(d=d, n=n, time=time)
    not_negative(noise=noise)

    def kernel(cosine: np.ndarray) -> np.ndarray:
        t = np.arccos(np.clip(cosine, -1, 1))
        return (np.sin(t) + (math.pi - t) * (cosine + 1 + d * cosine)) / (2 * math.pi)

    spectrum = zonal_spectrum(kernel, d)
    return flow_risk(spectrum, spherical_shares(g, d), n, time=time, noise=noise)


def kernel_growth_bound(d: int, scale: ArrayLike, size: ArrayLike) -> np.ndarray:
    """E k_T(x, x)/E k_0(x, x) >= 4 sqrt(d + 1) E|f_T| / (A (d + 2)), k the tangent kernel.

    By E k(x, x) = sum_j [E relu_j^2 + (d + 1) a_j^2 Pr_j] >= 2 sqrt(d + 1) sum_j |a_j| E relu_j, of
    any network at any time: a small scale A cannot be fitted without moving the kernel.

    `scale`: A; `size`: E|f_T|.
    Regime: the start's mean is over its draw (m large); exact else.
    Raises ValueError where d or the scale is not positive, or the size below 0.
    Source: derived here; what the other end of Chizat, Oyallon & Bach 2019 must do.

    >>> float(kernel_growth_bound(8, 0.5, 1.0))
    2.4
    """
    scale, size = np.asarray(scale, dtype=np.float64), np.asarray(size, dtype=np.float64)
    positive(d=d, scale=scale.min(initial=math.inf))
    not_negative(size=size.min(initial=0.0))
    return 4 * math.sqrt(d + 1) * size / (scale * (d + 2))
