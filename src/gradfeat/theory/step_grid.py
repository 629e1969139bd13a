"""The features after one step, conditional on a row's u and a neuron's head weight a_j."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..maths.activations import Activation
from ..maths.hermite import gauss_hermite, orthonormal_hermite
from .activation_coefficients import scaled_coefficients
from .gradient_direction import GradientDirection

#: Degrees of u that are kept; nodes of averages over u and over sqrt(N) a.
K_MAX, U_NODES, A_NODES = 10, 32, 24


@dataclass(frozen=True)
class StepGrid:
    """F_ij = m(a_j, u_i) + c_1(a_j, u_i) w_j'.x_i + the rest, on nodes of a and u = beta.x/|beta|.

    Neuron j has pre-activation w_j'.x + theta_j |beta| u, theta_j = eta c_1 a_j, and
    |w_j'|^2 = own_j = 1 + eta^2 a_j^2 phi E r^2 (E sigma'^2 - c_1^2): the gradient less its part of
    rank one is counted by its size, as if its rows had independent directions.

    Attributes
    ----------
    a, weights : array (A,)
        Nodes of a ~ N(0, 1/N) and their weights.
    u, mass : array (U,)
        Nodes of u ~ N(0, 1) and their weights.
    he : array (U, K)
        he_k(u) = He_k(u)/sqrt(k!).
    own : array (A,)
        |w_j'|^2.
    m, slope : array (A, K)
        m(a, .) and c_1(a, .) in he_0, ..., he_K.
    turned : array (A, K)
        u c_1(a, u) in the same basis.
    rest : array (A, U)
        E sigma^2 - m^2 - own c_1^2: variance of what is neither.
    """

    a: np.ndarray
    weights: np.ndarray
    u: np.ndarray
    mass: np.ndarray
    he: np.ndarray
    own: np.ndarray
    m: np.ndarray
    slope: np.ndarray
    turned: np.ndarray
    rest: np.ndarray


def step_grid(
    activation: Activation,
    direction: GradientDirection,
    *,
    eta: float,
    phi: float,
    width: float,
) -> StepGrid:
    """Evaluate the features on the nodes.

    Parameters
    ----------
    activation : Activation
        sigma.
    direction : GradientDirection
        |beta| and E r^2, numbers.
    eta, phi, width : float
        Step size, d/n and N.

    Source: Moniri24, Section 3, with all orders of eta kept.

    Examples
    --------
    >>> from gradfeat.maths.activations import Tanh
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> from gradfeat.theory.teacher import Teacher
    >>> beta = gradient_direction(0.5, Tanh(), Teacher((0.0, 1.0)))
    >>> grid = step_grid(Tanh(), beta, eta=5.0, phi=0.5, width=2000)
    >>> bool(np.abs(grid.m[:, 2]).max() < 1e-12)  # an odd function adds no u^2 at any a
    True
    """
    x, weights = gauss_hermite(A_NODES)
    u, mass = gauss_hermite(U_NODES)
    a, he = x / math.sqrt(width), orthonormal_hermite(K_MAX, u)
    c = activation.hermite_coefficients(1)
    spread = float(direction.residual_power) * (activation.derivative_second_moment() - c[1] ** 2)
    own = 1 + (eta * a) ** 2 * phi * spread
    shift = eta * c[1] * a * math.sqrt(float(direction.norm_squared))
    m, linear, square = _moments(activation, own, np.outer(shift, u))
    slope = linear / np.sqrt(own)[:, None]
    project = mass[:, None] * he
    return StepGrid(
        a=a,
        weights=weights,
        u=u,
        mass=mass,
        he=he,
        own=own,
        m=m @ project,
        slope=slope @ project,
        turned=(slope * u) @ project,
        rest=np.maximum(square - m**2 - linear**2, 0.0),
    )


def _moments(
    activation: Activation, own: np.ndarray, shifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E sigma, E sigma Z, E sigma^2 of sigma(sqrt(own) Z + shift): the same at (-a, -u)."""
    half = slice(A_NODES // 2, None)
    scales = np.repeat(np.sqrt(own[half]), U_NODES)
    found, square = scaled_coefficients(activation, scales, 1, shifts[half].ravel())
    upper = np.concatenate([found, square[:, None]], axis=1).reshape(-1, U_NODES, 3)
    m, linear, power = np.concatenate([upper[::-1, ::-1], upper]).transpose(2, 0, 1)
    return m, linear, power
