"""What one gradient step adds to random features, F = bulk + P V^T, and where the singular values
of F and W then leave the bulk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.ranges import finite, not_negative, positive
from ..maths.step_names import Residual, RowLaw, lengths_vary
from .activation_coefficients import scaled_coefficients
from .feature_resolvent import FeatureLimit
from .gradient_direction import GradientDirection, gradient_direction, own_power
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .reused_features import MOST_BEND
from .teacher import Teacher

#: Degrees of u that are kept.
K_MAX = 10


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
    rows: RowLaw = "sphere",
    head: HeadLaw = GAUSSIAN_HEAD,
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

    Rows of W0 from N(0, I/d) have norms of variance 2/d in |w_j|^2, which move V_jk by
    (theta_j |beta|/Q_j)^k sqrt((k + 1)(k + 2)) c~_{k+2}(Q_j) (1 + eta a_j stretch)^2/(2 Q_j^2).

    `direction`: beta and E r^2; `eta`: step size, 0 or more; `phi`, `psi`, `n`: d/n, d/N and n,
    they broadcast with eta; `rows`: of W0; `head`: the law of a.
    Regime: n large; the step's effect on the bulk is kept as an average, which is a small part of
    it while eta/sqrt(N) is small.
    Source: Moniri24, Theorem on the spectrum, with all orders of eta kept.

    >>> from gradfeat.maths.activations import Tanh
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> from gradfeat.theory.teacher import Teacher
    >>> beta = gradient_direction(0.5, Tanh(), Teacher.single((0.0, 1.0)))
    >>> spikes = step_spikes(Tanh(), beta, 5.0, phi=0.5, psi=0.5, n=2000)
    >>> bool(spikes.gram[1, 1] > 1), bool(spikes.gram[2, 2] < 1e-12)  # an odd function: no u^2
    (True, True)
    """
    finite(phi=phi, psi=psi, n=n)
    power = own_power(phi, direction, activation)
    arrays = (eta, phi, psi, n, direction.norm_squared, power)
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    flat = [np.broadcast_to(np.asarray(a, np.float64), shape).reshape(-1, 1) for a in arrays]
    eta_, phi_, psi_, n_, norm, power_ = flat
    _check(eta_, phi_, psi_, n_)
    width, slope = n_ * phi_ / psi_, float(activation.hermite_coefficients(1)[1])
    x, weights = np.array(head.values), np.array(head.masses)
    a = x / np.sqrt(width)
    stretched = 1 + eta_ * a * direction.stretch
    own = stretched**2 + (eta_ * a) ** 2 * power_
    shift = eta_ * slope * a * np.sqrt(norm)  # theta |beta|
    Q = np.sqrt(own + shift**2)
    c, square = scaled_coefficients(activation, Q.ravel(), K_MAX + 2)
    c, square = c.reshape(*Q.shape, -1), square.reshape(Q.shape)
    degrees = np.arange(K_MAX + 1)
    powers = (shift / Q)[..., None] ** degrees
    V = c[..., :-2] * powers
    linear = c[..., 1] ** 2 * own / Q**2
    nonlinear = square - np.square(V).sum(-1) - linear
    V = np.concatenate([V, (c[..., 2] / np.sqrt(psi_ * width))[..., None]], axis=-1)
    mass = weights * width
    gram = np.einsum("sm,smj,smk->sjk", mass, V, V)
    if lengths_vary(rows):
        bent = powers * np.sqrt((degrees + 1) * (degrees + 2)) / 2 * c[..., 2:]
        bent = bent * (stretched / Q)[..., None] ** 2
        drawn = np.einsum("sm,smj,smk->sjk", mass * 2 / (psi_ * width), bent, bent)
        gram[:, :-1, :-1] += drawn
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


@dataclass(frozen=True)
class FeatureSpectrum:
    """Singular values of F/sqrt(n) after the step: the bulk's right edge and those beyond it."""

    limit: FeatureLimit  #: Of the bulk after the step.
    edge: float  #: Right edge of the bulk.
    outliers: np.ndarray  #: (k,), values beyond the edge, falling.
    #: (k, 12), cos^2 of each one's left singular vector with the columns he_0(u), ..., he_10(u), u
    #: = X~ beta/|beta|, and (|x|^2 - d)/sqrt(2 d).
    overlaps: np.ndarray

    def separated(self, margin: float = 0.1) -> int:
        """How many lie at least `margin` times the edge beyond it, so that one size shows them."""
        return int(np.sum(self.outliers > (1 + margin) * self.edge))


def feature_spectrum(
    phi: float,
    psi: float,
    activation: Activation,
    teacher: Teacher,
    *,
    eta: float,
    n: float,
    residual: Residual = "y",
    rows: RowLaw = "sphere",
    head: HeadLaw = GAUSSIAN_HEAD,
) -> FeatureSpectrum:
    """The singular values of F/sqrt(n), F = sigma(X~ (W0 + eta G)^T) on a fresh sample.

    F = bulk + P V^T (see `step_spikes`), and -z is an eigenvalue of F F^T/N outside the bulk where
    det[I + g(z) L^T diag(v(z)) L] = 0, V^T V = L L^T. With spikes that do not mix the k-th one
    leaves the bulk where (psi/phi) |V_k|^2 |u| > 1 at the edge; in the limit its size is
    |c_1^k c_k| eta^k |beta|^k sqrt((2k - 1)!!) N^{-(k-1)/2} times the norm of the column.

    `eta`, `n`: step size and rows; `rows`: of W0, on the unit sphere or N(0, I/d); `head`: the law
    of a.
    Regime: n large; the largest value of the bulk itself is below the edge by about n^{-2/3}.
    The gradient's part 2 c_2 diag(a) W0 X^T diag(y) X/n is counted by its size. Where the slope is
    mostly linear (`bend_share` above half) and that part's norm beside W0 above .4, outliers are
    nan: simulated ones are 9 to 35 % above (c_2 = c_1/2 and less: within 3 %).
    Raises ValueError when a number is out of its range, f_0 has a random mean, or y is always 0.
    Source: Moniri24, Theorem on the spectrum; the positions by the deterministic equivalent
    (Benaych-Georges & Nadakuditi 2012 for low-rank perturbations).

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> found = feature_spectrum(0.2, 2.0, CentredReLU(), talk, eta=4000**0.3, n=4000)
    >>> found.separated()
    2
    """
    if not all(math.isfinite(value) and value > 0 for value in (phi, psi, n)):
        raise ValueError(
            f"phi is {phi}, psi {psi} and n {n}: give d/n, d/N and rows, finite and above 0."
        )
    if residual != "y":
        head.centred("f_0 in the residual")
    width = n * phi / psi
    direction = gradient_direction(phi, activation, teacher, residual, width)
    if not direction.norm_squared > 0:
        raise ValueError("y is always 0, so the step has no direction: give another target.")
    sizes = {"phi": phi, "psi": psi, "n": n}
    spikes = step_spikes(activation, direction, eta, **sizes, rows=rows, head=head)
    limit = FeatureLimit(phi, psi, spikes.linear, spikes.nonlinear)
    edge = float(limit.largest_singular_value())
    if _is_turned(activation, teacher, direction, phi, eta / math.sqrt(width)):
        return FeatureSpectrum(limit, edge, np.full(1, np.nan), np.full((1, K_MAX + 2), np.nan))
    secular = _Secular.of(limit, direction, spikes)
    roots = secular.roots(float(limit.edge()))
    return FeatureSpectrum(
        limit,
        edge,
        np.array([_value(limit, u) for u in roots]),
        np.array([secular.overlap(u) for u in roots]).reshape(len(roots), len(secular.root)),
    )


#: The largest norm beside W0 of the gradient's part by c_2 at which outliers are predicted where
#: the slope is mostly linear.
MOST_TURNED = 0.4


def _is_turned(
    activation: Activation,
    teacher: Teacher,
    direction: GradientDirection,
    phi: ArrayLike,
    step: ArrayLike,
) -> np.ndarray:
    """Whether the gradient's part by c_2 changes the singular values, of `step` eta/sqrt(N).

    2 |c_2| |X^T diag(r) X/n|, which is about 2 sqrt(phi E r^2) and |C_2| of the target.
    """
    bend = 2 * abs(float(activation.hermite_coefficients(2)[2]))
    target = np.linalg.norm(teacher.target.tensor(2), 2)
    size = 2 * np.sqrt(np.asarray(phi) * direction.residual_power) + target
    mostly = bend**2 > MOST_BEND * activation.derivative_second_moment()
    return mostly & (np.asarray(step) * bend * size > MOST_TURNED)


def _value(limit: FeatureLimit, u: float) -> float:
    return float(np.sqrt(-limit.at(u).z / limit.rows_per_neuron))


@dataclass(frozen=True)
class _Secular:
    """A(u) = I + g L^T diag(v) L, which is singular at an outlier; v g is explicit in u.

    `shared` is the part of the features L^{-1} V^T F_0 along W0^T a, times that of beta.
    """

    limit: FeatureLimit
    root: np.ndarray
    shared: np.ndarray
    ratio: float

    @staticmethod
    def of(limit: FeatureLimit, direction: GradientDirection, spikes: StepSpikes) -> _Secular:
        e, U = np.linalg.eigh(spikes.gram)
        size = np.sqrt(np.maximum(e, 0.0))
        inverse = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)
        L = U * size
        share = float(direction.initial / np.sqrt(direction.norm_squared))
        return _Secular(
            limit, L, -share * inverse * (U.T @ spikes.turned), float(limit.rows_per_neuron)
        )

    def matrix(self, u: float) -> np.ndarray:
        linear = float(self.limit.at(u).h)
        return np.eye(len(self.root)) + self.ratio * u * self._weighted(linear)

    def slope(self, u: float) -> np.ndarray:
        """A'(u), for (u h)' = h^2."""
        return self.ratio * self._weighted(float(self.limit.at(u).h) ** 2)

    def _weighted(self, linear: float) -> np.ndarray:
        along = self.root[1]
        mixed = np.outer(along, self.shared)
        return self.root.T @ self.root + (
            (linear - 1) * np.outer(along, along) + linear * (mixed + mixed.T)
        )

    def roots(self, edge: float) -> list[float]:
        """The u in (edge, 0) where an eigenvalue of A passes 0, from the largest value on."""
        below = int(np.sum(np.linalg.eigvalsh(self.matrix(edge)) < 0))

        def eigenvalue(j: int) -> Callable[[float], float]:
            return lambda u: float(np.linalg.eigvalsh(self.matrix(u))[j])

        return [_root(eigenvalue(j), edge) for j in range(below)]

    def overlap(self, u: float) -> np.ndarray:
        """cos^2 with each column, from the residue of the resolvent."""
        point = self.limit.at(u)
        _, vectors = np.linalg.eigh(self.matrix(u))
        values = np.abs(np.linalg.eigvalsh(self.matrix(u)))
        q = vectors[:, int(np.argmin(values))]
        met = self.root @ q
        met[1] = point.h * (met[1] + self.shared @ q)
        size = -point.g * point.dz / (q @ self.slope(u) @ q) / self.ratio
        return size * np.square(self.ratio * u / point.g * met)


def _root(f: Callable[[float], float], edge: float) -> float:
    from scipy.optimize import brentq

    return brentq(f, edge, edge * 1e-12, full_output=True)[0]


def first_layer_outlier(
    phi: ArrayLike,
    psi: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    eta: ArrayLike,
    residual: Residual = "y",
    width: ArrayLike | None = None,
) -> np.ndarray:
    """Largest singular value of W = W0 + eta G outside the bulk 1 + sqrt(N/d); nan where none is.

    eta G is eta c_1 a beta^T to leading order, so the row a^T W has squared norm
    1 + tau^2 = (1 - eta gamma c_1^2)^2 + eta^2 c_1^2 (|beta|^2 - gamma^2 c_1^2). With y = N/d the
    value sqrt((1 + tau^2)(y + tau^2))/tau leaves the bulk where tau^2 > sqrt(y) (BBP).

    `eta`: step size, of order 1; `width`: N, needed for "ba22".
    Regime: n, d, N to infinity in proportion at fixed eta, a target with E y = 0 or c_2 = 0. In the
    limit the rest of the gradient vanishes; where `width` is given and that rest turns neurons, as
    in `feature_spectrum`, the value is nan (simulated ones are 4 to 19 % above).
    Source: Baik, Ben Arous & Peche 2005; Benaych-Georges & Nadakuditi 2012; Ba et al. 2022.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> first_layer_outlier(0.5, 0.5, CentredReLU(), talk, eta=[1.0, 4.0]).round(3).tolist()
    [nan, 3.354]
    """
    positive(psi=np.min(psi))
    not_negative(eta=float(np.square(eta).sum()))
    direction = gradient_direction(phi, activation, teacher, residual, width)
    slope = float(activation.hermite_coefficients(1)[1])
    eta, ratio = np.asarray(eta, dtype=np.float64), 1 / np.asarray(psi, dtype=np.float64)
    across = direction.norm_squared - direction.initial**2
    strength = (1 - eta * slope * direction.initial) ** 2 + (eta * slope) ** 2 * across - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.sqrt((1 + strength) * (ratio + strength) / strength)
        turned = width is not None and _is_turned(
            activation, teacher, direction, phi, eta / np.sqrt(width)
        )
        return np.where((strength > np.sqrt(ratio)) & ~np.asarray(turned), value, np.nan)
