"""How much columns beside random features lower the loss: b^T H^{-1} b and its slope in lambda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e

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
        share = kept * direction.initial**2 / direction.norm_squared
        left, dleft = _partial(traces)
        linear = traces.t + share * (left - traces.t)
        dlinear = traces.dt + share * (dleft - traces.dt)
        shape = np.broadcast_shapes(np.shape(linear), np.shape(traces.s))
        v, dv = (np.repeat(np.broadcast_to(a, shape)[..., None], size, -1) for a in _s(traces))
        v[..., 1], dv[..., 1] = linear, dlinear
        return _Weights(v, dv)


def _s(traces: Traces) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(traces.s), np.asarray(traces.ds)


def _partial(traces: Traces) -> tuple[np.ndarray, np.ndarray]:
    """kappa' = t - c_1^2 t^2 g: the weight along W0^T a when F_0 a is a feature; and its slope.

    1/g = 1 + c_1^2 t + c_{>1}^2 s, so that kappa' = t (1 + c_{>1}^2 s)/(1/g).
    """
    q = traces.linear
    value = traces.t - q * traces.t**2 * traces.g
    return value, traces.dt - q * (2 * traces.t * traces.dt * traces.g + traces.t**2 * traces.dg)


def target_components(teacher: Teacher, alignment: np.ndarray, size: int) -> np.ndarray:
    """y_k = E[f* he_k(u)] = sqrt(k!) c_{*k} rho^k for k < size, up to the sign of beta."""
    return teacher.components(size - 1) * alignment[..., None] ** np.arange(size)


def column_gain(
    teacher: Teacher,
    direction: GradientDirection,
    powers: Sequence[int],
    traces: Traces,
    kept: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Gain of the unpenalised columns u^k, k in `powers`, over lambda, and its slope.

    b^T Z (Z^T diag(v) Z)^{-1} Z^T b with u^k = sum_r Z_rk he_r(u). `kept` is the share of the
    feature F_0 a that stays among the features: 0 for a network, 1 where the columns are extra. It
    lowers v_1 in the form alone: b_1 = t c_{*1} rho is what u and the target share.
    """
    size = max(*powers, len(teacher.coefficients) - 1, 1) + 1
    weights = _Weights.of(traces, direction, kept, size)
    plain = _Weights.of(traces, direction, 0.0, size)  # the target has no part along W0^T a
    Z = _powers(powers, size)
    y = target_components(teacher, direction.alignment, size)
    b, db = (w * y for w in (plain.v, plain.dv))
    inner, slope = (np.einsum("...r,rj,rk->...jk", w, Z, Z) for w in (weights.v, weights.dv))
    return _form(b @ Z, db @ Z, inner, slope)


def powers_added(activation: Activation, degree: int) -> list[int]:
    """The powers k <= degree that F has: those with c_k != 0, the constant even without a step.

    Examples
    --------
    >>> from gradfeat.maths.activations import CentredReLU
    >>> powers_added(CentredReLU(), 4)
    [1, 2, 4]
    """
    c = activation.hermite_coefficients(max(degree, 1))[: degree + 1]
    return np.flatnonzero(np.abs(c) > 1e-9).tolist()


def _powers(powers: Sequence[int], size: int) -> np.ndarray:
    """An orthonormal basis (size, l) of u^k, k in `powers`, in he_0, he_1, ..."""
    Z = np.zeros((size, len(powers)))
    for column, k in enumerate(powers):
        series = hermite_e.poly2herme(np.eye(k + 1)[k])
        Z[: k + 1, column] = series * root_factorials(k)
    return np.linalg.qr(Z)[0]


def _form(
    b: np.ndarray, db: np.ndarray, S: np.ndarray, dS: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """b^T S^{-1} b and its slope."""
    p = np.linalg.solve(S, b[..., None])[..., 0]
    bent = np.einsum("...j,...jk,...k->...", p, dS, p)
    return np.einsum("...j,...j->...", b, p), 2 * np.einsum("...j,...j->...", db, p) - bent
