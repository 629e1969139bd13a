"""Rounds of a recursive feature machine by expected AGOPs: what is fitted, and the next metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import gammaln, ndtri

from ..maths.hermite import gauss_hermite, orthonormal_hermite
from ..maths.ranges import positive, whole, within

#: Highest degree in the directions, highest in the rest, scales of the kernel, nodes of the target.
_DEGREE, _REST, _SCALES, _NODES = 4, 4, 30, 6
#: Rounds from which on exponents are 1 to rounding.
MOST_ROUNDS = 100


@dataclass(frozen=True)
class RFMRound:
    """A fit, and what its AGOP makes of the metric."""

    error: float  #: E (y - f)^2 without the noise of y.
    share: float  #: 1 - error/E f*^2, or R^2 of a centred target.
    #: Cosine of the worst angle between the leading directions of M and the truth.
    alignment: float
    weight: float  #: Smallest leading eigenvalue of M over the mean of the others.


def rfm_rounds(
    target: Callable[[Float[np.ndarray, "p r"]], Float[np.ndarray, " p"]],
    r: int,
    d: int,
    n: float,
    bandwidth: float,
    *,
    penalty: float = 1e-3,
    rounds: int = 5,
    kernel: Literal["laplace", "gaussian"] = "laplace",
) -> list[RFMRound]:
    """Errors of an RFM with centred gradients after 0, ..., `rounds` updates, on fresh rows each.

    The kernel is a mean of exp(-t |x - z|_M^2) over t, and a product over coordinates: in Hermite
    polynomials of r leading directions, of r further ones that hold the rest of the truth, and of
    degree q in the d - 2r others it is a matrix L_q. Ridge keeps S_q = L_q (L_q + kappa)^{-1},

        sum_q N_q tr S_q + lambda/kappa = n,  f^ = S_0 f* + noise,  E = |f* - f^|^2/(1 - gamma),

    gamma = sum_q N_q tr S_q^2/n, lambda the penalty and all higher degrees. The noise of the fit
    has coefficients of variance (E/n) S_q^2, times E[e^2 h^2]/E[e^2], e = f* - S_0 f*, where the
    polynomial h is of the directions (3 for x_0 x_j of x_0 x_1), so the AGOP is that of S_0 f*,
    tilted by noise that shares its polynomials, above (E/n) sum_q (q N_q/(d - 2r)) tr S_q^2 in
    every other direction; its leading eigenvectors, eigenvalues and the mean of the others make the
    next round.

    For degree 2 and n = d^{1 + e}: round 0 learns a share n/d^2. The AGOP is quadratic in it and
    its noise of order (d/n)(n/d^2)^2, so the weight is n/d = d^e, and to the fourth power times n/d
    a round later: round t learns at n ~ d^{`round_exponent`}.

    `target`: of r variables, E f* = 0; `bandwidth`, `penalty`: as of `RFM`, M of trace d.
    Raises ValueError where r, d, n, the bandwidth or the penalty cannot be.
    Regime: x ~ N(0, I_d), n and d large, polynomials of degree <= 4 with E grad^2 f* of rank r;
    AGOPs at their expectation. They vary from draw to draw and tilt the metric by more: on fresh
    rows simulated errors are 1.4 to 2.8 times these after one and after two updates, d of 40 to 96,
    n of 500 to 700. On the same rows the metric has also followed their noise: they are larger.
    Source: derived here; the equivalent of ridge: Canatar, Bordelon & Pehlevan 2021, Simon et al.
    2023, which ask for features like Gaussian ones (not proved here).

    >>> first, second = rfm_rounds(lambda u: u[:, 0] * u[:, 1], 2, 100, 2000, 30.0, rounds=1)
    >>> round(first.share, 2), round(second.share, 2), round(first.weight)
    (0.1, 0.92, 28)
    """
    _checked(r, d, n, bandwidth, penalty)
    whole(0, MOST_ROUNDS, rounds=rounds)
    index = _indices(2 * r)
    values, mass = target(_grid(r)[0]), _grid(r)[1]
    total, mean = float(np.square(values) @ mass), float(values @ mass)
    if not total > mean**2 * 1e9:
        raise ValueError(
            f"The target has mean {mean:.4g} and power {total:.4g}: give a varying one of mean 0."
        )
    scales = 1 / (2 * bandwidth**2 * _inverse_scales(kernel))
    U, metric, found = np.eye(2 * r)[:, :r], np.ones(2 * r), []
    for _ in range(rounds + 1):
        c = _coefficients(target, U)
        fit = _RidgeOfRound.of(c, index, metric, scales, (n, d - 2 * r, penalty, total))
        values, V = fit.agop(index, r)
        lead, rest = values[:r], (values[r:].sum() + fit.noise * (d - r)) / (d - r)
        lead = lead + fit.noise
        inside = V[: 2 * r, :r].T @ U
        cosines = np.linalg.svd(inside, compute_uv=False)
        share = 1 - fit.error / total
        found.append(RFMRound(fit.error, share, float(cosines.min()), float(lead.min() / rest)))
        trace = lead.sum() + rest * (d - r)
        metric = np.r_[lead, np.full(r, rest)] * d / trace
        U = np.vstack([inside, _root(np.eye(r) - inside.T @ inside)])
    return found


def round_exponent(t: int) -> float:
    """1 + 1/(2 a + 1), a = (4^t - 1)/3: n ~ d^that lets round t learn a target of degree 2.

    2, 4/3, 12/11, ...: every update multiplies the exponent of the weight by four and adds one.

    Regime: d -> infinity, E grad^2 f* of full rank on the directions, centred gradients; a rate.
    Raises ValueError where t is negative.
    Source: derived here (`rfm_rounds`).

    >>> [round(round_exponent(t), 3) for t in range(3)]
    [2.0, 1.333, 1.091]
    """
    whole(0, MOST_ROUNDS, t=t)
    return 1 + 3 / (2 * (4**t - 1) + 3)


@dataclass(frozen=True)
class _RidgeOfRound:
    """Coefficients of a fit in the directions, and the variance of its noise."""

    mean: np.ndarray
    error: float
    inside: np.ndarray  #: Variance by polynomial of the directions, over all degrees of the rest.
    beside: np.ndarray  #: Squared length of the noise that is linear in the rest, by polynomial.
    noise: float  #: AGOP of noise of higher degree, in each direction.

    @staticmethod
    def of(
        c: np.ndarray,
        index: np.ndarray,
        metric: np.ndarray,
        scales: np.ndarray,
        sizes: tuple[float, int, float, float],
    ) -> _RidgeOfRound:
        n, rest, penalty, total = sizes
        counts = np.array([float(math.comb(rest + q - 1, q)) for q in range(_REST)])
        L = _kernel(index, metric, scales, rest)
        e = np.linalg.eigvalsh(L).clip(min=0)
        ridge = penalty + max(0.0, 1 - float(counts @ e.sum(1)))
        kappa = _kappa(e, counts, ridge, n)
        S = np.linalg.solve(L + kappa * np.eye(len(c)), L)
        gamma = float(counts @ np.square(e / (e + kappa)).sum(1)) / n
        mean = S[0] @ c
        error = float((c - mean) @ (c - mean) + total - c @ c) / (1 - gamma)
        h, w = _polynomials(index.shape[1]), _grid(index.shape[1])[1]
        missed = np.square(h @ (c - mean))  # what multiplies h_a in the noise of its coefficient
        met = np.square(h).T @ (w * missed) / max(float(w @ missed), 1e-300)
        variance = error / n * (np.square(S) @ (gamma + (1 - gamma) * met)) * counts[:, None]
        # Of degree 1 alone gradients are constant, and centring takes them out.
        variance[0, index.sum(1) == 1] = variance[1, index.sum(1) == 0] = 0
        higher = float((np.arange(2, _REST) * variance[2:].sum(1)).sum()) / rest
        return _RidgeOfRound(mean, error, variance.sum(0), variance[1], higher)

    def agop(self, index: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, descending, and eigenvectors: 2r directions, then one of each noise."""
        place = {tuple(a): i for i, a in enumerate(index.tolist())}
        slopes = np.zeros((2 * r, len(index)))
        for (p, a), i in itertools.product(enumerate(index.tolist()), range(2 * r)):
            up = place.get((*a[:i], a[i] + 1, *a[i + 1 :]))
            if up is not None and any(a):
                slopes[i, p] = math.sqrt(a[i] + 1) * self.mean[up]
        G = np.vstack([slopes, np.diag(np.sqrt(self.beside))])
        A = G @ G.T
        A[np.diag_indices(2 * r)] += self.inside @ index
        values, vectors = np.linalg.eigh(A)
        return values[::-1].clip(min=0), vectors[:, ::-1]


def _kernel(index: np.ndarray, metric: np.ndarray, scales: np.ndarray, rest: int) -> np.ndarray:
    """L_q, one a degree q of the rest: (q, p, p)."""
    a, b = index[:, None], index[None]
    total = np.zeros((_REST, len(index), len(index)))
    for t in scales.tolist():
        factors = [_one(t * m)[a[..., i], b[..., i]] for i, m in enumerate(metric.tolist())]
        one = _one(t * float(metric[-1]))
        powers = np.exp(rest * math.log(one[0, 0])) * (one[1, 1] / one[0, 0]) ** np.arange(_REST)
        total += powers[:, None, None] * np.prod(factors, axis=0) / len(scales)
    return total


def _one(s: float) -> np.ndarray:
    """E[h_j(x) exp(-s (x - z)^2) h_k(z)], by its Fourier transform: omega ~ N(0, 2 s)."""
    j, k = np.meshgrid(np.arange(_DEGREE + 1), np.arange(_DEGREE + 1), indexing="ij")
    p = (j + k) / 2
    moment = np.exp(gammaln(2 * p + 1) - gammaln(p + 1) - p * math.log(2))  # (2p - 1)!!
    size = (1 + 4 * s) ** -0.5 * (2 * s / (1 + 4 * s)) ** p * moment
    signs = np.where((j + k) % 2, 0.0, (-1.0) ** ((j - k) // 2))
    return signs * size / np.exp((gammaln(j + 1) + gammaln(k + 1)) / 2)


def _inverse_scales(kernel: str) -> np.ndarray:
    """exp(-sqrt(s)/L) = E exp(-s/(2 L^2 Z^2)), Z ~ N(0, 1), at quantiles of Z^2; Gaussian: 1."""
    if kernel == "gaussian":
        return np.ones(1)
    return np.square(ndtri((np.arange(_SCALES) + 0.5) / _SCALES / 2))


def _kappa(e: np.ndarray, counts: np.ndarray, ridge: float, n: float) -> float:
    def excess(x: float) -> float:
        kappa = math.exp(x)
        return float(counts @ (e / (e + kappa)).sum(1)) + ridge / kappa - n

    return math.exp(float(brentq(excess, -60.0, 20.0)))  # pyright: ignore[reportArgumentType]


def _indices(p: int) -> np.ndarray:
    every = itertools.product(range(_DEGREE + 1), repeat=p)
    return np.array([a for a in every if sum(a) <= _DEGREE])


def _grid(p: int) -> tuple[np.ndarray, np.ndarray]:
    z, w = gauss_hermite(_NODES)
    grid = np.array(list(itertools.product(range(_NODES), repeat=p)))
    return z[grid], w[grid].prod(1)


def _coefficients(target: Callable, U: np.ndarray) -> np.ndarray:
    """E[f*(U^T x) h_a(x)] for each a."""
    x, w = _grid(len(U))
    return (target(x @ U) * w) @ _polynomials(len(U))


@lru_cache(4)
def _polynomials(p: int) -> np.ndarray:
    """h_a of each a at the points of the grid."""
    h = orthonormal_hermite(_DEGREE, _grid(p)[0])
    return np.prod([h[:, i, a] for i, a in enumerate(_indices(p).T)], axis=0)


def _root(A: np.ndarray) -> np.ndarray:
    e, V = np.linalg.eigh(A)
    return (V * np.sqrt(e.clip(min=0))) @ V.T


def _checked(r: int, d: int, n: float, bandwidth: float, penalty: float) -> None:
    if not 1 <= r <= 3:
        raise ValueError(f"r is {r}: give 1 to 3 directions.")
    whole(4 * r + 1, 100_000, d=d)
    positive(bandwidth=bandwidth)
    within(2, 1e9, n=n)
    within(0, 1e6, penalty=penalty)
