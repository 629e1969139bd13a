"""Probabilists' Hermite polynomials He_k and series in them, for Z ~ N(0, 1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
from jaxtyping import Float
from numpy.polynomial import hermite_e
from scipy import special

#: A function of one real variable, called with a float64 array (p,) and returning (p,).
RealFunction = Callable[[np.ndarray], np.ndarray]

#: Above this degree sqrt(k!) leaves double precision.
MAX_DEGREE = 300

#: Nodes on a panel, relative error at which a panel is accepted, and where splitting gives up.
_NODES, _TOLERANCE, _DEEPEST, _MOST_PANELS = 20, 1e-14, 60, 10_000
#: Where a panel's ends are looked at, and what its polynomial may miss there.
_ENDS, _MISSED = (-1 + 1e-9, 1 - 1e-9), 1e-9


def hermite(k_max: int, z: Float[np.ndarray, "*shape"] | float) -> Float[np.ndarray, "*shape k"]:
    """He_0(z), ..., He_{k_max}(z) by He_{k+1} = z He_k - k He_{k-1}.

    Source: Abramowitz & Stegun 22.7.14.

    >>> hermite(3, 2.0).tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    z = np.asarray(z, dtype=np.float64)
    He = np.ones((check_degree(k_max) + 1, *z.shape))
    He[1:2] = z
    for k in range(1, k_max):
        He[k + 1] = z * He[k] - k * He[k - 1]
    return np.moveaxis(He, 0, -1)


def orthonormal_hermite(
    k_max: int,
    z: Float[np.ndarray, "*shape"] | float,
    start: Float[np.ndarray, "*shape"] | float = 1.0,
) -> Float[np.ndarray, "*shape k"]:
    """start * He_k(z) / sqrt(k!) for k = 0, ..., k_max, so that E h_j h_k = 1{j = k}.

    With start = exp(-z^2 / 4) every entry stays bounded: that is the form to integrate.
    """
    z = np.asarray(z, dtype=np.float64)
    h = np.ones((check_degree(k_max) + 1, *z.shape)) * start
    h[1:2] = z * h[0]
    for k in range(1, k_max):
        h[k + 1] = (z * h[k] - math.sqrt(k) * h[k - 1]) / math.sqrt(k + 1)
    return np.moveaxis(h, 0, -1)


def root_factorials(k_max: int) -> Float[np.ndarray, " k"]:
    """sqrt(k!) for k = 0, ..., k_max: the norm of He_k."""
    return np.cumprod(np.sqrt(np.maximum(np.arange(check_degree(k_max) + 1.0), 1.0)))


@cache
def gauss_hermite(n: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Nodes z_i and weights w_i with E g(Z) = sum_i w_i g(z_i) for polynomials of degree < 2n.

    Source: Golub & Welsch 1969; Townsend, Trogdon & Olver 2016 for large n (in SciPy).

    >>> z, w = gauss_hermite(4)
    >>> round(float(w @ z**6), 10)
    15.0
    """
    if n < 1:
        raise ValueError(f"A quadrature rule of {n} nodes was asked for; give at least 1.")
    nodes, weights = special.roots_hermitenorm(n)
    return _kept(nodes, weights / weights.sum())


@cache
def gauss_legendre(n: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Nodes and weights of the integral over [-1, 1] of polynomials of degree < 2n.

    >>> x, w = gauss_legendre(2)
    >>> round(float(w @ x**2), 10)
    0.6666666667
    """
    return _kept(*special.roots_legendre(n))


def _kept(nodes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A rule that callers share, and so may not change."""
    for part in (nodes, weights):
        part.setflags(write=False)
    return nodes, weights


def hermite_coefficients(
    f: RealFunction, k_max: int, breakpoints: Sequence[float] = ()
) -> Float[np.ndarray, " k"]:
    """c_k = E[f(Z) He_k(Z)] / k!, so that f = sum_k c_k He_k, for k = 0, ..., k_max.

    Composite Gauss-Legendre quadrature on panels that end at the breakpoints and are halved until
    they agree with their halves to rounding, and with f at their ends. Undeclared kinks and jumps
    are found by the halving and cost time. The error is about 1e-14 E|f(Z) He_k(Z)| / k!, beside
    them 1e-11.

    >>> hermite_coefficients(lambda z: z**2, 2).round(12).tolist()
    [1.0, 0.0, 1.0]
    """
    edges = _panels(2 * math.sqrt(check_degree(k_max)) + 16, check_breakpoints(breakpoints))

    def integrand(z: np.ndarray) -> np.ndarray:
        root = (2 * math.pi) ** -0.25 * np.exp(-(z**2) / 4)
        return (_values(f, z) * root)[:, None] * orthonormal_hermite(k_max, z, root)

    return _integrate(integrand, edges) / root_factorials(k_max)


def ramp_coefficients(t: float, k_max: int) -> Float[np.ndarray, " k"]:
    """Hermite coefficients of the ramp max(z - t, 0) in closed form.

    k! c_k = phi(t) - t (1 - Phi(t)), 1 - Phi(t), phi(t) He_{k-2}(t) for k = 0, 1, >= 2, with
    phi and Phi the Gaussian density and distribution function.

    >>> ramp_coefficients(0.0, 3).round(4).tolist()
    [0.3989, 0.5, 0.1995, 0.0]
    """
    norms = root_factorials(k_max)
    density, tail = float(np.exp(-(t * t) / 2) / np.sqrt(2 * np.pi)), float(special.ndtr(-t))
    k = np.arange(2.0, k_max + 1)
    h = orthonormal_hermite(max(k_max - 2, 0), t)[: len(k)]
    rest = density * h / np.sqrt(k * (k - 1)) / norms[2:]
    return np.r_[density - t * tail, tail, rest][: len(norms)]


@final
@dataclass(frozen=True)
class HermiteSeries:
    """g(z) = sum_k c_k He_k(z).

    >>> g = HermiteSeries((0.0, 0.0, 0.5))
    >>> float(g(3.0)), round(g.norm_squared(), 12), g.information_exponent()
    (4.0, 0.5, 2)
    """

    #: c_0, c_1, ...: at least one, at most `MAX_DEGREE` + 1, all finite.
    coefficients: tuple[float, ...]

    # NumPy scalars and arrays leave products to this class.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        if not self.coefficients or not np.isfinite(self.coefficients).all():
            raise ValueError(
                f"Hermite coefficients were {self.coefficients}; give at least one, all finite."
            )
        check_degree(len(self.coefficients) - 1)

    @staticmethod
    def from_function(
        f: RealFunction, k_max: int, breakpoints: Sequence[float] = ()
    ) -> HermiteSeries:
        """The projection of f onto degree <= k_max; see `hermite_coefficients`."""
        return HermiteSeries(tuple(hermite_coefficients(f, k_max, breakpoints).tolist()))

    def __call__(self, z: Float[np.ndarray, "*shape"] | float) -> Float[np.ndarray, "*shape"]:
        return np.asarray(hermite_e.hermeval(z, self.coefficients))

    def __add__(self, other: HermiteSeries) -> HermiteSeries:
        return HermiteSeries(
            tuple(hermite_e.hermeadd(self.coefficients, other.coefficients).tolist())
        )

    def __mul__(self, scalar: float) -> HermiteSeries:
        return HermiteSeries(tuple(float(scalar * c) for c in self.coefficients))

    __rmul__ = __mul__

    def derivative(self) -> HermiteSeries:
        """g' = sum_k (k + 1) c_{k+1} He_k, by He_k' = k He_{k-1}."""
        return HermiteSeries(
            tuple(k * c for k, c in enumerate(self.coefficients) if k > 0) or (0.0,)
        )

    def _norms(self) -> np.ndarray:
        """|c_k| sqrt(k!): the L2(N(0, 1)) norm of each degree."""
        return np.abs(self.coefficients) * root_factorials(len(self.coefficients) - 1)

    def norm_squared(self) -> float:
        """E g(Z)^2 = sum_k c_k^2 k! (Parseval)."""
        return float(np.square(self._norms()).sum())

    def information_exponent(self, tol: float = 1e-9) -> int | None:
        """Lowest k >= 1 with c_k^2 k! > tol^2 E g^2; None where g is constant to within tol.

        Source: Ben Arous, Gheissari & Jagannath 2021; science key Damian22.
        """
        norms = self._norms()
        present = np.flatnonzero(norms[1:] > tol * np.linalg.norm(norms))
        return int(present[0]) + 1 if len(present) else None

    def normalised(self) -> HermiteSeries:
        """g / sqrt(E g^2)."""
        norm = math.sqrt(self.norm_squared())
        if norm == 0:
            raise ValueError("A zero series cannot be normalised; give a non-zero coefficient.")
        return self * (1 / norm)


def check_degree(k_max: int) -> int:
    """`k_max` itself, or ValueError where it is outside 0, ..., `MAX_DEGREE`."""
    if not 0 <= k_max <= MAX_DEGREE:
        raise ValueError(f"Hermite degree was {k_max}; give one from 0 to {MAX_DEGREE}.")
    return k_max


def check_breakpoints(breakpoints: Sequence[float]) -> Sequence[float]:
    """`breakpoints` themselves, or ValueError where one is not finite."""
    if not np.isfinite(breakpoints).all():
        raise ValueError(f"Breakpoints were {tuple(breakpoints)}; give finite numbers only.")
    return breakpoints


def _panels(reach: float, breakpoints: Sequence[float]) -> np.ndarray:
    """Edges of panels of length <= 1 that cover [-reach, reach] and end at the breakpoints.

    |He_k| exp(-z^2/4) / sqrt(k!) is bounded and decays past 2 sqrt(k); the other exp(-z^2/4) is
    below 1e-27 at 16, which leaves room for any f of finite second moment met in practice.
    """
    ends = np.unique([-reach, *(b for b in breakpoints if abs(b) < reach), reach])
    pieces = [np.linspace(a, b, math.ceil(b - a) + 1) for a, b in itertools.pairwise(ends)]
    return np.unique(np.concatenate(pieces))


def _values(f: RealFunction, z: np.ndarray) -> np.ndarray:
    """f(z), refused unless real, finite and one value a point."""
    values = np.asarray(f(z))
    if values.shape != z.shape or values.dtype.kind not in "biuf":
        raise ValueError(
            f"The function returned shape {values.shape} of type {values.dtype} for points of"
            f" shape {z.shape}; return one real number for each point."
        )
    if not np.isfinite(values).all():
        worst = z[~np.isfinite(values)][0]
        raise ValueError(
            f"The function is not finite at z = {worst:.6g}; return finite values on"
            " the whole line."
        )
    return values


def _gauss_legendre(
    g: RealFunction, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Integral of g, (q,) -> (q, c), over each panel, and what it would miss beyond the nodes.

    Both (p, c); the latter is the panel's half times how far the polynomial through the nodes is
    from g at the ends: a jump between an end and the nodes shows there alone.
    """
    nodes, weights = gauss_legendre(_NODES)
    half = (right - left) / 2
    z = ((left + right) / 2)[:, None] + half[:, None] * np.r_[nodes, _ENDS]
    values = g(z.ravel()).reshape(*z.shape, -1)
    inner, ends = values[:, :_NODES], values[:, _NODES:]
    missed = np.abs(ends - np.einsum("en,pnc->pec", _to_ends(), inner)).max(1)
    return half[:, None] * np.einsum("n,pnc->pc", weights, inner), half[:, None] * missed


@cache
def _to_ends() -> np.ndarray:
    """Values at the nodes -> values of their polynomial at the ends, (2, _NODES)."""
    nodes = gauss_legendre(_NODES)[0]
    powers = np.polynomial.legendre.legvander(np.r_[nodes, _ENDS], _NODES - 1)
    return powers[_NODES:] @ np.linalg.inv(powers[:_NODES])


def _integrate(g: RealFunction, edges: np.ndarray) -> np.ndarray:
    """Integral of g over the panels, each halved until it agrees with its two halves."""
    left, right = edges[:-1], edges[1:]
    coarse, _ = _gauss_legendre(g, left, right)
    size = _gauss_legendre(lambda z: np.abs(g(z)), left, right)[0].sum(0)
    # Subnormal numbers have no relative accuracy, so nothing is resolved below the normal ones.
    accepted = np.maximum(_TOLERANCE * size, np.finfo(float).tiny)
    total = np.zeros(coarse.shape[1])
    for _ in range(_DEEPEST):
        middle = (left + right) / 2
        first, at_first = _gauss_legendre(g, left, middle)
        second, at_second = _gauss_legendre(g, middle, right)
        off = np.abs(first + second - coarse) > accepted
        beyond = np.maximum(at_first, at_second) > np.maximum(_MISSED * size, accepted)
        split = (off | beyond).any(1)
        total += (first + second)[~split].sum(0)
        left, right = np.r_[left[split], middle[split]], np.r_[middle[split], right[split]]
        coarse = np.concatenate([first[split], second[split]])
        if len(left) == 0:
            return total
        if len(left) > _MOST_PANELS:
            break
    raise ValueError(
        "The function's Gaussian integral does not settle, so it is singular, noisy (float32"
        " inside?) or jumps too often; compute it in float64 and list its jumps in `breakpoints`."
    )
