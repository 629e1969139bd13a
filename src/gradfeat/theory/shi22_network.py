"""A network of 3(k+1) neurons that has no loss, written down instead of trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradfeat.theory.patterns import PatternLaw


@dataclass(frozen=True, eq=False)
class ExplicitNetwork:
    """f(x) = a . min(1, max(0, W x + b)) with W = Q M^T: weights in pattern directions.

    Parameters
    ----------
    Q : ndarray (m, D)
        Q_ij = <M_j, w_i>.
    b, a : ndarray (m,)
        Biases and head.

    Examples
    --------
    >>> net = ExplicitNetwork(np.ones((1, 2)), np.zeros(1), np.array([3.0]))
    >>> net(np.array([[0.5, 0.0], [2.0, 2.0]])).tolist()
    [1.5, 3.0]
    """

    Q: np.ndarray
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

    Parameters
    ----------
    law : PatternLaw

    Returns
    -------
    ExplicitNetwork
        3(k+1) neurons, those of p = 0 first.

    Source: Shi22, Lemma 4 (existence with 3(k+1) neurons along sum_A M_j); these breakpoints and
    the margin are chosen here.

    Examples
    --------
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
