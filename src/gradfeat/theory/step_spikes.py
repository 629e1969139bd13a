"""What a gradient step of finite size adds to random features: F = bulk + P V^T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.hermite import gauss_hermite
from .activation_coefficients import scaled_coefficients
from .gradient_direction import GradientDirection, own_power

#: Degrees of u that are kept, and nodes of the average over the head's entries.
K_MAX, NODES = 10, 32


@dataclass(frozen=True)
class StepSpikes:
    """Columns P = [he_0(u), ..., he_10(u), (|x|^2 - d)/sqrt(2 d)], u = beta.x/|beta|, times V^T.

    he_k = He_k/sqrt(k!), so the columns of P are orthonormal in L2(x).
    """

    gram: np.ndarray  #: (..., 12, 12), V^T V.
    #: (..., 12), sum_j V_j a_j (1 + eta a_j stretch) c_1(theta_j): the linear part along W0^T a.
    turned: np.ndarray
    #: linear, nonlinear (...): c_1^2 and c_{>1}^2 of the bulk after the step.
    linear: np.ndarray
    nonlinear: np.ndarray


def step_spikes(
    activation: Activation,
    direction: GradientDirection,
    eta: ArrayLike,
    *,
    phi: ArrayLike,
    psi: ArrayLike,
    n: ArrayLike,
) -> StepSpikes:
    """Spikes of F = sigma(X~ (W0 + eta G)^T) for a step of any size, on rows that G has not seen.

    Neuron j has pre-activation w_j'.x + theta_j |beta| u with theta_j = eta c_1 a_j ~
    N(0, eta^2 c_1^2/N), and |w_j'|^2 = (1 + eta a_j stretch)^2 + eta^2 a_j^2 phi E r^2 (E sigma'^2
    - c_1^2), the second the part of the gradient with a direction of its own in each neuron. With
    Q^2 the pre-activation's variance and
    c~_k(Q) = E sigma(Q Z) he_k(Z), V_jk = c~_k(Q_j) (theta_j |beta|/Q_j)^k and
    V_j = c~_2(Q_j)/sqrt(d) for the norm of x. What is left is a bulk whose linear part is
    c~_1(Q_j)/Q_j w_j'.x; both its moments are averaged over the neurons.

    To lowest order in eta the k-th column is c_1^k c_k eta^k a^{ok} (X~ beta)^{ok}, as printed.

    `direction`: beta and E r^2; `eta`: step size, 0 or more; `phi`, `psi`, `n`: d/n, d/N and n,
    they broadcast with eta.
    Regime: n large; the step's effect on the bulk is kept as an average, which is a small part of
    it while eta/sqrt(N) is small.
    Source: Moniri24, Theorem on the spectrum, with all orders of eta kept.

    >>> from gradfeat.maths.activations import Tanh
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> from gradfeat.theory.teacher import Teacher
    >>> beta = gradient_direction(0.5, Tanh(), Teacher((0.0, 1.0)))
    >>> spikes = step_spikes(Tanh(), beta, 5.0, phi=0.5, psi=0.5, n=2000)
    >>> bool(spikes.gram[1, 1] > 1), bool(spikes.gram[2, 2] < 1e-12)  # an odd function: no u^2
    (True, True)
    """
    power = own_power(phi, direction, activation)
    arrays = (eta, phi, psi, n, direction.norm_squared, power)
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    flat = [np.broadcast_to(np.asarray(a, np.float64), shape).reshape(-1, 1) for a in arrays]
    eta_, phi_, psi_, n_, norm, power_ = flat
    _check(eta_, phi_, psi_, n_)
    width, slope = n_ * phi_ / psi_, float(activation.hermite_coefficients(1)[1])
    x, weights = gauss_hermite(NODES)
    a = x / np.sqrt(width)
    stretched = 1 + eta_ * a * direction.stretch
    own = stretched**2 + (eta_ * a) ** 2 * power_
    shift = eta_ * slope * a * np.sqrt(norm)  # theta |beta|
    Q = np.sqrt(own + shift**2)
    c, square = scaled_coefficients(activation, Q.ravel(), K_MAX)
    c, square = c.reshape(*Q.shape, -1), square.reshape(Q.shape)
    degrees = np.arange(K_MAX + 1)
    V = c * (shift / Q)[..., None] ** degrees
    linear = c[..., 1] ** 2 * own / Q**2
    nonlinear = square - np.square(V).sum(-1) - linear
    V = np.concatenate([V, (c[..., 2] / np.sqrt(psi_ * width))[..., None]], axis=-1)
    mass = weights * width
    gram = np.einsum("sm,smj,smk->sjk", mass, V, V)
    turned = np.einsum("sm,smk->sk", mass * a * stretched * c[..., 1] / Q, V)

    def shaped(values: np.ndarray) -> np.ndarray:
        return values.reshape((*shape, *values.shape[1:]))

    return StepSpikes(
        shaped(gram),
        shaped(turned),
        shaped((weights * linear).sum(1)),
        shaped(np.maximum((weights * nonlinear).sum(1), 0.0)),
    )


def _check(eta: np.ndarray, phi: np.ndarray, psi: np.ndarray, n: np.ndarray) -> None:
    if not (np.isfinite(eta).all() and (eta >= 0).all()):
        raise ValueError(f"The step size is {eta.ravel()}: give finite numbers of 0 or more.")
    if not min(phi.min(), psi.min(), n.min()) > 0:
        raise ValueError(
            f"phi, psi and n go down to {phi.min()}, {psi.min()} and {n.min()}: give numbers above"
            " 0."
        )
