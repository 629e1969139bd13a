"""Mean features of rows that made the gradient, at each entry of the head.

Row i has pre-activations h_ij = sqrt(own_j) z + eta a_j (c_1 |beta| u_i + phi r_i sigma'(z)), z ~
N(0, 1) the row's first one: beside what the other rows say of it, c_1 |beta| u_i, the step adds the
row's own label, through the slope that the row had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from ..maths.activations import Activation
from ..maths.hermite import gauss_hermite
from .activation_coefficients import gaussian_rule
from .head_law import HeadLaw
from .reused_rows import ReusedRows

#: Entries of the head of less mass are left out; Chebyshev nodes in u and r; nodes without kinks.
LEAST_MASS, U_NODES, R_NODES, SMOOTH = 1e-7, 15, 21, 32
#: The largest `label_share`, and share of E sigma'^2 in 4 c_2^2, at which errors are predicted.
MOST_LABELS, MOST_BEND = 1.2, 0.5
#: The largest `label_spread`, `turn`, and share that features hold of a function of degree 2.
MOST_SPREAD, MOST_TURN, MOST_QUADRATIC = 1.0, 0.5, 0.1
#: What `label_share` times the rows is below where a step changes nothing.
NOTHING = 1e-3


@dataclass(frozen=True)
class ReusedFeatures:
    """Columns E[F_ij | row] in an orthonormal basis of the head's law, of which a is the first.

    F F^T/N has them, each with its weight, beside the bulk F_0 F_0^T/N. The column along a holds
    f_0 = F_0 a too: it is all that F has along a, and the residual may hold f_0.
    """

    own: np.ndarray  #: (P, k), on the rows of the gradient.
    fresh: np.ndarray  #: (P, k), on other rows with the same u.

    @staticmethod
    def of(
        rows: ReusedRows, activation: Activation, eta: float, width: float, head: HeadLaw
    ) -> ReusedFeatures:
        h, w = np.array(head.values), np.array(head.masses)
        h, w = h[w > LEAST_MASS], w[w > LEAST_MASS]
        u, r = _Places.of(rows.u, U_NODES), _Places.of(rows.residual, R_NODES)
        steps = (eta * h / math.sqrt(width))[:, None, None, None]
        scale = np.sqrt((1 + steps * rows.stretch) ** 2 + steps**2 * rows.power)
        z, mass = _rule(activation)
        bent = rows.phi * np.outer(r.nodes, activation.derivative_values(z))
        moved = rows.lead * u.nodes[:, None, None] + bent
        table = activation.values(scale * z + steps * moved) @ mass
        table = np.einsum("vu,aur,sr->vsa", u.inverse, table, r.inverse, optimize=True)
        Q, unmoved = _basis(h, w), r.at(np.zeros(1))
        found = [_at(table, u.basis, r.basis) @ Q, u.basis @ (unmoved @ table)[:, 0] @ Q]
        for columns in found:
            columns[:, 0] += rows.start / math.sqrt(width)
        return ReusedFeatures(*found)

    @staticmethod
    def limit(rows: ReusedRows, activation: Activation, powers: list[int]) -> ReusedFeatures:
        """What the step adds along these powers k of a: E[delta^k sigma^{(k)}(z)]/k! over z.

        delta = c_1 |beta| u + phi r sigma'(z) + stretch z + noise of variance `power`; k is 1,
        or 2 where sigma has no kinks: derivatives are integrated by parts.
        """
        z, mass = _rule(activation)
        slope = activation.derivative_values(z)

        def mean(k: int, power: int) -> float:
            return float(mass @ (z**k * slope**power))

        q, lead = rows.stretch, rows.lead * rows.u

        def columns(own: np.ndarray) -> np.ndarray:
            first = lead * mean(0, 1) + own * mean(0, 2) + q * mean(1, 1)
            second = (
                (lead**2 + rows.power) * mean(1, 1) + lead * own * mean(1, 2)
                + own**2 * mean(1, 3) / 3 + 2 * lead * q * (mean(2, 1) - mean(0, 1))
                + own * q * (mean(2, 2) - mean(0, 2)) + q**2 * (mean(3, 1) - 2 * mean(1, 1))
            ) / 2  # fmt: skip
            return np.column_stack([[first, second][k - 1] for k in powers])

        return ReusedFeatures(columns(rows.phi * rows.residual), columns(np.zeros(len(lead))))


def label_share(eta: float, width: float, rows: ReusedRows, activation: Activation) -> float:
    """eta^2/N phi^2 E sigma'^2 E r^4/E r^2: how far a row's own label moves its features.

    In units of their variance, in the mean over rows weighted by r^2. `rows` stay in the bulk what
    they are without a step, which is no longer true where this is not small.
    """
    squares = rows.residual**2
    heavy = (rows.mass @ squares**2) / (rows.mass @ squares)
    moved = rows.phi**2 * activation.derivative_second_moment() * heavy
    return float(eta**2 / width * moved)


def bend_share(activation: Activation) -> float:
    """4 c_2^2/E sigma'^2: the part of the slope's square that is linear in the pre-activation.

    Through it row i's features hold a sum of r_k ((x_i.x_k)^2/d - 1)/n over all other rows, of
    variance 32 c_2^4 E r^2/n, which falls with n alone and which the columns do not have.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> round(bend_share(CentredReLU()), 3)
    0.318
    """
    bend = float(activation.hermite_coefficients(2)[2])
    return 4 * bend**2 / activation.derivative_second_moment()


def label_spread(
    eta: float, width: float, rows: ReusedRows, activation: Activation, level: float
) -> float:
    """eta^2/N phi^2 (E sigma'^4 - (E sigma'^2)^2) E r^4/E r^2 over `level`.

    A row's own label moves neuron j's feature of it by eta a_j phi r sigma'(z)^2. Columns have the
    mean over z, and this is the variance beside, in units of z/g + c_{>1}^2, what the bulk has of a
    row alone: cubic activations have a large one at small steps.
    """
    z, mass = _rule(activation)
    slopes = activation.derivative_values(z) ** 2
    spread = float(mass @ slopes**2 - (mass @ slopes) ** 2) / activation.derivative_second_moment()
    return label_share(eta, width, rows, activation) * spread / level


def turn(eta: float, width: float, rows: ReusedRows, activation: Activation) -> float:
    """eta/sqrt(N) 2 |c_2| 2 sqrt(phi E r^2): how far X^T diag(r) X/n turns a neuron of unit length.

    Through the part 2 c_2 z of sigma'(z) the gradient has 2 c_2 a_j w_j X^T diag(r) X/n, a matrix
    of all labels with singular values of up to about 2 sqrt(phi E r^2).
    """
    bend = abs(float(activation.hermite_coefficients(2)[2]))
    power = float(rows.mass @ rows.residual**2)
    return 4 * eta / math.sqrt(width) * bend * math.sqrt(rows.phi * power)


def is_settled(
    eta: float, width: float, n: float, rows: ReusedRows, activation: Activation, level: float
) -> bool:
    """Whether columns beside the bulk of random features describe the features of n rows."""
    share = label_share(eta, width, rows, activation)
    spread = label_spread(eta, width, rows, activation, level)
    turned = turn(eta, width, rows, activation)
    bends = bend_share(activation) > MOST_BEND and share * n > NOTHING
    small = share <= MOST_LABELS and spread <= MOST_SPREAD and turned <= MOST_TURN
    return small and not bends


@dataclass(frozen=True)
class _Places:
    """Chebyshev polynomials on the range of a variable, 0 included: new rows have no r."""

    ends: tuple[float, float]
    nodes: np.ndarray  #: (k,).
    inverse: np.ndarray  #: (k, k), values at the nodes to coefficients.
    basis: np.ndarray  #: (P, k), at the drawn rows.

    @staticmethod
    def of(values: np.ndarray, size: int) -> _Places:
        t, ends = chebyshev.chebpts1(size), (min(values.min(), 0.0), max(values.max(), 0.0))
        inverse = np.linalg.inv(chebyshev.chebvander(t, size - 1))
        nodes = ends[0] + (ends[1] - ends[0]) * (t + 1) / 2
        return _Places(ends, nodes, inverse, _polynomials(values, ends, size))

    def at(self, values: np.ndarray) -> np.ndarray:
        """(P, k)."""
        return _polynomials(values, self.ends, len(self.nodes))


def _polynomials(values: np.ndarray, ends: tuple[float, float], size: int) -> np.ndarray:
    t = 2 * (values - ends[0]) / max(ends[1] - ends[0], 1e-300) - 1
    return chebyshev.chebvander(t, size - 1)


def _at(table: np.ndarray, u: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Coefficients (U, R, A) at the drawn rows: (P, A)."""
    of_u = (u @ table.reshape(len(table), -1)).reshape(len(u), *table.shape[1:])
    return np.matmul(r[:, None, :], of_u)[:, 0]


def _basis(h: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Values at the nodes of the head -> components along h, and along what is orthogonal to it."""
    first = np.sqrt(w) * h
    Q = np.linalg.qr(np.column_stack([first, np.eye(len(h))]))[0]
    Q[:, 0] = first
    return np.sqrt(w)[:, None] * Q


def _rule(activation: Activation) -> tuple[np.ndarray, np.ndarray]:
    if activation.breakpoints:
        return gaussian_rule(activation.breakpoints)
    return gauss_hermite(SMOOTH)
