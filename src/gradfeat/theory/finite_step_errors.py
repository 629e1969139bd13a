"""Training and test error after a gradient step of any size, to leading order in n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.hermite import root_factorials
from ..maths.step_names import Residual, RowLaw
from .gradient_direction import gradient_direction
from .ridge_errors import RidgeErrors, feature_limit, moments, random_feature_errors
from .step_resolvent import K_MAX, TINY, StepGrid, gamma, solve, step_grid
from .teacher import Teacher


def finite_step_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    eta: ArrayLike,
    n: ArrayLike,
    residual: Residual = "y",
    rows: RowLaw = "sphere",
    intercept: bool = False,
) -> RidgeErrors:
    """Errors of ridge on F = sigma(X~ (W0 + eta G)^T), a fresh sample, n rows and any step size.

    `eta`: step size, 0 or more: n^alpha in the talk; `n`: rows of each of the two samples; `rows`:
    of W0, on the unit sphere or N(0, I/d); `intercept`: whether the head has one.
    Regime: leading order in n at fixed eta/sqrt(N): spikes of finite size, and rows and neurons
    whose share of the bulk depends on u and a. The gradient's part beyond a beta^T is counted by
    its size alone. It matters from about alpha = 0.3 on where activation and target both have a
    degree 2: its signal lowers the errors, its noise raises them, and simulations show about
    neither.
    Raises ValueError when a number is out of its range, or f_0 has a random mean.
    Source: Moniri24, Sections 3 and 4; finite steps by the deterministic equivalent of
    `step_resolvent`.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher((0.0, 1.0, 0.5**0.5))
    >>> found = finite_step_errors(
    ...     0.5, 2 / 3, 0.01, CentredReLU(), talk, eta=[0.0, 2.0, 20.0], n=2400
    ... )
    >>> found.test_error.round(2).tolist()
    [3.02, 2.84, 2.38]
    """
    arrays = np.broadcast_arrays(phi, psi, penalty, eta, n, teacher.noise)
    cells = zip(*(np.asarray(a, dtype=np.float64).ravel() for a in arrays), strict=True)
    found = [
        _errors(
            p,
            q,
            lam,
            step,
            size,
            activation,
            Teacher(teacher.coefficients, noise),
            residual,
            rows,
            intercept,
        )
        for p, q, lam, step, size, noise in cells
    ]
    shape = arrays[0].shape
    return RidgeErrors(*np.reshape(found, (-1, 3)).T.reshape(3, *shape))


def _errors(
    phi: float,
    psi: float,
    penalty: float,
    eta: float,
    n: float,
    activation: Activation,
    teacher: Teacher,
    residual: Residual,
    rows: RowLaw,
    intercept: bool,
) -> tuple[float, float, float]:
    """Training loss, training error and test error of one setting."""
    _check(eta, n)
    if eta == 0 and moments(activation)[0] == 0:
        known = random_feature_errors(
            phi, psi, penalty, activation, teacher, rows=rows, intercept=intercept
        )
        return float(known.training_loss), float(known.training_error), float(known.test_error)
    plain = feature_limit(phi, psi, activation).traces(penalty)
    width, ratio = n * phi / psi, psi / phi
    direction = gradient_direction(phi, activation, teacher, residual, width)
    grid = step_grid(activation, direction, eta=eta, phi=phi, width=width)
    length = float(np.sqrt(direction.norm_squared))
    rho = teacher.linear / length if length > 0 else 0.0
    initial = float(direction.initial) / max(length, 1e-300)
    form = _Form.of(grid, teacher, rho, initial, phi, psi, n, rows, intercept)
    solved = solve(grid, phi, ratio, penalty * ratio, (float(plain.m1), float(plain.g)))
    r, g = solved.values
    loss = float(np.real(form.value(r, g)))
    even, left_out = (
        float(np.imag(form.value(*solved.moved(change)))) / TINY
        for change in (np.ones_like(r), 1 / r**2)
    )
    return penalty * loss, -(penalty**2) * ratio * even, -left_out / ratio


@dataclass(frozen=True)
class _Form:
    """q = (psi/phi) y^T K^{-1} y/n as a function of r and g.

    Columns P: he_k(u) and zeta he_k(u), zeta = the part of b.x beside u. With V the neurons'
    weights on them, K has P M P^T/N on top of the bulk, M = N E_a[g V V^T].
    """

    grid: StepGrid
    phi: float
    ratio: float
    y: np.ndarray  #: (2 K,), the target in the columns P.
    noise: np.ndarray  #: (U,), what is left of E y^2 given u.
    outer: np.ndarray  #: (A, 2 K, 2 K), N E[V V^T | a].
    intercept: bool

    @staticmethod
    def of(
        grid: StepGrid,
        teacher: Teacher,
        rho: float,
        initial: float,
        phi: float,
        psi: float,
        n: float,
        rows: RowLaw,
        intercept: bool,
    ) -> _Form:
        y, across, noise = _target(grid, teacher, rho)
        width, d = n * phi / psi, n * phi
        lengths = 2 / d if rows == "gaussian" else 0.0
        outer = _outer(grid, rho, initial, width, d, lengths)
        return _Form(grid, phi, psi / phi, np.r_[y, across], noise, outer, intercept)

    def value(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """q, complex where r and g are."""
        grid = self.grid
        M = np.einsum("a,ajk->jk", g * grid.weights, self.outer)
        inner = self.phi * gamma(grid, self.phi, r)
        D = np.kron(np.eye(2), inner)
        left = np.linalg.solve(np.eye(len(D)) + self.ratio * D @ M, D)  # P^T K^{-1} P
        b = left @ self.y
        constant = b[0] ** 2 / left[0, 0] if self.intercept else 0.0
        return self.ratio * ((self.noise * r) @ grid.mass + self.y @ b - constant)


def _target(
    grid: StepGrid, teacher: Teacher, rho: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f* in he_k(u), in zeta he_k(u), and the variance of y given u that is left.

    E[f* he_m(zeta)|u] is (1 - rho^2)^{m/2} times the sum over k of
    k!/((k - m)! sqrt(m!)) c_{*k} rho^{k-m} He_{k-m}(u).
    """
    c = np.asarray(teacher.coefficients)
    across, noise = (np.sqrt(max(1 - rho**2, 0.0)), np.full(len(grid.u), np.square(teacher.noise)))
    projections = []
    for m in range(len(c)):
        k = np.arange(m, len(c))
        falling = np.array([np.prod(np.arange(j - m + 1, j + 1, dtype=float)) for j in k])
        series = across**m / root_factorials(m)[m] * falling * c[m:] * rho ** (k - m)
        values = hermite_e.hermeval(grid.u, series)
        if m > 1:
            noise = noise + values**2
            continue
        kept = (grid.mass * values) @ grid.he
        noise = noise + (values - grid.he @ kept) ** 2
        projections.append(kept)
    projections += [np.zeros(K_MAX + 1)] * (2 - len(projections))
    return projections[0], projections[1], noise


def _outer(
    grid: StepGrid, rho: float, initial: float, width: float, d: float, lengths: float
) -> np.ndarray:
    """N V V^T at each node of a, averaged over the neurons' components along beta and zeta.

    `lengths`: the variance of |w_j|^2.
    """
    K, across = K_MAX + 1, np.sqrt(max(1 - rho**2, 0.0))
    fixed, along, beside, bent = np.zeros((4, len(grid.a), 2 * K))
    bent[:, :K] = grid.bend
    against = initial * (grid.a * grid.stretched)[:, None]  # of w_j' along -beta
    fixed[:, :K] = grid.m - against * grid.turned
    if across > 0:  # w_j has no component of its own along b
        fixed[:, K:] = against * rho / across * grid.slope
    along[:, :K], beside[:, K:] = grid.turned, grid.slope
    squares = [v[:, :, None] * v[:, None, :] for v in (fixed, along, beside, bent)]
    drawn = grid.own[:, None, None] / d * (squares[1] + squares[2]) + lengths * squares[3]
    return width * (squares[0] + drawn)


def _check(eta: float, n: float) -> None:
    if not (np.isfinite(eta) and eta >= 0):
        raise ValueError(f"The step size is {eta}: give a finite number of 0 or more.")
    if not (np.isfinite(n) and n > 0):
        raise ValueError(f"n is {n}: give a finite number of rows above 0.")
