"""Errors after one gradient step: the limit's staircase, and ridge beside columns of powers.

In the basis he_k(u) = He_k(u)/sqrt(k!), u = X~ beta/|beta|, with weights v = (s, t, s, s, ...) and
y_k = E[f* he_k(u)] = sqrt(k!) c_{*k} rho^k, ridge on F_0 and unpenalised columns Z of that basis
has q = q_0 - b^T Z (Z^T diag(v) Z)^{-1} Z^T b, b_k = v_k y_k (see `ridge_errors` for q).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.step_names import Residual, RowLaw
from .column_gain import MOST_POWERS, column_gain, power_columns, step_columns
from .gradient_direction import gradient_direction, own_power
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .ridge_errors import RidgeErrors, errors_from, feature_limit, moments, plain_losses
from .teacher import Teacher


def limit_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    degree: ArrayLike,
    residual: Residual = "y",
    printed: bool = False,
    rows: RowLaw = "sphere",
    intercept: bool = False,
    head: HeadLaw = GAUSSIAN_HEAD,
    gradient_phi: ArrayLike | None = None,
) -> RidgeErrors:
    """Errors of the network in the limit: its step adds l columns, `step_columns`.

    For a target of mean 0 the training loss falls at l = 1 by lambda (psi/phi) m_2 c_{*1}^4/
    |beta|^2. In print the k-th column is c_k (X~ beta)^{ok}, and l = 2 takes 4 lambda (psi/phi) m_1
    c_{*1}^4 c_{*2}^2/(3 |beta|^4) more off. But squares of the rows of G beside c_1 a beta^T are of
    the same order. They make the second column u^2 + kappa (`own_power`), as simulations of second
    singular vectors show; 3 in the formula becomes 2 + (1 + kappa)^2. And with c_2 c_{*0} != 0 the
    rows of G hold w_j too: the first column is c_1^2 |beta| u + 4 c_2^2 c_{*0}, which finds the
    mean of y where the activation has none. Where c_1 = 0 the step writes no direction, and such
    constants are all that it adds. With f_0 in the residual beta has a part along W0^T a; the head
    loses its component along a to the column, so the features hold that part no longer and the
    formulas stay the same with |beta|^2 = D_eff.

    `degree`: l, see `limit_degree`, nan and l > 12 give nan; `residual`: one of "y", "y - f0",
    "ba22", what weights the gradient, the limit of "ba22" is that of "y"; `printed`: the columns as
    printed, c_k u^k: a gradient of rank one, and a target of mean 0; `rows`: of W0, on the unit
    sphere or N(0, I/d), where the constant weighs less by 1 + (2 c_2^2/psi) g s; `intercept`: of
    the fitted head, without penalty: the column is u^2 to it, and 3 becomes 2; `head`: the law of
    a, of which a^{ok} is another column only where its values do not make up a^{ok} of lower ones;
    `gradient_phi`: d/n_0 of the gradient's n_0 rows, left out: phi.
    Regime: n, d, N to infinity in proportion, x ~ N(0, I), alpha inside a stair; at n of a few
    thousand the gain is 10 to 30 % short of this limit: `finite_step_errors`.
    Raises ValueError when a number is out of its range, or f_0 has a random mean.
    Source: Moniri24, Theorems on l = 1, 2; general l by elimination of the columns.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> found = limit_errors(0.5, 2 / 3, 0.01, CentredReLU(), talk, degree=[0, 1, 2])
    >>> (found.training_loss[0] - found.training_loss).round(4).tolist()
    [0.0, 0.0629, 0.1044]
    >>> found = limit_errors(
    ...     0.5, 2 / 3, 0.01, CentredReLU(), talk, degree=[0, 1, 2], printed=True
    ... )
    >>> (found.training_loss[0] - found.training_loss).round(4).tolist()
    [0.0, 0.0629, 0.1216]
    >>> (found.test_error[0] - found.test_error).round(3).tolist()
    [0.0, 0.361, 0.744]
    >>> teacher = Teacher.single((1.0, 1.0))
    >>> found = limit_errors(0.5, 2 / 3, 0.01, CentredReLU(), teacher, degree=[0, 1])
    >>> float((found.training_loss[0] - found.training_loss[1]).round(4))  # .081 without the mean
    0.3106
    """
    asked = np.asarray(degree, dtype=np.float64)
    if (asked < 0).any() or (asked[np.isfinite(asked)] % 1 != 0).any():
        raise ValueError(f"The degree is {degree}: give whole numbers of 0 or more.")
    traces = feature_limit(phi, psi, activation, rows).traces(penalty)
    gamma = "y" if residual == "ba22" else residual
    if residual != "y":
        head.centred("f_0 in the residual")
    of_gradient = phi if gradient_phi is None else gradient_phi
    direction = gradient_direction(of_gradient, activation, teacher, gamma)
    own = 0.0 if printed else own_power(of_gradient, direction, activation)
    direction = replace(direction, stretch=0.0) if printed else direction
    q, dq = plain_losses(teacher, traces)
    shape = np.broadcast_shapes(np.shape(q), asked.shape, np.shape(direction.alignment))
    gains = np.full((2, *shape), np.nan)
    for l_max in np.unique(asked[asked <= MOST_POWERS]):
        size = max(int(l_max), len(teacher.coefficients) - 1, 1) + 1
        columns = step_columns(activation, direction, own, int(l_max), size)
        there = np.abs(columns).max(axis=tuple(range(columns.ndim - 1))) > 0
        columns = columns[..., head.independent(there)]
        if intercept:
            one = np.broadcast_to(np.eye(size, 1), (*columns.shape[:-1], 1))
            columns = np.concatenate([one, columns], axis=-1)
        found = column_gain(teacher, direction, columns, traces)
        gains = np.where(
            asked == l_max, np.stack([np.broadcast_to(one, shape) for one in found]), gains
        )
    return errors_from(q - gains[0], dq - gains[1], traces, penalty)


def column_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    powers: Sequence[int],
    residual: Residual = "y",
    rows: RowLaw = "sphere",
) -> RidgeErrors:
    """Errors of ridge on F_0 and the unpenalised columns (X~ beta)^{ok}, k in `powers`.

    q = q_0 - b^T G^{-1} b with z^k = sum_r zeta_kr He_r(z), G_jk = sum_r v_r r! zeta_jr zeta_kr,
    b_k = sum_r v_r r! c_{*r} rho^r zeta_kr, v_1 = (psi/phi) m_2 and v_r = (psi/phi) m_1 otherwise.
    With f_0 in the residual the part of beta along W0^T a is one that F_0 a holds already; its v_1
    is kappa' = v_1 (1 + c_{>1}^2 s)/(1 + c_1^2 t + c_{>1}^2 s).

    `powers`: different ones from 0 to 12, whatever the activation would add. An activation of
    mean c_0 != 0 carries the constant, power 0, itself; `residual`: one of "y", "y - f0", r in beta
    = X^T r/n; `rows`: of W0.
    Regime: n, d, N to infinity in proportion, x ~ N(0, I).
    Raises ValueError when a number is out of its range, or f_0 has a random mean.
    Source: Moniri24, Theorems on l = 1, 2; general l and kappa' by block elimination.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> teacher = Teacher.single((0.0, 1.0, 0.5, 0.3), noise=0.5)
    >>> losses = [
    ...     column_errors(
    ...         0.5, 2 / 3, 0.05, CentredReLU(), teacher, powers=range(1, l + 1)
    ...     ).training_loss
    ...     for l in range(4)
    ... ]
    >>> [float((losses[0] - loss).round(4)) for loss in losses[1:]]
    [0.1038, 0.1399, 0.1672]
    """
    if len({*powers}) < len(powers) or not all(k in range(MOST_POWERS + 1) for k in powers):
        raise ValueError(f"The powers are {powers}: give different ones, 0 to {MOST_POWERS}.")
    mean = moments(activation)[0]
    traces = feature_limit(phi, psi, activation, rows).traces(penalty)
    direction = gradient_direction(phi, activation, teacher, residual)
    q, dq = plain_losses(teacher, traces)
    kept = {int(k) for k in powers} | ({0} if abs(mean) > 1e-9 else set())
    size = max(*kept, len(teacher.coefficients) - 1, 1) + 1
    columns = power_columns(sorted(kept), size)
    gain, slope = column_gain(teacher, direction, columns, traces, kept=1.0)
    return errors_from(q - gain, dq - slope, traces, penalty)
