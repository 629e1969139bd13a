"""Hermite coefficients and Gaussian moments of z -> sigma(scale z + bias), one neuron a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ..maths.activations import Activation
from ..maths.hermite import MAX_DEGREE, RealFunction, gauss_legendre, hermite, hermite_coefficients
from ..maths.ranges import finite, positive, whole

#: (scale (m,), bias (m,), k_max) -> c_0, ..., c_{k_max} of each neuron, (m, k_max + 1).
NeuronCoefficients = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def relu_coefficients(
    scale: Float[np.ndarray, " m"], bias: Float[np.ndarray, " m"], k_max: int
) -> Float[np.ndarray, "m k"]:
    """c_k = E[relu(scale Z + bias) He_k(Z)] / k!, in closed form.

    With t = -bias/scale, k! c_k / scale is phi(t) - t (1 - Phi(t)), 1 - Phi(t), phi(t) He_{k-2}(t)
    for k = 0, 1, >= 2.

    `scale`, `bias`: |w| > 0 and the bias of each neuron.
    Regime: exact for every scale above 0 and bias.
    Source: integration by parts; `gradfeat.maths.hermite.ramp_coefficients`.

    >>> relu_coefficients(np.array([1.0]), np.array([1.0]), 2).round(4).tolist()
    [[1.0833, 0.8413, 0.121]]
    """
    finite(bias=bias)
    positive(scale=np.min(scale, initial=1.0), most=np.max(scale, initial=1.0))
    whole(0, MAX_DEGREE, k_max=k_max)
    t = -bias / scale
    density, tail = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi), ndtr(-t)
    rest = density[:, None] * hermite(max(k_max - 2, 0), t)
    moments = np.concatenate([(density - t * tail)[:, None], tail[:, None], rest], axis=1)
    return scale[:, None] * moments[:, : k_max + 1] / _factorials(k_max)


def coefficients_of(sigma: RealFunction, breakpoints: Sequence[float] = ()) -> NeuronCoefficients:
    """c_k = E[sigma(scale Z + bias) He_k(Z)] / k! of any activation, by quadrature.

    About a millisecond for every different (scale, bias).

    `sigma`: the activation, elementwise on float64 arrays; `breakpoints`: where sigma or its
    derivative jumps.
    Raises ValueError when called, as `gradfeat.maths.hermite.hermite_coefficients` does.

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


#: Beyond it the Gaussian weight of a feature's square is below 1e-30.
REACH = 12.0
PANELS, NODES = 20, 8


def scaled_coefficients(
    activation: Activation,
    scales: Float[np.ndarray, " m"],
    k_max: int,
    shifts: Float[np.ndarray, " m"] | float = 0.0,
) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, " m"]]:
    """E[sigma(Q Z + s) He_k(Z)]/sqrt(k!) for k = 0, ..., k_max, and E sigma(Q Z + s)^2.

    Gauss-Legendre panels between -12, the breakpoints (b - s)/Q, and 12; Z ~ N(0, 1).

    >>> from gradfeat.maths.activations import ReLU
    >>> found, square = scaled_coefficients(ReLU(), np.array([2.0]), 1)
    >>> found.round(10).tolist(), square.round(10).tolist()
    ([[0.7978845608, 1.0]], [2.0])
    """
    shifts = np.broadcast_to(shifts, scales.shape)
    return blurred_coefficients(activation.values, activation.breakpoints, scales, k_max, shifts)


def blurred_coefficients(
    f: RealFunction,
    breakpoints: Sequence[float],
    scales: Float[np.ndarray, " m"],
    k_max: int,
    shifts: Float[np.ndarray, " m"],
) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, " m"]]:
    """As `scaled_coefficients`, of any function with these breakpoints.

    >>> step = blurred_coefficients(np.sign, (0.0,), np.ones(1), 1, np.zeros(1))[0]
    >>> (step.round(10) + 0.0).tolist()
    [[0.0, 0.7978845608]]
    """
    z, weights = _rule(breakpoints, scales, shifts)
    values = f(scales[:, None] * z + shifts[:, None])
    term = weights * values  # times he_k(z), k by k
    square, before = np.einsum("mq,mq->m", term, values), np.zeros(())
    found = [term.sum(1)]
    for k in range(k_max):
        term, before = (z * term - math.sqrt(k) * before) / math.sqrt(k + 1), term
        found.append(term.sum(1))
    return np.stack(found, axis=1), square


def _rule(
    breakpoints: Sequence[float], scales: Float[np.ndarray, " m"], shifts: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "m q"], Float[np.ndarray, "m q"]]:
    """Nodes and weights of E f(Z) for f with breaks where Q z + s meets them."""
    breaks = np.sort(np.asarray(breakpoints, dtype=np.float64))
    inner = np.clip((breaks - shifts[:, None]) / scales[:, None], -REACH, REACH)
    ends = np.pad(inner, ((0, 0), (1, 1)), constant_values=((0, 0), (-REACH, REACH)))
    pieces = ends.shape[1] - 1
    panels = math.ceil(PANELS / math.sqrt(pieces))  # of each piece
    left, length = ends[:, :-1, None, None], np.diff(ends)[:, :, None, None] / panels
    nodes, weights = gauss_legendre(NODES)
    place = np.arange(panels)[:, None] + (nodes + 1) / 2
    z = (left + length * place).reshape(len(scales), -1)
    w = np.broadcast_to(length * weights / 2, (len(scales), pieces, panels, NODES))
    return z, w.reshape(z.shape) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def gaussian_rule(breakpoints: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E f(Z), Z ~ N(0, 1), for f with these breaks."""
    z, weights = _rule(breakpoints, np.ones(1), np.zeros(1))
    return z[0], weights[0]
