"""Best accuracy of linear functions of the patterns: what no linear method can pass."""

from __future__ import annotations

from math import comb

import numpy as np

from gradfeat.theory.patterns import PatternLaw


def best_threshold_accuracy(law: PatternLaw) -> float:
    """max over t and sign of Pr[y = sign(+-(s - t))]: the best accuracy of a threshold of s.

    No linear function of the D patterns whose weights in A share one sign does better. Given the
    background (independent of y) only the threshold moves, so it cannot help. Along a random
    maximal chain 0 < ... < 1 of {0,1}^k, whose s-th element has the law of phi_A given s, such a
    function changes sign at most once: it is a threshold of s on every chain. Weights of both
    signs can do better: for the hard instance they do where k = 3 mod 4
    (see :func:`best_linear_accuracy`), and not where k = 1 mod 4.

    Examples
    --------
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

    Raises
    ------
    ValueError
        When k is even or p_o is not in (0, 1).

    Source: Shi22, experiments (27/32 for k = 5, p_o = 1/2); derived here for any odd k.

    Examples
    --------
    >>> best_linear_accuracy(k=5, p_o=0.5) == 27 / 32
    True
    """
    PatternLaw.hard_instance(D=k + 1, k=k, p_o=p_o)
    return 1 - p_o * (0.5 - comb(k - 1, (k - 1) // 2) / 2**k)
