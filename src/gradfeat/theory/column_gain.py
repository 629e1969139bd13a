"""How much columns beside random features lower the loss: b^T H^{-1} b and its slope in lambda."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.hermite import root_factorials
from .feature_resolvent import Traces
from .gradient_direction import GradientDirection
from .teacher import Teacher

#: Powers of u whose span is still well conditioned.
MOST_POWERS = 12


@dataclass(frozen=True)
class _Weights:
    """v and its slope: what (1/n) P_k^T K^{-1} P_k (psi/phi) is for the columns of P."""

    v: np.ndarray
    dv: np.ndarray

    @staticmethod
    def of(traces: Traces, direction: GradientDirection, kept: float, size: int) -> _Weights:
        """t for the linear column, less what its part along W0^T a loses to F_0 a; s elsewhere.

        `kept` is the share of the feature F_0 a that stays among the features.
        """
        share = kept * _over(direction.initial**2, direction.norm_squared)
        left, dleft = _partial(traces)
        linear = traces.t + share * (left - traces.t)
        dlinear = traces.dt + share * (dleft - traces.dt)
        shape = np.broadcast_shapes(np.shape(linear), np.shape(traces.s))
        v, dv = (
            np.repeat(np.broadcast_to(a, shape)[..., None], size, -1) for a in (traces.s, traces.ds)
        )
        v[..., 1], dv[..., 1] = linear, dlinear
        return _Weights(v, dv)


def _over(above: ArrayLike, norm_squared: ArrayLike) -> np.ndarray:
    """The quotient, and 0 where beta is 0: a target of zeros has no column."""
    above, below = np.broadcast_arrays(above, norm_squared)
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)


def _partial(traces: Traces) -> tuple[np.ndarray, np.ndarray]:
    """kappa' = t - c_1^2 t^2 g: the weight along W0^T a when F_0 a is a feature; and its slope.

    1/g = 1 + c_1^2 t + c_{>1}^2 s, so that kappa' = t (1 + c_{>1}^2 s)/(1/g).
    """
    q = traces.linear
    value = traces.t - q * traces.t**2 * traces.g
    return value, traces.dt - q * (2 * traces.t * traces.dt * traces.g + traces.t**2 * traces.dg)


def target_components(teacher: Teacher, alignment: np.ndarray, size: int) -> np.ndarray:
    """y_k = E[f* he_k(u)] = sqrt(k!) c_{*k} rho^k for k < size, up to the sign of beta."""
    rho = np.nan_to_num(alignment)  # nan for a target of zeros
    return teacher.components(size - 1) * rho[..., None] ** np.arange(size)


def column_gain(
    teacher: Teacher,
    direction: GradientDirection,
    powers: Sequence[int],
    traces: Traces,
    kept: float = 0.0,
    spread: ArrayLike = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Gain over lambda of unpenalised columns E_xi (u + sqrt(spread) xi)^k, and its slope.

    b^T Z (Z^T diag(v) Z)^{-1} Z^T b with the columns sum_r Z_rk he_r(u). `kept` is the share of
    the feature F_0 a that stays among the features: 0 for a network, 1 where the columns are extra.
    It lowers v_1 in the form alone: b_1 = t c_{*1} rho is what u and the target share.
    """
    size = max(*powers, len(teacher.coefficients) - 1, 1) + 1
    weights = _Weights.of(traces, direction, kept, size)
    plain = _Weights.of(traces, direction, 0.0, size)  # the target has no part along W0^T a
    Z = _columns(powers, size, np.asarray(spread, dtype=np.float64))
    y = target_components(teacher, direction.alignment, size)
    b, db = (w * y for w in (plain.v, plain.dv))
    b, db = (np.einsum("...r,...rj->...j", side, Z) for side in (b, db))
    inner, slope = (np.einsum("...r,...rj,...rk->...jk", w, Z, Z) for w in (weights.v, weights.dv))
    return _form(b, db, inner, slope)


def noise_power(phi: ArrayLike, direction: GradientDirection, activation: Activation) -> np.ndarray:
    """phi E r^2 (E sigma'^2 - c_1^2)/(c_1^2 |beta|^2): power of a gradient row beside c_1 a_j beta.

    It has a direction of its own in each neuron, and its square adds to the column of a^{o2} as
    much as u^2 does: that column is u^2 + this power. 0 where c_1 = 0.

    Examples
    --------
    >>> from gradfeat.maths.activations import CentredReLU
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> beta = gradient_direction(0.5, CentredReLU(), Teacher((0.0, 1.0), noise=1.0))
    >>> float(noise_power(0.5, beta, CentredReLU()).round(12))
    0.5
    """
    square = float(activation.hermite_coefficients(1)[1]) ** 2
    if square == 0:
        return np.zeros(np.shape(direction.norm_squared))
    excess = activation.derivative_second_moment() / square - 1
    return _over(np.asarray(phi) * direction.residual_power * excess, direction.norm_squared)


def powers_added(activation: Activation, degree: int) -> list[int]:
    """The powers k <= degree that F has: those with c_k != 0, the constant even without a step.

    Where c_1 = 0 the gradient has no part along beta, and the step adds no power.

    Examples
    --------
    >>> from gradfeat.maths.activations import CentredReLU
    >>> powers_added(CentredReLU(), 4)
    [1, 2, 4]
    """
    there = np.abs(activation.hermite_coefficients(max(degree, 1))) > 1e-9
    return np.flatnonzero(there[: degree + 1 if there[1] else 1]).tolist()


def _columns(powers: Sequence[int], size: int, spread: np.ndarray) -> np.ndarray:
    """An orthonormal basis (..., size, l) of the columns in he_0, he_1, ..., over spread's shape.

    E_xi (u + sqrt(spread) xi)^k = sum_j k!/((k - 2j)! j!) (spread/2)^j u^{k - 2j}.
    """
    Z = np.zeros((*spread.shape, size, len(powers)))
    for column, k in enumerate(powers):
        for j in range(k // 2 + 1):
            series = hermite_e.poly2herme(np.eye(k + 1)[k - 2 * j])
            share = math.factorial(k) / (math.factorial(k - 2 * j) * math.factorial(j))
            scale = share * (spread[..., None] / 2) ** j
            Z[..., : len(series), column] += scale * series * root_factorials(len(series) - 1)
    return np.linalg.qr(Z)[0]


def _form(
    b: np.ndarray, db: np.ndarray, S: np.ndarray, dS: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """b^T S^{-1} b and its slope."""
    p = np.linalg.solve(S, b[..., None])[..., 0]
    bent = np.einsum("...j,...jk,...k->...", p, dS, p)
    return np.einsum("...j,...j->...", b, p), 2 * np.einsum("...j,...j->...", db, p) - bent
