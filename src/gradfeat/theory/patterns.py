"""Sparse-coding inputs with labels: the law of the patterns, and the best linear accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb, isclose, sqrt

import numpy as np

from ..maths.ranges import whole


@dataclass(frozen=True)
class PatternLaw:
    """x = M (phi - E phi)/sigma~ with M orthonormal, phi in {0,1}^D, label y(s), s = sum_A phi_j.

    A is the first k of the D patterns. Inside A the law is exchangeable: given s, every set of s
    patterns is equally likely. Outside A patterns are independent Bernoulli(p_o).

    Raises ValueError when the sizes do not fit, probabilities are not a law, or a label is not -1
    or +1.
    Source: Shi22, Section 3 (problem setup; its distribution families are laws of this kind).

    >>> law = PatternLaw.hard_instance(D=100, k=5, p_o=0.5)
    >>> law.gamma, law.sigma, law.balance
    (0.25, 5.0, 0.5)
    """

    #: D, k: number of patterns, and of those that decide the label.
    D: int
    k: int
    p_o: float  #: Pr[phi_j = 1] outside A, in (0, 1).
    probabilities: tuple[float, ...]  #: (k + 1,), Pr[s = 0], ..., Pr[s = k].
    labels: tuple[int, ...]  #: (k + 1,), y(0), ..., y(k), each -1 or +1.

    def __post_init__(self) -> None:
        check_sizes(self.D, self.k, self.p_o)
        if not len(self.probabilities) == len(self.labels) == self.k + 1:
            raise ValueError(
                f"{len(self.probabilities)} probabilities and {len(self.labels)} labels were "
                f"given: s runs from 0 to k = {self.k}, so give {self.k + 1} of each."
            )
        if min(self.probabilities) < 0 or not isclose(sum(self.probabilities), 1, abs_tol=1e-9):
            raise ValueError(
                f"The probabilities of s are {self.probabilities}: they must be non-negative and "
                "sum to 1."
            )
        if set(self.labels) - {-1, 1}:
            raise ValueError(f"The labels are {self.labels}: give -1 or +1 for every s.")

    @classmethod
    def hard_instance(cls, D: int, k: int, p_o: float) -> PatternLaw:
        """With weight p_o: phi_A uniform, y the parity of s; else all ones (+1) or all zeros (-1).

        The two of the second part have probability 1/2 each; odd s is +1, so k must be odd.
        Then gamma = (1 - p_o)/2.

        Regime: exact.
        Raises ValueError when k is even: all ones would have both labels.
        Source: Shi22, Section 5 and its experiments.

        >>> PatternLaw.hard_instance(D=16, k=3, p_o=0.5).labels
        (-1, 1, -1, 1)
        """
        check_sizes(D, k, p_o)
        if k % 2 == 0:
            raise ValueError(f"k is {k}: the hard instance needs an odd k; give k + 1 or k - 1.")
        law = p_o * binomial(k)
        law[[0, k]] += (1 - p_o) / 2
        return cls(D, k, p_o, tuple(law.tolist()), labels_of(k, range(1, k + 1, 2)))

    @classmethod
    def majority(cls, D: int, k: int, p_o: float) -> PatternLaw:
        """phi_A uniform on {0,1}^k, y = +1 where s > k/2; gamma = C(k-1, (k-1)/2)/2^k for odd k.

        >>> PatternLaw.majority(D=16, k=3, p_o=0.5).gamma
        0.25
        """
        check_sizes(D, k, p_o)
        return cls(D, k, p_o, tuple(binomial(k).tolist()), labels_of(k, range(k // 2 + 1, k + 1)))

    @classmethod
    def uniform(cls, D: int, k: int, P: Iterable[int]) -> PatternLaw:
        """All D patterns independent Bernoulli(1/2), y = +1 where s is in P: no structure.

        >>> PatternLaw.uniform(D=16, k=3, P=[1, 3]).sigma
        2.0
        """
        check_sizes(D, k, 0.5)
        return cls(D, k, 0.5, tuple(binomial(k).tolist()), labels_of(k, P))

    @property
    def rate(self) -> float:
        """Pr[phi_j = 1] for j in A: E[s]/k."""
        return float(np.dot(self.probabilities, np.arange(self.k + 1))) / self.k

    @property
    def balance(self) -> float:
        """Pr[y = +1]; 1/2 under assumption (A0)."""
        return float(np.dot(self.probabilities, np.array(self.labels) > 0))

    @property
    def gamma(self) -> float:
        """gamma = E[y phi_j] - E[y] E[phi_j], j in A; > 0 under assumption (A1)."""
        signed = np.multiply(self.probabilities, self.labels)
        return float(signed @ (np.arange(self.k + 1) / self.k - self.rate))

    @property
    def sigma(self) -> float:
        """sigma~ = (sum_j Var phi_j)^{1/2}, the scale of the inputs."""
        inside = self.k * self.rate * (1 - self.rate)
        return sqrt(inside + (self.D - self.k) * self.p_o * (1 - self.p_o))

    @property
    def means(self) -> np.ndarray:
        """E phi (D,): `rate` in A, p_o outside."""
        return np.where(np.arange(self.D) < self.k, self.rate, self.p_o)

    @property
    def bayes_error(self) -> float:
        """0: the label is a function of the patterns, and M is invertible on its range."""
        return 0.0


def binomial(k: int) -> np.ndarray:
    """Pr[s] of k fair coins (k + 1,)."""
    return np.array([comb(k, s) for s in range(k + 1)]) / 2**k


def labels_of(k: int, P: Iterable[int]) -> tuple[int, ...]:
    """+1 for s in P, -1 for the other s in {0..k}; ValueError where P leaves {0..k}."""
    positive = set(P)
    if positive - set(range(k + 1)):
        raise ValueError(f"P is {sorted(positive)}: give a subset of 0 to k = {k}.")
    return tuple(1 if s in positive else -1 for s in range(k + 1))


def check_sizes(D: int, k: int, p_o: float) -> None:
    """1 <= k <= D and 0 < p_o < 1; else ValueError."""
    if not 1 <= k <= D:
        raise ValueError(f"k is {k} and D is {D}: give 1 <= k <= D.")
    if not 0 < p_o < 1:
        raise ValueError(f"p_o is {p_o}: give a probability above 0 and below 1.")


def best_threshold_accuracy(law: PatternLaw) -> float:
    """max over t and sign of Pr[y = sign(+-(s - t))]: the best accuracy of a threshold of s.

    No linear function of the D patterns whose weights in A share one sign does better. Given the
    background (independent of y) only the threshold moves, so it cannot help. Along a random
    maximal chain 0 < ... < 1 of {0,1}^k, whose s-th element has the law of phi_A given s, such a
    function changes sign at most once: it is a threshold of s on every chain. Weights of both
    signs can do better: for the hard instance they do where k = 3 mod 4
    (see :func:`best_linear_accuracy`), and not where k = 1 mod 4.

    >>> best_threshold_accuracy(PatternLaw.hard_instance(D=100, k=5, p_o=0.5)) * 32
    27.0
    """
    signed = np.multiply(law.probabilities, law.labels)
    below = np.concatenate([[0.0], np.cumsum(signed)])
    return float(1 + np.abs(signed.sum() - 2 * below).max()) / 2


def best_linear_accuracy(k: int, p_o: float) -> float:
    """sup over linear functions of all patterns = 1 - p_o (1/2 - C(k-1, (k-1)/2)/2^k).

    The value for the hard instance. On its parity part, flipping the coordinates of negative
    weights leaves the uniform law and at most changes the sign of parity; then the argument of
    :func:`best_threshold_accuracy` bounds the agreement by that of the best threshold of s, the
    majority. The rest is at most always right. Both are attained: for k = 1 mod 4 by s > k/2, for
    k = 3 mod 4 by the majority with one coordinate of A flipped, which turns the sign of its
    agreement with parity and is still right at all ones and all zeros.

    Regime: exact.
    Raises ValueError when k is even or p_o is not in (0, 1).
    Source: Shi22, experiments (27/32 for k = 5, p_o = 1/2); derived here for any odd k.

    >>> best_linear_accuracy(k=5, p_o=0.5) == 27 / 32
    True
    """
    whole(1, 1_000, k=k)
    PatternLaw.hard_instance(D=k + 1, k=k, p_o=p_o)
    return 1 - p_o * (0.5 - comb(k - 1, (k - 1) // 2) / 2**k)
