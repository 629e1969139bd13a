"""Averages over rows that made the gradient: x^T K^{-1} x/n of functions of them.

Row i has u_i = x_i.beta_{-i}/|beta|, beta_{-i} the direction without the row, the residual r_i, and
x_i.beta = |beta| u_i + phi r_i. With R = (A + B X X^T/d)^{-1}, tau = tr R/n and theta_q =
(B/d) X^T R q, leaving one row out of everything, of u too, gives for q_i = q(u_i, y_i)

    [R q]_i = tau (q_i - x_i.theta_q - kappa E[dq/du] r_i),    kappa = (1 - A tau)/|beta|,

where the last term is what the row moves the others by. x_i.theta_q is Gaussian beside u_i and the
target's directions, and theta_q follows from its components along these. At finite n R has a part
of degree 2 beside (`feature_resolvent`), and 1 - A tau is that of the linear part, phi omega/(1 +
omega) with omega = B tau/phi.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..maths.activations import Activation
from ..maths.multi_hermite import MultiHermite
from ..maths.step_names import Residual
from .gradient_direction import GradientDirection, gradient_direction, own_power
from .ridge_errors import moments
from .teacher import Teacher

#: Drawn rows are 2^POWER points of an additive recurrence, which needs no import of scipy.stats.
POWER = 12


@dataclass(frozen=True)
class ReusedRows:
    """Drawn rows and what one of them has.

    The columns of `g` are b_1.x, ..., b_r.x, W_0^T a.x and u, all N(0, 1).
    """

    phi: float
    length: float  #: |beta|.
    #: lead, stretch, power: c_1 |beta|, and what neurons have of w_j and of other directions.
    lead: float
    stretch: float
    power: float
    g: np.ndarray  #: (P, r + 2).
    covariance: np.ndarray  #: (r + 2, r + 2), of g.
    y: np.ndarray  #: (P,).
    residual: np.ndarray  #: (P,), r = y - gamma f_0.
    start: np.ndarray  #: (P,), f_0 less its mean.
    mass: np.ndarray  #: (P,), weights of the rows.

    @staticmethod
    def of(
        phi: float, activation: Activation, teacher: Teacher, residual: Residual, width: float
    ) -> ReusedRows:
        """Those of the gradient of `width` neurons; drawn once, as they are the same at any step.

        On the width only the residual of Ba22 depends.
        """
        width = width if residual == "ba22" else 1.0
        return _drawn(
            phi, activation, teacher.target, float(np.asarray(teacher.noise)), residual, width
        )

    @staticmethod
    def drawn(
        phi: float, activation: Activation, teacher: Teacher, direction: GradientDirection
    ) -> ReusedRows:
        size = teacher.target.r
        beyond = moments(activation)[2]
        slope = float(activation.hermite_coefficients(1)[1])
        gamma = float(direction.initial) / slope if slope else 0.0
        length = max(float(np.sqrt(direction.norm_squared)), 1e-150)
        S = np.eye(size + 2)
        S[-1, :-1] = S[:-1, -1] = np.r_[teacher.linear * teacher.along, -gamma * slope] / length
        z = _normal(size + 4).copy()
        z[:, :size] = z[:, :size] @ _from(teacher.along)
        g = z[:, : size + 2] @ np.linalg.cholesky(S).T
        y = teacher.target(g[:, :size]) + np.multiply(teacher.noise, z[:, -1])
        start = slope * g[:, size] + np.sqrt(beyond) * z[:, -2]
        power = float(own_power(phi, direction, activation))
        known = np.zeros((size + 5, size + 5))
        known[3:, 3:], known[0, 0], known[1, 1] = S, 1.0, float(teacher.power)
        known[0, 1], known[2, 2] = teacher.mean, slope**2 + beyond
        known[1, 3:], known[2, 3:] = S[:, :size] @ teacher.along * teacher.linear, slope * S[size]
        mass = _calibrated(np.column_stack([np.ones(len(y)), y, start, g]), known)
        return ReusedRows(
            phi, length, slope * length, direction.stretch, power, g, S, y, y - gamma * start,
            start, mass,
        )  # fmt: skip

    @property
    def u(self) -> np.ndarray:
        """x_i.beta_{-i}/|beta|, (P,)."""
        return self.g[:, -1]

    def weighted(self, q: np.ndarray) -> np.ndarray:
        """q times the weights of its rows: what sums to E q."""
        return (q.T * self.mass).T

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """E[grad q] along each of g, (k, r + 2), of functions q (P, k) of g and noise."""
        return np.linalg.solve(self.covariance, self.g.T @ self.weighted(q)).T

    def moved(self, q: np.ndarray, bulk: Bulk) -> np.ndarray:
        """kappa E[dq/du], (k,): what a row, in units of r_i, adds to the others' fit of q."""
        omega = bulk.B * bulk.tau / self.phi
        return self.phi * omega / (1 + omega) / self.length * self.slopes(q)[..., -1]

    def forms(self, p: np.ndarray, q: np.ndarray, bulk: Bulk) -> np.ndarray:
        """p^T K^{-1} q/n in the limit, (j, k), of functions (P, j) and (P, k) of a row."""
        omega, moved = bulk.B * bulk.tau / self.phi, self.moved(q, bulk)
        own = self.phi / self.length * self.residual  # of a row's x.beta/|beta| beside u
        residual, heavy = self.weighted(self.residual), self.weighted(q)
        r = residual @ np.column_stack([self.g, own])
        theta = omega / (1 + omega) * (self.g.T @ heavy - np.multiply.outer(r[:-1], moved))
        beside = self.phi / self.length * self.slopes(self.residual)[:-1]
        held = (self.g[:, -1] + own) @ heavy - beside @ theta[:-1] - (r[-2] + r[-1]) * moved
        theta[-1] = omega / (1 + omega) * held
        straight = p.T @ heavy - np.multiply.outer(p.T @ residual, moved)
        return bulk.tau * (straight - self.slopes(p) @ theta - self._second(p, q, bulk))

    @cached_property
    def _products(self) -> np.ndarray:
        """z_i z_j of orthonormal z in place of g, (k^2, P)."""
        z = self.g @ np.linalg.inv(np.linalg.cholesky(self.covariance)).T
        return np.einsum("pi,pj->ijp", z, z).reshape(-1, len(z))

    def _second(self, p: np.ndarray, q: np.ndarray, bulk: Bulk) -> np.ndarray:
        """What features of degree 2 hold of p and q."""
        if not np.isfinite(bulk.inputs):
            return np.zeros(np.shape(p)[1:] + np.shape(q)[1:])
        diagonal = np.eye(self.g.shape[1]).ravel()
        of_p, of_q = (
            self._products @ self.weighted(f) - np.multiply.outer(diagonal, self.mass @ f)
            for f in (p, q)
        )
        every = bulk.second / (1 + bulk.second)
        along = bulk.second / (2 / (bulk.inputs + 2) + bulk.second)
        traces = np.multiply.outer(diagonal @ of_p, diagonal @ of_q) / bulk.inputs
        return (every * (of_p.T @ of_q) + (along - every) * traces) / 2


@lru_cache(2)
def _drawn(
    phi: float,
    activation: Activation,
    target: MultiHermite,
    noise: float,
    residual: Residual,
    width: float,
) -> ReusedRows:
    teacher = Teacher(target, noise)
    direction = gradient_direction(phi, activation, teacher, residual, width)
    return ReusedRows.drawn(phi, activation, teacher, direction)


@dataclass(frozen=True)
class Bulk:
    """K^{-1} ~ (A + B X X^T/d)^{-1}, tau its trace over n; complex where derivatives are asked.

    Features of degree 2 are a second such part, in which `second` is what B tau/phi is here.
    """

    B: complex
    tau: complex
    second: complex
    inputs: float  #: d, infinite in the limit.


def _from(chat: np.ndarray) -> np.ndarray:
    """An orthogonal matrix of which chat is the first row: the first points are along chat."""
    Q = np.linalg.qr(np.column_stack([chat, np.eye(len(chat))]))[0]
    Q[:, 0] = chat
    return Q.T


@lru_cache(8)
def _normal(columns: int) -> np.ndarray:
    """Points of an additive recurrence as N(0, I), their means and covariances exactly so.

    Steps are powers of 1/g, g^(columns + 1) = g + 1 the golden ratio of so many columns.
    """
    from scipy.special import ndtri

    golden = 2.0
    for _ in range(64):
        golden = (1 + golden) ** (1 / (columns + 1))
    steps = golden ** -np.arange(1.0, columns + 1)
    z = ndtri((0.5 + np.arange(1, 2**POWER + 1)[:, None] * steps) % 1)
    z -= z.mean(0)
    return np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T


def _calibrated(v: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Weights near 1/P of rows v (P, k), 1 first, with which E v v^T has this upper triangle."""
    i, j = np.triu_indices(v.shape[1])
    products = v[:, i] * v[:, j]
    scale = np.sqrt(np.mean(products**2, 0)) + 1e-300
    products /= scale
    shift = known[i, j] / scale - products.mean(0)
    held = np.linalg.lstsq(products.T @ products / len(v), shift, rcond=1e-12)[0]
    return (1 + products @ held) / len(v)
