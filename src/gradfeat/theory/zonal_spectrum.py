"""Eigenvalues of rotation-invariant kernels by degree, and what a target has in each degree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.polynomial import hermite_e
from scipy import special

from ..maths.hermite import MAX_DEGREE, HermiteSeries, RealFunction, gauss_legendre
from ..maths.ranges import whole, within

#: Nodes in the angle; kernels and targets are smooth in it.
_NODES = 600
#: Inputs beyond which the law of a cosine is narrower than they resolve.
MOST_INPUTS = 10_000
#: No eigenvalue is told from rounding at a larger multiplicity; no n learns such a degree either.
MAX_MULTIPLICITY = 1e12
#: Share of h(1) below which the tail is rounding: zero.
_NO_TAIL = 1e-9
#: eigenvalue * sqrt(multiplicity) / h(1) below which an eigenvalue is rounding: zero.
_ROUNDING = 1e-13


@final
@dataclass(frozen=True)
class ZonalSpectrum:
    """h(cos(x, z)) = sum_k eigenvalue_k sum_{j<=multiplicity_k} Y_kj(x) Y_kj(z), E Y_kj^2 = 1."""

    #: multiplicities, eigenvalues: of degree 0, ..., K.
    multiplicities: tuple[float, ...]
    eigenvalues: tuple[float, ...]
    tail: float = 0.0  #: sum_{k>K} multiplicity_k eigenvalue_k = h(1) - (what is listed).

    def __mul__(self, scale: float) -> ZonalSpectrum:
        """The spectrum of scale * h."""
        values = tuple(scale * value for value in self.eigenvalues)
        return ZonalSpectrum(self.multiplicities, values, scale * self.tail)

    __rmul__ = __mul__


def multiplicities(d: int, k_max: int) -> np.ndarray:
    """Number of spherical harmonics of degree k in R^d: (2k+d-2)/(k+d-2) C(k+d-2, k).

    Regime: exact.
    Raises ValueError when d is below 2 or k_max negative.
    Source: Ghorbani et al. 2021, appendix on harmonics; Müller 1966.

    >>> multiplicities(3, 4).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    """
    _check(d, k_max)
    k = np.arange(1.0, k_max + 1)
    return np.r_[1.0, np.rint((2 * k + d - 2) / (k + d - 2) * special.binom(k + d - 2, k))]


def zonal_spectrum(h: RealFunction, d: int, k_max: int = 30) -> ZonalSpectrum:
    """Eigenvalues E[h(t) P_k(t)], t = x.z/(|x||z|) of independent x, z uniform on the sphere.

    P_k is the Gegenbauer polynomial of R^d with P_k(1) = 1. Quadrature in the angle, where
    arc-cosine, tangent, Gaussian and Laplace kernels are analytic.

    `h`: the kernel as a function of the cosine t in [-1, 1], (p,) -> (p,); `d`: inputs, at least 2;
    `k_max`: highest degree listed. What is beyond is the tail, and so are degrees of a multiplicity
    above `MAX_MULTIPLICITY`, which are listed with eigenvalue 0.
    Regime: exact to quadrature, for kernels that are smooth in the angle.
    Raises ValueError when d is below 2 or k_max negative, or an eigenvalue is negative: h is no
    kernel.
    Source: Funk-Hecke formula; Ghorbani et al. 2021.

    >>> spectrum = zonal_spectrum(np.square, d=4, k_max=2)
    >>> np.round(spectrum.eigenvalues, 12).tolist(), round(spectrum.tail, 12)
    ([0.25, 0.0, 0.083333333333], 0.0)
    """
    t, weights = _cosines(d)
    values = np.asarray(h(t), dtype=np.float64)
    counts, top = multiplicities(d, k_max), float(np.asarray(h(np.ones(1)))[0])
    eigenvalues = gegenbauer(k_max, d, t) @ (weights * values)
    eigenvalues[np.abs(eigenvalues) * np.sqrt(counts) <= _ROUNDING * abs(top)] = 0
    eigenvalues[counts > MAX_MULTIPLICITY] = 0
    if eigenvalues.min() < 0:
        raise ValueError(
            f"The eigenvalue of degree {int(eigenvalues.argmin())} is {eigenvalues.min():.3g}:"
            " give a positive semi-definite function of the cosine."
        )
    tail = top - float(counts @ eigenvalues)
    tail = tail if tail > _NO_TAIL * top else 0.0
    return ZonalSpectrum(tuple(counts.tolist()), tuple(eigenvalues.tolist()), tail)


def spherical_shares(g: RealFunction, d: int, k_max: int = 30) -> tuple[float, ...]:
    """E (part of degree k)^2 of g(u.x), x uniform on the sphere of radius sqrt(d), k <= k_max.

    multiplicity_k (E[g(sqrt(d) t) P_k(t)])^2. They sum to E g^2 there (as far as k_max reaches),
    and tend to c_k^2 k! of the Hermite series as d grows.

    `g`: (p,) -> (p,): a `HermiteSeries`, or any other smooth function; `d`, `k_max`: inputs, at
    least 2, highest degree.
    Regime: exact to quadrature.
    Raises ValueError when d is below 2 or k_max negative.
    Source: Ghorbani et al. 2021.

    >>> shares = spherical_shares(HermiteSeries((0.0, 0.0, 0.5, 0.0, 48**-0.5)), 1000, 4)
    >>> np.round(shares, 2).tolist()
    [0.0, 0.0, 0.49, 0.0, 0.49]
    """
    t, weights = _cosines(d)
    projections = gegenbauer(k_max, d, t) @ (weights * np.asarray(g(math.sqrt(d) * t)))
    return tuple((multiplicities(d, k_max) * projections**2).tolist())


def homogeneous_shares(g: HermiteSeries, d: int) -> tuple[tuple[float, ...], float]:
    """The same for x ~ N(0, I_d) and kernels |x||z| h(cos): shares of degree 0..p, and the rest.

    Such a kernel (the ReLU's tangent or Gaussian-process kernel without bias) has eigenfunctions
    |x| Y_kj(x/|x|)/sqrt(d) and eigenvalues d times those of h. What g(u.x) has outside their span,
    E g^2 minus the sum of the shares, is beyond it at any n.

    `g`: function of one direction; `d`: inputs, at least 2.
    Returns shares, multiplicity_k (E[g(rho t) rho P_k(t)])^2/d, rho = |x| ~ chi_d, t the cosine;
    beyond, what no such kernel can learn.
    Raises ValueError when d is below 2.

    >>> shares, beyond = homogeneous_shares(HermiteSeries((0.0, 1.0)), 10)
    >>> np.round(shares, 12).tolist(), round(beyond, 12)
    ([0.0, 1.0], 0.0)
    """
    t, weights = _cosines(d)
    monomials = hermite_e.herme2poly(g.coefficients)
    j = np.arange(len(monomials))
    radial = 2 ** ((j + 1) / 2) * np.exp(special.gammaln((d + j + 1) / 2) - special.gammaln(d / 2))
    P = gegenbauer(len(j) - 1, d, t)
    projections = (P * weights) @ (t[:, None] ** j) @ (monomials * radial) / math.sqrt(d)
    shares = multiplicities(d, len(j) - 1) * projections**2
    return tuple(shares.tolist()), max(g.norm_squared() - float(shares.sum()), 0.0)


def gegenbauer(k_max: int, d: int, t: np.ndarray) -> np.ndarray:
    """P_0(t), ..., P_{k_max}(t) of R^d, P_k(1) = 1, (k_max + 1, p).

    (k+d-2) P_{k+1} = (2k+d-2) t P_k - k P_{k-1}.

    >>> gegenbauer(2, 3, np.array([0.5])).ravel().tolist()
    [1.0, 0.5, -0.125]
    """
    _check(d, k_max)
    P = np.ones((k_max + 1, len(t)))
    P[1:2] = t
    for k in range(1, k_max):
        P[k + 1] = ((2 * k + d - 2) * t * P[k] - k * P[k - 1]) / (k + d - 2)
    return P


def _cosines(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes t and weights of the law of a coordinate of a uniform unit vector."""
    within(2, MOST_INPUTS, d=d)
    nodes, weights = gauss_legendre(_NODES)
    theta = (nodes + 1) * math.pi / 2
    weights = weights * np.sin(theta) ** (d - 2)
    return np.cos(theta), weights / weights.sum()


def _check(d: int, k_max: int) -> None:
    within(2, 1e12, d=d)
    whole(0, MAX_DEGREE, k_max=k_max)
