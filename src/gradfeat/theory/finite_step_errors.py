"""Training and test error after a gradient step of any size, to leading order in n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.step_names import Residual, RowLaw, lengths_vary
from .gradient_direction import MOST_REST, GradientDirection, gradient_direction, rest_share
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .ridge_errors import RidgeErrors, feature_limit, moments, random_feature_errors
from .step_resolvent import K_MAX, TINY, StepGrid, StepResolvent, gamma, solve, step_grid
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
    head: HeadLaw = GAUSSIAN_HEAD,
    gradient_phi: ArrayLike | None = None,
) -> RidgeErrors:
    """Errors of ridge on F = sigma(X~ (W0 + eta G)^T), a fresh sample, n rows and any step size.

    `eta`: step size, 0 or more: n^alpha in the talk, of order sqrt(N) in Cui et al. 2024; `n`: rows
    of the head's sample; `rows`: of W0, on the unit sphere or N(0, I/d); `intercept`: whether the
    fitted head has one; `head`: the law of the entries of a; `gradient_phi`: d/n_0 of the
    gradient's n_0 rows, left out: phi.
    Regime: leading order in n at fixed eta/sqrt(N): spikes of finite size, and rows and neurons
    whose share of the bulk depends on u and a. The gradient's part beyond a beta^T is counted by
    its size and by what it has of w_j. It matters from about alpha = 0.3 on where activation and
    target both have a degree 2: its signal lowers the errors, its noise raises them, and
    simulations show about neither. At eta = sqrt(N), n_0 = d/2 it raises test errors by 2 to 4 %.
    Returns nan where its mean square is above .35 of the first weights' (`rest_share`): it is then
    not alike in all directions, and simulated errors are more than 3 % above.
    Raises ValueError when a number is out of its range, f_0 has a random mean, or f_0 is in the
    residual and the head's law has one.
    Source: Moniri24, Sections 3 and 4; Cui et al. 2024, Result 3.3, for eta ~ sqrt(N); finite steps
    by the deterministic equivalent of `step_resolvent`.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> found = finite_step_errors(
    ...     0.5, 2 / 3, 0.01, CentredReLU(), talk, eta=[0.0, 2.0, 20.0], n=2400
    ... )
    >>> found.test_error.round(2).tolist()
    [3.02, 2.84, 2.38]
    """
    of_gradient = phi if gradient_phi is None else gradient_phi
    arrays = np.broadcast_arrays(phi, psi, penalty, eta, n, teacher.noise, of_gradient)
    if residual != "y":
        head.centred("f_0 in the residual")
    flat = [np.asarray(a, dtype=np.float64).ravel() for a in arrays]
    step = _Step(activation, residual, rows, intercept, head)
    traces = feature_limit(phi, psi, activation).traces(penalty)
    starts = [np.broadcast_to(part, arrays[0].shape).ravel() for part in (traces.m1, traces.g)]
    found, solved = [], None
    for p, q, lam, size, of, noise, p0, m1, g in zip(*flat, *starts, strict=True):
        own = Teacher(teacher.target, noise)
        errors, solved = step.errors(p, q, lam, size, of, own, p0, (m1, g), solved)
        found.append(errors)
    return RidgeErrors(*np.reshape(found, (-1, 3)).T.reshape(3, *arrays[0].shape))


@dataclass(frozen=True)
class _Step:
    """What all cells of a call share."""

    activation: Activation
    residual: Residual
    rows: RowLaw
    intercept: bool
    head: HeadLaw

    def errors(
        self,
        phi: float,
        psi: float,
        penalty: float,
        eta: float,
        n: float,
        teacher: Teacher,
        gradient_phi: float,
        start: tuple[float, float],
        near: StepResolvent | None,
    ) -> tuple[tuple[float, float, float], StepResolvent | None]:
        """Training loss, training error and test error; and what a like step may start from."""
        _check(eta, n)
        if eta == 0 and moments(self.activation)[0] == 0:
            setting = (phi, psi, penalty, self.activation, teacher)
            known = random_feature_errors(*setting, rows=self.rows, intercept=self.intercept)
            parts = known.training_loss, known.training_error, known.test_error
            return (float(parts[0]), float(parts[1]), float(parts[2])), near
        width, ratio = n * phi / psi, psi / phi
        setting = (self.activation, teacher, self.residual, width)
        direction = gradient_direction(gradient_phi, *setting)
        if rest_share(eta, width, gradient_phi, direction, self.activation) > MOST_REST:
            return (np.nan, np.nan, np.nan), near
        sizes = {"eta": eta, "phi": gradient_phi, "width": width}
        grid = step_grid(self.activation, direction, **sizes, head=self.head)
        form = _Form.of(grid, teacher, direction, phi, psi, n, self.rows, self.intercept)
        solved = solve(grid, phi, ratio, penalty * ratio, start, near)
        r, g = solved.values
        loss = float(np.real(form.value(r, g)))
        even, left_out = (
            float(np.imag(form.value(*solved.moved(change)))) / TINY
            for change in (np.ones_like(r), 1 / r**2)
        )
        return (penalty * loss, -(penalty**2) * ratio * even, -left_out / ratio), solved


@dataclass(frozen=True)
class _Form:
    """q = (psi/phi) y^T K^{-1} y/n as a function of r and g.

    Columns P: he_k(u) and zeta he_k(u), zeta = the part of chat.x beside u. With V the neurons'
    weights on them, K has P M P^T/N on top of the bulk, M = N E_a[g V V^T]. The target's other
    directions v, orthogonal to beta, have the columns v he_k(u), each direction for itself.
    """

    grid: StepGrid
    phi: float
    ratio: float
    y: np.ndarray  #: (2 K,), the target in the columns P.
    other: np.ndarray  #: (K, r), the target in v he_k(u): the rows of E[grad f*|u] beside chat.
    noise: np.ndarray  #: (U,), what is left of E y^2 given u.
    outer: np.ndarray  #: (A, 2 K, 2 K), N E[V V^T | a].
    intercept: bool

    @staticmethod
    def of(
        grid: StepGrid,
        teacher: Teacher,
        direction: GradientDirection,
        phi: float,
        psi: float,
        n: float,
        rows: RowLaw,
        intercept: bool,
    ) -> _Form:
        length = float(np.sqrt(direction.norm_squared))
        rho = teacher.linear / length if length > 0 else 0.0
        y, other, noise = _target(grid, teacher, rho)
        width, d = n * phi / psi, n * phi
        lengths = 2 / d * lengths_vary(rows)
        initial = float(direction.initial) / max(length, 1e-300)
        outer = _outer(grid, rho, initial, width, d, lengths)
        return _Form(grid, phi, psi / phi, y, other, noise, outer, intercept)

    def value(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """q, complex where r and g are."""
        grid = self.grid
        M = np.einsum("a,ajk->jk", g * grid.weights, self.outer)
        inner = self.phi * gamma(grid, self.phi, r)
        left = self._held(np.kron(np.eye(2), inner), M)  # P^T K^{-1} P
        b = left @ self.y
        constant = b[0] ** 2 / left[0, 0] if self.intercept else 0.0
        q = (self.noise * r) @ grid.mass + self.y @ b - constant
        if self.other.any():
            slopes = (grid.slope.T * (g * grid.weights * grid.own)) @ grid.slope / self.phi
            beside = self._held(inner, slopes / self.ratio)
            q = q + np.einsum("ji,jk,ki->", self.other, beside, self.other)
        return self.ratio * q

    def _held(self, inner: np.ndarray, M: np.ndarray) -> np.ndarray:
        """(D^{-1} + (psi/phi) M)^{-1} of the columns' D = `inner`."""
        return np.linalg.solve(np.eye(len(M)) + self.ratio * inner @ M, inner)


def _target(
    grid: StepGrid, teacher: Teacher, rho: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f* in he_k(u) and zeta he_k(u), in v he_k(u), and the variance of y given u that is left."""
    means, slopes, squares = teacher.given(grid.u, rho)
    along = slopes @ teacher.along
    other = slopes - np.outer(along, teacher.along)
    values = np.column_stack([means, np.sqrt(max(1 - rho**2, 0.0)) * along, other])
    kept = grid.he.T @ (grid.mass[:, None] * values)
    held = np.square(values).sum(1) - np.square(values - grid.he @ kept).sum(1)
    return kept[:, :2].T.ravel(), kept[:, 2:], squares + np.square(teacher.noise) - held


def _outer(
    grid: StepGrid, rho: float, initial: float, width: float, d: float, lengths: float
) -> np.ndarray:
    """N V V^T at each node of a, averaged over the neurons' components along beta and zeta.

    `lengths`: the variance of |w_j|^2.
    """
    K, across = K_MAX + 1, np.sqrt(max(1 - rho**2, 0.0))
    fixed, along, moved, beside, bent = np.zeros((5, len(grid.a), 2 * K))
    a, stretched, own = (part[:, None] for part in (grid.a, grid.stretched, grid.own))
    along[:, :K], beside[:, K:], bent[:, :K] = grid.turned, grid.slope, stretched**2 * grid.bend
    moved[:, :K] = stretched * grid.turned + grid.lengthened[:, None] * grid.bend  # by w_j.beta
    fixed[:, :K] = grid.m - initial * a * moved[:, :K]
    if across > 0:  # w_j has no component of its own along b
        fixed[:, K:] = initial * a * stretched * rho / across * grid.slope
    squares = [v[:, :, None] * v[:, None, :] for v in (fixed, moved, along, beside, bent)]
    new, whole = (own - stretched**2)[..., None], own[..., None]
    drawn = (squares[1] + new * squares[2] + whole * squares[3]) / d + lengths * squares[4]
    return width * (squares[0] + drawn)


def _check(eta: float, n: float) -> None:
    if not (np.isfinite(eta) and eta >= 0):
        raise ValueError(f"The step size is {eta}: give a finite number of 0 or more.")
    if not (np.isfinite(n) and n > 0):
        raise ValueError(f"n is {n}: give a finite number of rows above 0.")
