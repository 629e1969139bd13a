"""Both ends of a network's output scale: the tangent kernel's loss; how far the kernel must move.

f = sum_{j<=m} a_j relu(w_j.x + b_j), w_j ~ N(0, (A/m) I/d), a_j ~ N(0, A/m), b_j = 0, paired with
opposite heads, so that f = 0 at the start; |x|^2 = d. This is alpha/m^gamma sum_j a_j relu(w_j.x)
with weights of order one, A = alpha m^{1-gamma}, and equal step sizes of both layers.
"""

# Apart: a theory is independent of the experiment that it is drawn over.
from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..maths.hermite import RealFunction
from ..maths.ranges import not_negative, positive
from .kernel_flow import flow_risk
from .zonal_spectrum import spherical_shares, zonal_spectrum


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
    positive(d=d, scale=np.min(scale, initial=math.inf))
    not_negative(size=np.min(size, initial=0.0))
    return 4 * math.sqrt(d + 1) * np.asarray(size) / (np.asarray(scale) * (d + 2))
