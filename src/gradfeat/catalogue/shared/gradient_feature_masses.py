"""Labels of the case studies, and masses of their gradient features at exact gradients."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gradfeat.lab import lazy

CASES = ("mixture", "parity", "linear", "single-index")
#: Of a component, across its mean; the mean has length sqrt(d).
SCALE = 0.5
#: Labels of the linear case that are turned over.
FLIP = 0.05
#: Size of a block of the parity case, and patterns beyond all blocks.
K, OUTSIDE = 5, 6
#: Pr[|z| < EVEN] = 1/2, and E[z y] = 0 for labels whose sign turns at 0 and +-ODD.
EVEN, ODD = 0.6744897501960817, math.sqrt(2 * math.log(2))
#: Neurons of the fixed draw; parity visits all patterns for each.
NEURONS, PARITY_NEURONS = 20_000, 2_000


def even_labels(z: np.ndarray) -> np.ndarray:
    """+1 where |z| > .674, else -1: mean 0, no linear part, information exponent 2."""
    return np.where(np.abs(z) > EVEN, 1.0, -1.0)


def parity_law(r: int) -> tuple[float, float]:
    """p_uniform and p_o: half uniform for one block, a fifth for more (they are noise to each)."""
    return (0.5, 0.1) if r == 1 else (0.2, 0.05)


@cache
def exact_masses(
    case: str, r: int, d: int, bias: float, B_G: float, width: float
) -> dict[str, float]:
    """Mean over the expected directions of the mass for s = +1 and for s = -1, at exact G.

    Neurons w ~ N(0, I/d), b = +-bias of one fixed draw: a mass has the standard error of a share
    of 20,000 of them (2,000 for parity). Labels have mean 0 and standard deviation 1.
    """
    count = PARITY_NEURONS if case == "parity" else NEURONS
    W = np.random.default_rng(0).standard_normal((count, d)) / math.sqrt(d)
    b = bias * (-1.0) ** np.arange(count)
    U, G = _exact(case, r, d, W, b)
    norms = np.linalg.norm(G, axis=1)
    masses = {}
    for name, side in (("mass_plus", b > 0), ("mass_minus", b < 0)):
        summed = case == "parity" and name == "mass_minus"
        D = U.sum(1, keepdims=True) / math.sqrt(r) if summed else U
        inside = np.abs(G @ D) > (1 - width) * norms[:, None]
        masses[name] = float((inside & (side & (norms >= B_G))[:, None]).mean())
    return masses


def _exact(
    case: str, r: int, d: int, W: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Planted directions (d, r) and G of the neurons (m, d)."""
    U = np.eye(d)[:, :r]
    match case:
        case "mixture":
            y = (-1.0) ** np.arange(r)
            y = y - y.mean()
            G = lazy.mixture_gradient(
                U, W, b, separation=math.sqrt(d), labels=y / y.std(), weights=np.full(r, 1 / r),
                scale=SCALE, mirrored=True,
            )  # fmt: skip
            return U, G
        case "parity":
            p_uniform, p_o = parity_law(r)
            law = lazy.BlockLaw(r * K + OUTSIDE, K, r, p_uniform, p_o)
            M = np.eye(d)[:, : law.D]
            U = M[:, : r * K].reshape(d, r, K).sum(2) / math.sqrt(K)
            return U, lazy.parity_gradient(law, M, W, b)
        case "linear":
            return U, lazy.sign_gradient(U[:, 0], W, b, flip=FLIP)
        case _:
            return U, even_gradient(U[:, 0], W, b)


def even_gradient(u: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """E[y x 1{w.x > b}] for x ~ N(0, I_d), y = +1 where |u.x| > EVEN, else -1.

    With v = w/|w|, t = b/|w|, c = u.v, s = (1 - c^2)^{1/2}, z ~ N(0, 1):
    G = u E[y z Phi((c z - t)/s)] + (v - c u)/s E[y phi((c z - t)/s)], by quadrature over z.
    """
    from scipy.special import ndtr

    length = np.linalg.norm(W, axis=1)
    c, t = (W @ u / length)[:, None], (b / length)[:, None]
    s = np.sqrt(1 - c**2)
    z, weight = _nodes()
    at = (c * z - t) / s
    y = weight * even_labels(z)
    along = ndtr(at) @ (y * z)
    across = lazy.normal_density(at) @ y / s[:, 0]
    v = W / length[:, None]
    return along[:, None] * u + across[:, None] * (v - c * u)


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes between the jumps of y and out to 9, with the weights of N(0, 1)."""
    x, w = np.polynomial.legendre.leggauss(40)
    edges = np.array([-9.0, -3.0, -EVEN, EVEN, 3.0, 9.0])
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    z = (middle + half * x).ravel()
    return z, (half * w).ravel() * lazy.normal_density(z)
