"""The direction that one gradient step writes into the first layer: its norm and alignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.step_names import RESIDUALS, Residual
from .teacher import Teacher


@dataclass(frozen=True)
class GradientDirection:
    """Row j of G ~ a_j (c_1 beta + stretch w_j) with beta = X^T r/n, r the residual."""

    norm_squared: np.ndarray  #: |beta|^2: D for r = y, D_eff for r = y - f_0.
    alignment: np.ndarray  #: |cos(beta, b)| = rho, b the direction of the target.
    #: gamma c_1: the component of beta along -W0^T a, a direction that the features hold already.
    initial: np.ndarray
    residual_power: np.ndarray  #: E r^2.
    #: 2 c_2 c_{*0}: how much of its own first weights w_j a neuron's gradient holds.
    stretch: float


def output_scale(residual: Residual, width: ArrayLike | None) -> np.ndarray:
    """gamma, with r = y - gamma f_0 and f_0 = sigma(X W0^T) a: 0, 1, or 1/sqrt(N).

    Raises ValueError for another name, or where Ba22's scale has no width above 0.

    >>> float(output_scale("ba22", 100))
    0.1
    """
    match residual:
        case "y":
            return np.zeros(())
        case "y - f0":
            return np.ones(())
        case "ba22" if width is not None:
            N = np.asarray(width, dtype=np.float64)
            if not (N > 0).all():
                raise ValueError(f"The width is {width}: give N above 0.")
            return 1 / np.sqrt(N)
        case "ba22":
            raise ValueError("Residual 'ba22' depends on the width: give the width N.")
    raise ValueError(f"The residual is {residual!r}: give one of {', '.join(RESIDUALS)}.")


def gradient_direction(
    phi: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    residual: Residual = "y",
    width: ArrayLike | None = None,
) -> GradientDirection:
    """|beta|^2 -> c_{*1}^2 + phi (c_*^2 + sigma_eps^2) + gamma^2 (c_1^2 + phi E sigma^2).

    The alignment is |c_{*1}|/|beta|. gamma is 0 for the residual y, 1 for y - f_0 and 1/sqrt(N)
    for Ba22's scaling. By parts E[y sigma'(w.x) x] = E[f*' sigma'] b + E[f* sigma''] w, and with
    w.b -> 0 only c_1 c_{*1} b + 2 c_2 c_{*0} w is left: a target with a mean stretches neurons.

    `phi`: d/n of the rows of the gradient, above 0; `width`: N, only Ba22's scaling needs it.
    Regime: n, d, N to infinity with d/n = phi, x ~ N(0, I), a of mean 0 and variance 1/N.
    Raises ValueError when phi or the width is not above 0, the residual is unknown, or E sigma is
    not 0 and f_0 is in the residual (the mean of f_0 is then random and does not settle).
    Source: Moniri24, Lemma on beta; the terms of f_0 by its linear part c_1 X W0^T a and the rest.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> float(gradient_direction(0.5, CentredReLU(), talk).alignment.round(3))
    0.707
    >>> float(gradient_direction(0.5, CentredReLU(), talk, "y - f0").alignment.round(3))
    0.643
    """
    phi = np.asarray(phi, dtype=np.float64)
    if not (np.isfinite(phi) & (phi > 0)).all():
        raise ValueError(f"phi is {phi}: give d/n, finite and above 0.")
    gamma = output_scale(residual, width)
    mean, slope, bend = activation.hermite_coefficients(2)
    moment = activation.second_moment()
    if residual != "y" and abs(mean) > 1e-9:
        raise ValueError(
            f"The activation has mean {mean:.4g}, so f_0 has a random mean that enters the"
            " residual: centre the activation, or give the residual 'y'."
        )
    initial = gamma * slope
    norm = teacher.linear**2 + phi * teacher.power + initial**2 + gamma**2 * phi * moment
    with np.errstate(divide="ignore", invalid="ignore"):
        alignment = np.abs(teacher.linear) / np.sqrt(norm)
    power, stretch = teacher.power + gamma**2 * moment, 2 * float(bend) * teacher.mean
    return GradientDirection(norm, alignment, initial, power, stretch)


def own_power(phi: ArrayLike, direction: GradientDirection, activation: Activation) -> np.ndarray:
    """phi E r^2 (E sigma'^2 - c_1^2): what |G_j|^2/a_j^2 has beside c_1 beta and stretch w_j.

    Its direction is another one in each neuron. Its square adds to the column of a^{o2} as much as
    (c_1 |beta| u)^2 does: that column is u^2 + kappa, kappa = own_power/(c_1 |beta|)^2.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> beta = gradient_direction(0.5, CentredReLU(), Teacher.single((0.0, 1.0), noise=1.0))
    >>> float((own_power(0.5, beta, CentredReLU()) / (0.25 * beta.norm_squared)).round(12))
    0.5
    """
    slope = float(activation.hermite_coefficients(1)[1])
    excess = max(activation.derivative_second_moment() - slope**2, 0.0)
    return np.asarray(phi) * direction.residual_power * excess


#: The largest `rest_share` at which errors after a step are predicted (docs/theory/one-step).
MOST_REST = 0.35


def rest_share(
    eta: float, width: float, phi: float, direction: GradientDirection, activation: Activation
) -> float:
    """E_a[eta^2 a^2] phi E r^2 (E sigma'^2 - c_1^2), E a^2 = 1/N: `own_power` in the mean |w'|^2.

    `phi`: d/n of the rows of the gradient. The neuron's first weights have |w|^2 = 1.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> beta = gradient_direction(0.5, CentredReLU(), Teacher.single((0.0, 1.0)))
    >>> round(rest_share(30.0, 900, 0.5, beta, CentredReLU()), 12)
    0.125
    """
    return eta**2 / width * float(own_power(phi, direction, activation))


def limit_degree(alpha: ArrayLike) -> np.ndarray:
    """l with (l - 1)/(2 l) < alpha < l/(2 l + 2): how many powers of X beta a step n^alpha adds.

    0 for alpha < 0; nan on the edges 0, 1/4, 1/3, ..., where terms of no vanishing size are added,
    and from 1/2 on.

    Regime: n to infinity at fixed d/n and d/N, 0 < alpha < 1/2.
    Source: Moniri24, Theorem on the spectrum of F.

    >>> limit_degree([-0.1, 0.1, 0.25, 0.3, 0.42, 0.5]).tolist()
    [0.0, 1.0, nan, 2.0, 6.0, nan]
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    steps = 1 / (1 - 2 * np.where(alpha < 0.5, alpha, 0.0))
    settled = (alpha < 0.5) & (np.abs(steps - np.round(steps)) > 1e-9)
    return np.where(alpha < 0, 0.0, np.where(settled, np.floor(steps), np.nan))
