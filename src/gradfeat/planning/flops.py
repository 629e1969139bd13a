"""Multiplications and additions a row of the matrix products of each pass.

n rows, d columns, c outputs, m features. A product of (n, k) and (k, m) counts 2 k m a row, a
symmetric one m (m + 1). What works on single numbers is left out here: it is in the measured rates.
"""

from __future__ import annotations

#: Penalties that a ridge head chooses from.
PENALTIES = 25


def gram(m: int, *, full: bool = False) -> int:
    """m (m + 1): F^T F, one half of it; 2 m^2 where both halves are computed (graphics cards).

    Examples
    --------
    >>> gram(10), gram(10, full=True)
    (110, 200)
    """
    return 2 * m * m if full else m * (m + 1)


def moments(m: int, c: int, *, full: bool = False) -> int:
    """m (m + 1) + 2 m c: second moments of m columns, and with c targets.

    Examples
    --------
    >>> moments(50, 1)
    2650
    """
    return gram(m, full=full) + 2 * m * c


def affine(d: int) -> int:
    """2 d^2: (x - shift) P with a matrix P, the whitened inputs.

    Examples
    --------
    >>> affine(50)
    5000
    """
    return 2 * d * d


def features(d: int, m: int, c: int) -> int:
    """2 d m + 2 d c: sigma(W x + b), and the affine part of what is left of y.

    Examples
    --------
    >>> features(50, 1024, 1)
    102500
    """
    return 2 * d * m + 2 * d * c


def gradient(d: int, m: int, c: int) -> int:
    """4 (m/2) (d + 1) + 2 d c, and 2 (m/2) c for c > 1: pre-activations, and the sum over rows.

    Half of the neurons mirror the others at the start; biases are a column of ones.

    Source: Damian22, Algorithm 1, line 4.

    Examples
    --------
    >>> gradient(50, 1024, 1)
    104548
    """
    half = m // 2
    return 4 * half * (d + 1) + 2 * d * c + (2 * half * c if c > 1 else 0)


def left_out(m: int, c: int) -> int:
    """2 m^2 + 2 m l (c + 1): z = V^T F, and predictions and leverages at l = 25 penalties.

    Examples
    --------
    >>> left_out(1024, 1)
    2199552
    """
    return 2 * m * m + 2 * m * PENALTIES * (c + 1)


def gradient_products(d: int, m: int, c: int, *, full: bool = False) -> int:
    """2 d m + 2 m d c + c d (d + 1): slopes, gradients of c outputs, and their outer products.

    Source: Rad24, the AGOP.

    Examples
    --------
    >>> gradient_products(50, 1024, 1)
    207350
    """
    return 2 * d * m + 2 * m * d * c + c * gram(d, full=full)


def nystrom(d: int, m: int) -> int:
    """2 d m + m^2: distances to m centres, and T^{-T} k.

    Source: Rudi, Camoriano & Rosasco 2015, eq. 10.

    Examples
    --------
    >>> nystrom(50, 1000)
    1100000
    """
    return 2 * d * m + m * m


def eigenvalues(m: int) -> float:
    """9 m^3: all eigenvalues and vectors of a symmetric matrix, on the driver.

    The time of one is measured, and grows as m^3; 9 is the usual count of the divide-and-conquer
    method with its reduction and back-transformation.

    Source: Golub & Van Loan 2013, section 8.3.

    Examples
    --------
    >>> eigenvalues(10)
    9000.0
    """
    return 9.0 * m**3


def pivots(d: int, m: int, candidates: int) -> float:
    """candidates m (2 d + m): randomly pivoted Cholesky of m centres among the candidates.

    Source: Chen, Epperly, Tropp & Webber 2022, algorithm 2.1.

    Examples
    --------
    >>> pivots(10, 100, 1000)
    12000000.0
    """
    return float(candidates) * m * (2 * d + m)


def factor(m: int) -> float:
    """2 m^3 / 3: the two Cholesky factors of a kernel machine on m centres.

    Examples
    --------
    >>> factor(3)
    18.0
    """
    return 2 * m**3 / 3
