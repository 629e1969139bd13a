"""Training and test error after a gradient step of any size, to leading order in n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.multi_hermite import MultiHermite
from ..maths.step_names import Residual, RowLaw, lengths_vary
from .gradient_direction import MOST_REST, GradientDirection, gradient_direction, rest_share
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .ridge_errors import MOST_CUBIC, RidgeErrors, cubic_share, feature_limit, moments, plain_errors
from .step_resolvent import K_MAX, TINY, HeadSizes, StepGrid, StepResolvent, solve, step_grid
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
    whose share of the bulk depends on u and a; n small beside the d^3/6 functions of degree 3, as
    the bulk holds those of degree 1 and 2 (`feature_resolvent`). Simulated errors at d of 30 to 100
    are 1 to 8 % below. The gradient's part beyond a beta^T is counted by its size and by what it
    has of w_j. It matters from about alpha = 0.3 on where activation and target both have a degree
    2: its signal lowers the errors, its noise raises them, and simulations show about neither. At
    eta = sqrt(N), n_0 = d/2 it raises test errors by 2 to 4 %.
    Returns nan where features of degree 3 are learned (`cubic_share` above a tenth), and where the
    rest's mean square is above .35 of the first weights' (`rest_share`): it is then
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
    [3.02, 2.84, 2.37]
    """
    of_gradient = phi if gradient_phi is None else gradient_phi
    arrays = np.broadcast_arrays(phi, psi, penalty, eta, n, teacher.noise, of_gradient)
    if residual != "y":
        head.centred("f_0 in the residual")
    flat = [np.asarray(a, dtype=np.float64).ravel() for a in arrays]
    step = _Step(activation, residual, rows, intercept, head)
    traces = feature_limit(phi, psi, activation, rows, n).traces(penalty)
    plain = plain_errors(phi, penalty, activation, teacher, traces, intercept)
    known = traces.m1, traces.g, plain.training_loss, plain.training_error, plain.test_error
    starts = [np.broadcast_to(part, arrays[0].shape).ravel() for part in known]
    centred, found, solved = moments(activation)[0] == 0, [], None
    for p, q, lam, size, of, noise, p0, m1, g, *errors in zip(*flat, *starts, strict=True):
        _check(size, of)
        if size > 0 or not centred:
            own = Teacher(teacher.target, noise)
            errors, solved = step.errors(_Cell(p, q, lam, size, of, own, p0, (m1, g)), solved)
        found.append(errors)
    return RidgeErrors(*np.reshape(found, (-1, 3)).T.reshape(3, *arrays[0].shape))


def finite_step_share(
    phi: float,
    psi: float,
    penalty: float,
    activation: Activation,
    teacher: Teacher,
    *,
    part: MultiHermite,
    eta: ArrayLike,
    n: float,
) -> np.ndarray:
    """E[f p]/E p^2, the share that the network f after a step has of a part p of its target.

    A row's part in K^{-1} y is r(u) times what f, fitted without this row, misses of its y. So
    E[f p] = E[y p] - E[(p/r) K^{-1} y], in the columns of the errors. At l = 2 the share of
    He_2(chat.x) tends to 2 cos^4/(2 + (1 + kappa)^2), for a centred activation and target.

    `part`: a function of the target's directions, not 0; the residual is y, the head Gaussian.
    Regime: that of `finite_step_errors`: nan beyond. A part beside chat of degree 3 or more has the
    share 0.
    Raises ValueError when a number is out of its range, or the part is 0 or of other directions.
    Source: derived here, by leaving one row out.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> square = MultiHermite(((2, 0),), (0.5,))  # of x1 + He2(x1)/2 + He2(x2)/2
    >>> teacher = Teacher(MultiHermite(((1, 0), (2, 0), (0, 2)), (1.0, 0.5, 0.5)))
    >>> setting = (0.5, 2 / 3, 0.01, CentredReLU(), teacher)
    >>> finite_step_share(*setting, part=square, eta=[2.0, 1000**0.3], n=1000).round(3).tolist()
    [0.008, 0.1]
    """
    if part.r != teacher.target.r or not part.norm_squared() > 0:
        raise ValueError(
            f"The part was {part}: give a function of the target's {teacher.target.r} directions"
            " that is not 0."
        )
    traces = feature_limit(phi, psi, activation, n=n).traces(penalty)
    step = _Step(activation, "y", "sphere", False, GAUSSIAN_HEAD)
    start, near, found = (float(traces.m1), float(traces.g)), None, []
    for size in np.ravel(eta):
        _check(size, n)
        fit = step.fitted(_Cell(phi, psi, penalty, size, n, teacher, phi, start), near)
        if fit is None:
            found.append(np.nan)
            continue
        form, near = fit
        found.append(form.held(part, *near.values) / part.norm_squared())
    return np.reshape(found, np.shape(eta))


@dataclass(frozen=True)
class _Cell:
    """One setting of a call; `start`: r and g to begin from."""

    phi: float
    psi: float
    penalty: float
    eta: float
    n: float
    teacher: Teacher
    gradient_phi: float
    start: tuple[float, float]


@dataclass(frozen=True)
class _Step:
    """What all cells of a call share."""

    activation: Activation
    residual: Residual
    rows: RowLaw
    intercept: bool
    head: HeadLaw

    def errors(
        self, cell: _Cell, near: StepResolvent | None
    ) -> tuple[tuple[float, float, float], StepResolvent | None]:
        """Training loss, training error and test error; and what a like step may start from."""
        found = self.fitted(cell, near)
        if found is None:
            return (np.nan, np.nan, np.nan), near
        form, solved = found
        r, g = solved.values
        loss = float(np.real(form.value(r, g)))
        even, left_out = (
            float(np.imag(form.value(*solved.moved(change)))) / TINY
            for change in (np.ones_like(r), 1 / r**2)
        )
        ratio, penalty = solved.sizes.ratio, cell.penalty
        return (penalty * loss, -(penalty**2) * ratio * even, -left_out / ratio), solved

    def fitted(self, cell: _Cell, near: StepResolvent | None) -> tuple[_Form, StepResolvent] | None:
        """The form of the fit and its resolvent; None where the gradient's rest is too large."""
        phi, psi, teacher, own = cell.phi, cell.psi, cell.teacher, cell.gradient_phi
        width = cell.n * phi / psi
        direction = gradient_direction(own, self.activation, teacher, self.residual, width)
        share = cubic_share(phi, cell.n * phi, cell.start[0] * cell.start[1], self.activation)
        if share > MOST_CUBIC:
            return None
        if rest_share(cell.eta, width, own, direction, self.activation) > MOST_REST:
            return None
        step = {"eta": cell.eta, "phi": own, "width": width}
        grid = step_grid(self.activation, direction, **step, head=self.head)
        sizes = HeadSizes(phi, psi / phi, cell.n)
        form = _Form.of(grid, teacher, direction, sizes, self.rows, self.intercept)
        return form, solve(grid, sizes, cell.penalty * sizes.ratio, cell.start, near)


@dataclass(frozen=True)
class _Form:
    """p^T K^{-1} y/n as a function of r and g, p another function of a row, or y.

    Columns P: he_k(u) and zeta he_k(u), zeta = the part of chat.x beside u. With V the neurons'
    weights on them, K has P M P^T/N on top of the bulk, M = N E_a[g V V^T]. The target's other
    directions v, orthogonal to beta, have the columns v he_k(u), each direction for itself, and so
    have products of two directions, zeta among them, beside their traces.
    """

    grid: StepGrid
    sizes: HeadSizes
    teacher: Teacher
    rho: float  #: cos(beta, chat).
    #: (U, 2 + r + r^2 + 1), given u: the target's mean, its slopes along zeta and each v, its
    #: second derivatives beside u over sqrt(2), and the part along |x|^2: their trace/sqrt(2 d).
    y: np.ndarray
    power: np.ndarray  #: (U,), E[y^2|u].
    outer: np.ndarray  #: (A, 2 K, 2 K), N E[V V^T | a].
    intercept: bool

    @staticmethod
    def of(
        grid: StepGrid,
        teacher: Teacher,
        direction: GradientDirection,
        sizes: HeadSizes,
        rows: RowLaw,
        intercept: bool,
    ) -> _Form:
        length = float(np.sqrt(direction.norm_squared))
        rho = teacher.linear / length if length > 0 else 0.0
        width, d = sizes.n / sizes.ratio, sizes.n * sizes.phi
        y, power = _given(grid, teacher, rho, teacher.target, d)
        lengths = 2 / d * lengths_vary(rows)
        initial = float(direction.initial) / max(length, 1e-300)
        outer = _outer(grid, rho, initial, width, d, lengths)
        power = power + np.square(teacher.noise)
        return _Form(grid, sizes, teacher, rho, y, power, outer, intercept)

    def value(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """(psi/phi) y^T K^{-1} y/n, complex where r and g are."""
        return self.sizes.ratio * self._between(self.y, self.power, r, g)

    def held(self, part: MultiHermite, r: np.ndarray, g: np.ndarray) -> float:
        """E[f p] of the fit f: [K^{-1} y]_i = r(u_i) (y_i - f(x_i)) with row i left out of f."""
        p, product = _given(self.grid, self.teacher, self.rho, part, self.sizes.n * self.sizes.phi)
        return float(self.grid.mass @ product - self._between(p / r[:, None], product / r, r, g))

    def _between(
        self, p: np.ndarray, product: np.ndarray, r: np.ndarray, g: np.ndarray
    ) -> np.ndarray:
        """p^T K^{-1} y/n from what p is given u, and E[p y|u]."""
        grid, last, d = self.grid, 2 + self.teacher.target.r, self.sizes.n * self.sizes.phi
        linear, second = self.sizes.blocks(grid)
        of_p, of_y = (linear.coefficients(one[:, :last], r) for one in (p, self.y))
        two_p, two_y = (second.coefficients(one[:, last:], r) for one in (p, self.y))
        held = (linear.he @ of_p) * (linear.he @ of_y)
        twice = (second.he @ two_p[:, :-1]) * (second.he @ two_y[:, :-1])
        beyond = product - held.sum(1) - twice.sum(1)  # what no column has
        M = np.einsum("a,ajk->jk", g * grid.weights, self.outer)
        inner = linear.phi * linear.gamma(r)
        left = _held(np.kron(np.eye(2), inner), self.sizes.ratio * M)  # P^T K^{-1} P
        b, c = (left @ one[:, :2].T.ravel() for one in (of_p, of_y))
        q = (beyond * r) @ grid.mass + of_p[:, :2].T.ravel() @ c
        q = q - (b[0] * c[0] / left[0, 0] if self.intercept else 0.0)
        if of_p[:, 2:].any() and of_y[:, 2:].any():
            crossed = grid.curve[0]
            turned = (crossed.T * (g * grid.weights)) @ crossed * 2 / (d + 2)
            beside = _held(inner, (linear.held(g) + turned) / linear.phi)
            q = q + np.einsum("ji,jk,ki->", of_p[:, 2:], beside, of_y[:, 2:])
        bulk, inner = second.held(g), second.phi * second.gamma(r)
        products = _held(inner, bulk / second.phi)
        lengths = _held(inner, bulk / linear.phi) - products
        q = q + np.einsum("ji,jk,ki->", two_p[:, :-1], products, two_y[:, :-1])
        return q + two_p[:, -1] @ lengths @ two_y[:, -1]


def _held(inner: np.ndarray, M: np.ndarray) -> np.ndarray:
    """(D^{-1} + M)^{-1} of the columns' D = `inner`."""
    return np.linalg.solve(np.eye(len(M)) + inner @ M, inner)


def _given(
    grid: StepGrid, teacher: Teacher, rho: float, part: MultiHermite, d: float
) -> tuple[np.ndarray, np.ndarray]:
    """What `_Form.y` has of f*, of p, and E[p f*|u]."""
    means, slopes, bent, products = teacher.given(grid.u, rho, part)
    along = slopes @ teacher.along
    beside = np.sqrt(max(1 - rho**2, 0.0)) * along
    other = slopes - np.outer(along, teacher.along)
    turn = np.eye(teacher.target.r)  # the target's directions less what they have of u
    turn = turn + (np.sqrt(max(1 - rho**2, 0.0)) - 1) * np.outer(teacher.along, teacher.along)
    trace = np.trace(bent, axis1=1, axis2=2) / np.sqrt(2 * d)
    bent = (turn @ bent @ turn / np.sqrt(2)).reshape(len(means), -1)
    return np.column_stack([means, beside, other, bent, trace]), products


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
    crossed, squared = grid.curve[..., None] * grid.curve[:, :, None]
    drawn[:, :K, :K] += squared / (d * (d + 2))  # of (w_j.beta)^2, whose variance is twice that
    drawn[:, K:, K:] += 2 * crossed / (d * (d + 2))
    return width * (squares[0] + drawn)


def _check(eta: float, n: float) -> None:
    if not (np.isfinite(eta) and eta >= 0):
        raise ValueError(f"The step size is {eta}: give a finite number of 0 or more.")
    if not (np.isfinite(n) and n > 0):
        raise ValueError(f"n is {n}: give a finite number of rows above 0.")
