"""How far the first gradient is from Lemma 1's leading term, on average over the start."""

from __future__ import annotations

import math

import numpy as np

from ..maths.hermite import gauss_hermite
from ..maths.multi_hermite import MultiHermite
from .activation_coefficients import NeuronCoefficients, relu_coefficients
from .damian22_gradient import beyond_linear

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
    Raises ValueError when d < r, or (p + 1)^r is beyond `MAX_POINTS`.
    Source: Damian22, Lemma 1 (there with high probability, up to constants).

    >>> lead, rest = expected_squares(MultiHermite(((2,),), (0.5,)), d=20)
    >>> round(lead * 2 * np.pi * 20, 12), round(rest * 2 * np.pi * 20, 4)
    (1.0, 0.0341)
    """
    if d < g.r:
        raise ValueError(f"d is {d} and g has {g.r} variables: give d of at least {g.r}.")
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
