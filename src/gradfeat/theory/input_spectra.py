"""Spectra of kernels on given inputs: stationary ones on [-1, 1], the Gaussian one on Gaussians.

On [-1, 1] eigenfunctions come by quadrature. In one input x ~ N(0, s^2) the kernel
exp(-(x - z)^2/(2 l^2)) has, for j = 0, 1, ...,

    eigenvalue     sqrt(2 a/A) B^j,
    eigenfunction  (c/a)^{1/4} exp(-(c - a) x^2) He_j(2 sqrt(c) x)/sqrt(j!),

a = 1/(4 s^2), b = 1/(2 l^2), c = sqrt(a^2 + 2 a b), A = a + b + c, B = b/A. In several independent
inputs eigenvalues and eigenfunctions multiply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from ..maths.hermite import (
    MAX_DEGREE,
    RealFunction,
    gauss_hermite,
    gauss_legendre,
    orthonormal_hermite,
)
from ..maths.ranges import finite, positive, whole
from .kernel_curve import KernelLaw
from .zonal_spectrum import ZonalSpectrum

#: Nodes of a standard normal input: enough for the degrees below and smooth functions.
_NODES = 200


@final
@dataclass(frozen=True)
class GaussianLine:
    """One input: eigenvalue_j = first * ratio^j, eigenfunctions as above.

    Raises ValueError when one is not above 0.
    Source: Zhu, Williams, Rohwer & Morciniec 1998; Rasmussen & Williams 2006, section 4.3.1.

    >>> line = GaussianLine(1.0, 2.0)
    >>> round(line.first / (1 - line.ratio), 12)  # the trace, k(x, x)
    1.0
    """

    #: std, bandwidth: s and l, above 0.
    std: float
    bandwidth: float

    def __post_init__(self) -> None:
        positive(std=self.std, bandwidth=self.bandwidth)

    @property
    def _a(self) -> float:
        return 1 / (4 * self.std**2)

    @property
    def _b(self) -> float:
        return 1 / (2 * self.bandwidth**2)

    @property
    def _c(self) -> float:
        return math.sqrt(self._a**2 + 2 * self._a * self._b)

    @property
    def first(self) -> float:
        return math.sqrt(2 * self._a / (self._a + self._b + self._c))

    @property
    def ratio(self) -> float:
        return self._b / (self._a + self._b + self._c)

    def projections(self, g: RealFunction, k_max: int) -> np.ndarray:
        """E g(x) eigenfunction_j(x), j = 0, ..., k_max, of a smooth g, by quadrature."""
        z, weights = gauss_hermite(_NODES)
        x = self.std * z
        damped = np.exp(-(self._c - self._a) * x**2) * np.asarray(g(x), dtype=np.float64)
        functions = orthonormal_hermite(k_max, 2 * math.sqrt(self._c) * x)
        return (self._c / self._a) ** 0.25 * (weights * damped) @ functions


def gaussian_law(
    g: RealFunction, r: int, d: int, bandwidth: float, *, ambient: float = 1.0, k_max: int = 30
) -> KernelLaw:
    """Of f*(x) = sum_{i <= r} g(x_i)/sqrt(r), E g = 0, where d - r more inputs do not matter.

    x ~ N(0, I_r) x N(0, ambient^2 I_{d-r}) and k(x, z) = exp(-|x - z|^2/(2 bandwidth^2)). Degrees
    up to `k_max` in the first r inputs and in the others are listed apart, (j, l) in row l of
    `k_max` + 1; what is beyond is the tail. The kernel is invariant under rotations, so any r
    orthonormal directions serve as the first inputs. With ambient 0 nothing depends on d.

    `g`: (p,) -> (p,), smooth; `r`, `d`: 1 <= r <= d; `bandwidth`: l, above 0; `ambient`: standard
    deviation of the inputs that do not matter, 0 or more; `k_max`: highest degree listed.
    Regime: exact but for the degrees left out, which the law holds as a tail.
    Raises ValueError when r or d is out of range, ambient negative or bandwidth not above 0.
    Source: the product of one-dimensional expansions; ours.

    >>> law = gaussian_law(np.sin, 1, 8, 3.0)
    >>> N, eigenvalues = law.spectrum.multiplicities, law.spectrum.eigenvalues
    >>> round(float(np.dot(N, eigenvalues)) + law.spectrum.tail, 12)
    1.0
    """
    if not (1 <= r <= d and ambient >= 0):
        raise ValueError(
            f"r is {r}, d {d} and ambient {ambient}: give 1 <= r <= d and ambient of 0 or more."
        )
    whole(r, 10**6, d=d)
    whole(0, MAX_DEGREE, k_max=k_max)
    line = GaussianLine(1.0, bandwidth)
    own = _Group(r, line.first**r, line.ratio)
    o, p = (line.projections(f, k_max) for f in (np.ones_like, g))
    target = _sum_shares(o, p, r)
    rest, blank = _rest(d - r, bandwidth, ambient, k_max)
    values = np.outer(rest.values(k_max), own.values(k_max))
    counts = np.outer(rest.counts(k_max), own.counts(k_max))
    shares = np.outer(blank, target)
    z, weights = gauss_hermite(_NODES)
    beyond = float(weights @ np.square(g(z))) - float(shares.sum())
    tail = max(1 - float((values * counts).sum()), 0.0)
    spectrum = ZonalSpectrum(tuple(counts.ravel().tolist()), tuple(values.ravel().tolist()), tail)
    return KernelLaw(spectrum, tuple(shares.ravel().tolist()), max(beyond, 0.0))


@dataclass(frozen=True)
class _Group:
    """Several alike inputs: degree k has eigenvalue first * ratio^k, C(size + k - 1, k) times."""

    size: int
    first: float
    ratio: float

    def values(self, k_max: int) -> np.ndarray:
        return self.first * self.ratio ** np.arange(k_max + 1.0)

    def counts(self, k_max: int) -> np.ndarray:
        k = np.arange(k_max + 1.0)
        return np.rint(special.binom(self.size + k - 1, k)) if self.size else 1.0 * (k == 0)


def _rest(size: int, bandwidth: float, ambient: float, k_max: int) -> tuple[_Group, np.ndarray]:
    """The inputs that do not matter, and the shares of the constant 1 in them."""
    if size == 0 or ambient == 0:
        return _Group(0, 1.0, 0.0), np.eye(1, k_max + 1)[0]
    line = GaussianLine(ambient, bandwidth)
    one = line.projections(np.ones_like, k_max) ** 2
    return _Group(size, line.first**size, line.ratio), _power(one, size)


def _sum_shares(o: np.ndarray, p: np.ndarray, r: int) -> np.ndarray:
    """Shares by degree of sum_i g(x_i)/sqrt(r): o, p the projections of 1 and of g.

    (sum_i p_i prod_{l != i} o_l)^2/r summed over multi-indices of a degree, as power series.
    """
    alone = _times(p**2, _power(o**2, r - 1))
    if r == 1:
        return alone
    return alone + (r - 1) * _times(_times(p * o, p * o), _power(o**2, r - 2))


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.convolve(a, b)[: len(a)]


def _power(a: np.ndarray, exponent: int) -> np.ndarray:
    found = np.eye(1, len(a))[0]
    for _ in range(exponent):
        found = _times(found, a)
    return found


#: Nodes on either side of 0, where a target may jump.
_PANEL_NODES = 300


def interval_law(profile: RealFunction, g: RealFunction, k_max: int = 150) -> KernelLaw:
    """Of k(x, z) = profile(|x - z|) and the target g, x uniform on [-1, 1].

    Eigenpairs of W^{1/2} K W^{1/2} at Gauss-Legendre nodes on [-1, 0] and on [0, 1]: Nystrom's
    method. g may jump or have a kink at 0 and nowhere else.

    `profile`: of the distance, (p,) or (p, q) alike, profile(0) > 0; `g`: (p,) -> (p,); `k_max`:
    eigenvalues listed, the largest first, at most 600, the sum of the others is the tail.
    Regime: exact but for frequencies above k_max.
    Raises ValueError when `k_max` is out of range.
    Source: Mercer's theorem; Rasmussen & Williams 2006, section 4.3.2.

    >>> law = interval_law(lambda t: np.exp(-t), np.sign)
    >>> round(sum(law.shares) + law.beyond, 12), len(law.shares)
    (1.0, 150)
    """
    if not 1 <= k_max <= 2 * _PANEL_NODES:
        raise ValueError(f"k_max is {k_max}: give a number from 1 to {2 * _PANEL_NODES}.")
    x, weights = _nodes()
    root = np.sqrt(weights)
    K = profile(np.abs(x[:, None] - x))
    e, V = np.linalg.eigh(root[:, None] * K * root)
    e, V = np.maximum(e[::-1][:k_max], 0), V[:, ::-1][:, :k_max]
    values = np.asarray(g(x), dtype=np.float64)
    shares = (V.T @ (root * values)) ** 2
    tail = max(float(profile(np.zeros(1))[0]) - math.fsum(e), 0.0)
    beyond = max(float(weights @ values**2) - math.fsum(shares), 0.0)
    spectrum = ZonalSpectrum((1.0,) * k_max, tuple(e.tolist()), tail)
    return KernelLaw(spectrum, tuple(shares.tolist()), beyond)


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    t, weights = gauss_legendre(_PANEL_NODES)
    return np.r_[(t - 1) / 2, (t + 1) / 2], np.r_[weights, weights] / 4


def minimax_exponent(order: float, dimension: int = 1) -> float:
    """2 t/(2 t + p): E (f - f*)^2 ~ n^(-this) for f* of Sobolev order t in p inputs, with noise.

    Kernel ridge with a chosen penalty reaches it up to twice the order of the kernel's own space
    (up to that order without conditions at the boundary).

    `order`: t, above 0; `dimension`: p, at least 1.
    Regime: a rate, n to infinity.
    Raises ValueError when t or p is out of range.
    Source: Stone 1982; Caponnetto & De Vito 2007 for kernel ridge.

    >>> minimax_exponent(0.5), minimax_exponent(1.5), minimax_exponent(1.5, 3)
    (0.5, 0.75, 0.5)
    """
    finite(dimension=dimension)
    if not (order > 0 and dimension >= 1):
        raise ValueError(f"order is {order} and dimension {dimension}: give > 0 and 1 or more.")
    return 2 * order / (2 * order + dimension)
