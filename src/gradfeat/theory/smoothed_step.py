"""Derivative of the truncated ReLU under Gaussian noise, and its Fourier series."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

#: Beyond `EDGE` noise deviations the smoothed step is 0 in double precision.
EDGE = 9.0
#: The spectrum of the step and of its square ends before t = `BAND`/s: exp(-BAND^2/4) < 1e-15.
BAND = 12.0


def smoothed_step(z: np.ndarray, s: float) -> np.ndarray:
    """g(z) = E 1{0 < z + s xi < 1} = Phi((1 - z)/s) - Phi(-z/s), xi ~ N(0, 1).

    The derivative of E min(1, max(0, z + s xi)).

    Source: Shi22, Section 4 (noise inside the activation).

    Examples
    --------
    >>> smoothed_step(np.array([-1.0, 0.0, 0.5, 2.0]), s=0.01).tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    return ndtr((1 - z) / s) - ndtr(-z / s)


def step_series(s: float, reach: float, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies t and coefficients c with g(z)^power = Re sum_n c_n exp(i t_n z), |z| <= reach.

    The period is long enough that no copy of g meets [-reach, reach], the band wide enough that
    what it leaves out is below rounding; c_0 counts once, the others for both signs of t.

    Parameters
    ----------
    s : float
        Standard deviation of the noise, > 0.
    reach : float
        Largest |z| at which the series is used.
    power : int
        1 or 2.

    Returns
    -------
    t : ndarray (T,)
        T is about 2 (reach + 1)/s.
    c : ndarray (T,), complex

    Examples
    --------
    >>> t, c = step_series(s=0.1, reach=2.0, power=1)
    >>> z = np.array([-2.0, 0.1, 0.5, 2.0])
    >>> series = (np.exp(1j * np.outer(z, t)) @ c).real
    >>> bool(np.abs(series - smoothed_step(z, 0.1)).max() < 1e-13)
    True
    """
    period = reach + 1 + 2 * EDGE * s
    nodes = 2 * math.ceil(BAND * period / (2 * math.pi * s))
    start = (1 - period) / 2
    z = start + period / nodes * np.arange(nodes)
    t = 2 * np.pi / period * np.arange(nodes // 2)
    coefficients = np.fft.rfft(smoothed_step(z, s) ** power)[: nodes // 2] / nodes
    return t, coefficients * np.exp(-1j * t * start) * np.where(t > 0, 2, 1)
