"""Moments of the first-layer gradient, exactly, for given neurons: its signal and its noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, comb, pi

import numpy as np
from scipy.special import ndtr

from gradfeat.theory.patterns import PatternLaw

from ..maths.ranges import LARGEST, at_most, finite, positive

#: Patterns of A are enumerated: 2^k of them, times some hundred frequencies.
LARGEST_K = 14


@dataclass(frozen=True, eq=False)
class GradientMoments:
    """Moments of X_j = y g(w.x + b) (phi_j - E phi_j)/sigma~ for m neurons."""

    k: int  #: A is the first k columns.
    T: np.ndarray  #: (m, D), E X_j: the population gradient is dL/dw_i = -a_i sum_j M_j T_ij.
    variance: np.ndarray  #: (m, D), Var X_j; a mean of n rows has variance/n.
    sum_variance: np.ndarray  #: (m,), Var sum_{j in A} X_j.
    activity: np.ndarray  #: (m,), E[y g(w.x + b)]: dL/db_i = -a_i activity_i.


def gradient_moments(law: PatternLaw, Q: np.ndarray, b: np.ndarray, s: float) -> GradientMoments:
    """T_j = E[y g(z) (phi_j - E phi_j)/sigma~], z = sum_j q_j (phi_j - E phi_j)/sigma~ + b.

    g is the derivative of the truncated ReLU smoothed by noise N(0, s^2); all rows count
    (1{y f < 1} = 1, as at f = 0). The patterns of A are enumerated; those outside enter through
    their characteristic function: E g(c + Z) = Re sum_n c_n e^{i t_n c} E e^{i t_n Z} with the
    Fourier series of g. No approximation: errors are of rounding size, about 1e-14.

    `Q`: q_ij = <M_j, w_i>, A in the first k columns; `s`: noise standard deviation, > 0, time and
    memory grow as 1/s.
    Regime: exact while no row has margin 1, as at f = 0.
    Raises ValueError when shapes do not fit the law, s is not positive, or k is above 14.
    Source: Shi22, Lemma 5 (step 1) and Lemma 6 (step 2), whose T_j are bounded there; exact here.

    >>> law = PatternLaw.hard_instance(D=100, k=5, p_o=0.5)
    >>> q = np.random.default_rng(0).standard_normal((1, 100)) / 5
    >>> moments = gradient_moments(law, q, np.zeros(1), s=0.1)
    >>> bool(moments.T[0, :5].min() > 5 * np.abs(moments.T[0, 5:]).max())
    True
    """
    check_neurons(law, Q, b, s)
    phi = np.array(list(product([0, 1], repeat=law.k))) - law.rate
    first = np.array([neuron_moment(law, phi, q, c, s, 1) for q, c in zip(Q, b, strict=True)])
    second = np.array([neuron_moment(law, phi, q, c, s, 2) for q, c in zip(Q, b, strict=True)])
    variance = np.maximum(second - first**2, 0)
    D = law.D
    return GradientMoments(law.k, first[:, :D], variance[:, :D], variance[:, D], first[:, D + 1])


def neuron_moment(
    law: PatternLaw, phi: np.ndarray, q: np.ndarray, b: float, s: float, power: int
) -> np.ndarray:
    """E X_j^power for j = 1..D, then of sum_A X_j, then E[(y g)^power]: (D + 2,)."""
    t, c = step_series(s, reach(law, q, b), power)
    inside = pattern_waves(law, phi, q, b, t, power)
    alone, tilted = background_waves(law, q, t, power)
    in_A = c @ (inside * alone[:, None])
    outside = (c * inside[:, -1]) @ tilted
    values = np.r_[in_A[: law.k], outside, in_A[law.k]].real / law.sigma**power
    return np.r_[values, in_A[-1].real]


def pattern_waves(
    law: PatternLaw, phi: np.ndarray, q: np.ndarray, b: float, t: np.ndarray, power: int
) -> np.ndarray:
    """E[y^power e^{i t c} v^power], c = b + sum_A q_j phi_j/sigma~, v in (phi_A, sum_A phi, 1).

    `phi` (2^k, k) holds the centred patterns of A; returns (T, k + 2).
    """
    s = np.rint(phi.sum(1) + law.k * law.rate).astype(int)
    sizes = np.array([comb(law.k, r) for r in range(law.k + 1)])
    weights = (np.array(law.probabilities) / sizes * np.array(law.labels) ** power)[s]
    statistics = np.column_stack([phi, phi.sum(1), np.ones(len(phi))]) ** power
    shift = b + phi @ q[: law.k] / law.sigma
    return np.exp(1j * np.outer(t, shift)) @ (weights[:, None] * statistics)


def background_waves(
    law: PatternLaw, q: np.ndarray, t: np.ndarray, power: int
) -> tuple[np.ndarray, np.ndarray]:
    """E e^{i t Z} (T,) and E[(phi_j - p_o)^power e^{i t Z}] (T, D - k), Z the part outside A."""
    p = law.p_o
    angle = np.outer(t, q[law.k :] / law.sigma)
    on, off = p * np.exp(1j * (1 - p) * angle), (1 - p) * np.exp(-1j * p * angle)
    one = np.ones((len(t), 1))
    before = np.cumprod(np.hstack([one, on + off]), axis=1)
    after = np.cumprod(np.hstack([one, (on + off)[:, ::-1]]), axis=1)[:, ::-1]
    return before[:, -1], ((1 - p) ** power * on + (-p) ** power * off) * before[:, :-1] * after[
        :, 1:
    ]


def reach(law: PatternLaw, q: np.ndarray, b: float) -> float:
    """|z| beyond which there is no mass: none at all, or less than exp(-50) by Hoeffding."""
    steps = np.abs(q) / law.sigma
    outside = min(steps[law.k :].sum(), 5 * np.linalg.norm(steps[law.k :]))
    return float(abs(b) + steps[: law.k].sum() + outside)


def check_neurons(law: PatternLaw, Q: np.ndarray, b: np.ndarray, s: float) -> None:
    """Q (m, D), b (m,), finite, s > 0 and a k that can be enumerated; else ValueError."""
    if Q.ndim != 2 or Q.shape[1] != law.D or b.shape != Q.shape[:1]:
        raise ValueError(
            f"Q has shape {Q.shape} and b {b.shape}: give (m, {law.D}) and (m,) for m neurons."
        )
    finite(Q=Q, b=b)
    at_most(LARGEST, Q=np.abs(Q).max(initial=0.0), b=np.abs(b).max(initial=0.0))
    if not 0 < s < np.inf:
        raise ValueError(f"s is {s}: give a positive noise deviation, say 0.01 for nearly none.")
    if law.k > LARGEST_K:
        raise ValueError(
            f"k is {law.k}: all 2^k patterns of A are visited; give k up to {LARGEST_K}."
        )


#: A second moment below this is rounding: the neuron is dead, its direction undefined.
DEAD = 1e-12


def signal_to_noise(T: np.ndarray, k: int) -> np.ndarray:
    """mean_{j in A} |T_j| / (mean_{j not in A} T_j^2)^{1/2} for each row; inf without noise.

    `T`: A in the first k columns, k < D.
    Returns nan for a row that is zero.
    Regime: exact for the moments that are given.
    Raises ValueError when k leaves no column inside or outside A.
    Source: Shi22, Section 4 (T_j in A against T_j outside).

    >>> signal_to_noise(np.array([[3.0, 5.0, 0.5, -0.5]]), k=2).tolist()
    [8.0]
    """
    if T.ndim != 2 or k not in range(1, T.shape[1]):
        raise ValueError(f"T has shape {T.shape} and k is {k}: give (m, D) and 0 < k < D.")
    signal, noise = np.abs(T[:, :k]).mean(1), np.sqrt((T[:, k:] ** 2).mean(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return signal / noise


def leading_signal(law: PatternLaw, Q: np.ndarray, b: np.ndarray, s: float) -> np.ndarray:
    """(gamma/sigma~) Pr[0 < z_o < 1] (m,), z_o = b + sum_{not A} q_j (phi_j - p_o)/sigma~ + noise.

    T_j, j in A, to first order: without the patterns of A in the pre-activation, whether a neuron
    is active says nothing of the label.

    Regime: |q_j| small against sigma~ for j in A; :func:`gradient_moments` is exact.
    Raises ValueError as :func:`gradient_moments`.
    Source: Shi22, Lemma 5 (beta gamma/sigma~ there, beta the probability).

    >>> law = PatternLaw.hard_instance(D=100, k=5, p_o=0.5)
    >>> leading_signal(law, np.zeros((1, 100)), np.array([0.5]), s=0.01).round(12).tolist()
    [0.05]
    """
    check_neurons(law, Q, b, s)
    active = np.empty(len(b))
    for i, (q, c) in enumerate(zip(Q, b, strict=True)):
        t, coefficients = step_series(s, reach(law, q, c), 1)
        alone, _ = background_waves(law, q, t, 1)
        active[i] = (coefficients @ (np.exp(1j * t * c) * alone)).real
    return law.gamma / law.sigma * active


def predicted_cosine(moments: GradientMoments, n: float) -> np.ndarray:
    """(E <G, u>^2 / E |G|^2)^{1/2}, G a neuron's gradient over n rows, u = sum_A M_j/sqrt k.

    E <G, u>^2 = [(sum_A T_j)^2 + Var(sum_A X_j)/n]/k and
    E |G|^2 = sum_j (T_j^2 + Var X_j/n): |cos| up to the spread of the ratio, which is small as
    soon as many patterns share the noise. n = inf is the population gradient.

    `n`: rows in the gradient, at least 1.
    The cosine lies in [0, 1]; nan for a dead neuron.
    Regime: D large against 1; with T = 0 it is the root mean square of |cos|, not its mean.
    Raises ValueError when n is below 1.
    Source: derived from the moments of Shi22's gradient.

    >>> one = np.ones((1, 4))
    >>> moments = GradientMoments(1, one * [2.0, 0, 0, 0], one, np.ones(1), np.ones(1))
    >>> predicted_cosine(moments, n=1).round(4).tolist(), predicted_cosine(moments, np.inf).tolist()
    ([0.7906], [1.0])
    """
    if not n >= 1:
        raise ValueError(f"n is {n}: give the number of rows, 1 or more.")
    T, k = moments.T, moments.k
    along = (T[:, :k].sum(1) ** 2 + moments.sum_variance / n) / k
    every = (T**2 + moments.variance / n).sum(1)
    alive = (T**2 + moments.variance).sum(1) > DEAD
    ratio = np.divide(along, every, out=np.full(len(T), np.nan), where=alive)
    return np.sqrt(np.minimum(ratio, 1))


def population_step(
    law: PatternLaw, Q: np.ndarray, b: np.ndarray, a: np.ndarray, s: float, eta: float
) -> tuple[np.ndarray, np.ndarray]:
    """q <- eta a T (old weights erased by lambda_w = 1/(2 eta)), b <- b + eta a E[y g(z)].

    One full step of the first layer on infinitely many rows with f = 0. Applied twice it gives
    the neurons whose :func:`gradient_moments` are those of the second step.

    `a`: head; `eta`: step size.
    Regime: f so small that every row has y f < 1.
    Raises ValueError as :func:`gradient_moments`, and when `a` is not (m,).
    Source: Shi22, Section 4 (the first two steps).

    >>> law = PatternLaw.hard_instance(D=20, k=3, p_o=0.5)
    >>> Q, b = population_step(law, np.zeros((1, 20)), np.zeros(1), np.ones(1), s=0.1, eta=10.0)
    >>> Q[0, :4].round(3).tolist()
    [0.559, 0.559, 0.559, 0.0]
    """
    if a.shape != b.shape:
        raise ValueError(f"a has shape {a.shape} and b {b.shape}: give one of each per neuron.")
    finite(a=a, eta=eta)
    moments = gradient_moments(law, Q, b, s)
    return eta * a[:, None] * moments.T, b + eta * a * moments.activity


#: Beyond `EDGE` noise deviations the smoothed step is 0 in double precision.
EDGE = 9.0
#: The spectrum of the step and of its square ends before t = `BAND`/s: exp(-BAND^2/4) < 1e-15.
BAND = 12.0


def smoothed_step(z: np.ndarray, s: float) -> np.ndarray:
    """g(z) = E 1{0 < z + s xi < 1} = Phi((1 - z)/s) - Phi(-z/s), xi ~ N(0, 1).

    The derivative of E min(1, max(0, z + s xi)).

    Regime: exact.
    Source: Shi22, Section 4 (noise inside the activation).

    >>> smoothed_step(np.array([-1.0, 0.0, 0.5, 2.0]), s=0.01).tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    positive(s=s)
    return ndtr((1 - z) / s) - ndtr(-z / s)


def step_series(s: float, reach: float, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies t and coefficients c with g(z)^power = Re sum_n c_n exp(i t_n z), |z| <= reach.

    The period is long enough that no copy of g meets [-reach, reach], the band wide enough that
    what it leaves out is below rounding; c_0 counts once, the others for both signs of t.

    `s`: standard deviation of the noise, > 0; `reach`: largest |z| at which the series is used;
    `power`: 1 or 2.
    There are about 2 (reach + 1)/s of them.

    >>> t, c = step_series(s=0.1, reach=2.0, power=1)
    >>> z = np.array([-2.0, 0.1, 0.5, 2.0])
    >>> series = (np.exp(1j * np.outer(z, t)) @ c).real
    >>> bool(np.abs(series - smoothed_step(z, 0.1)).max() < 1e-13)
    True
    """
    period = reach + 1 + 2 * EDGE * s
    nodes = 2 * ceil(BAND * period / (2 * pi * s))
    start = (1 - period) / 2
    z = start + period / nodes * np.arange(nodes)
    t = 2 * np.pi / period * np.arange(nodes // 2)
    coefficients = np.fft.rfft(smoothed_step(z, s) ** power)[: nodes // 2] / nodes
    return t, coefficients * np.exp(-1j * t * start) * np.where(t > 0, 2, 1)
