"""Online SGD of one neuron on the sphere: law of its overlap with the teacher, and hitting times.

y = h_k(u.x), f = h_k(w.x), h_k = He_k/sqrt(k!), x ~ N(0, I_d), |u| = |w| = 1. One fresh row a step
on the loss 1 - y f: w <- (w + eta y s(x) P x)/|.|, P x = x - (w.x) w, s = h_k'(w.x). With
smoothing, s is the slope of E_z h_k((w + lambda z).x/sqrt(1 + lambda^2)), z uniform on the unit
sphere across w. The overlap m = u.w is then a Markov chain by itself: x enters by w.x, by its part
along u across w, and by the squared length of the rest, chi^2_{d-2}.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np
from numpy.polynomial import chebyshev, hermite_e, polynomial
from numpy.typing import ArrayLike

from ..maths.hermite import orthonormal_hermite
from ..maths.ranges import not_negative, positive, rising

#: Nodes of the two normal variables and of chi^2; of polynomials in m; of hitting times in m.
_NORMAL, _LENGTH, _OVERLAPS, _GRID = 88, 10, 24, 2001
#: Normal variables end here; products of weights below the last are left out.
_END, _LEAST = 7.5, 1e-15
#: Overlaps of an odd degree are followed down to this one: the signal is positive on both sides.
_LOWEST: Final = -0.8
#: Largest overlap whose path is followed.
_FOLLOWED: Final = 0.99


@final
@dataclass(frozen=True)
class SphereSGD:
    """The chain m -> (m + eta g v')/sqrt(1 + eta^2 g^2 |P x|^2), g = y s(x), v' = u.P x.

    `k`: degree of link and activation, 2 to 6; `d`: inputs, at least 3; `eta`: step size, above 0;
    `smoothing`: lambda, 0 or more.
    Regime: moments of one step are those of any d and eta, integrated to 1 % (3 % where smoothed
    and eta is above `step_size` at c = 1); paths and times take steps to be small, so that means
    and variances of steps say all: d >= 64, within 5 % for k = 2, 3 (10 % for k = 4, smoothed).
    Raises ValueError where a number is outside.
    Source: Ben Arous, Gheissari & Jagannath 2021; smoothing: Damian et al. 2023; the chain and its
    diffusion are derived here.

    >>> sgd = SphereSGD(2, 100, 0.2 / 100)
    >>> round(sgd.mean_time(0.6)), sgd.path(0.2, [0, 500]).round(3).tolist()
    (726, [0.2, 0.672])
    """

    k: int
    d: int
    eta: float
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        whole = self.k % 1 == 0 and self.d % 1 == 0
        if not (whole and 2 <= self.k <= 6 and self.d >= 3 and 0 < self.eta < math.inf):
            raise ValueError(
                f"k, d and eta were {self.k}, {self.d} and {self.eta}: give whole numbers k from 2"
                " to 6 and d of 3 or more, and a finite eta above 0."
            )
        not_negative(smoothing=self.smoothing)

    def signal(self, m: ArrayLike) -> np.ndarray:
        """(1 - m^2) S'(m), S(m) = E_z ((m + lambda sqrt(1-m^2) z_1)/sqrt(1+lambda^2))^k.

        The drift of m is eta times this to first order in eta; without smoothing k m^{k-1} (1-m^2).

        >>> SphereSGD(3, 10, 0.1).signal(0.5).item()
        0.5625
        """
        m = _overlaps(m)
        far = polynomial.polyval2d(m, 1 - m**2, _along(_averaged(self._power, self)))
        return (1 - m**2) * far

    @property
    def _power(self) -> np.ndarray:
        return np.eye(self.k + 1)[self.k]

    def slope(self, p: ArrayLike, rest: ArrayLike) -> np.ndarray:
        """s(x) of p = w.x and rest = |P x|^2.

        >>> round(SphereSGD(2, 10, 0.1).slope(3.0, 8.0).item() / 2**0.5, 9)
        3.0
        """
        link = hermite_e.herme2poly(self._power / math.sqrt(math.factorial(self.k)))
        p, rest = np.asarray(p, dtype=np.float64), np.asarray(rest, dtype=np.float64)
        return polynomial.polyval2d(p, rest, _along(_averaged(link, self)))

    def moments(self, m: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """E[m' - m] and E[(m' - m)^2] of one step from each overlap m in (-1, 1), by quadrature.

        >>> drift, variance = SphereSGD(2, 1000, 1e-4).moments(0.5)
        >>> round(drift.item() * 1e6, 1), round(variance.item() * 1e8, 1)
        (65.0, 6.9)
        """
        p, v, rest, weight = self._nodes
        g = weight[0] * self.slope(p, rest)

        def one(m: float) -> tuple[float, float]:
            across = math.sqrt(1 - m * m)
            step = g * orthonormal_hermite(self.k, m * p + across * v)[..., self.k]
            moved = (m + step * across * v) / np.sqrt(1 + step**2 * rest) - m
            return float(weight[1] @ moved), float(weight[1] @ moved**2)

        found = np.array([one(float(value)) for value in _overlaps(m).ravel()])
        return tuple(found.T.reshape(2, *np.shape(m)))

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[float, np.ndarray]]:
        # A step saturates where it is large, across which the trapezoid rule settles the fastest;
        # it is the same at (-p, -v), so that v > 0 is enough.
        z = np.linspace(-_END, _END, _NORMAL)
        w = np.exp(-(z**2) / 2)
        length, share = _chi_square(self.d - 2)
        p, v, q = (a.ravel() for a in np.meshgrid(z, z[z > 0], length, indexing="ij"))
        weight = np.einsum("i,j,k->ijk", w, w[z > 0], share).ravel()
        kept = weight > _LEAST
        return p[kept], v[kept], (q + v**2)[kept], (self.eta, (weight / weight.sum())[kept])

    def _laws(self, low: float, high: float) -> tuple[Callable[..., np.ndarray], ...]:
        """Drift and variance as polynomials on [low, high]."""
        nodes = chebyshev.chebpts1(_OVERLAPS)
        place = (low + high) / 2 + (high - low) / 2 * nodes
        return tuple(
            chebyshev.Chebyshev.fit(place, values, _OVERLAPS - 3, domain=[low, high])
            for values in self.moments(place)
        )

    def mean_time(self, level: float) -> float:
        """Mean number of steps to |m| >= level (even k) or m >= level (odd), w_0 uniform.

        T(m) solves variance T''/2 + drift T' = -1 with T = 0 at the level; the mean of T(m_0) over
        the density (1 - m^2)^{(d-3)/2}.

        Raises ValueError when level is not in (0, 1).

        >>> round(SphereSGD(3, 100, 0.5 / 1000).mean_time(0.6) / 100**2, 2)
        2.03
        """
        from scipy.linalg import solve_banded

        if not 0 < level < 1:
            raise ValueError(f"level was {level}: give an overlap between 0 and 1.")
        even = self.k % 2 == 0
        m = np.linspace(-level if even else _LOWEST, level, _GRID)
        drift, variance = (law(m) for law in self._laws(m[0], m[-1]))
        h = m[1] - m[0]
        up, down = variance / 2 / h**2 + drift / 2 / h, variance / 2 / h**2 - drift / 2 / h
        bands = np.stack([np.r_[0, up[:-1]], -variance / h**2, np.r_[down[1:], 0]])
        bands[0, 1], bands[1, 0] = (0.0, 1.0) if even else (1.0, -1.0)  # T = 0, or T' = 0
        bands[1, -1], bands[2, -2] = 1.0, 0.0
        time = solve_banded((1, 1), bands, np.r_[0, -np.ones(_GRID - 2), 0])
        density = (1 - m**2) ** ((self.d - 3) / 2)
        return float(density @ time / density.sum())

    def path(self, start: float, steps: ArrayLike) -> np.ndarray:
        """The overlap after each number of steps by dm/dt = E[m' - m]: the limit of many inputs.

        `start`: overlap at 0 steps, in [-0.99, 0.99]; `steps`: rising, 0 or more.
        Raises ValueError where one is outside.
        Regime: many inputs and small steps, see the class.
        Source: Ben Arous, Gheissari & Jagannath 2021, the population dynamics.

        >>> SphereSGD(2, 100, 0.002).path(0.2, [0, 500]).round(3).tolist()
        [0.2, 0.672]
        """
        from scipy.integrate import solve_ivp

        steps = rising("steps", steps)
        if not abs(start) <= _FOLLOWED:
            raise ValueError(f"start was {start}: give an overlap from -0.99 to 0.99.")
        drift, _ = self._laws(-_FOLLOWED, _FOLLOWED)
        end = max(steps[-1], 1.0)
        found = solve_ivp(
            lambda _, m: drift(m), (0, end), [start], t_eval=steps, rtol=1e-8, atol=1e-10
        )
        return found.y[0]


def step_size(k: int, d: int, c: float, smoothing: float = 0.0) -> float:
    """eta = c d^{-k/2} (1 + lambda^2)^{k-1}: signal and loss by renormalisation are of one order.

    Regime: a rate; c of 0.1 to 0.5.
    Raises ValueError where k, d or c is not above 0 or the smoothing is below 0.
    Source: Ben Arous, Gheissari & Jagannath 2021 (lambda = 0); Damian et al. 2023, Theorem 1.

    >>> step_size(2, 100, 0.5)
    0.005
    """
    positive(k=k, d=d, c=c)
    not_negative(smoothing=smoothing)
    return c * float(d) ** (-k / 2) * (1 + smoothing**2) ** (k - 1)


def time_exponent(k: int, *, smoothed: bool = False) -> float:
    """max(1, k - 1), smoothed (lambda = d^{1/4}) max(1, k/2): steps grow like d to this power.

    Regime: d large, k the information exponent; a factor log d at k = 2 and, smoothed, at even k.
    Raises ValueError when k is below 1.
    Source: Ben Arous, Gheissari & Jagannath 2021, Theorem 1.3; Damian et al. 2023, Theorem 1.

    >>> time_exponent(4), time_exponent(4, smoothed=True)
    (3.0, 2.0)
    """
    if not 1 <= k < math.inf:
        raise ValueError(f"The information exponent was {k}: give a finite one of 1 or more.")
    return max(1.0, k / 2 if smoothed else k - 1.0)


def _overlaps(m: ArrayLike) -> np.ndarray:
    m = np.asarray(m, dtype=np.float64)
    if not (np.abs(m) <= 1).all():
        raise ValueError(f"m was {m}: give overlaps from -1 to 1.")
    return m


def _averaged(monomials: np.ndarray, sgd: SphereSGD) -> np.ndarray:
    """Coefficients (i, j) of p^i R^j in E_z q((p + lambda sqrt(R) z_1)/sqrt(1 + lambda^2)).

    E z_1^{2j} = prod_{i<j} (2i + 1)/(d - 1 + 2i), z uniform on the sphere of R^{d-1}.
    """
    lam, size = sgd.smoothing, len(monomials)
    found = np.zeros((size + 1, size // 2 + 1))
    for n, j in itertools.product(range(size), range(size // 2 + 1)):
        if 2 * j <= n:
            even = math.prod((2 * i + 1) / (sgd.d - 1 + 2 * i) for i in range(j))
            share = math.comb(n, 2 * j) * lam ** (2 * j) * even / (1 + lam**2) ** (n / 2)
            found[n - 2 * j, j] += monomials[n] * share
    return found


def _along(averaged: np.ndarray) -> np.ndarray:
    """The derivative in p where p^2 + R is constant: d/dp - 2 p d/dR."""
    i, j = (np.arange(float(size)) for size in averaged.shape)
    found = np.zeros_like(averaged)
    found[:-1] += (averaged * i[:, None])[1:]
    found[1:, :-1] -= 2 * (averaged * j)[:-1, 1:]
    return found


def _chi_square(degrees: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of an average over chi^2 (Golub & Welsch 1969, Laguerre polynomials)."""
    # scipy.special.roots_genlaguerre scales its weights by Gamma(alpha + 1): infinite from d = 346.
    i, alpha = np.arange(float(_LENGTH)), degrees / 2 - 1
    beside = np.sqrt(i[1:] * (i[1:] + alpha))
    nodes, vectors = np.linalg.eigh(np.diag(2 * i + 1 + alpha) + np.diag(beside, 1).T)
    return 2 * nodes, vectors[0] ** 2
