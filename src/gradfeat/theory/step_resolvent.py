"""Deterministic equivalent of K^{-1} after one step: r(u) for rows and g(a) for neurons.

Given u the bulk of F has independent columns. Their covariance is c_1(a, u) c_1(a, u') own x.x'/d
between rows, and rest(a, u) more of a row with itself. With C = E_a[g own c c^T] over the
coefficients c of c_1(a, .) in he_0, he_1, ..., Gamma = E_u[r he he^T]/phi and
Psi = (I + C Gamma)^{-1}:

    1/r(u) = z(u) + E_a[g rest(a, u)] + he(u)^T Psi C he(u),
    1/g(a) = 1 + (psi/phi) {E_u[rest(a, u) r] + phi own c^T Gamma Psi c}.

What rest(a, u) has of degree 2, bent(a, u)^2, is a second block of this kind: d^2/2 inputs for d,
bent for c_1, 1 for own, and the functions of u that bent is made of for he_0, he_1, .... At eta = 0
these are the equations of `feature_resolvent` with r = m_1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..maths.activations import Activation
from ..maths.hermite import gauss_hermite, orthonormal_hermite
from ..maths.ranges import not_negative, positive
from .activation_coefficients import scaled_coefficients
from .gradient_direction import GradientDirection, own_power
from .head_law import GAUSSIAN_HEAD, HeadLaw

#: Degrees of u that are kept; nodes of averages over u; functions of u that are kept beside a part
#: of degree 2, and the least size of one beside the first.
K_MAX, U_NODES = 10, 32
SECOND, LEAST = 5, 1e-6


@dataclass(frozen=True)
class StepGrid:
    """F_ij = m(a_j, u_i) + c_1(a_j, u_i) w_j'.x_i + the rest, on nodes of a and u = beta.x/|beta|.

    Neuron j has pre-activation w_j'.x + theta_j |beta| u, theta_j = eta c_1 a_j, and |w_j'|^2 =
    own_j = (1 + eta a_j stretch)^2 + eta^2 a_j^2 phi E r^2 (E sigma'^2 - c_1^2): the gradient less
    its parts along beta and w_j is counted by its size, as if its rows had independent directions.
    Its part 3 c_3 He_2(w_j.x) x has 6 c_3 (w_j.beta) w_j, so that |w_j'| follows w_j.beta.
    """

    #: a, weights (A,): nodes of the head's entries and their weights.
    a: np.ndarray
    weights: np.ndarray
    #: u, mass (U,): nodes of u ~ N(0, 1) and their weights.
    u: np.ndarray
    mass: np.ndarray
    he: np.ndarray  #: (U, K), he_k(u) = He_k(u)/sqrt(k!).
    #: stretched, own (A,): 1 + eta a_j stretch, the share of w_j in w_j', and |w_j'|^2.
    stretched: np.ndarray
    own: np.ndarray
    #: m, slope (A, K): m(a, .) and c_1(a, .) in he_0, ..., he_K.
    m: np.ndarray
    slope: np.ndarray
    turned: np.ndarray  #: (A, K), u c_1(a, u) in the same basis.
    rest: np.ndarray  #: (A, U), E sigma^2 - m^2 - own c_1^2 - bent^2: variance of what is neither.
    #: bent, beside (A, L), (U, L): E[sigma he_2(w_j'.x/|w_j'|)|u] in its leading functions of u.
    bent: np.ndarray
    beside: np.ndarray
    #: (2, A, K), sqrt(k!) he_k(u) times the same, k = 1, 2, in he_0, ..., he_K.
    curve: np.ndarray
    bend: np.ndarray  #: (A, K), slope of m(a, .) in |w_j'|^2 in the same basis.
    lengthened: np.ndarray  #: (A,), slope of |w_j'|^2 in w_j.beta/|beta|, 12 eta a c_3 |beta|.


def step_grid(
    activation: Activation,
    direction: GradientDirection,
    *,
    eta: float,
    phi: float,
    width: float,
    head: HeadLaw = GAUSSIAN_HEAD,
) -> StepGrid:
    """Evaluate the features on the nodes.

    `direction`: |beta| and E r^2, numbers; `eta`, `phi`, `width`: step size, d/n of the gradient's
    rows, and N.
    Regime: n large; degrees of u above 10 are left out.
    Source: Moniri24, Section 3, with all orders of eta kept.

    >>> from gradfeat.maths.activations import Tanh
    >>> from gradfeat.theory.gradient_direction import gradient_direction
    >>> from gradfeat.theory.teacher import Teacher
    >>> beta = gradient_direction(0.5, Tanh(), Teacher.single((0.0, 1.0)))
    >>> grid = step_grid(Tanh(), beta, eta=5.0, phi=0.5, width=2000)
    >>> bool(np.abs(grid.m[:, 2]).max() < 1e-12)  # an odd function adds no u^2 at any a
    True
    """
    not_negative(eta=eta)
    positive(phi=phi, width=width)
    x, weights = np.array(head.values), np.array(head.masses)
    u, mass = gauss_hermite(U_NODES)
    a, he = x / math.sqrt(width), orthonormal_hermite(K_MAX, u)
    _, mean_slope, _, third = activation.hermite_coefficients(3)
    length = math.sqrt(float(direction.norm_squared))
    stretched = 1 + eta * a * direction.stretch
    own = stretched**2 + (eta * a) ** 2 * float(own_power(phi, direction, activation))
    shift = eta * mean_slope * a * length
    m, linear, bent, square = _moments(activation, own, np.outer(shift, u))
    slope = linear / np.sqrt(own)[:, None]
    project = mass[:, None] * he
    parts, beside = _leading(bent, weights, mass)
    return StepGrid(
        a=a,
        weights=weights,
        u=u,
        mass=mass,
        he=he,
        stretched=stretched,
        own=own,
        m=m @ project,
        slope=slope @ project,
        turned=(slope * u) @ project,
        rest=np.maximum(square - m**2 - linear**2 - (parts @ beside.T) ** 2, 0.0),
        bent=parts,
        beside=beside,
        curve=np.stack([bent * u, bent * (u**2 - 1)]) @ project,
        bend=(bent / own[:, None] / math.sqrt(2)) @ project,
        lengthened=12 * third * length * eta * a * stretched,
    )


def _moments(
    activation: Activation, own: np.ndarray, shifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """E sigma, E sigma Z, E sigma he_2(Z), E sigma^2 of sigma(sqrt(own) Z + shift)."""
    scales = np.repeat(np.sqrt(own), U_NODES)
    pairs = np.stack([scales, shifts.ravel()], 1).round(12) + 0.0  # alike at (a, u) and (-a, -u)
    pairs, which = np.unique(pairs, axis=0, return_inverse=True)
    found, square = scaled_coefficients(activation, pairs[:, 0], 2, pairs[:, 1])
    which = which.reshape(shifts.shape)
    m, linear, bent = found.T[:, which]
    return m, linear, bent, square[which]


def _leading(
    bent: np.ndarray, weights: np.ndarray, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Parts (A, L) and functions of u (U, L), orthonormal in mass, whose products make up bent.

    Polynomials in u would not do: at large steps bent is far from one.
    """
    root = np.sqrt(weights)[:, None]
    along, size, _ = np.linalg.svd(root * bent * np.sqrt(mass))
    kept = along[:, :SECOND][:, size[:SECOND] > max(LEAST * size[0], 1e-12)]
    beside = (bent.T @ (root * kept)) / size[: kept.shape[1]]
    return bent @ (mass[:, None] * beside), beside


#: Newton's method ends where no logarithm moves by more.
TOLERANCE, MOST_STEPS = 1e-10, 60
#: Step of derivatives in the complex plane: they carry no difference of nearly equal numbers.
TINY = 1e-30


@dataclass(frozen=True)
class Components:
    """Components of rows that features hold with a variance: x, or those of degree 2."""

    phi: float  #: Their number over n.
    slope: np.ndarray  #: (A, K), coefficients of the features in he_0, ....
    own: np.ndarray  #: (A,), factor of the square of slope.
    he: np.ndarray  #: (U, K), he_0, ... or other functions of u.
    mass: np.ndarray
    weights: np.ndarray

    def gamma(self, r: np.ndarray) -> np.ndarray:
        """Gamma = E_u[r he he^T]/phi."""
        return (self.he.T * (r * self.mass)) @ self.he / self.phi

    def coefficients(self, p: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Of functions p (U, c) of u in he: what is left is orthogonal to he in E[r . .]."""
        weighted = self.he.T * (r * self.mass)
        return np.linalg.solve(weighted @ self.he, weighted @ p)

    def held(self, g: np.ndarray) -> np.ndarray:
        """C = E_a[g own slope slope^T]."""
        return (self.slope.T * (g * self.weights * self.own)) @ self.slope

    def shares(self, r: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """he^T Psi C he of rows and phi own slope^T Gamma Psi slope of neurons."""
        C, gamma = self.held(g), self.gamma(r)
        inner = np.linalg.inv(np.eye(C.shape[-1]) + C @ gamma)
        of_rows = ((self.he @ (inner @ C)) * self.he).sum(-1)
        return of_rows, self.phi * self.own * ((self.slope @ (gamma @ inner)) * self.slope).sum(-1)

    def slopes(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Slopes of the shares in log r and log g, (U + A, U + A), a row a share.

        With P = Psi C and Q = Gamma Psi, dP = Psi dC Psi^T - P dGamma P and the same of Q.
        """
        C, gamma = self.held(g), self.gamma(r)
        inner = np.linalg.inv(np.eye(len(C)) + C @ gamma)
        crossed = (self.he @ inner @ self.slope.T) ** 2
        rows = (self.he @ (inner @ C) @ self.he.T) ** 2 / -self.phi
        neurons = (self.slope @ (gamma @ inner) @ self.slope.T) ** 2 * -self.phi
        found = np.block(
            [[rows, crossed], [self.own[:, None] * crossed.T, self.own[:, None] * neurons]]
        )
        return found * np.concatenate([r * self.mass, g * self.weights * self.own])


@dataclass(frozen=True)
class HeadSizes:
    """d/n, n/N and n of the head's rows."""

    phi: float
    ratio: float
    n: float

    def blocks(self, grid: StepGrid) -> tuple[Components, Components]:
        """What features have of degree 1 and 2 beside u."""
        d = self.phi * self.n
        shared = grid.mass, grid.weights
        return (
            Components(self.phi, grid.slope, grid.own, grid.he, *shared),
            Components(
                self.phi * (d + 2) / 2, grid.bent, np.ones(len(grid.a)), grid.beside, *shared
            ),
        )  # fmt: skip


@dataclass(frozen=True)
class StepResolvent:
    """The solution and how it moves with z."""

    grid: StepGrid
    sizes: HeadSizes
    z: float
    logs: np.ndarray  #: (U + A,), log r and log g on the nodes.

    @property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """r and g: r is the diagonal of K^{-1} at rows with that u."""
        return _parted(self.grid, self.logs)

    def moved(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r and g at z + i TINY change(u): imaginary parts are derivatives times TINY."""
        x = self.logs.astype(complex)
        wrong = _mismatch(self.grid, self.sizes, self.z + 1j * TINY * change, x)
        return _parted(self.grid, x - 1j * np.linalg.solve(self.jacobian, np.imag(wrong)))

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Slopes of the mismatch at the solution."""
        return _jacobian(self.grid, self.sizes, self.z, self.logs)


def solve(
    grid: StepGrid,
    sizes: HeadSizes,
    z: float,
    start: tuple[float, float],
    near: StepResolvent | None = None,
) -> StepResolvent:
    """Solve for r and g from a constant start, or from a solution nearby.

    `sizes`: of the head's rows; `z`: the shift (psi/phi) lambda; `start`: r and g to start from:
    m_1 and g without a step; `near`: what a like step has, which saves steps.
    Raises ArithmeticError where Newton's method does not settle.
    """
    x = np.log(np.repeat(start, (len(grid.u), len(grid.a))))
    if near is not None and len(near.logs) == len(x):
        x = near.logs
    for _ in range(MOST_STEPS):
        with np.errstate(all="ignore"):
            step = np.linalg.solve(_jacobian(grid, sizes, z, x), _mismatch(grid, sizes, z, x))
        size = float(np.abs(step).max())
        if not size < np.inf:
            break
        x = x - step / max(1.0, size)
        if size < TOLERANCE:
            return StepResolvent(grid, sizes, z, x)
    raise ArithmeticError(
        f"The equations of a step's resolvent do not settle at z = {z:.3g}: give a larger"
        " penalty, or a smaller step."
    )


def _mismatch(grid: StepGrid, sizes: HeadSizes, z: np.ndarray | float, x: np.ndarray) -> np.ndarray:
    """log of left side over right side of both equations."""
    return x + np.log(_right_side(grid, sizes, z, *_parted(grid, x)))


def _right_side(
    grid: StepGrid, sizes: HeadSizes, z: np.ndarray | float, r: np.ndarray, g: np.ndarray
) -> np.ndarray:
    rows, neurons = (g * grid.weights) @ grid.rest, (r * grid.mass) @ grid.rest.T
    for block in sizes.blocks(grid):
        of_rows, of_neurons = block.shares(r, g)
        rows, neurons = rows + of_rows, neurons + of_neurons
    return np.concatenate([np.broadcast_to(z, len(grid.u)) + rows, 1 + sizes.ratio * neurons])


def _parted(grid: StepGrid, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r and g from their logarithms, one after the other."""
    return np.exp(x[: len(grid.u)]), np.exp(x[len(grid.u) :])


def _jacobian(grid: StepGrid, sizes: HeadSizes, z: float, x: np.ndarray) -> np.ndarray:
    r, g = _parted(grid, x)
    linear, second = sizes.blocks(grid)
    slopes = linear.slopes(r, g) + second.slopes(r, g)
    slopes[: len(r), len(r) :] += grid.rest.T * (g * grid.weights)
    slopes[len(r) :, : len(r)] += grid.rest * (r * grid.mass)
    slopes[len(r) :] *= sizes.ratio
    return np.eye(len(x)) + slopes / _right_side(grid, sizes, z, r, g)[:, None]
