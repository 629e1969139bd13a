"""G(w, b) = E[y x 1{w.x > b}] for Gaussian x: linear, sign and multi-index labels."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import erf, ndtr

from ..maths.ranges import finite


def linear_gradient(
    u: Float[np.ndarray, " d"], W: Float[np.ndarray, "m d"], b: ArrayLike = 0.0
) -> Float[np.ndarray, "m d"]:
    """G(w, b) for x ~ N(0, I_d), y = u.x: Phi(-t) u + t phi(t) (u.v) v, v = w/|w|, t = b/|w|.

    Noise on y that is independent of x leaves it as it is.

    `u`: unit vector.
    Regime: exact.
    Raises ValueError when u is no unit vector, shapes disagree or a row of W is zero.
    Source: Shi23, section 4 (linear data); E[z^2 1{z > t}] = Phi(-t) + t phi(t).

    >>> linear_gradient(np.array([1.0, 0.0]), np.array([[0.0, 2.0]]), 0.0).tolist()
    [[0.5, 0.0]]
    """
    bias = check_neurons(u[:, None], W, b)
    v, t = _units(W, bias)
    return ndtr(-t) * u + t * normal_density(t) * (v @ u)[:, None] * v


def sign_gradient(
    u: Float[np.ndarray, " d"],
    W: Float[np.ndarray, "m d"],
    b: ArrayLike = 0.0,
    *,
    flip: float = 0.0,
) -> Float[np.ndarray, "m d"]:
    """G(w, b) for x ~ N(0, I_d), y = sign(u.x), turned over with probability `flip`.

    With v = w/|w|, t = b/|w|, c = u.v, s = sqrt(1 - c^2), by Stein's lemma

        G = (1 - 2 flip) [sqrt(2/pi) Phi(-t/s) u + phi(t) erf(c t/(s sqrt 2)) v];

    at s = 0 its limit: Phi is 1{t < 0} (1/2 at 0), erf is sign(c t). Zero where flip = 1/2.

    `u`: unit vector; `flip`: in [0, 1].
    Regime: exact.
    Raises ValueError when u is no unit vector, shapes disagree, a row of W is zero or flip is no
    probability.
    Source: Shi23, section 4 (linear data); E[x f(x)] = E grad f(x) with jumps as densities.

    >>> sign_gradient(np.array([1.0, 0.0]), np.array([[0.0, 2.0]])).round(4).tolist()
    [[0.3989, 0.0]]
    """
    bias = check_neurons(u[:, None], W, b)
    if not 0 <= flip <= 1:
        raise ValueError(f"flip is {flip}: give a probability, from 0 to 1.")
    v, t = _units(W, bias)
    c = (v @ u)[:, None]
    s = np.linalg.norm(u - c * v, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        ratio = np.divide(t, s, out=np.zeros_like(t), where=t != 0)
    along = normal_density(t) * erf(c * ratio / math.sqrt(2)) * v
    return (1 - 2 * flip) * (math.sqrt(2 / math.pi) * ndtr(-ratio) * u + along)


def normal_density(t: np.ndarray) -> np.ndarray:
    """phi(t)."""
    return np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)


def check_neurons(U: np.ndarray, W: np.ndarray, b: ArrayLike) -> np.ndarray:
    """b broadcast to (m,); ValueError unless U is orthonormal, W (m, d) and no row of it zero."""
    if U.ndim != 2 or W.ndim != 2 or W.shape[1] != len(U):
        raise ValueError(f"U has shape {U.shape}, W {W.shape}: give (d, r) and (m, d).")
    finite(U=U, W=W, b=b)
    if np.abs(U.T @ U - np.eye(U.shape[1])).max() > 1e-8:
        raise ValueError("The directions are not orthonormal: give columns of length 1 each.")
    if not (W != 0).any(1).all():
        row = int(np.argmin((W != 0).any(1)))
        raise ValueError(f"Row {row} of W is zero: G needs a direction w.")
    return np.broadcast_to(np.asarray(b, dtype=float), len(W))


def _units(W: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w/|w| (m, d) and b/|w| (m, 1)."""
    length = np.linalg.norm(W, axis=1, keepdims=True)
    return W / length, bias[:, None] / length
