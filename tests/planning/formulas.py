"""Operations a row and bytes of each pass, by hand: what rehearsals must come to.

n rows, d columns, c outputs, m features. A product of (n, k) and (k, m) counts 2 k m a row, a
symmetric one m (m + 1).
"""

from __future__ import annotations

#: Penalties that a ridge head chooses from, and bytes of a float64.
PENALTIES, WIDE = 25, 8


def gram(m: int, *, full: bool = False) -> int:
    """One half of F^T F; both halves where it is full."""
    return 2 * m * m if full else m * (m + 1)


def moments(m: int, c: int, *, full: bool = False) -> int:
    """Second moments of m columns, and with c targets."""
    return gram(m, full=full) + 2 * m * c


def features(d: int, m: int, c: int) -> int:
    """W x, and the affine part that is subtracted."""
    return 2 * d * m + 2 * d * c


def gradient(d: int, m: int, c: int) -> int:
    """Pre-activations of half of the neurons, and the sum over rows; biases are a column of ones.

    Source: Damian22, Algorithm 1, line 4.
    """
    half = m // 2
    return 4 * half * (d + 1) + 2 * d * c + (2 * half * c if c > 1 else 0)


def left_out(m: int, c: int) -> int:
    """z = V^T F, and predictions and leverages at 25 penalties."""
    return 2 * m * m + 2 * m * PENALTIES * (c + 1)


def gradient_products(d: int, m: int, c: int, *, full: bool = False) -> int:
    """Slopes, gradients of c outputs, and their outer products. Source: Rad24, the AGOP."""
    return 2 * d * m + 2 * m * d * c + c * gram(d, full=full)


def nystrom(d: int, m: int) -> int:
    """Distances to m centres, and T^{-T} k. Source: Rudi, Camoriano & Rosasco 2015, eq. 10."""
    return 2 * d * m + m * m


def moment_bytes(m: int, c: int, *, packed: bool) -> int:
    """Operations, weight, means, second moments, of which one triangle is sent."""
    return WIDE * (2 + m + 2 * c + m * c + (m * (m + 1) // 2 if packed else m * m))


def net_bytes(d: int, m: int, c: int) -> int:
    """W, b, a, beta, offset."""
    return WIDE * (m * (d + 1 + c) + c * (d + 1))


def affine_bytes(d: int, c: int, *, whitened: bool) -> int:
    """Scales, or a whitening."""
    return WIDE * (d * (d if whitened else 1) + d + 2 * c)
