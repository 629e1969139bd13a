"""Gaussian moments of sigma(Q z + s) for many scales Q and shifts s at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import special

from ..maths.activations import Activation
from ..maths.hermite import orthonormal_hermite

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

    Parameters
    ----------
    activation : Activation
        sigma.
    scales : array (m,)
        Q, above 0.
    k_max : int
        Highest degree.
    shifts : array (m,)
        s.

    Examples
    --------
    >>> from gradfeat.maths.activations import ReLU
    >>> found, square = scaled_coefficients(ReLU(), np.array([2.0]), 1)
    >>> found.round(10).tolist(), square.round(10).tolist()
    ([[0.7978845608, 1.0]], [2.0])
    """
    shifts = np.broadcast_to(shifts, scales.shape)
    z, weights = _rule(activation, scales, shifts)
    values = activation.values(scales[:, None] * z + shifts[:, None])
    weighted = weights * values
    basis = orthonormal_hermite(k_max, z)
    return np.einsum("mq,mqk->mk", weighted, basis), (weighted * values).sum(1)


def _rule(
    activation: Activation, scales: Float[np.ndarray, " m"], shifts: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "m q"], Float[np.ndarray, "m q"]]:
    """Nodes and weights of E f(Z) for f with the activation's breaks where Q z + s meets them."""
    breaks = np.sort(np.asarray(activation.breakpoints, dtype=np.float64))
    inner = np.clip((breaks - shifts[:, None]) / scales[:, None], -REACH, REACH)
    ends = np.pad(inner, ((0, 0), (1, 1)), constant_values=((0, 0), (-REACH, REACH)))
    left, length = ends[:, :-1, None, None], np.diff(ends)[:, :, None, None] / PANELS
    nodes, weights = special.roots_legendre(NODES)
    place = np.arange(PANELS)[:, None] + (nodes + 1) / 2
    z = (left + length * place).reshape(len(scales), -1)
    w = np.broadcast_to(length * weights / 2, (len(scales), ends.shape[1] - 1, PANELS, NODES))
    return z, w.reshape(z.shape) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
