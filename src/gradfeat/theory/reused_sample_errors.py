"""Errors after one step when the head is fitted on the rows of the gradient again (l = 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.step_names import Residual, RowLaw
from .feature_resolvent import Traces
from .gradient_direction import GradientDirection, gradient_direction
from .ridge_errors import RidgeErrors, feature_limit, moments
from .teacher import Teacher

#: Nodes of averages over the Marchenko-Pastur law; they converge like a trapezoidal rule.
NODES = 400


def reused_sample_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    eta: ArrayLike = np.inf,
    residual: Residual = "y",
    width: ArrayLike | None = None,
    rows: RowLaw = "sphere",
    intercept: bool = False,
) -> RidgeErrors:
    """Errors where gradient and head see the same rows and the step adds one column, l = 1.

    On its own rows the column is v = (P + mu) r + e with P = X X^T/n,
    mu = phi (E sigma'^2 - c_1^2)/c_1^2, for each row meets its own label twice, in X beta and in
    the slopes, and e = 4 c_2^2 c_{*0}/c_1^2 in every row. On new rows it is x.beta + e. A constant
    column stands beside it, of penalty 0 where the activation has a mean or the head an intercept,
    and phi/(2 c_2^2 g) where rows of W0 are Gaussian. With R = (z + g Sigma)^{-1} all forms are
    averages over the spectrum of X X^T/d, and the residual of row i when it is left out is
    [K^{-1}(y - b v) + b ((K^{-1} P)_ii + mu (K^{-1})_ii) r]_i/(K^{-1})_ii, b the coefficient of v.

    `eta`: step size above 0, n^alpha with alpha < 1/4, infinity is the limit of l = 1; `width`: N,
    for "ba22", left out it is infinite, and "ba22" is "y"; `rows`: of W0, on the unit sphere or
    N(0, I/d); `intercept`: whether the fitted head has one.
    Regime: alpha < 1/4. At n = 1,000 and alpha = 0.1, 0.2 simulated training losses lie up to a
    tenth above, for a row's own label also bends its features: by n^{alpha - 1/2}, and more where
    labels have heavy tails (a degree 3: 22 % at n = 500, 11 % at 2,000; test errors up to 11 % at
    n = 1,000, 2 % on average over 40 settings). From l = 2 on the columns
    (X beta)^{o2} hold the labels in a way that no formula here follows; `predict_error` gives nan.
    Raises ValueError when a number is out of its range, f_0 has a random mean, or c_1 = 0.
    Source: derived here for Moniri24's learner with one sample; checked by simulation.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> found = reused_sample_errors(
    ...     0.5, 2 / 3, 0.01, CentredReLU(), Teacher.single((0.0, 1.0), 1.0)
    ... )
    >>> float(found.training_loss.round(4)), float(found.test_error.round(3))  # fresh: .4150, 2.660
    (0.1625, 1.933)
    """
    N_ = np.inf if width is None else width
    arrays = np.broadcast_arrays(phi, psi, penalty, eta, teacher.noise, N_)
    cells = zip(*(np.asarray(a, dtype=np.float64).ravel() for a in arrays), strict=True)
    found = []
    for p, q, lam, step, noise, N in cells:
        own = Teacher(teacher.target, noise)
        direction = gradient_direction(p, activation, own, residual, N)
        traces = feature_limit(p, q, activation, rows).traces(lam)
        carried = intercept or abs(moments(activation)[0]) > 1e-9
        forms = _Forms.of(p, traces, lam, activation, own, direction, step, carried)
        found.append(forms.errors(lam))
    return RidgeErrors(*np.reshape(found, (-1, 3)).T.reshape(3, *arrays[0].shape))


@dataclass(frozen=True)
class _Forms:
    """Averages over eigenvalues s of X X^T/d: of p^T h p/n (`target`) and of f_0^T h f_0/n.

    y is a sum of parts p, what varies and 1, with the factors `label` in it and `columns` in v and
    in the constant; `against` is what multiplies the feature F_0 a, of weight gamma in r and 1/|V|
    in the column's own noise. `free` is the constant's penalty, its slope in z `bent`.
    """

    target: np.ndarray
    label: np.ndarray
    feature: np.ndarray
    R: np.ndarray
    squared: np.ndarray
    columns: np.ndarray
    against: np.ndarray
    free: float
    bent: float
    own: float
    gamma: float
    size: float
    traces: Traces

    @staticmethod
    def of(
        phi: float,
        traces: Traces,
        penalty: float,
        activation: Activation,
        teacher: Teacher,
        direction: GradientDirection,
        eta: float,
        carried: bool,
    ) -> _Forms:
        _, q, v = moments(activation)
        if q == 0:
            raise ValueError("The activation's c_1 is 0, so one step adds no column: take another.")
        if not eta > 0:
            raise ValueError(f"The step size is {eta}: give a number above 0.")
        s, weights = _marchenko_pastur(1 / phi)
        Sigma, g, ratio = q * s + v, traces.g, float(traces.rows_per_neuron)
        R = 1 / (penalty * ratio + g * Sigma)
        varies = teacher.linear**2 * s + teacher.beyond_linear - teacher.mean**2
        level = 0.0 if carried else teacher.mean  # a free constant takes any level
        gamma = float(direction.initial) / activation.hermite_coefficients(1)[1]
        mu = phi * (activation.derivative_second_moment() - q) / q
        column, inverse = phi * s + mu, 1 / (q * eta)
        shift = 2 * activation.hermite_coefficients(2)[2] * direction.stretch / q if level else 0.0
        held, one = float(traces.constant * g) * ratio, np.zeros_like(s)
        free = 1 / held if held > 0 and not carried else np.inf  # a free one meets zeros
        return _Forms(
            target=weights * np.stack([varies, np.ones_like(s)]),
            label=np.array([[1.0], [level]]),
            feature=weights * Sigma,
            R=R,
            squared=R**2 * (1 + traces.dg / ratio * Sigma),
            columns=np.array([[column, level * column + shift], [one, one + 1]]),
            against=gamma * column - inverse,
            free=free,
            bent=float(traces.dg / g) / ratio * free if np.isfinite(free) else 0.0,
            own=float(phi * traces.m2 + mu * traces.m1),
            gamma=gamma,
            size=inverse,
            traces=traces,
        )

    def errors(self, penalty: float) -> tuple[float, float, float]:
        """Training loss, training error and test error."""
        p, y, f, R, K2 = self.target, self.label, self.feature, self.R, self.squared
        Z, w, ratio = self.columns, self.against, float(self.traces.rows_per_neuron)
        inner, met = np.einsum("ps,jps,kps->jk", p * R, Z, Z), np.einsum("ps,jps->j", p * R * y, Z)
        inner[0, 0] += f @ (R * w**2) + self.size**2 / ratio
        there = [0] if inner[0, 0] > 0 else []  # no label, no column
        there += [1] if np.isfinite(self.free) else []
        inner[1, 1] += self.free
        coefficients = np.zeros(2)
        coefficients[there] = np.linalg.solve(inner[np.ix_(there, there)], met[there])
        b, level = coefficients
        loss = np.sum(p * R * y**2) - coefficients @ met
        left = y - np.tensordot(coefficients, Z, 1)
        training = np.sum(p * K2 * left**2) + b**2 * (f @ (K2 * w**2)) + level**2 * self.bent
        c = b * self.own
        crossed = 2 * c * np.sum(p * R * y * left) + c**2 * np.sum(p * y**2)
        noise = -2 * c * b * self.gamma * (f @ (R * w)) + (c * self.gamma) ** 2 * f.sum()
        test = (training + crossed + noise) / float(self.traces.m1) ** 2
        found = penalty * ratio * loss, (penalty * ratio) ** 2 * training, test
        return float(found[0]), float(found[1]), float(found[2])


def _marchenko_pastur(c: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the spectrum of X X^T/d, n x n, n/d = c; its atom at 0 is a node."""
    theta = (np.arange(NODES) + 0.5) * np.pi / NODES
    s = 1 + c + 2 * np.sqrt(c) * np.cos(theta)
    weights = 2 / NODES * np.sin(theta) ** 2 / s
    return np.r_[0.0, s], np.r_[max(0.0, 1 - 1 / c), weights]
