"""Sample sizes and losses of Damian22's theorems as functions; rates, their constants unknown.

n ~ d^2 r + d r^p, d^p and d^{p/2} are as printed. The powers of kappa, the terms n^{-1/4} and
N^{-1/4} and the conditions of Theorems 1 and 3, and d^k for one step at k >= 3, were not checked
against print: use them as orders of magnitude; nothing else is built on them. Arguments are
positive, and ValueError says where one is not.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.ranges import positive


def network_samples(d: float, r: float, p: int, kappa: float = 1.0) -> float:
    """n ~ kappa^2 d^2 r + kappa^{2p} d r^p: enough for Algorithm 1 on r directions, degree p.

    The first term lets the gradient step find the directions, the second lets the head fit a
    polynomial on them.

    `d`, `r`, `p`: inputs, directions, degree; `kappa`: ||H^+||/sqrt(r), H = E grad^2 f* of rank r.
    Regime: a rate, up to constants and powers of log(n d m); H of rank r, d >~ kappa r^{3/2}.
    Source: Damian22, Theorem 1.

    >>> network_samples(d=10, r=1, p=4)
    110.0
    """
    positive(d=d, r=r, p=p, kappa=kappa)
    return _power(kappa * d, 2) * r + d * _power(r * kappa**2, p)


def kernel_samples(d: float, p: int) -> float:
    """n ~ d^p: what a rotation-invariant kernel needs for degree p, whatever the directions.

    Regime: a rate, up to constants; d large, p fixed.
    Source: Ghorbani et al. 2021, Theorem 4; Damian22, Section 1.

    >>> kernel_samples(d=10, p=4)
    10000.0
    """
    positive(d=d, p=p)
    return _power(d, p)


def network_loss(
    d: float, r: float, p: int, n: ArrayLike, m: ArrayLike, kappa: float = 1.0
) -> np.ndarray:
    """E|f - y| - noise <~ sqrt(d r^p kappa^{2p}/n) + sqrt(r^p kappa^{2p}/m) + n^{-1/4}.

    `n`, `m`: rows and neurons, broadcast.
    Returns the rate, with every hidden constant set to 1: for slopes, not for values.
    Regime: n >= kappa^2 d^2 r and d >= kappa r^{3/2}; outside it nan and a warning.
    Source: Damian22, Theorem 1.

    >>> float(network_loss(d=4, r=1, p=2, n=256, m=64))
    0.5
    """
    n, m = np.broadcast_arrays(np.asarray(n, float), np.asarray(m, float))
    positive(d=d, r=r, p=p, kappa=kappa, n=n.min(), m=m.min())
    head = _power(r * kappa**2, p)
    loss = np.sqrt(d * head / n) + np.sqrt(head / m) + n**-0.25
    return np.where(_in_regime(d, r, kappa, n), loss, np.nan)


def width_needed(r: float, p: int, excess: float, kappa: float = 1.0) -> float:
    """m ~ r^p kappa^{2p}/excess^2 neurons, free of d, for that excess loss.

    Regime: a rate, up to constants and logarithms.
    Source: Damian22, Theorem 1: the term sqrt(r^p kappa^{2p}/m).

    >>> width_needed(r=2, p=3, excess=0.5)
    32.0
    """
    positive(r=r, p=p, excess=excess, kappa=kappa)
    return _power(r * kappa**2, p) / excess**2


def query_tolerance(d: float, p: int, queries: float) -> float:
    """tau <= (log(q d)/d)^{p/4}: the tolerance a correlational query learner needs, q queries.

    There are polynomials of degree p of one direction (H degenerate) that no such learner brings
    below loss 1 with a larger tolerance.

    Regime: a rate, up to constants; d large, p fixed.
    Raises ValueError when an argument is not positive or q d <= 1.
    Source: Damian22, Theorem 2.

    >>> round(query_tolerance(d=1000, p=4, queries=1000), 6)
    0.013816
    """
    positive(d=d, p=p, queries=queries)
    if queries * d <= 1:
        raise ValueError(f"queries * d is {queries * d}: give more than 1.")
    return (math.log(queries * d) / d) ** (p / 4)


def query_samples(d: float, p: int) -> float:
    """n >~ d^{p/2}: what `query_tolerance` stands for, by tau ~ n^{-1/2}, logarithms left out.

    Regime: a rate and a heuristic (tau ~ n^{-1/2}): it speaks of learners that see the data
    through correlations y h(x), such as gradients of the squared loss.
    Source: Damian22, after Theorem 2.

    >>> query_samples(d=100, p=3)
    1000.0
    """
    positive(d=d, p=p)
    return _power(d, p / 2)


def reuse_samples(d: float, generative: int) -> float:
    """n ~ d^{max(1, k/2)}, k the generative exponent: gradients that see a function of the label.

    Gradient steps on rows that are used again reach it for k <= 2; partial traces of tensors for
    any k; no learner by noisy statistics of (x, y) does with less.

    Regime: a rate, up to constants and powers of log d; one direction, Gaussian inputs.
    Source: Damian, Pillaud-Vivien, Lee & Bruna 2024, Theorems 1 and 2; Dandi et al. 2024 and Lee
    et al. 2024 for gradient steps.

    >>> reuse_samples(d=100, generative=1), reuse_samples(d=100, generative=4)
    (100.0, 10000.0)
    """
    positive(d=d, generative=generative)
    return _power(d, max(1.0, generative / 2))


def transfer_samples(r: float, p: int, kappa: float = 1.0) -> float:
    """N ~ r^p kappa^{2p}: rows that a new target of degree p on the same directions needs.

    Free of d: the features were learnt on n >= kappa^2 d^2 r rows of another target.

    Regime: a rate, up to constants and logarithms; H of the first target of rank r.
    Source: Damian22, Theorem 3.

    >>> transfer_samples(r=2, p=3)
    8.0
    """
    positive(r=r, p=p, kappa=kappa)
    return _power(r * kappa**2, p)


def transfer_loss(
    d: float, r: float, p: int, n: ArrayLike, N: ArrayLike, m: float, kappa: float = 1.0
) -> np.ndarray:
    """E|f - y| - noise <~ sqrt(r^p kappa^{2p}/min(m, N)) + N^{-1/4} on the new target.

    `d`, `r`, `p`, `kappa`: as in `network_samples`, p is the new target's degree; `n`, `N`: rows of
    the first and of the new target, broadcast; `m`: neurons.
    Returns the rate, with every hidden constant set to 1.
    Regime: n >= kappa^2 d^2 r and d >= kappa r^{3/2}; outside it nan and a warning.
    Source: Damian22, Theorem 3.

    >>> float(transfer_loss(d=10, r=1, p=3, n=1000, N=16, m=1000))
    0.75
    """
    n, N = np.broadcast_arrays(np.asarray(n, float), np.asarray(N, float))
    positive(d=d, r=r, p=p, kappa=kappa, n=n.min(), N=N.min(), m=m)
    loss = np.sqrt(_power(r * kappa**2, p) / np.minimum(m, N)) + N**-0.25
    return np.where(_in_regime(d, r, kappa, n), loss, np.nan)


@dataclass(frozen=True)
class SampleScales:
    """Orders of magnitude of n, every constant set to 1."""

    #: d^k, k the information exponent: one gradient step from a random start is informative. k = 1:
    #: the linear part, which Algorithm 1 fits apart; k = 2: d^2 of Damian22.
    one_step: float
    #: d^{max(1, k/2)}: below it no gradient of the squared loss on fresh rows is, however many
    #: steps; steps on the same rows can be (Dandi et al. 2024).
    query_bound: float
    online_sgd: float  #: d^{max(1, k-1)}: one pass of stochastic gradient descent.
    #: d r: as many rows as the directions have numbers; no learner can do with fewer.
    information: float
    kernel: float  #: d^p, p the degree: a rotation-invariant kernel.


def suggested_samples(d: float, r: float, exponent: int, degree: int) -> SampleScales:
    """Scales of n for a target of r directions, that information exponent and that degree.

    `d`, `r`: inputs and directions; `exponent`, `degree`: lowest and highest Hermite degree of the
    target, 1 <= exponent <= degree.
    Regime: rates, up to constants and logarithms; d large.
    Raises ValueError when d or r is not positive, or the degrees are not in order.
    Source: one step: Damian22, Theorem 1 (k = 2), Dandi et al. 2023 (any k); query bound:
    Damian22, Theorem 2; online: Ben Arous, Gheissari & Jagannath 2021, Theorem 1.3; kernel:
    Ghorbani et al. 2021.

    >>> suggested_samples(d=10, r=1, exponent=2, degree=4).one_step
    100.0
    >>> suggested_samples(d=100, r=1, exponent=3, degree=3).query_bound
    1000.0
    """
    positive(d=d, r=r)
    if not 1 <= exponent <= degree:
        raise ValueError(
            f"The information exponent was {exponent} and the degree {degree}: give 1 <= exponent"
            " <= degree."
        )
    return SampleScales(
        one_step=_power(d, exponent),
        query_bound=max(float(d), query_samples(d, exponent)),
        online_sgd=_power(d, max(1, exponent - 1)),
        information=float(d * r),
        kernel=kernel_samples(d, degree),
    )


def _power(base: float, exponent: float) -> float:
    """Infinity where no float holds it."""
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)


def _in_regime(d: float, r: float, kappa: float, n: np.ndarray) -> np.ndarray:
    """Where n >= kappa^2 d^2 r and d >= kappa r^{3/2}; a warning where it is not."""
    inside = (n >= kappa**2 * d**2 * r) & (d >= kappa * r**1.5)
    if not inside.all():
        warnings.warn(
            f"The rate is proved for n >= kappa^2 d^2 r = {kappa**2 * d**2 * r:.4g} and d >= kappa"
            f" r^1.5 = {kappa * r**1.5:.4g}; n goes down to {n.min():.4g} and d is {d:.4g}, so it"
            " is nan there.",
            RuntimeWarning,
            stacklevel=3,
        )
    return inside
