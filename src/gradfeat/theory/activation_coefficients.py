"""Hermite coefficients of z -> sigma(scale z + bias), one neuron a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ..maths.hermite import RealFunction, hermite, hermite_coefficients

#: (scale (m,), bias (m,), k_max) -> c_0, ..., c_{k_max} of each neuron, (m, k_max + 1).
NeuronCoefficients = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def relu_coefficients(
    scale: Float[np.ndarray, " m"], bias: Float[np.ndarray, " m"], k_max: int
) -> Float[np.ndarray, "m k"]:
    """c_k = E[relu(scale Z + bias) He_k(Z)] / k!, in closed form.

    With t = -bias/scale, k! c_k / scale is phi(t) - t (1 - Phi(t)), 1 - Phi(t), phi(t) He_{k-2}(t)
    for k = 0, 1, >= 2.

    Parameters
    ----------
    scale, bias : array (m,)
        |w| > 0 and the bias of each neuron.
    k_max : int
        Highest degree.

    Returns
    -------
    array (m, k_max + 1)

    Source: integration by parts; `gradfeat.maths.hermite.ramp_coefficients`.

    Examples
    --------
    >>> relu_coefficients(np.array([1.0]), np.array([1.0]), 2).round(4).tolist()
    [[1.0833, 0.8413, 0.121]]
    """
    t = -bias / scale
    density, tail = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi), ndtr(-t)
    rest = density[:, None] * hermite(max(k_max - 2, 0), t)
    moments = np.concatenate([(density - t * tail)[:, None], tail[:, None], rest], axis=1)
    return scale[:, None] * moments[:, : k_max + 1] / _factorials(k_max)


def coefficients_of(sigma: RealFunction, breakpoints: Sequence[float] = ()) -> NeuronCoefficients:
    """c_k = E[sigma(scale Z + bias) He_k(Z)] / k! of any activation, by quadrature.

    About a millisecond for every different (scale, bias).

    Parameters
    ----------
    sigma : callable
        The activation, elementwise on float64 arrays.
    breakpoints : sequence of float
        Where sigma or its derivative jumps.

    Raises
    ------
    ValueError
        When called, as `gradfeat.maths.hermite.hermite_coefficients` does.

    Examples
    --------
    >>> square = coefficients_of(np.square)
    >>> square(np.array([2.0]), np.array([1.0]), 2).round(12).tolist()
    [[5.0, 4.0, 4.0]]
    """

    def coefficients(scale: np.ndarray, bias: np.ndarray, k_max: int) -> np.ndarray:
        pairs, which = np.unique(np.stack([scale, bias], 1), axis=0, return_inverse=True)
        rows = [
            hermite_coefficients(
                lambda z, s=s, b=b: sigma(s * z + b), k_max, [(p - b) / s for p in breakpoints]
            )
            for s, b in pairs.tolist()
        ]
        return np.array(rows)[which.reshape(-1)]

    return coefficients


def _factorials(k_max: int) -> np.ndarray:
    return np.cumprod(np.maximum(np.arange(k_max + 1.0), 1.0))
