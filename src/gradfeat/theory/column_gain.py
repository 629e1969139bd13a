"""How much columns beside random features lower the loss: b^T H^{-1} b and its slope in lambda."""

from __future__ import annotations

import itertools
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
#: E[sigma he_k] below it is 0 but for rounding; and what share of a column is its own.
ROUNDING, SPANNED = 1e-13, 1e-6


@dataclass(frozen=True)
class _Weights:
    """v and its slope: what (1/n) P_k^T K^{-1} P_k (psi/phi) is for the columns of P."""

    v: np.ndarray
    dv: np.ndarray

    @staticmethod
    def of(traces: Traces, direction: GradientDirection, kept: float, size: int) -> _Weights:
        """s, s_0 of the constant, t of the linear column less what its part along W0^T a loses.

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
        v[..., 0], dv[..., 0] = traces.s0, traces.ds0
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
    """y_k = E[f* he_k(u)] = sqrt(k!) c_{*k} cos(beta, b)^k for k < size."""
    rho = np.nan_to_num(alignment)  # nan of a target of zeros
    return teacher.components(size - 1) * rho[..., None] ** np.arange(size)


def column_gain(
    teacher: Teacher,
    direction: GradientDirection,
    columns: np.ndarray,
    traces: Traces,
    kept: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Gain over lambda of unpenalised columns sum_r Z_rk he_r(u), Z (..., size, l), and its slope.

    b^T Z (Z^T diag(v) Z)^{-1} Z^T b; columns that the ones before them span count once. `kept` is
    the share of the feature F_0 a that stays among the features: 0 for a network, 1 where the
    columns are extra. It lowers v_1 in the form alone: b_1 = t c_{*1} rho is what u and the target
    share.
    """
    size = columns.shape[-2]
    weights = _Weights.of(traces, direction, kept, size)
    plain = _Weights.of(traces, direction, 0.0, size)  # the target has no part along W0^T a
    Z = _independent(columns)
    y = target_components(teacher, direction.alignment, size)
    b, db = (w * y for w in (plain.v, plain.dv))
    b, db = (np.einsum("...r,...rj->...j", side, Z) for side in (b, db))
    inner, slope = (np.einsum("...r,...rj,...rk->...jk", w, Z, Z) for w in (weights.v, weights.dv))
    spanned = np.where(np.abs(Z).max(-2) > 0, 0.0, 1.0)
    return _form(b, db, inner + spanned[..., None] * np.eye(Z.shape[-1]), slope)


def power_columns(degrees: Sequence[int], size: int) -> np.ndarray:
    """Columns u^k in he_0, ..., he_{size - 1}: (size, l).

    >>> power_columns([0, 2], 3).round(3).tolist()
    [[1.0, 1.0], [0.0, 0.0], [0.0, 1.414]]
    """
    Z = np.zeros((size, len(degrees)))
    for column, k in enumerate(degrees):
        series = hermite_e.poly2herme([0.0] * k + [1.0])
        Z[: len(series), column] = series * root_factorials(len(series) - 1)
    return Z


def step_columns(
    activation: Activation, direction: GradientDirection, own: ArrayLike, degree: int, size: int
) -> np.ndarray:
    """What F has with 1, a, ..., a^{o degree}: polynomials of u, in he_0, ..., (..., size, l).

    Given u the pre-activation of neuron j is Gaussian of mean h = s c_1 |beta| u and variance
    1 + v, v = 2 s q + s^2 (q^2 + p), s = eta a_j, q the stretch of w_j and p the `own_power`.
    E sigma = sum_{j, i} h^j/j! (v/2)^i/i! (j + 2 i)! c_{j + 2 i}, and the k-th column is the
    coefficient of s^k: c_1^2 |beta| u + 2 c_2 q for k = 1, c_2 (c_1^2 |beta|^2 u^2 + q^2 + p) +
    6 c_3 q c_1 |beta| u + 12 c_4 q^2 for k = 2.

    `own`: p, the `own_power`, or 0 for a gradient of rank one; `degree`: highest power of a, below
    `size`.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> beta = gradient_direction(0.5, CentredReLU(), Teacher.single((1.0, 1.0)))
    >>> first = step_columns(CentredReLU(), beta, 0.0, 1, 2)[:, 1]
    >>> first.round(4).tolist()  # 4 c_2^2 = 1/(2 pi), and c_1^2 |beta|
    [0.1592, 0.3536]
    """
    lead = float(activation.hermite_coefficients(1)[1]) * np.sqrt(direction.norm_squared)
    stretch, own = direction.stretch, np.asarray(own, dtype=np.float64)
    moved = _derivative_means(activation, 2 * degree)
    shape = np.broadcast_shapes(np.shape(lead), own.shape)
    Z, basis = np.zeros((*shape, size, degree + 1)), power_columns(range(degree + 1), size)
    half = (stretch**2 + own) / 2
    for k, j in itertools.product(range(degree + 1), repeat=2):
        for i in range(-((j - k) // 2), k - j + 1):  # of v/2 i factors, k - j - i of them s^2
            twice = k - j - i
            share = math.comb(i, twice) * moved[j + 2 * i] / math.factorial(i) / math.factorial(j)
            scale = np.asarray(share * stretch ** (i - twice) * half**twice * lead**j)
            Z[..., k] += scale[..., None] * basis[:, j]
    return Z


def _derivative_means(activation: Activation, k_max: int) -> np.ndarray:
    """E sigma^{(k)} = k! c_k; exactly 0 where c_k is, to the rounding of E[sigma he_k]."""
    root = root_factorials(k_max)
    c = activation.hermite_coefficients(k_max) * root
    return np.where(np.abs(c) > ROUNDING, c * root, 0.0)


def _independent(Z: np.ndarray) -> np.ndarray:
    """Columns orthonormal one after the other; those that the ones before span are 0."""
    Q = np.zeros(Z.shape)
    for k in range(Z.shape[-1]):
        before, new = np.linalg.norm(Z[..., k], axis=-1), Z[..., k]
        for _ in range(2):  # once more for rounding
            new = new - np.einsum("...rk,...sk,...s->...r", Q, Q, new)
        size = np.linalg.norm(new, axis=-1)
        there = size > SPANNED * before
        Q[..., k] = np.where(there[..., None], new, 0.0) / np.where(there, size, 1.0)[..., None]
    return Q


def _form(
    b: np.ndarray, db: np.ndarray, S: np.ndarray, dS: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """b^T S^{-1} b and its slope."""
    p = np.linalg.solve(S, b[..., None])[..., 0]
    bent = np.einsum("...j,...jk,...k->...", p, dS, p)
    return np.einsum("...j,...j->...", b, p), 2 * np.einsum("...j,...j->...", db, p) - bent
