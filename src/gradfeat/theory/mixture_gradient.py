"""G(w, b) = E[y x 1{w.x > b}] of labelled Gaussian components around orthogonal means."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from .simplified_gradient import check_neurons, normal_density


def mixture_gradient(
    U: Float[np.ndarray, "d r"],
    W: Float[np.ndarray, "m d"],
    b: ArrayLike,
    *,
    separation: float,
    labels: ArrayLike,
    weights: ArrayLike,
    scale: float = 1.0,
    along: float = 1.0,
    mirrored: bool = False,
) -> Float[np.ndarray, "m d"]:
    """G(w, b) for x ~ N(mu_j, Sigma_j), y = y_j, with probability p_j: mu_j = separation * u_j.

    Sigma_j = scale^2 (I + (along^2 - 1) u_j u_j^T). With s_j^2 = w.Sigma_j w and
    t_j = (w.mu_j - b)/s_j,

        G(w, b) = sum_j p_j y_j [mu_j Phi(t_j) + Sigma_j w phi(t_j)/s_j].

    Exact. With twins at -mu_j (`mirrored`) G is the mean over mu_j and -mu_j. Where components are
    narrow, G is the sum of p_j y_j mu_j over those beyond b. For centred labels give
    y_j - sum_i p_i y_i. Zero for all w, b where separation is 0, along is 1 and
    sum_j p_j y_j = 0.

    Parameters
    ----------
    U : array (d, r)
        Orthonormal columns, the directions of the means.
    W : array (m, d)
        Neurons, no row zero.
    b : array_like
        Thresholds, broadcast to (m,).
    separation : float
        |mu_j|.
    labels, weights : array_like (r,)
        y_j, any reals, and p_j.
    scale, along : float
        Standard deviation of a component across its mean; that along it, in units of `scale`.
    mirrored : bool
        Half of each component is around -mu_j.

    Returns
    -------
    array (m, d)

    Raises
    ------
    ValueError
        When U is not orthonormal, shapes disagree or a row of W is zero.

    Source: Shi23, definition of simplified gradient vectors; E[x 1{w.x > b}] of N(mu, Sigma).

    Examples
    --------
    >>> G = mixture_gradient(np.eye(3)[:, :2], np.array([[1.0, -1.0, 0.0]]), 0.5,
    ...     separation=3.0, labels=(1, -1), weights=(0.5, 0.5), scale=0.1)
    >>> np.abs(G).round(4).tolist()
    [[1.5, 0.0, 0.0]]
    """
    bias = check_neurons(U, W, b)
    y, p = np.asarray(labels, dtype=float), np.asarray(weights, dtype=float)
    if not y.shape == p.shape == U.shape[1:]:
        raise ValueError(
            f"labels have shape {y.shape}, weights {p.shape}: give one of each a column of U,"
            f" {U.shape[1:]}."
        )
    q, spread = W @ U, along**2 - 1
    s = scale * np.sqrt((W**2).sum(1, keepdims=True) + spread * q**2)
    means = (separation, -separation) if mirrored else (separation,)
    t = [(mean * q - bias[:, None]) / s for mean in means]
    share = p * y * sum(mean * ndtr(z) for mean, z in zip(means, t, strict=True)) / len(t)
    density = p * y * sum(map(normal_density, t)) / len(t) * scale**2 / s
    return (share + spread * density * q) @ U.T + density.sum(1, keepdims=True) * W
