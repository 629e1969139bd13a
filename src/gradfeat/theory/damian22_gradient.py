"""Population gradient of the first layer on a multi-index target, as a Hermite series, and how far
it is from Lemma 1's leading term, on average over the start.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ..maths.hermite import gauss_hermite
from ..maths.multi_hermite import MultiHermite
from ..maths.ranges import finite, whole
from .activation_coefficients import NeuronCoefficients, relu_coefficients

#: Largest entry of U^T U - I that is taken for rounding.
_ORTHONORMAL = 1e-8


def gradient_series(
    g: MultiHermite,
    U: Float[np.ndarray, "d r"],
    W: Float[np.ndarray, "m d"],
    b: ArrayLike = 0.0,
    *,
    coefficients: NeuronCoefficients = relu_coefficients,
    order: int | None = None,
) -> Float[np.ndarray, "m d"]:
    """E[f*(x) x sigma'(w.x + b)] for f*(x) = g(U^T x), x ~ N(0, I_d), one row for each neuron.

    With w = s u, |u| = 1, and sigma(s z + b) = sum_k c_k He_k(z), it is

        (1/s) sum_{k>=0} [(k+1) c_{k+1} C_{k+1}(u^k, .) + (k+1)(k+2) c_{k+2} C_k(u^k) u],

    C_k = E grad^k f*. It ends at k = degree of g, where it is exact. For unit w this is the
    printed series (c_k there is k! c_k here). Derivation: h(z) = sigma(s z + b) has
    h' = s sigma'(s z + b), so the left side is E[f* x h'(u.x)]/s; Stein's lemma makes it
    E[grad f* h'(u.x)] + u E[f* h''(u.x)], and E[f* He_k(u.x)] = C_k(u^k).

    `U`: orthonormal columns; `W`: first layer, no row zero; `b`: biases, broadcast to (m,);
    `coefficients`: c_k of each neuron, the ReLU by default, any other by `coefficients_of`;
    `order`: last k of a partial sum, by default the degree of g.
    Regime: exact for polynomials g at every d, x ~ N(0, I), orthonormal columns of U.
    Raises ValueError when U is not orthonormal, shapes disagree, a row of W is zero, or order is
    negative.
    Source: Damian22, Section 4 (proof of Lemma 1).

    >>> g, U = MultiHermite(((2,),), (0.5,)), np.eye(3)[:, :1]
    >>> gradient_series(g, U, np.array([[0.6, 0.8, 0.0]]), order=1).round(4).tolist()
    [[0.2394, 0.0, 0.0]]
    """
    scale, u, bias = neurons(g, U, W, b)
    order = g.degree if order is None else order
    if order < 0:
        raise ValueError(f"The last order of the series was {order}: give 0 or more.")
    c = coefficients(scale, bias, order + 2)
    v = u @ U
    inside, along = np.zeros_like(v), np.zeros(len(v))
    for k in range(min(order, g.degree) + 1):
        inside += (k + 1) * c[:, k + 1, None] * g.contract_to_vector(k + 1, v)
        along += (k + 1) * (k + 2) * c[:, k + 2] * g.contract(k, v)
    return (inside @ U.T + along[:, None] * u) / scale[:, None]


def beyond_linear(g: MultiHermite) -> MultiHermite:
    """g without its constant and linear part: what Algorithm 1 leaves in y.

    >>> beyond_linear(MultiHermite(((0,), (1,), (2,)), (1.0, 2.0, 3.0))).degrees
    ((2,),)
    """
    kept = [
        (alpha, c) for alpha, c in zip(g.degrees, g.coefficients, strict=True) if sum(alpha) > 1
    ]
    if not kept:
        return g.part(0) * 0.0
    alphas, values = zip(*kept, strict=True)
    return MultiHermite(alphas, values)


def population_gradient(
    g: MultiHermite,
    U: Float[np.ndarray, "d r"],
    W: Float[np.ndarray, "m d"],
    a: Float[np.ndarray, " m"],
    b: ArrayLike = 0.0,
    *,
    coefficients: NeuronCoefficients = relu_coefficients,
    order: int | None = None,
) -> Float[np.ndarray, "m d"]:
    """grad_W L = -2 a_j E[(f* - alpha - beta.x) x sigma'(w_j.x + b_j)], where the net is 0.

    L = E (y - alpha - beta.x - f(x))^2, without 1/2, at Algorithm 1's antisymmetric start f = 0;
    alpha = E f*, beta = E[f* x]. Label noise does not enter.

    `a` is the head; the others are those of `gradient_series`.
    Regime: exact at every d, x ~ N(0, I), for unlimited rows.
    Raises ValueError as `gradient_series`.
    Source: Damian22, Algorithm 1 and Lemma 1.

    >>> g, U = MultiHermite(((2,),), (0.5,)), np.eye(3)[:, :1]
    >>> population_gradient(g, U, np.array([[0.6, 0.8, 0.0]]), np.ones(1)).round(4).tolist()
    [[-0.3926, 0.1149, -0.0]]
    """
    finite(a=a)
    series = gradient_series(beyond_linear(g), U, W, b, coefficients=coefficients, order=order)
    return -2 * np.asarray(a)[:, None] * series


def leading_term(
    g: MultiHermite,
    U: Float[np.ndarray, "d r"],
    W: Float[np.ndarray, "m d"],
    a: Float[np.ndarray, " m"],
) -> Float[np.ndarray, "m d"]:
    """-2 a_j H u_j / sqrt(2 pi), H = E grad^2 f*, u_j = w_j/|w_j|: ReLU without bias.

    The first non-zero term of `population_gradient` there. The gradient does not depend on |w|,
    and so neither does its leading term: for rows of unit length this is the printed one.

    Regime: unlimited rows and d large; the other terms are smaller by 1/sqrt(d).
    Source: Damian22, Lemma 1.

    >>> g, U = MultiHermite(((2,),), (0.5,)), np.eye(3)[:, :1]
    >>> leading_term(g, U, np.array([[0.6, 0.8, 0.0]]), np.ones(1)).round(4).tolist()
    [[-0.4787, 0.0, 0.0]]
    """
    finite(a=a)
    _, u, _ = neurons(g, U, W, 0.0)
    return -2 * np.asarray(a)[:, None] * (u @ U) @ g.tensor(2) @ U.T / math.sqrt(2 * math.pi)


def neurons(
    g: MultiHermite, U: np.ndarray, W: np.ndarray, b: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """|w|, w/|w| and b of each neuron, (m,), (m, d), (m,)."""
    if U.ndim != 2 or U.shape[1] != g.r or W.ndim != 2 or W.shape[1] != len(U):
        raise ValueError(
            f"U has shape {U.shape}, W {W.shape} and g {g.r} variables: give U (d, {g.r}) and"
            " W (m, d)."
        )
    if np.abs(U.T @ U - np.eye(g.r)).max() > _ORTHONORMAL:
        raise ValueError("The columns of U are not orthonormal: give those of a QR decomposition.")
    finite(W=W, b=b)
    scale = np.linalg.norm(W, axis=1)
    if not (scale > 0).all():
        raise ValueError(
            f"Row {int(np.argmin(scale > 0))} of W is zero or not a number: the series needs"
            " |w| > 0."
        )
    bias = np.broadcast_to(np.asarray(b, dtype=np.float64), scale.shape)
    return scale, W / scale[:, None], bias


#: Most points of the product rule, (p + 1)^r.
MAX_POINTS = 1_000_000


def expected_squares(
    g: MultiHermite,
    d: int,
    bias: float = 0.0,
    *,
    coefficients: NeuronCoefficients = relu_coefficients,
) -> tuple[float, float]:
    """E|leading term|^2 and E|gradient - leading term|^2 over w uniform on the unit sphere.

    Of E[f* x sigma'(w.x + b)] without the constant and linear part of f*: times 4 a_j^2 they are
    those of grad_{w_j} L. Exact: with v = U^T w both are polynomials in v, and a homogeneous
    q of degree 2j has E q(v) = E q(Z) / (d (d+2) ... (d+2j-2)), Z ~ N(0, I_r).

    The ReLU without bias has a gradient that does not depend on |w|, so there the same holds for
    w ~ N(0, I/d), Algorithm 1's start.

    `d`: inputs, at least r; `bias`: bias of the neuron; `coefficients`: of the activation, as in
    `gradient_series`.
    Returns (2 c_2)^2 |H|_F^2/d, and the remainder's.
    Regime: exact at every d.
    Raises ValueError when d < r, or (p + 1)^r is beyond `MAX_POINTS`.
    Source: Damian22, Lemma 1 (there with high probability, up to constants).

    >>> lead, rest = expected_squares(MultiHermite(((2,),), (0.5,)), d=20)
    >>> round(lead * 2 * np.pi * 20, 12), round(rest * 2 * np.pi * 20, 4)
    (1.0, 0.0341)
    """
    finite(bias=bias)
    whole(g.r, 10**9, d=d)
    g = beyond_linear(g)
    c = coefficients(np.ones(1), np.array([float(bias)]), g.degree + 3)[0]
    z, weights = product_rule(g.degree + 1, g.r)
    inside = [(k + 1) * c[k + 1] * g.contract_to_vector(k + 1, z) for k in range(g.degree + 1)]
    along = [(k + 1) * (k + 2) * c[k + 2] * g.contract(k, z) for k in range(g.degree + 1)]
    lead = float(weights @ np.square(inside[1]).sum(1)) / d if g.degree else 0.0
    rest = 0.0
    for j in range(2, g.degree + 1):
        for k in range(2, g.degree + 1):
            even = np.sum(inside[j] * inside[k], 1) + along[j] * along[k]
            odd = 2 * np.sum(z * inside[j], 1) * along[k]
            rest += _on_sphere(weights @ even, j + k, d) + _on_sphere(weights @ odd, j + k + 1, d)
    return lead, rest


def relative_error(
    g: MultiHermite,
    d: int,
    bias: float = 0.0,
    *,
    coefficients: NeuronCoefficients = relu_coefficients,
) -> float:
    """sqrt(E|gradient - leading term|^2 / E|leading term|^2) over the start, exact.

    Falls like d^{-1/2}; see `expected_squares`, and `asymptotic_relative_error` for the limit.

    Raises ValueError as `expected_squares`, and where H = E grad^2 f* = 0: there is no leading
    term.

    >>> round(relative_error(MultiHermite(((2,),), (0.5,)), d=100), 4)
    0.0857
    """
    lead, rest = expected_squares(g, d, bias, coefficients=coefficients)
    return math.sqrt(rest / _nonzero(lead))


def _nonzero(lead: float) -> float:
    if lead == 0:
        raise ValueError(
            "The leading term is zero (no degree-2 part, or c_2 = 0), so there is no error"
            " relative to it: give a target with E grad^2 f* other than 0."
        )
    return lead


def product_rule(n: int, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (n^r, r) and weights of the product Gauss-Hermite rule."""
    if n**r > MAX_POINTS:
        raise ValueError(
            f"Degree {n - 1} in {r} variables needs {n}^{r} points: at most {MAX_POINTS} are"
            " formed; give fewer variables or a lower degree."
        )
    z, w = gauss_hermite(n)
    points = np.stack(np.meshgrid(*[z] * r, indexing="ij"), -1).reshape(-1, r)
    weights = np.prod(np.stack(np.meshgrid(*[w] * r, indexing="ij"), -1).reshape(-1, r), 1)
    return points, weights


def _on_sphere(gaussian: float, degree: int, d: int) -> float:
    """E q(v) from E q(Z), q homogeneous of that degree; odd degrees vanish."""
    return float(gaussian) / math.prod(range(d, d + degree, 2)) if degree % 2 == 0 else 0.0
