"""Sampling error of the first gradient at n rows, and the n at which it equals the signal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ..maths.hermite import gauss_hermite, hermite
from ..maths.multi_hermite import MultiHermite
from ..maths.ranges import not_negative
from .damian22_gradient import beyond_linear, gradient_series, neurons, product_rule

#: Neurons of one block, so that (neurons x points) stays small.
_BLOCK_NUMBERS = 2_000_000


def sampling_variance(
    g: MultiHermite,
    U: Float[np.ndarray, "d r"],
    W: Float[np.ndarray, "m d"],
    b: ArrayLike = 0.0,
    *,
    noise: float = 0.0,
    estimated: bool = True,
) -> Float[np.ndarray, " m"]:
    """V_j with E|G_n - G|^2 = 4 a_j^2 V_j / n for row j of the first-layer gradient; ReLU.

    G_n = -(2 a_j/n) sum_i (y_i - alpha - beta.x_i) x_i 1{w_j.x_i + b_j > 0}, G its expectation,
    y = f*(x) + noise. With alpha, beta known, V = E[(rho + eps)^2 |x|^2 1{.}] - |G|^2/(4 a_j^2),
    rho = f* - alpha - beta.x, exact. With alpha = mean y, beta = (1/n) sum (y_i - alpha) x_i, as
    in Algorithm 1, V is that of the linearised statistic

        (rho + eps) x 1{.} - (y - alpha) s_1 u - (s_0 I + s_2 u u^T)((y - alpha) x - beta),

    s_k = E[1{Z > t} He_k(Z)], u = w/|w|, t = -b/|w|. Without bias and linear part the two are
    near d E(rho + eps)^2 / 2 and d E(rho + eps)^2 / 4: subtracting what was estimated halves the
    noise.

    Everything is Gaussian: given z = u.x, U^T x = v z + (I - v v^T)^{1/2} xi and
    |x|^2 = z^2 + |xi|^2 + chi^2_{d-1-r}; polynomials in (z, xi) are integrated exactly, and
    polynomials in z times the step by the Hermite coefficients of the step.

    `noise`: standard deviation of the label noise, of any law with mean 0; `estimated`: whether
    alpha and beta are estimated on the same rows.
    Regime: for ``estimated=True`` first order in 1/n (n well above d); otherwise every n.
    Raises ValueError as `gradient_series`, or when noise is negative, or (p + 2)^r points are too
    many.
    Source: the delta method; Damian22, Algorithm 1.

    >>> g, U = MultiHermite(((2,),), (0.5**0.5,)), np.eye(100)[:, :1]
    >>> W = np.eye(100)[1:2]
    >>> float(sampling_variance(g, U, W).round(1)[0])
    25.8
    >>> float(sampling_variance(g, U, W, estimated=False).round(1)[0])
    52.0
    """
    not_negative(noise=noise)
    scale, u, bias = neurons(g, U, W, b)
    mean, s = _mean_and_step(g, U, u, bias / scale, estimated)
    xi, weights = product_rule(g.degree + 2, g.r)
    size = max(1, _BLOCK_NUMBERS // (len(xi) * (2 * g.degree + 3) * g.r))
    rule, t = _Rule(xi, weights, len(U) - 1 - g.r, noise), -bias / scale
    blocks = [slice(i, i + size) for i in range(0, len(u), size)]
    second = [_second_moment(g, (u @ U)[part], s[part], t[part], rule) for part in blocks]
    return np.concatenate(second) - np.square(mean).sum(1)


@dataclass(frozen=True)
class _Rule:
    """Quadrature points of xi, and what the second moment needs of the problem."""

    xi: np.ndarray
    weights: np.ndarray
    outside: int
    noise: float


def _mean_and_step(
    g: MultiHermite, U: np.ndarray, u: np.ndarray, bias: np.ndarray, estimated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the statistic before its constants, (m, d), and s_0, s_1, s_2, (m, 3)."""
    mean = gradient_series(beyond_linear(g), U, u, bias)
    density = np.exp(-(bias**2) / 2) / math.sqrt(2 * math.pi)
    s = np.stack([ndtr(bias), density, -bias * density], 1) * estimated
    beta = U @ g.tensor(1)
    return mean - s[:, :1] * beta - (s[:, 2] * (u @ beta))[:, None] * u, s


def _second_moment(
    g: MultiHermite, v: np.ndarray, s: np.ndarray, t: np.ndarray, rule: _Rule
) -> np.ndarray:
    """E[A_0(Z)] + E[(A_1 - A_0)(Z) 1{Z > t}], A the conditional second moment given z."""
    z, weights = gauss_hermite(2 * g.degree + 3)
    moments = _moments(g, z, v, rule)
    A0, A1 = (_given(moments, z, s, step, rule.outside) for step in (0.0, 1.0))
    K = 2 * g.degree + 2
    factorials = np.cumprod(np.maximum(np.arange(K + 1.0), 1.0))
    projected = (A1 - A0) @ (weights[:, None] * hermite(K, z)) / factorials
    density = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
    tails = np.concatenate([ndtr(-t)[:, None], density[:, None] * hermite(K - 1, t)], 1)
    return A0 @ weights + np.sum(projected * tails, 1)


def _moments(g: MultiHermite, z: np.ndarray, v: np.ndarray, rule: _Rule) -> np.ndarray:
    """E[. | z] of q and of |xi|^2 q for q = (rho+eps)^2, rho beta.x, (beta.x)^2: (2, 3, m, z)."""
    inner = z[None, :, None, None] * v[:, None, None, :] + (rule.xi @ _root(v))[:, None]
    rho, line = beyond_linear(g)(inner), inner @ g.tensor(1)
    squares = np.stack([rho**2 + rule.noise**2, rho * line, line**2])
    radial = rule.weights * np.square(rule.xi).sum(1)
    return np.moveaxis(squares @ np.stack([rule.weights, radial], 1), -1, 0)


def _given(
    moments: np.ndarray, z: np.ndarray, s: np.ndarray, step: float, outside: int
) -> np.ndarray:
    """E[|x P - u Q|^2 | z] where 1{.} = step: P = (rho+eps)(step - s_0) - s_0 beta.x,
    Q = (y - alpha)(s_1 + s_2 z); (m, z).
    """
    s0, gain = s[:, :1], s[:, 1:2] + s[:, 2:] * z
    p = step - s0
    plain, radial = (p**2 * rr - 2 * p * s0 * rl + s0**2 * ll for rr, rl, ll in moments)
    rr, rl, ll = moments[0]
    PQ = gain * (p * rr + (p - s0) * rl - s0 * ll)
    return (z**2 + outside) * plain + radial - 2 * z * PQ + gain**2 * (rr + 2 * rl + ll)


def _root(v: np.ndarray) -> np.ndarray:
    """(I - v v^T)^{1/2} for rows v of length at most 1: (m, r, r)."""
    square = np.sum(v**2, 1)
    factor = 1 / (1 + np.sqrt(np.maximum(1 - square, 0)))
    return np.eye(v.shape[1]) - factor[:, None, None] * v[:, :, None] * v[:, None, :]
