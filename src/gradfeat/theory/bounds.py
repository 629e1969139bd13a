"""Bounds as numbers: what fixed features and queries cannot do on sparse-coding inputs, where a
written-down network has no loss (Shi22); and the guarantee of gradient feature learning (Shi23).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from gradfeat.theory.patterns import PatternLaw

from ..maths.ranges import finite, positive


@dataclass(frozen=True, eq=False)
class ExplicitNetwork:
    """f(x) = a . min(1, max(0, W x + b)) with W = Q M^T: weights in pattern directions.

    >>> net = ExplicitNetwork(np.ones((1, 2)), np.zeros(1), np.array([3.0]))
    >>> net(np.array([[0.5, 0.0], [2.0, 2.0]])).tolist()
    [1.5, 3.0]
    """

    Q: np.ndarray  #: (m, D), Q_ij = <M_j, w_i>.
    #: b, a (m,): biases and head.
    b: np.ndarray
    a: np.ndarray

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """f at inputs given as codes (n, D), M^T x = (phi - E phi)/sigma~; returns (n,)."""
        return np.clip(codes @ self.Q.T + self.b, 0, 1) @ self.a

    def weights(self, M: np.ndarray) -> np.ndarray:
        """W (m, d) for a dictionary M (d, D) with orthonormal columns, A its first k."""
        return self.Q @ M.T


def explicit_network(law: PatternLaw) -> ExplicitNetwork:
    """f(x) = 2 sum_p y(p) hat(s - p), hat(z) = 2 [relu(z+1/2) - 2 relu(z) + relu(z-1/2)].

    hat is 1 at 0 and 0 at every other integer, so f = 2 y(s) at every input, for any set P of
    positive s. The three neurons of p compute relu(s - p + h)/(4k), h = 1/2, 0, -1/2, which stays
    below 1, so that the truncation never acts: w = sigma~/(4k) sum_{j in A} M_j,
    b = (E s - p + h)/(4k), |a| <= 32 k. The factor 2 leaves a margin of 1 for rounding: the hinge
    loss is exactly 0.

    Returns 3(k+1) neurons, those of p = 0 first.
    Regime: exact for every law of patterns.
    Source: Shi22, Lemma 4 (existence with 3(k+1) neurons along sum_A M_j); these breakpoints and
    the margin are chosen here.

    >>> law = PatternLaw.uniform(D=4, k=2, P=[1])
    >>> codes = (np.array([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]]) - law.means) / law.sigma
    >>> explicit_network(law)(codes).round(12).tolist()
    [-2.0, 2.0, -2.0]
    """
    k = law.k
    p, h = np.repeat(np.arange(k + 1), 3), np.tile([0.5, 0.0, -0.5], k + 1)
    in_A = (np.arange(law.D) < k).astype(float)
    Q = np.tile(in_A * law.sigma / (4 * k), (3 * (k + 1), 1))
    b = (k * law.rate - p + h) / (4 * k)
    a = 16 * k * np.tile([1.0, -2.0, 1.0], k + 1) * np.array(law.labels)[p]
    return ExplicitNetwork(Q, b, a)


def fixed_feature_bound(D: int, k: int, p_o: float, N: ArrayLike, B: ArrayLike) -> np.ndarray:
    """Hinge loss of a linear head on fixed features >= p_o (1 - sqrt(2 N) B / 2^k).

    For every map to N features in [-1, 1] that does not depend on the task there is a hard
    instance (a choice of A) on which every head of norm at most B has at least this loss.

    `p_o`: weight of the part with uniform patterns and parity labels; `N`: number of features; `B`:
    largest norm |a|_2 of the head, broadcast against `N`.
    Returns the bound; zero or less says nothing about a loss.
    Regime: k odd, 3 < k <= D/16; outside it nan and a warning.
    Raises ValueError when p_o is outside (0, 1], N is below 1 or B is negative.
    Source: Shi22, Theorem 2.

    >>> float(fixed_feature_bound(D=500, k=11, p_o=0.5, N=512, B=16.0))
    0.375
    """
    N, B = np.broadcast_arrays(np.asarray(N, float), np.asarray(B, float))
    if not 0 < p_o <= 1 or (N < 1).any() or (B < 0).any():
        raise ValueError(
            f"p_o is {p_o}, N is at least {N.min()} and B at least {B.min()}: give 0 < p_o <= 1, "
            "N >= 1 and B >= 0."
        )
    if k % 2 == 0 or not 3 < k <= D / 16:
        warnings.warn(
            f"The bound is proved for odd k with 3 < k <= D/16; k is {k} and D is {D}, so it is "
            f"nan: give an odd k of 5 or more and D of at least {16 * k}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return np.full(N.shape, np.nan)
    return np.asarray(p_o * (1 - np.sqrt(2 * N) * B / 2**k))


def guarantee_sizes(
    D: int, k: int, m: int, *, gamma: float, delta: float, eps: float
) -> dict[str, float]:
    """Least k, p_o and number of neurons for a loss of eps with probability 1 - delta.

    least_k = log^2(D m/(delta gamma)), least_p_o = k^2/D, least_m = max(k^12/eps^{3/2}, D): the
    theorem has them up to constants that it leaves open; with constants 1 they are sizes, not
    proven numbers.

    Regime: sizes up to constants, which the theorem leaves open.
    Raises ValueError when a number is not above 0.
    Source: Shi22, Theorem 1.

    >>> sizes = guarantee_sizes(100, 5, 300, gamma=0.25, delta=0.01, eps=0.01)
    >>> {name: float(f"{size:.3g}") for name, size in sizes.items()}
    {'least_k': 266.0, 'least_p_o': 0.25, 'least_m': 244000000000.0}
    """
    positive(D=D, k=k, m=m, gamma=gamma, delta=delta, eps=eps)
    return {
        "least_k": math.log(D * m / (delta * gamma)) ** 2,
        "least_p_o": k**2 / D,
        "least_m": max(k**12 / eps**1.5, float(D)),
    }


def query_bound(D: int, k: int) -> tuple[float, float]:
    """(1/2 - C(D,k)^{-3}, C(D,k)^{1/3}/2): an error, and the cost of going below it.

    Without structure (all patterns uniform) a statistical-query learner that reaches an error
    below the first number needs at least the second many queries, or a tolerance tau with 1/tau
    at least that.

    `D`, `k`: number of patterns, and of those that decide the label, 1 <= k <= D.
    Returns error (1/2 to rounding for large C(D, k)) and cost.
    Regime: exact for D and k as allowed; it says nothing where D is near k.
    Raises ValueError when k is not in 1 to D.
    Source: Shi22, Theorem 3.

    >>> query_bound(D=4, k=1)[0]
    0.484375
    >>> round(query_bound(D=100, k=5)[1], 2)
    211.13
    """
    if not 1 <= k <= D:
        raise ValueError(f"k is {k} and D is {D}: give 1 <= k <= D.")
    subsets = float(comb(D, k))
    return 0.5 - math.pow(subsets, -3), math.pow(subsets, 1 / 3) / 2


@dataclass(frozen=True)
class LossBound:
    """L <= total = opt + features + eps."""

    #: opt, features, eps: OPT, r B_a1 B_x1 sqrt(cone + sampling), and the optimisation error.
    opt: float
    features: float
    eps: float
    #: cone, sampling: what is under the root: 2 g, and C sqrt(B_x2 log n)/(B_G |l'(0)| sqrt(n)).
    cone: float
    sampling: float

    @property
    def total(self) -> float:
        """The bound of the loss, and with hinge or logistic loss (over log 2) of Pr[sign f != y].

        Above the loss of f = 0 it says nothing.
        """
        return self.opt + self.features + self.eps


def loss_bound(
    opt: float,
    *,
    r: int,
    B_a1: float,
    B_x1: float,
    B_x2: float,
    width: float,
    B_G: float,
    n: int,
    slope: float = 1.0,
    C: float = 1.0,
    eps: float = 0.0,
) -> LossBound:
    """L <= OPT + r B_a1 B_x1 sqrt(2 g + C sqrt(B_x2 log n)/(B_G |l'(0)| sqrt n)) + eps.

    The theorem writes O(1) for C and leaves it open: with C = 1 (the default, ours) the sampling
    term is a size, not a proven number; `cone` and OPT do not depend on it.

    `opt`: OPT of the class at least norm B_G, or an upper bound of it; `r`, `B_a1`: neurons of the
    class, and the bound of their coefficients; `B_x1`, `B_x2`: E|x| and E|x|^2, or bounds of them;
    `width`: g, the cone: |<G, D>|/|G| > 1 - g; `B_G`: least norm of the simplified gradients, in
    units of x, 0 gives infinity; `n`: rows; `slope`: |l'(0)|: 1 for the hinge, 1/2 for the logistic
    loss, 2 for the squared loss at y = +-1; `C`: the constant; `eps`: optimisation error.
    Regime: n and the width of the network large enough for the theorem; not checked here.
    Raises ValueError when a number is negative, width is outside [0, 1], n or r below 1, or slope
    is 0.
    Source: Shi23, main theorem.

    >>> bound = loss_bound(0.1, r=2, B_a1=0.5, B_x1=1.0, B_x2=1.0, width=0.02, B_G=1.0, n=10**8)
    >>> round(bound.cone, 3), round(bound.sampling, 5), round(bound.total, 3)
    (0.04, 0.00043, 0.301)
    """
    numbers = {"opt": opt, "B_a1": B_a1, "B_x1": B_x1, "B_x2": B_x2, "B_G": B_G, "C": C}
    numbers["eps"] = eps
    wrong = {name: x for name, x in numbers.items() if not x >= 0}
    if wrong:
        raise ValueError(f"{wrong}: give numbers of 0 or more.")
    finite(**numbers, slope=slope)
    if not (0 <= width <= 1 and n >= 1 and r >= 1 and slope != 0):
        raise ValueError(
            f"width, n, r, slope are {width}, {n}, {r}, {slope}: give a width in [0, 1], n and r "
            "of 1 or more, and the slope of the loss at 0."
        )
    cone = 2 * width
    error = C * math.sqrt(B_x2 * math.log(n) / n)
    scale = B_G * abs(slope)
    sampling = error / scale if scale > 0 else (math.inf if error > 0 else 0.0)
    size = r * B_a1 * B_x1
    features = size * math.sqrt(cone + sampling) if size > 0 else 0.0
    return LossBound(opt, features, eps, cone, sampling)
