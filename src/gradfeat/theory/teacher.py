"""The target of the theory of one step in numbers: a polynomial of a few directions, plus noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike

from ..maths.hermite import HermiteSeries, hermite_coefficients, root_factorials
from ..maths.multi_hermite import MultiHermite
from ..maths.multi_indices import default_nodes
from ..maths.ranges import not_negative

#: Terms of a target whose square is formed in a second or so.
MOST_TERMS = 300
#: Difference of Hermite coefficients by two rules from which on a function has not settled.
MOST_UNSETTLED = 1e-3


@dataclass(frozen=True)
class Teacher:
    """y = f*(x) + noise eps, f*(x) = g(b_1.x, ..., b_r.x), eps ~ N(0, 1), x ~ N(0, I_d).

    b_1, ..., b_r are orthonormal and C_k = E grad^k f*. One step sees the direction chat =
    C_1/|C_1| alone. Along chat the target is sum_k c_{*k} He_k(chat.x), c_{*k} = C_k(chat^k)/k!,
    so that c_{*1} = |C_1|; all else of f* acts as noise on what the step adds.

    Raises ValueError when the noise is negative or not finite, or E y^2 is not finite.
    Source: Moniri24, Section 2, for one direction; several ones: derived here.

    >>> product = Teacher(MultiHermite(((1, 0), (1, 1)), (1.0, 0.5)))  # x1 + x1 x2/2
    >>> product.coefficients, float(product.power)
    ((0.0, 1.0, 0.0), 1.25)
    >>> both = Teacher(MultiHermite(((1, 0), (0, 1), (1, 1)), (1.0, 1.0, 0.5)))
    >>> np.round(both.coefficients, 3).tolist()  # (x1 + x2)/sqrt(2) = v: x1 x2 = (v^2 - v'^2)/2
    [0.0, 1.414, 0.25]
    """

    target: MultiHermite  #: g in products of Hermite polynomials.
    noise: ArrayLike = 0.0  #: Standard deviation sigma_eps, 0 or more.

    def __post_init__(self) -> None:
        noise = np.asarray(self.noise, dtype=np.float64)
        if not (np.isfinite(noise).all() and (noise >= 0).all()):
            raise ValueError(f"The noise is {self.noise}: give standard deviations of 0 or more.")
        object.__setattr__(self, "noise", noise)
        with np.errstate(over="ignore"):
            if not np.isfinite(self.power).all():
                raise ValueError("E y^2 is inf: give smaller coefficients, or less noise.")

    @staticmethod
    def single(coefficients: Sequence[float], noise: ArrayLike = 0.0) -> Teacher:
        """y = sum_k c_{*k} He_k(b.x) + noise eps.

        Raises ValueError when there is no coefficient, or one is not finite.

        >>> setting_2 = Teacher.single((0.0, 1.0, 0.5**0.5))
        >>> float(setting_2.power.round(9)), float(setting_2.beyond_linear.round(9))
        (2.0, 1.0)
        """
        series = HermiteSeries(tuple(float(c) for c in coefficients))
        return Teacher(MultiHermite.from_series(series), noise)

    @staticmethod
    def of_function(
        f: Callable[[np.ndarray], np.ndarray], r: int, degree: int, noise: float = 0.0
    ) -> Teacher:
        """f (p, r) -> (p,) of r directions: its part up to `degree`, with the rest as noise.

        Raises ValueError where f is not finite, or has kinks or jumps in several directions, across
        which a product rule does not settle.

        >>> sine = Teacher.of_function(lambda z: np.sin(z[:, 0]), 1, 5)
        >>> round(float(sine.power), 6), round(float(sine.target_power), 6)  # (1 - e^-2)/2
        (0.432332, 0.432258)
        """
        not_negative(noise=noise)
        if r == 1:  # panels that end where f jumps
            series = HermiteSeries.from_function(lambda z: f(z[:, None]), degree)
            held = MultiHermite.from_series(series)
            whole = float(hermite_coefficients(lambda z: f(z[:, None]) ** 2, 0)[0])
        else:
            held = MultiHermite.from_function(f, r, degree)
            whole = float(MultiHermite.from_function(lambda z: f(z) ** 2, r, 0).tensor(0))
            fewer = MultiHermite.from_function(f, r, degree, default_nodes(r, degree) - 1)
            off = math.sqrt((held + fewer * -1.0).norm_squared())
            if off > MOST_UNSETTLED * math.sqrt(held.norm_squared()):
                raise ValueError(
                    f"The function of {r} directions has Hermite coefficients that differ by"
                    f" {off:.2g} between two rules of quadrature, as kinks and jumps do: give its"
                    " Hermite series."
                )
        return Teacher(held, math.sqrt(noise**2 + max(whole - held.norm_squared(), 0.0)))

    @cached_property
    def _gradient(self) -> np.ndarray:
        """C_1 = E grad f*, (r,)."""
        return self.target.contract_to_vector(1, np.zeros((1, self.target.r)))[0]

    @property
    def mean(self) -> float:
        """C_0 = c_{*0} = E y."""
        return self.coefficients[0]

    @property
    def linear(self) -> float:
        """c_{*1} = |C_1|."""
        return float(np.linalg.norm(self._gradient))

    @property
    def along(self) -> np.ndarray:
        """chat = C_1/|C_1|, (r,); the first direction where C_1 = 0."""
        return self._gradient / self.linear if self.linear > 0 else np.eye(1, self.target.r)[0]

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """c_{*k} = C_k(chat^k)/k!, k up to the target's degree."""
        chat, degrees = self.along[None], range(self.target.degree + 1)
        return tuple(float(self.target.contract(k, chat)[0]) / math.factorial(k) for k in degrees)

    @cached_property
    def target_power(self) -> float:
        """c_*^2 = E f*^2."""
        return self.target.norm_squared()

    @cached_property
    def quadratic(self) -> tuple[float, float]:
        """E f_2^2 = |C_2|^2/2 and tr C_2, f_2 the target's part of degree 2."""
        return self.target.part(2).norm_squared(), float(np.trace(self.target.tensor(2)))

    @property
    def power(self) -> np.ndarray:
        """E y^2 = c_*^2 + sigma_eps^2."""
        return self.target_power + np.square(self.noise)

    @property
    def beyond_linear(self) -> np.ndarray:
        """E y^2 - c_{*1}^2: what no linear function of x predicts, the least linear test error."""
        return self.power - self.linear**2

    def components(self, k_max: int) -> np.ndarray:
        """E[f* He_k(chat.x)]/sqrt(k!) = sqrt(k!) c_{*k} for k = 0, ..., k_max.

        >>> Teacher.single((0.0, 1.0, 0.5**0.5)).components(3).round(3).tolist()
        [0.0, 1.0, 1.0, 0.0]
        """
        size = max(k_max + 1, len(self.coefficients))
        c = np.zeros(size)
        c[: len(self.coefficients)] = self.coefficients
        return (c * root_factorials(size - 1))[: k_max + 1]

    def given(
        self, u: np.ndarray, rho: float, part: MultiHermite | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """E[p|u], E[grad p|u], E[grad^2 p|u] and E[p f*|u], u ~ N(0, 1) with E[u z] = rho chat.

        sum_k C_k(chat^k) rho^k He_k(u)/k!, C_k the tensors of p, its gradient and the product.

        `u`: (U,); `part`: p, left out: f*; returns (U,), (U, r), (U, r, r), (U,).

        >>> product = Teacher(MultiHermite(((1, 1),), (1.0,)))
        >>> [found.round(12).tolist() for found in product.given(np.array([2.0]), 0.5)]
        [[0.0], [[0.0, 1.0]], [[[0.0, 1.0], [1.0, 0.0]]], [1.75]]
        """
        part = self.target if part is None else part
        found = _along(part, self.target, tuple(self.along))
        found = found * rho ** np.arange(len(found))[:, None]
        values = hermite_e.hermeval(u, found)
        r = part.r
        bent = values[1 + r : -1].T.reshape(len(u), r, r)
        return values[0], values[1 : 1 + r].T, bent, values[-1]


@lru_cache(64)
def _along(p: MultiHermite, f: MultiHermite, along: tuple[float, ...]) -> np.ndarray:
    """C_k(chat^k)/k!, k to both degrees, of p, each part of grad p and grad^2 p, and of p f."""
    terms = max(len(p.degrees), len(f.degrees))
    if terms > MOST_TERMS:
        raise ValueError(
            f"The target has {terms} terms: give a polynomial of at most {MOST_TERMS}."
        )
    chat, degrees = np.array([along]), range(p.degree + f.degree + 1)
    slopes = [p.derivative(i) for i in range(p.r)]
    of = [p, *slopes, *(one.derivative(i) for one in slopes for i in range(p.r)), p.times(f)]
    return np.array(
        [[float(h.contract(k, chat)[0]) / math.factorial(k) for h in of] for k in degrees]
    )
