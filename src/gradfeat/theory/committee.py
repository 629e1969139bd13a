"""Online SGD of soft committee machines: the order parameters' equations in the limit of d.

Student f = sum_{i<=K} g(w_i.x), teacher y = sum_{n<=M} g(u_n.x) + noise, g(z) = erf(z/sqrt 2), x ~
N(0, I_d); one fresh row a step on (f - y)^2/2: w_i <- w_i + (eta/d) delta_i x, delta_i = g'(w_i.x)
(y - f). At alpha = steps/d and d -> infinity, Q = W W^T (K, K) and R = W U^T (K, M) follow
dR/dalpha = eta E[delta u.x], dQ/dalpha = eta E[delta (w.x)^T + (w.x) delta^T] + eta^2 E[delta
delta^T].
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from ..maths.ranges import not_negative, rising, within


@final
class Overlaps(NamedTuple):
    """Q (..., K, K) and R (..., K, M)."""

    Q: np.ndarray
    R: np.ndarray


def committee_error(Q: ArrayLike, R: ArrayLike, T: ArrayLike) -> float:
    """E(f - y)^2/2 without noise: sum_{ab} s_a s_b E[g(z_a) g(z_b)]/2, s = -1 (student), 1.

    `Q, R, T`: W W^T, W U^T, U U^T.
    Regime: exact at any d.
    Raises ValueError where Q, R and T are no overlaps of weights.
    Source: Saad & Solla 1995, equation (5).

    >>> committee_error([[1.0]], [[0.0]], [[1.0]]).__round__(12) == round(1 / 3, 12)
    True
    """
    C, s = _joint(Q, R, T)
    scale = np.sqrt(1 + np.diag(C))
    return float(s @ np.arcsin(C / np.outer(scale, scale)) @ s / np.pi)


def committee_flow(
    Q: ArrayLike, R: ArrayLike, T: ArrayLike, eta: float, noise: float = 0.0
) -> Overlaps:
    """dQ/dalpha and dR/dalpha, in closed form; `noise` is the standard deviation of the labels'.

    Regime: d -> infinity at steps/d = alpha; deviations of single runs fall like d^{-1/2}.
    Raises ValueError where Q, R and T are no overlaps of weights, or eta or the noise is below 0.
    Source: Saad & Solla 1995, equations (7) to (11) and appendix.

    >>> committee_flow([[1.0]], [[0.0]], [[1.0]], 1.0).R.round(4).tolist()
    [[0.3183]]
    """
    not_negative(eta=eta, noise=noise)
    return _flow(*_joint(Q, R, T), len(np.atleast_2d(Q)), eta, noise)


def _flow(C: np.ndarray, s: np.ndarray, K: int, eta: float, noise: float) -> Overlaps:
    push = np.einsum("a,iba->ib", s, _three(C, K))
    square = np.einsum("a,b,ikab->ik", s, s, _four(C, K)) + noise**2 * 2 / np.pi / _pairs(C, K)
    inner = push[:, :K]
    return Overlaps(eta * (inner + inner.T) + eta**2 * square, eta * push[:, K:])


def committee_path(
    Q: ArrayLike, R: ArrayLike, T: ArrayLike, eta: float, alphas: ArrayLike, noise: float = 0.0
) -> Overlaps:
    """Q and R at each alpha = steps/d, rising from 0 or more: first axis of the answer.

    Regime: as `committee_flow`.
    Raises ValueError as `committee_flow`, and where alphas do not rise from 0 or more.
    Source: Saad & Solla 1995.

    >>> end = committee_path([[0.5]], [[0.1]], [[1.0]], 1.0, [0, 40])
    >>> round(committee_error(end.Q[-1], end.R[-1], [[1.0]]), 4)
    0.0
    """
    from scipy.integrate import solve_ivp

    within(0, 1e3, eta=eta, noise=noise)
    committee_flow(Q, R, T, eta, noise)  # says what is out of range
    alphas, (C, s) = rising("alphas", alphas), _joint(Q, R, T)
    K = len(np.atleast_2d(Q))
    M = len(C) - K

    def flow(_: float, state: np.ndarray) -> np.ndarray:
        C[:K, :K], C[:K, K:] = state[: K * K].reshape(K, K), state[K * K :].reshape(K, M)
        C[K:, :K] = C[:K, K:].T
        step = _flow(C, s, K, eta, noise)
        return np.r_[step.Q.ravel(), step.R.ravel()]

    start, end = np.r_[C[:K, :K].ravel(), C[:K, K:].ravel()], max(alphas[-1], 1.0)
    found = solve_ivp(flow, (0, end), start, t_eval=alphas, rtol=1e-7, atol=1e-9).y.T
    return Overlaps(found[:, : K * K].reshape(-1, K, K), found[:, K * K :].reshape(-1, K, M))


def _joint(Q: ArrayLike, R: ArrayLike, T: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of all fields, and the sign with which each enters y - f."""
    Q, R, T = (np.atleast_2d(np.asarray(part, dtype=np.float64)) for part in (Q, R, T))
    if R.shape != (len(Q), len(T)) or Q.shape != (len(Q),) * 2 or T.shape != (len(T),) * 2:
        raise ValueError(
            f"Q, R and T have shapes {Q.shape}, {R.shape} and {T.shape}: give (K, K), (K, M) and"
            " (M, M)."
        )
    C = np.block([[Q, R], [R.T, T]])
    least = np.linalg.eigvalsh(C)[0] if np.isfinite(C).all() and np.allclose(C, C.T) else np.nan
    if not least >= -1e-8 * (1 + np.trace(C)):
        raise ValueError(
            "Q, R and T are not the overlaps of weights: give finite W W^T, W U^T and U U^T, which"
            " together are symmetric with no negative eigenvalue."
        )
    return C, np.r_[-np.ones(len(Q)), np.ones(len(T))]


def _three(C: np.ndarray, K: int) -> np.ndarray:
    """E[g'(z_i) z_b g(z_a)], (K, b, a); C_ba - C_ib C_ia/(1 + C_ii) is left of the covariance."""
    own, side = 1 + np.diag(C)[:K, None], C[:K]
    L = own * (1 + np.diag(C)) - side**2
    top = C * own[..., None] - side[:, :, None] * side[:, None, :]
    return 2 / np.pi * top / (own[..., None] * np.sqrt(L)[:, None, :])


def _pairs(C: np.ndarray, K: int) -> np.ndarray:
    """sqrt((1 + C_ii)(1 + C_kk) - C_ik^2), (K, K): E[g'(z_i) g'(z_k)] is 2/pi over this."""
    own = 1 + np.diag(C)[:K]
    return np.sqrt(np.outer(own, own) - C[:K, :K] ** 2)


def _four(C: np.ndarray, K: int) -> np.ndarray:
    """E[g'(z_i) g'(z_k) g(z_a) g(z_b)], (K, K, a, b): (4/pi^2) arcsin(.)/`_pairs`.

    The two derivatives reweight the Gaussian law: z_a and z_b have the covariance left after
    fields i and k were seen with noise of variance 1.
    """
    own, root = 1 + np.diag(C)[:K], _pairs(C, K)
    side = C[:K]
    paid = (
        np.einsum("k,ia,ib->ikab", own, side, side)
        + np.einsum("i,ka,kb->ikab", own, side, side)
        - np.einsum("ik,ia,kb->ikab", C[:K, :K], side, side)
        - np.einsum("ik,ka,ib->ikab", C[:K, :K], side, side)
    )
    left = C - paid / root[..., None, None] ** 2
    scale = np.sqrt(1 + np.einsum("ikaa->ika", left))
    sine = left / (scale[..., :, None] * scale[..., None, :])
    return 4 / np.pi**2 * np.arcsin(np.clip(sine, -1, 1)) / root[..., None, None]
