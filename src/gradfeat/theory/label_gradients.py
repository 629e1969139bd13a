"""G(w, b) = E[y x 1{w.x > b}] exactly: parity blocks, labelled components, labels of Gaussian x."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import erf, ndtr

from ..maths.ranges import finite, positive

#: 2^(r k) patterns of the blocks and 3^(D - r k) outside are visited.
LARGEST_BLOCKS, LARGEST_OUTSIDE = 15, 10


@dataclass(frozen=True)
class BlockLaw:
    """The law of phi in {-1, 0, +1}^D and its labels y = sign(sum_j prod_{i in A_j} phi_i).

    With probability p_uniform, r blocks of k entries uniform on {-1, +1}; with (1 - p_uniform)/(2r)
    each, block j all +1 or all -1 and the other blocks 0. Outside, +1 and -1 with p_o each, else 0.

    Raises ValueError when a parameter is outside its range, or there are too many patterns to
    visit.
    Source: Shi23, section 4.2.

    >>> BlockLaw(D=9, k=3, r=1, p_uniform=0.5, p_o=0.25).second_moment
    6.0
    """

    #: D, k, r: patterns, size and number of blocks (both odd), r k <= D; the blocks come first.
    D: int
    k: int
    r: int
    #: p_uniform, p_o: in [0, 1] and [0, 1/2].
    p_uniform: float
    p_o: float

    def __post_init__(self) -> None:
        n = self.r * self.k
        if not (self.k > 0 and self.r > 0 and self.k % 2 and self.r % 2 and n <= self.D):
            raise ValueError(
                f"k, r, D are {self.k}, {self.r}, {self.D}: give odd k and r with r k <= D."
            )
        if not (0 <= self.p_uniform <= 1 and 0 <= self.p_o <= 0.5):
            raise ValueError(
                f"p_uniform, p_o are {self.p_uniform}, {self.p_o}: give p_uniform in [0, 1],"
                " p_o in [0, 0.5]."
            )
        if n > LARGEST_BLOCKS or self.D - n > LARGEST_OUTSIDE:
            raise ValueError(
                f"r k, D - r k are {n}, {self.D - n}: all patterns are visited; give at most"
                f" {LARGEST_BLOCKS} and {LARGEST_OUTSIDE}, or sample."
            )

    @property
    def second_moment(self) -> float:
        """E|phi|^2."""
        inside = self.k * (1 + (self.r - 1) * self.p_uniform)
        return inside + 2 * self.p_o * (self.D - self.r * self.k)

    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """phi of the blocks (N, r k) and y times its probability (N,)."""
        signs = np.array(list(product([-1.0, 1.0], repeat=self.r * self.k)))
        y = np.sign(signs.reshape(-1, self.r, self.k).prod(2).sum(1))
        ones = np.repeat(np.eye(self.r), self.k, axis=1)
        planted = np.repeat([1.0, -1.0], self.r) * (1 - self.p_uniform) / (2 * self.r)
        mass = np.r_[y * self.p_uniform / len(y), planted]
        return np.vstack([signs, ones, -ones]), mass

    def outside(self) -> tuple[np.ndarray, np.ndarray]:
        """phi outside the blocks (N, D - r k) and its probability (N,)."""
        n = self.D - self.r * self.k
        phi = np.array(list(product([-1.0, 0.0, 1.0], repeat=n)))
        size = np.abs(phi).sum(1)
        return phi, self.p_o**size * (1 - 2 * self.p_o) ** (n - size)


def parity_gradient(
    law: BlockLaw,
    M: Float[np.ndarray, "d D"],
    W: Float[np.ndarray, "m d"],
    b: ArrayLike = 0.0,
    *,
    scale: float | None = None,
) -> Float[np.ndarray, "m d"]:
    """G(w, b) for x = scale M phi: no approximation, errors of rounding size.

    With q = scale M^T w, the patterns of the blocks are visited one by one; for each, the mean of
    (1, phi) over {outside : q.phi > b} is read off cumulative sums of the patterns outside in
    order of q.phi. Where w.x = b has positive probability, rounding decides which side it is on.

    `M`: orthonormal columns, the blocks first; `scale`: sqrt(d / E|phi|^2) by default, for which
    E|x|^2 = d.
    Regime: exact.
    Raises ValueError when shapes disagree.
    Source: Shi23, section 4.2 (bounded there); exact here.

    >>> law = BlockLaw(D=4, k=3, r=1, p_uniform=0.0, p_o=0.25)
    >>> parity_gradient(law, np.eye(4), np.array([[1.0, 1.0, 1.0, 0.1]]), 0.5).round(4).tolist()
    [[0.5345, 0.5345, 0.5345, 0.0]]
    """
    if M.ndim != 2 or W.ndim != 2 or M.shape[1] != law.D or W.shape[1] != len(M):
        raise ValueError(f"M has shape {M.shape}, W {W.shape}: give M (d, {law.D}) and W (m, d).")
    finite(M=M, W=W, b=b)
    scale = math.sqrt(len(M) / law.second_moment) if scale is None else scale
    bias = np.broadcast_to(np.asarray(b, dtype=float), len(W))
    parts = (law.blocks(), law.outside())
    means = [_mean(*parts, q, c) for q, c in zip(scale * W @ M, bias, strict=True)]
    return scale * np.array(means).reshape(len(W), law.D) @ M.T


def _mean(
    blocks: tuple[np.ndarray, np.ndarray],
    outside: tuple[np.ndarray, np.ndarray],
    q: np.ndarray,
    b: float,
) -> np.ndarray:
    """E[y phi 1{q.phi > b}] (D,)."""
    (inner, mass), (outer, probability) = blocks, outside
    n = inner.shape[1]
    value = outer @ q[n:]
    order = np.argsort(value)[::-1]
    beyond = np.column_stack([np.ones(len(outer)), outer])[order] * probability[order, None]
    beyond = np.vstack([np.zeros(beyond.shape[1]), np.cumsum(beyond, axis=0)])
    count = np.searchsorted(-value[order], inner @ q[:n] - b, side="left")
    tail = beyond[count]
    return np.r_[(mass * tail[:, 0]) @ inner, mass @ tail[:, 1:]]


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

    `U`: orthonormal columns, the directions of the means; `separation`: |mu_j|; `labels`,
    `weights`: y_j, any reals, and p_j; `scale`, `along`: standard deviation of a component across
    its mean, that along it, in units of `scale`; `mirrored`: half of each component is around
    -mu_j.
    Regime: exact.
    Raises ValueError when U is not orthonormal, shapes disagree or a row of W is zero.
    Source: Shi23, definition of simplified gradient vectors; E[x 1{w.x > b}] of N(mu, Sigma).

    >>> G = mixture_gradient(np.eye(3)[:, :2], np.array([[1.0, -1.0, 0.0]]), 0.5,
    ...     separation=3.0, labels=(1, -1), weights=(0.5, 0.5), scale=0.1)
    >>> np.abs(G).round(4).tolist()
    [[1.5, 0.0, 0.0]]
    """
    bias = _check_neurons(U, W, b)
    y, p = np.asarray(labels, dtype=float), np.asarray(weights, dtype=float)
    if not y.shape == p.shape == U.shape[1:]:
        raise ValueError(
            f"labels have shape {y.shape}, weights {p.shape}: give one of each a column of U,"
            f" {U.shape[1:]}."
        )
    finite(labels=y, weights=p, separation=separation, along=along)
    positive(scale=scale)
    q, spread = W @ U, along**2 - 1
    s = scale * np.sqrt((W**2).sum(1, keepdims=True) + spread * q**2)
    means = (separation, -separation) if mirrored else (separation,)
    t = [(mean * q - bias[:, None]) / s for mean in means]
    share = p * y * sum(mean * ndtr(z) for mean, z in zip(means, t, strict=True)) / len(t)
    density = p * y * sum(map(normal_density, t)) / len(t) * scale**2 / s
    return (share + spread * density * q) @ U.T + density.sum(1, keepdims=True) * W


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
    bias = _check_neurons(u[:, None], W, b)
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
    bias = _check_neurons(u[:, None], W, b)
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


def _check_neurons(U: np.ndarray, W: np.ndarray, b: ArrayLike) -> np.ndarray:
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
