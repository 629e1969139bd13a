"""Errors after one step of any size when the head is fitted on the rows of the gradient again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.ranges import not_negative, positive
from ..maths.step_names import Residual, RowLaw
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .reused_features import MOST_QUADRATIC, ReusedFeatures, is_settled
from .reused_rows import Bulk, ReusedRows
from .ridge_errors import MOST_CUBIC, RidgeErrors, cubic_share, feature_limit, moments
from .teacher import Teacher

#: Step of derivatives in the complex plane.
TINY = 1e-30


def reused_sample_errors(
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
) -> RidgeErrors:
    """Errors of ridge on F = sigma(X (W0 + eta G)^T) on the n rows X that G was made of.

    Each row meets its own label: the column at entry a of the head is the mean of
    sigma(sqrt(own) z + eta a (c_1 |beta| u_i + phi r_i sigma'(z))) over z, and that without r_i
    on new rows (`ReusedFeatures`). With c the columns' coefficients, y' = y - columns c and
    K = F_0 F_0^T/N + lambda psi/phi, a new row that is like row i has the error

        [K^{-1} y']_i/m_1 - kappa E[d(columns c)/du] r_i + what c has on row i and not on new ones,

    kappa = (1 - A m_1)/|beta| being what a row does to the others (`ReusedRows`).

    `eta`: step size, 0 or more: n^alpha in the talk; `n`: rows; `rows`: of W0, on the unit sphere
    or N(0, I/d); `intercept`: whether the fitted head has one; `head`: the law of the entries of a.
    Regime: n, d, N to infinity in proportion, alpha < 1/2. All powers of the step are kept in the
    columns; the bulk is that of random features, to which a step adds parts of size eta^2/N = n^{2
    alpha - 1} psi/phi. They matter most on rows with large labels: as simulated, errors are within
    5 % of the prediction up to a `label_share` of .25 and 15 % up to .64, from 400 rows on; at 160
    rows those of a `turn` of .25 are 12 % above it.
    Returns nan where eta is sqrt(n) or more, where `label_share` is above 1.2, `label_spread`
    above 1 or `turn` above .5 (simulated losses are up to 52 % above there), where 4 c_2^2 is above
    half of E sigma'^2 (`bend_share`), and where features of degree 2 or 3 hold more than a tenth of
    a function (few inputs beside rows: simulated errors are 12 % below there, and 20 % at a fifth).
    Raises ValueError when a number is out of its range, or f_0 has a random mean.
    Source: derived here for Moniri24's learner with one sample; checked by simulation.

    >>> from gradfeat.maths.activations import Tanh
    >>> talk = Teacher.single((0.0, 1.0), 1.0)
    >>> found = reused_sample_errors(0.5, 2 / 3, 0.01, Tanh(), talk, eta=[0.0, 2.0, 10.0], n=1000)
    >>> found.training_loss.round(2).tolist()
    [0.48, 0.37, 0.34]
    """
    of = _Setting(activation, teacher, residual, rows, intercept, head)
    return of.errors(phi, psi, penalty, eta, n, None)


def reused_limit_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    degree: int,
    residual: Residual = "y",
    rows: RowLaw = "sphere",
    intercept: bool = False,
    head: HeadLaw = GAUSSIAN_HEAD,
) -> RidgeErrors:
    """The limit on reused rows, l = 1 or 2: ridge on F_0 beside free columns of a and a^{o2}.

    At l = 1 the column is c_1^2 |beta| u + phi E sigma'^2 r + 4 c_2^2 c_{*0}, r the row's residual
    and 0 on new rows. At l = 2 squares of both, and their product, are the second column. It finds
    what r^2 says of the row: the noise of y is in it too.

    `degree`: l; `rows`: of W0; `intercept`: of the fitted head; `head`: the law of a, of which
    a^{o2} is no column of its own where it is constant and the activation has a mean.
    Regime: (l - 1)/(2 l) < alpha < l/(2 l + 2), n to infinity; l = 2 for a sigma without kinks (at
    a kink the second column depends on the side of a).
    Raises ValueError when a number is out of its range, l is not 1 or 2, sigma has kinks at l = 2,
    or f_0 has a random mean.
    Source: derived here.

    >>> from gradfeat.maths.activations import Tanh
    >>> talk = Teacher.single((0.0, 1.0), 1.0)
    >>> found = [
    ...     reused_limit_errors(0.5, 2 / 3, 0.01, Tanh(), talk, degree=l).test_error for l in (1, 2)
    ... ]
    >>> [round(float(error), 1) for error in found]  # tanh is odd: no second column
    [1.9, 1.9]
    """
    if degree not in (1, 2) or (degree == 2 and activation.breakpoints):
        raise ValueError(
            f"The degree is {degree}: give 1, or 2 for an activation without kinks (the prediction"
            " at a number of rows, `reused_sample_errors`, holds for all)."
        )
    mean = abs(moments(activation)[0]) > 1e-9
    powers = head.independent([mean, *[True] * degree])
    of = _Setting(activation, teacher, residual, rows, intercept or mean, head)
    return of.errors(phi, psi, penalty, 1.0, 1e12, [k for k in powers if k])


@dataclass(frozen=True)
class _Setting:
    """What all cells of a call share."""

    activation: Activation
    teacher: Teacher
    residual: Residual
    law: RowLaw
    intercept: bool
    head: HeadLaw

    def errors(
        self,
        phi: ArrayLike,
        psi: ArrayLike,
        penalty: ArrayLike,
        eta: ArrayLike,
        n: ArrayLike,
        powers: list[int] | None,
    ) -> RidgeErrors:
        """At this eta and n; or where columns of these powers of a are free."""
        self.head.centred("a head on reused rows")
        arrays = np.broadcast_arrays(phi, psi, penalty, eta, n, self.teacher.noise)
        every = arrays[4] if powers is None else np.inf
        limit = feature_limit(arrays[0], arrays[1], self.activation, self.law, every)
        traces = limit.traces(arrays[2])
        parts = traces.g, traces.m1, traces.m22, traces.dg, traces.dm1, traces.constant
        every = (np.broadcast_to(part, arrays[0].shape) for part in (*arrays, *parts))
        _, linear, beyond = moments(self.activation)
        bend = float(self.activation.hermite_coefficients(2)[2])
        found = []
        for one in zip(*(np.asarray(part, np.float64).ravel() for part in every), strict=True):
            p, q, lam, step, size, noise, g, tau, m22, dg, dtau, constant = one
            not_negative(eta=step)
            positive(n=size)
            if not step < np.sqrt(size):
                found.append((np.nan, np.nan, np.nan))
                continue
            width, ratio, moving = size * p / q, q / p, 1j * TINY
            teacher = Teacher(self.teacher.target, noise)
            rows = ReusedRows.of(p, self.activation, teacher, self.residual, width)
            few = 1 - m22 / tau > MOST_QUADRATIC
            level, sigma = lam * ratio / g + beyond, self.activation
            cubic = cubic_share(p, size * p, g * tau, sigma) > MOST_CUBIC
            if powers is None and (
                few or cubic or not is_settled(step, width, size, rows, sigma, level)
            ):
                found.append((np.nan, np.nan, np.nan))
                continue
            g, z = g + moving * dg / ratio, lam * ratio + moving
            tau = tau + moving * dtau / ratio
            d = size * p if powers is None else np.inf
            second = 4 * bend**2 * g * tau / (p * (d + 2))
            bulk = Bulk(g * linear, tau, second, d)
            features = (
                ReusedFeatures.of(rows, self.activation, step, width, self.head)
                if powers is None
                else ReusedFeatures.limit(rows, self.activation, powers)
            )
            free = np.inf if self.intercept else g * ratio * constant
            found.append(_Fit.of(rows, features, bulk, g, z, size, free).errors())
        return RidgeErrors(*np.reshape(found, (-1, 3)).T.reshape(3, *arrays[0].shape))


@dataclass(frozen=True)
class _Fit:
    """Ridge on the bulk beside columns; imaginary parts are derivatives in z times TINY."""

    rows: ReusedRows
    own: np.ndarray  #: (P, k), columns on the gradient's rows.
    fresh: np.ndarray  #: (P, k), on new ones.
    penalties: np.ndarray  #: (k,), complex.
    bulk: Bulk
    z: float

    @staticmethod
    def of(
        rows: ReusedRows,
        features: ReusedFeatures,
        bulk: Bulk,
        g: complex,
        z: complex,
        n: float,
        constant: complex | float,
    ) -> _Fit:
        """`constant`: the weight of a column of ones, 0 where there is none."""
        own, fresh = features.own, features.fresh
        weights = np.full(features.own.shape[1], n * g)
        weights[0] = n  # all that F has along a, its bulk too
        if np.real(constant) > 0:
            own, fresh = (np.column_stack([part, np.ones(len(part))]) for part in (own, fresh))
            weights = np.append(weights, constant)
        return _Fit(rows, own, fresh, 1 / weights, bulk, float(z.real))

    def errors(self) -> tuple[float, float, float]:
        """Training loss, training error and test error."""
        rows, whole = self.rows, np.column_stack([self.rows.y, self.own])
        found = rows.forms(whole, whole, self.bulk)
        found[1:, 1:] += np.diag(self.penalties)
        met, bent, tau = np.real(found), -np.imag(found) / TINY, float(np.real(self.bulk.tau))
        c = np.linalg.solve(met[1:, 1:], met[1:, 0])
        v = np.r_[1.0, -c]
        loss, squared = met[0] @ v, v @ bent @ v
        fitted, left = self.own @ c, rows.y - self.own @ c
        moved = np.real(rows.moved(fitted, self.bulk))
        changed = fitted - self.fresh @ c - moved * rows.residual
        crossed = np.real(rows.forms(changed, left, self.bulk))
        test = squared / tau**2 + 2 * crossed / tau + rows.weighted(changed) @ changed
        return float(self.z * loss), float(self.z**2 * squared), float(test)
