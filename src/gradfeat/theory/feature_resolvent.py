"""Limits of traces of the resolvent of random features, the edges and density of their spectrum.

F_0 = sigma(X W0^T) is n x N with Gaussian rows of X in R^d, rows of W0 on the unit sphere and
d/n -> phi, d/N -> psi. (Where they are N(0, I/d), their lengths add c_2 (|w_j|^2 - 1) to the column
of neuron j: a part along the constant.) Given X its columns are independent with covariance
Sigma = c_1^2 X X^T/d + c_{>1}^2 I, so K = F_0 F_0^T/N + z I has the deterministic equivalent
K^{-1} ~ (z + g Sigma)^{-1} with 1/g = 1 + tr(Sigma K^{-1})/N.

All of it is explicit in u = tr(a + c_1^2 X X^T/d)^{-1}/n, a = z/g + c_{>1}^2. With
h = 1/(1 + c_1^2 u/phi):

    a - c_{>1}^2 = 1/u - c_1^2 h - c_{>1}^2,    g = 1 - (psi/phi) u (c_1^2 h + c_{>1}^2),

and z is their product. u > 0 belongs to z > 0; u < 0 to -z above the spectrum of F_0 F_0^T/N,
whose edge is where z'(u) = 0.

At n of the order of d^2/2 rows, features of degree 2 are no noise. w w^T has (d - 1)(d + 2)/2
components without trace, of variance 2/(d (d + 2)), so c_2 He_2(w.x) is a second linear part of so
many inputs, of power 2 c_2^2: with h_2 = 1/(1 + 4 c_2^2 u n/(d (d + 2))), 2 c_2^2 h_2 takes the
place of 2 c_2^2 in c_{>1}^2 (the dimension-free equivalent of Defilippis, Loureiro & Misiakiewicz
2024, of three eigenvalues). In the limit n/d^2 -> 0 and h_2 = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

#: The least penalty: below it m_1 at n < N, about 1/penalty, has no digits.
LEAST = 1e-100


@dataclass(frozen=True)
class FeatureLimit:
    """Random features in the limit: phi = d/n, psi = d/N and two moments of the activation.

    Raises ValueError where a number is out of its range.
    Source: Moniri24, Section 4; the scalar form is the deterministic equivalent of sample
    covariance matrices (Silverstein & Choi 1995), used twice.

    >>> FeatureLimit(0.5, 2 / 3, 0.25, 0.0909).traces(0.01).m1.round(3)
    np.float64(26.406)
    """

    #: phi, psi: d/n and d/N, above 0.
    phi: ArrayLike
    psi: ArrayLike
    #: linear, nonlinear: c_1^2 and c_{>1}^2 = E sigma^2 - c_0^2 - c_1^2, 0 or more and not both 0.
    linear: ArrayLike
    nonlinear: ArrayLike
    #: d times the variance of E sigma over neurons: 2 c_2^2 where rows of W0 are N(0, I/d).
    level: float = 0.0
    #: quadratic: c_2^2, of which 2 c_2^2 is in `nonlinear`; n: rows; infinite in the limit.
    quadratic: ArrayLike = 0.0
    n: ArrayLike = math.inf

    def __post_init__(self) -> None:
        shapes = np.broadcast_arrays(self.phi, self.psi, self.linear, self.nonlinear)
        phi, psi, linear, nonlinear = (np.asarray(a, dtype=np.float64) for a in shapes)
        if not (np.isfinite(shapes).all() and (phi > 0).all() and (psi > 0).all()):
            raise ValueError(
                f"phi is {self.phi} and psi {self.psi}: give d/n and d/N, finite and above 0."
            )
        if (np.minimum(linear, nonlinear) < 0).any() or (linear + nonlinear <= 0).any():
            raise ValueError(
                f"c_1^2 is {self.linear} and c_>1^2 {self.nonlinear}: give moments of 0 or more,"
                " one of them above 0 (a constant activation has no features)."
            )
        for name, value in zip(
            ("phi", "psi", "linear", "nonlinear"), (phi, psi, linear, nonlinear), strict=True
        ):
            object.__setattr__(self, name, value)
        if not (np.asarray(self.n) > 0).all():
            raise ValueError(f"n is {self.n}: give rows above 0.")

    @property
    def rows_per_neuron(self) -> np.ndarray:
        """n/N = psi/phi."""
        return np.divide(self.psi, self.phi)

    def at(self, u: ArrayLike) -> CurvePoint:
        """z, its parts and their slopes at u.

        >>> FeatureLimit(1.0, 1.0, 0.0, 1.0).at(0.5).z
        np.float64(0.5)
        """
        u, q, v = np.asarray(u), np.asarray(self.linear), np.asarray(self.nonlinear)
        k, ratio, m = q / self.phi, self.rows_per_neuron, 2 * np.asarray(self.quadratic)
        k2 = 2 * m / (self.phi * (np.multiply(self.phi, self.n) + 2))
        h, h2 = 1 / (1 + k * u), 1 / (1 + k2 * u)
        return CurvePoint(
            u=u,
            h=h,
            h2=h2,
            g=1 - ratio * u * (q * h + m * h2 + v - m),
            gap=1 / u - q * h - m * h2 - v + m,
            dh=-k * h**2,
            dh2=-k2 * h2**2,
            dg=-ratio * (q * h**2 + m * h2**2 + v - m),
            dgap=q * k * h**2 + m * k2 * h2**2 - 1 / u**2,
        )

    def traces(self, penalty: ArrayLike) -> Traces:
        """m_1, m_2 of K = F_0 F_0^T/N + penalty (psi/phi) I and their slopes in the penalty.

        m_1 = lim tr K^{-1}/n and m_2 = lim tr(X^T K^{-1} X)/(n d).

        Regime: n, d, N to infinity in proportion.
        Raises ValueError when the penalty is not above 0 and finite.
        Source: Moniri24, Proposition on m_1, m_2.

        >>> found = FeatureLimit(0.5, 0.5, 0.0, 1.0).traces(1.0)
        >>> float((found.m1 * (1 + found.m1)).round(12))  # Marchenko-Pastur at n = N
        1.0
        """
        from scipy.optimize import elementwise

        penalty = np.asarray(penalty, dtype=np.float64)
        if not (np.isfinite(penalty).all() and (penalty >= LEAST).all()):
            raise ValueError(
                f"The penalty is {penalty}: give finite numbers above 0, {LEAST:g} at least (1e-8"
                " stands for none)."
            )
        ratio = self.rows_per_neuron
        z = penalty * ratio
        least = np.log(z + np.add(self.linear, self.nonlinear) * (1 + ratio))
        fields = self.phi, self.psi, self.linear, self.nonlinear, self.quadratic, self.n
        bracket = np.broadcast_arrays(-least, -np.log(z), z, *fields)
        found = elementwise.find_root(_excess, tuple(bracket[:2]), args=tuple(bracket[2:])).x
        return self._traces_at(self.at(np.exp(found)), z)

    def _traces_at(self, point: CurvePoint, z: np.ndarray) -> Traces:
        """The smaller of g and z/g is a difference of nearly equal numbers: from the other one."""
        ratio = self.rows_per_neuron
        with np.errstate(divide="ignore"):
            g = np.where(point.g < point.gap * ratio, z / point.gap, point.g)
        m1 = point.u / g
        slope = ratio / (point.dg * (z / g) + g * point.dgap)  # du/d penalty
        dm1 = slope * (g - point.u * point.dg) / g**2
        m2, dm2 = m1 * point.h, dm1 * point.h + m1 * point.dh * slope
        m22, dm22 = m1 * point.h2, dm1 * point.h2 + m1 * point.dh2 * slope
        return Traces(
            m1, m2, m22, g, dm1, dm2, dm22, point.dg * slope, np.asarray(ratio),
            np.asarray(self.linear), np.divide(self.level, self.psi),
            np.divide(2 * np.asarray(self.quadratic), self.psi), np.multiply(self.phi, self.n),
        )  # fmt: skip

    def edge(self) -> np.ndarray:
        """The u < 0 of the right edge of the spectrum of F_0 F_0^T/N, which is -z there.

        Regime: n, d, N to infinity in proportion.
        Source: Silverstein & Choi 1995.

        >>> limit = FeatureLimit(1.0, 1.0, 0.0, 1.0)  # noise alone, n = N: edge at 4
        >>> float(-limit.at(limit.edge()).z.round(12))
        4.0
        """
        from scipy.optimize import elementwise

        q, v, ratio = np.asarray(self.linear), np.asarray(self.nonlinear), self.rows_per_neuron
        k = q / self.phi
        with np.errstate(divide="ignore"):
            low = np.maximum(-1 / (k + np.sqrt(q * k)), -2 / (v * np.sqrt(ratio)))
        high = -0.01 / ((q + v) * (1 + ratio))
        args = np.broadcast_arrays(self.phi, self.psi, q, v)
        return elementwise.find_root(_slope, (low, high), args=tuple(args)).x

    def largest_singular_value(self) -> np.ndarray:
        """Right edge of the bulk of singular values of F_0/sqrt(n).

        >>> float(FeatureLimit(1.0, 1.0, 0.0, 1.0).largest_singular_value().round(12))
        2.0
        """
        return np.sqrt(-self.at(self.edge()).z / self.rows_per_neuron)

    def typical_largest(self, n: ArrayLike) -> np.ndarray:
        """Mean of the largest bulk singular value of F_0/sqrt(n) at n rows: below the edge.

        Near the edge E of F_0 F_0^T/N the density is s^{-3/2} sqrt(E - x)/pi, and the largest
        eigenvalue is about E + s n^{-2/3} TW_1, E TW_1 = -1.2065 (Tracy-Widom).

        Regime: leading order in n^{-2/3}, assuming edge universality.
        Raises ValueError when n is not above 0.
        Source: Tracy & Widom 1996; El Karoui 2007 for sample covariance matrices.

        >>> FeatureLimit(1.0, 1.0, 0.0, 1.0).typical_largest(1000).round(4)
        np.float64(1.9924)
        """
        if not (np.asarray(n, float) > 0).all():
            raise ValueError(f"n is {n}: give rows above 0.")
        point = self.at(self.edge())
        q, k = np.asarray(self.linear), np.divide(self.linear, self.phi)
        bend = 2 * q * k * point.h**3
        curvature = (
            bend * self.rows_per_neuron * point.gap
            + 2 * point.dg * point.dgap
            + point.g * (2 / point.u**3 - k * bend)
        )
        rise = np.abs((point.g - point.u * point.dg) / point.g**2) * np.sqrt(2 / np.abs(curvature))
        largest = -point.z - 1.2065336 * rise ** (-2 / 3) * np.asarray(n, float) ** (-2 / 3)
        return np.sqrt(np.maximum(largest, 0.0) / self.rows_per_neuron)

    def singular_value_density(self, values: ArrayLike) -> np.ndarray:
        """Density of the min(n, N) singular values of F_0/sqrt(n) in the bulk; scalar limits only.

        The density is 0 at values below 0.
        Raises ValueError when a value is not finite.

        >>> quarter_circle = FeatureLimit(1.0, 1.0, 0.0, 1.0)
        >>> quarter_circle.singular_value_density([1.0]).round(4)
        array([0.5513])
        """
        sigma = np.asarray(values, dtype=np.float64)
        if not np.isfinite(sigma).all():
            raise ValueError(f"The singular values are {values}: give finite numbers.")
        ratio = float(self.rows_per_neuron)
        weight = 2 * ratio * np.maximum(sigma, 0.0) * max(1.0, ratio)  # dx = 2 ratio sigma d sigma
        return weight * self._heights(ratio * sigma**2)

    def _heights(self, x: np.ndarray) -> np.ndarray:
        """Density of F_0 F_0^T/N at x: Im m_1(x + i0)/pi, 1/u a root of a monic quartic polynomial.

        z(u) = -x times u (1 + k u)^2 is a polynomial of u with value 1 at 0.
        """
        parts = (self.linear, self.nonlinear, self.rows_per_neuron, self.phi)
        q, v, ratio, phi = (float(np.asarray(part)) for part in parts)
        one = np.polynomial.Polynomial([1.0, q / phi])
        u = np.polynomial.Polynomial([0.0, 1.0])
        inner = u * (q + v * one)
        fixed, moved = (one - ratio * inner) * (one - inner), u * one**2
        falling = np.zeros((*x.shape, 4, 4))
        for part, scale in ((fixed, np.ones_like(x)), (moved, x)):
            falling[..., 0, : len(part.coef) - 1] -= scale[..., None] * part.coef[1:]
        falling[..., [1, 2, 3], [0, 1, 2]] = 1.0
        w = np.linalg.eigvals(falling)
        with np.errstate(divide="ignore", invalid="ignore"):
            point = self.at(1 / np.where(np.abs(w) > 1e-12, w, np.nan))
            heights = np.imag(point.u / point.g)
        return np.nanmax(np.maximum(heights, 0.0), axis=-1, initial=0.0) / math.pi


@dataclass(frozen=True)
class CurvePoint:
    """u, the parts of z(u) = g (a - c_{>1}^2) and their slopes in u."""

    u: np.ndarray
    h: np.ndarray
    h2: np.ndarray
    g: np.ndarray
    gap: np.ndarray
    dh: np.ndarray
    dh2: np.ndarray
    dg: np.ndarray
    dgap: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """The shift of K."""
        return self.g * self.gap

    @property
    def dz(self) -> np.ndarray:
        """z'(u)."""
        return self.dg * self.gap + self.g * self.dgap


@dataclass(frozen=True)
class Traces:
    """m_1, m_2 and g at a penalty, and their slopes in it."""

    #: m1, m2, m22, g: lim tr K^{-1}/n, lim tr(X^T K^{-1} X)/(n d), the same of functions of degree
    #: 2 in place of x (m_1 in the limit), and 1/(1 + tr(Sigma K^{-1})/N).
    m1: np.ndarray
    m2: np.ndarray
    m22: np.ndarray
    g: np.ndarray
    #: dm1, dm2, dm22, dg: their slopes in the penalty.
    dm1: np.ndarray
    dm2: np.ndarray
    dm22: np.ndarray
    dg: np.ndarray
    rows_per_neuron: np.ndarray  #: psi/phi.
    linear: np.ndarray  #: c_1^2.
    constant: np.ndarray  #: 2 c_2^2/psi of Gaussian rows of W0: what the features have of 1.
    lengths: np.ndarray  #: 2 c_2^2/psi: what the features have of |x|^2.
    inputs: np.ndarray  #: d, infinite in the limit.

    @property
    def s(self) -> np.ndarray:
        """(psi/phi) m_1: weight of components of the target of which the features hold nothing."""
        return self.rows_per_neuron * self.m1

    @property
    def t(self) -> np.ndarray:
        """(psi/phi) m_2: weight of the linear component."""
        return self.rows_per_neuron * self.m2

    @property
    def s2(self) -> np.ndarray:
        """Weight of the component of degree 2, s in the limit."""
        return self.rows_per_neuron * self.m22

    @property
    def ds2(self) -> np.ndarray:
        """Slope of s2 in the penalty."""
        return self.rows_per_neuron * self.dm22

    @property
    def s0(self) -> np.ndarray:
        """s/(1 + (2 c_2^2/psi) g s): weight of the constant, s with rows of W0 on the sphere."""
        return self._beside(self.constant)[0]

    @property
    def ds0(self) -> np.ndarray:
        """Slope of s0 in the penalty."""
        return self._beside(self.constant)[1]

    @property
    def of_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Weight of the component along |x|^2, and its slope."""
        return self._beside(self.lengths)

    def _beside(self, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weight of a function that each feature holds alike, and its slope."""
        inner = 1 + one * self.g * self.s
        return self.s / inner, (self.ds - one * self.s**2 * self.dg) / inner**2

    @property
    def ds(self) -> np.ndarray:
        """Slope of s in the penalty."""
        return self.rows_per_neuron * self.dm1

    @property
    def dt(self) -> np.ndarray:
        """Slope of t in the penalty."""
        return self.rows_per_neuron * self.dm2


def _excess(log_u, z, *fields):
    """z(u) - z, falling in u: beyond the first of the roots of g and gap both may be negative."""
    phi, psi, linear, nonlinear, quadratic, n = fields
    point = FeatureLimit(phi, psi, linear, nonlinear, 0.0, quadratic, n).at(np.exp(log_u))
    return np.where(np.minimum(point.g, point.gap) > 0, point.z, np.minimum(point.g, point.gap)) - z


def _slope(u, phi, psi, linear, nonlinear):
    return FeatureLimit(phi, psi, linear, nonlinear).at(u).dz
