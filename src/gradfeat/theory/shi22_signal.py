"""What the first-layer gradient holds: signal along the truth, and noise of finite samples."""

from __future__ import annotations

import numpy as np

from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.shi22_moments import (
    GradientMoments,
    gradient_moments,
)

#: A second moment below this is rounding: the neuron is dead, its direction undefined.
DEAD = 1e-12


def signal_to_noise(T: np.ndarray, k: int) -> np.ndarray:
    """mean_{j in A} |T_j| / (mean_{j not in A} T_j^2)^{1/2} for each row; inf without noise.

    Parameters
    ----------
    T : ndarray (m, D)
        A in the first k columns, k < D.
    k : int

    Returns
    -------
    ndarray (m,)
        nan for a row that is zero.

    Raises
    ------
    ValueError
        When k leaves no column inside or outside A.

    Source: Shi22, Section 4 (T_j in A against T_j outside).

    Examples
    --------
    >>> signal_to_noise(np.array([[3.0, 5.0, 0.5, -0.5]]), k=2).tolist()
    [8.0]
    """
    if T.ndim != 2 or not 0 < k < T.shape[1]:
        raise ValueError(f"T has shape {T.shape} and k is {k}: give (m, D) and 0 < k < D.")
    signal, noise = np.abs(T[:, :k]).mean(1), np.sqrt((T[:, k:] ** 2).mean(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return signal / noise


def predicted_cosine(moments: GradientMoments, n: float) -> np.ndarray:
    """(E <G, u>^2 / E |G|^2)^{1/2}, G a neuron's gradient over n rows, u = sum_A M_j/sqrt k.

    E <G, u>^2 = [(sum_A T_j)^2 + Var(sum_A X_j)/n]/k and
    E |G|^2 = sum_j (T_j^2 + Var X_j/n): |cos| up to the spread of the ratio, which is small as
    soon as many patterns share the noise. n = inf is the population gradient.

    Parameters
    ----------
    moments : GradientMoments
    n : float
        Rows in the gradient, at least 1.

    Returns
    -------
    ndarray (m,)
        In [0, 1]; nan for a dead neuron.

    Raises
    ------
    ValueError
        When n is below 1.

    Regime: D large against 1; with T = 0 it is the root mean square of |cos|, not its mean.

    Source: derived from the moments of Shi22's gradient.

    Examples
    --------
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

    Parameters
    ----------
    law, Q, b, s
        As in :func:`gradient_moments`.
    a : ndarray (m,)
        Head.
    eta : float
        Step size.

    Returns
    -------
    Q : ndarray (m, D)
    b : ndarray (m,)

    Raises
    ------
    ValueError
        As :func:`gradient_moments`, and when `a` is not (m,).

    Regime: f so small that every row has y f < 1.

    Source: Shi22, Section 4 (the first two steps).

    Examples
    --------
    >>> law = PatternLaw.hard_instance(D=20, k=3, p_o=0.5)
    >>> Q, b = population_step(law, np.zeros((1, 20)), np.zeros(1), np.ones(1), s=0.1, eta=10.0)
    >>> Q[0, :4].round(3).tolist()
    [0.559, 0.559, 0.559, 0.0]
    """
    if a.shape != b.shape:
        raise ValueError(f"a has shape {a.shape} and b {b.shape}: give one of each per neuron.")
    moments = gradient_moments(law, Q, b, s)
    return eta * a[:, None] * moments.T, b + eta * a * moments.activity
