"""Named link functions of the talks, for `MultiIndex`: z ~ N(0, I_r)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ..maths.hermite import HermiteSeries, hermite
from ..maths.links import product_of_series, sum_of_series
from ..maths.multi_hermite import MultiHermite
from ..maths.ranges import at_least, not_negative, positive


def pure_hermite(p: int, r: int = 1) -> MultiHermite:
    """g = sum_{i <= r} He_p(z_i) / sqrt(r p!): E g^2 = 1, information exponent p.

    Degenerate for p >= 3 (E grad^2 g = 0). He_3 / sqrt(6) is the transfer target of Damian22.

    Raises ValueError when p or r is below 1.
    Source: Damian22, section 5 and Theorem 2.

    >>> pure_hermite(3).information_exponent(), round(pure_hermite(3).norm_squared(), 12)
    (3, 1.0)
    """
    at_least(1, p=p)
    return _alike([0.0] * p + [1 / math.sqrt(math.factorial(p))], r)


def he2_hep(p: int, r: int = 1) -> MultiHermite:
    """g = sum_{i <= r} [He_2(z_i) / 2 + He_p(z_i) / sqrt(2 p!)] / sqrt(r), p > 2: E g^2 = 1.

    Half of the variance is of degree 2, half of degree p. H = I / sqrt(r), so kappa = 1.

    Raises ValueError when p is below 3 or r below 1.
    Source: Damian22, the experiments (r = 1).

    >>> he2_hep(4).coefficients == (1 / 2, 1 / math.sqrt(48))
    True
    """
    at_least(3, p=p)
    last = 1 / math.sqrt(2 * math.factorial(p))
    return _alike([0.0, 0.0, 1 / 2] + [0.0] * (p - 3) + [last], r)


def he1() -> MultiHermite:
    """g = He_1(z): setting 1 of Moniri24, to be used with noise 1.

    >>> he1()
    MultiHermite(degrees=((1,),), coefficients=(1.0,))
    """
    return pure_hermite(1)


def he1_he2() -> MultiHermite:
    """g = He_1(z) + He_2(z) / sqrt(2): setting 2 of Moniri24, with E g^2 = 2 as printed.

    >>> round(he1_he2().norm_squared(), 12), he1_he2().information_exponent()
    (2.0, 1)
    """
    return pure_hermite(1) + pure_hermite(2)


def sum_of_squares(r: int) -> MultiHermite:
    """g = sum_{i <= r} (z_i^2 - 1) / sqrt(2 r): E g^2 = 1, H = sqrt(2 / r) I, kappa = 1 / sqrt(2).

    Raises ValueError when r is below 1.

    >>> sum_of_squares(3).information_exponent()
    2
    """
    return pure_hermite(2, r)


def coordinate_product(r: int = 2, scale: float = 1.0) -> MultiHermite:
    """g = scale^r z_1 ... z_r: the product of r inputs x_i = scale z_i. Information exponent r.

    x_0 x_1 of Rad24 at r = 2, where H is non-degenerate; at r >= 3 it is zero.

    Raises ValueError when r is below 1, or `scale` is not finite.
    Source: Rad24, the low-rank examples.

    >>> float(coordinate_product(2, 0.5)(np.array([2.0, 6.0])))
    3.0
    """
    at_least(1, r=r)
    return MultiHermite(((1,) * r,), (float(scale**r),))


@final
@dataclass(frozen=True)
class GatedProduct:
    """g = x_0 x_1 1{x_2 > 0} at x = scale z: E g^2 = scale^4 / 2, information exponent 2.

    H is degenerate: the gate appears at degree 3 only. Rad24 has the gate on x_5 and x ~ N(0, I/4):
    `MultiIndex(20, GatedProduct(0.5), scale=0.5, aligned=True)` up to the order of the inputs.

    Source: Rad24, the low-rank examples.

    >>> GatedProduct()(np.array([[2.0, 3.0, 1.0], [2.0, 3.0, -1.0]])).tolist()
    [6.0, 0.0]
    """

    scale: float = 1.0  #: Standard deviation of the inputs that are multiplied.

    @property
    def r(self) -> int:
        """Three: two factors and the gate."""
        return 3

    @property
    def series(self) -> MultiHermite:
        """Exact up to degree 9: the step has c_0 = 1/2, c_k = He_{k-1}(0) / (k! sqrt(2 pi))."""
        He = hermite(6, 0.0) / math.sqrt(2 * math.pi)
        step = HermiteSeries((1 / 2, *(float(h) / math.factorial(k + 1) for k, h in enumerate(He))))
        identity = HermiteSeries((0.0, 1.0))
        return self.scale**2 * product_of_series([identity, identity, step], 9)

    def __call__(self, z: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, " p"]:
        return self.scale**2 * z[:, 0] * z[:, 1] * (z[:, 2] > 0)


@final
@dataclass(frozen=True)
class SumOfSines:
    """g = sum_{i <= r} (sin(w z_i + phase) - m)/(v sqrt(r)), w = frequency: E g = 0, E g^2 = 1.

    m and v are mean and standard deviation of one sine. Smooth, periodic and no polynomial: for a
    latent variable f(x) = g(Ux). At phase 0 all degrees are odd and H is degenerate; at pi/4 half
    of the variance is of even degree and H has full rank.

    Raises ValueError when r is below 1, or `frequency` is not above 0 and finite.

    >>> g = SumOfSines(2, 1.0)
    >>> g.series.information_exponent(), round(g.series.norm_squared(), 9)
    (1, 1.0)
    """

    r: int  #: Number of variables.
    frequency: float  #: w, above 0; the larger, the higher the degrees that matter (about w^2).
    phase: float = 0.0  #: In radians.

    def __post_init__(self) -> None:
        at_least(1, r=self.r)
        positive(frequency=self.frequency)

    @property
    def mean(self) -> float:
        """m = exp(-w^2 / 2) sin(phase)."""
        return math.exp(-(self.frequency**2) / 2) * math.sin(self.phase)

    @property
    def spread(self) -> float:
        """v, v^2 = (1 - exp(-2 w^2) cos(2 phase)) / 2 - m^2."""
        square = (1 - math.exp(-2 * self.frequency**2) * math.cos(2 * self.phase)) / 2
        return math.sqrt(square - self.mean**2)

    @property
    def series(self) -> MultiHermite:
        """Exact up to degree 20: c_k = exp(-w^2/2) w^k sin(phase + k pi/2) / (k! v sqrt(r))."""
        w, first = self.frequency, math.exp(-(self.frequency**2) / 2) / self.spread
        quarter = (math.sin(self.phase), math.cos(self.phase))
        signs = [quarter[k % 2] * (-1) ** (k // 2) for k in range(21)]
        c = [first * s * w**k / math.factorial(k) for k, s in enumerate(signs)]
        one = HermiteSeries((0.0, *c[1:])) * (1 / math.sqrt(self.r))
        return sum_of_series([one] * self.r)

    def single(self, z: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """One sine, of mean 0 and variance 1."""
        return (np.sin(self.frequency * z + self.phase) - self.mean) / self.spread

    def __call__(self, z: Float[np.ndarray, "p r"]) -> Float[np.ndarray, " p"]:
        return self.single(z).sum(axis=1) / math.sqrt(self.r)


def _alike(coefficients: list[float], r: int) -> MultiHermite:
    """The same series in each of r variables, over sqrt(r)."""
    at_least(1, r=r)
    one = HermiteSeries(tuple(coefficients)) * (1 / math.sqrt(r))
    return sum_of_series([one] * r)


@final
@dataclass(frozen=True)
class TruncatedPower:
    """g(x) = (max(x, 0)^s - m) / v, with m and v such that E g = 0, E g^2 = 1 on [-1, 1].

    max(x, 0)^0 is the step 1{x > 0}.
    For an integer s the derivatives up to s - 1 are continuous and derivative s jumps at 0, so g is
    in C^{s-1} and in the Sobolev space H^t on [-1, 1] exactly for t < s + 1/2. s = 0 is the
    Heaviside step, here sign(x); a fractional s is Hoelder of order s.

    Raises ValueError when s is negative or not finite.
    Source: the talk Feature learning and limitations of kernels, smoothness (Heaviside, C^s).

    >>> TruncatedPower(0)(np.array([-0.5, 0.5])).tolist()
    [-1.0, 1.0]
    >>> TruncatedPower(2).sobolev_order
    2.5
    """

    s: float  #: The power, 0 or more.

    def __post_init__(self) -> None:
        not_negative(s=self.s)

    @property
    def sobolev_order(self) -> float:
        """s + 1/2: g is in H^t for t below it, not at it (s an integer)."""
        return self.s + 0.5

    def __call__(self, x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        mean, square = 1 / (2 * (self.s + 1)), 1 / (2 * (2 * self.s + 1))
        power = np.where(x > 0, np.maximum(x, 0) ** self.s, 0.0)
        return (power - mean) / math.sqrt(square - mean**2)


def heaviside() -> TruncatedPower:
    """The normalised step 2 1{x > 0} - 1: `TruncatedPower` of order 0.

    >>> heaviside()
    TruncatedPower(s=0)
    """
    return TruncatedPower(0)
