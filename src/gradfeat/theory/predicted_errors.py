"""What one gradient step will bring, before anything is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from ..maths.activations import Activation
from ..maths.step_names import ROW_USES, Residual, RowLaw, RowUse
from .activation_coefficients import scaled_coefficients
from .finite_step_errors import finite_step_errors
from .gradient_direction import MOST_REST, gradient_direction, limit_degree, rest_share
from .head_law import GAUSSIAN_HEAD, HeadLaw
from .one_step_errors import limit_errors
from .reused_features import (
    MOST_BEND,
    MOST_LABELS,
    MOST_QUADRATIC,
    MOST_SPREAD,
    MOST_TURN,
    bend_share,
    label_share,
    label_spread,
    turn,
)
from .reused_rows import ReusedRows
from .reused_sample_errors import reused_limit_errors, reused_sample_errors
from .ridge_errors import (
    MOST_CUBIC,
    RidgeErrors,
    cubic_share,
    feature_limit,
    moments,
    plain_errors,
    random_feature_errors,
)
from .teacher import Teacher

#: What is predicted for: beyond, numbers lose their digits.
MOST_ROWS, MOST_ALPHA, LEAST_PENALTY = 10**12, 1.0, 1e-10
#: From this exponent on it matters whether the gradient has few rows.
LARGE = 0.4
#: From these values of `label_share` on errors on reused rows are off by so many percent, training
#: and test, as simulated (docs/theory/one-step).
LABEL_ERRORS = ((0.9, 26, 21), (0.5, 15, 15), (0.1, 5, 5))
#: `turn`, share of a function of degree 2, and change of errors by those, from which on it is told.
LEAST_TURN, LEAST_QUADRATIC, LEAST_CHANGE = 0.1, 0.03, 0.02
#: Bias by the rows' lengths from which on it is told, and growth of an activation above a ReLU's.
LEAST_BIAS, GROWING = 0.015, 1.25

_UNDIRECTED = (
    "The activation's c_1 is 0: the step writes no direction into the features, and no more than"
    " noise at finite n."
)

_CONSTANT = (
    "The activation's c_1 is 0: the step writes no direction into the features, and finds no more"
    " of the target than its mean."
)

_NO_STEP = "eta = 0: no step is taken, and the features are random."


@dataclass(frozen=True)
class Prediction:
    """Predicted errors of a two-layer network after one gradient step and ridge."""

    #: alpha, eta: eta = n^alpha.
    alpha: float
    eta: float
    errors: RidgeErrors  #: At this step size and n.
    #: The stair of the limit n -> infinity at this alpha; nan on the edges between stairs.
    limit: RidgeErrors
    random_features: RidgeErrors  #: Without the step.
    #: E y^2 - c_{*0}^2 - c_{*1}^2, test error of the best linear model (with intercept) at
    #: infinitely many rows.
    best_linear: float
    #: l, how many powers of X beta the step adds in the limit; nan where no l is settled.
    degree: float
    #: |cos(beta, b)| of the step's direction and the target's; nan where the activation's c_1 is 0,
    #: for the step then follows no direction, and where no step is taken.
    alignment: float
    regime: str  #: Where these numbers hold, or why one is nan: one sentence or two.


class _Fitted(TypedDict):
    rows: RowLaw
    intercept: bool


class _Kept(_Fitted):
    residual: Residual
    head: HeadLaw


def predict_error(
    phi: float,
    psi: float,
    activation: Activation,
    teacher: Teacher,
    *,
    n: float,
    alpha: float,
    penalty: float = 0.01,
    residual: Residual = "y",
    sample: RowUse = "fresh",
    rows: RowLaw = "sphere",
    intercept: bool = False,
    head: HeadLaw = GAUSSIAN_HEAD,
    gradient_phi: float | None = None,
) -> Prediction:
    """Training and test error of sigma(X (W0 + n^alpha G)^T) a by ridge, with their regime.

    `n`: rows of the head, and of the gradient unless `gradient_phi`, d/n_0, says how many; alpha =
    -infinity is no step; `sample`, "fresh" or "reused": whether the head has rows of its own;
    `rows`: of W0, on the unit sphere or N(0, I/d); `intercept`: whether the fitted head has one;
    `head`: the law of a at the start.
    Regime: that of `finite_step_errors`, or of `reused_sample_errors` for reused rows; the field
    `regime` says which holds, and what does not is nan.
    Raises ValueError when a number is out of its range, a name is unknown, f_0 has a random mean,
    or nothing of y is left to predict.
    Source: Moniri24; finite steps and reused rows are derived here.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> found = predict_error(0.5, 2 / 3, CentredReLU(), talk, n=2400, alpha=0.2)
    >>> round(float(found.errors.test_error), 2), round(float(found.limit.test_error), 2)
    (2.66, 2.66)
    >>> found.degree, round(found.alignment, 3)
    (1.0, 0.707)
    """
    if sample not in ROW_USES:
        raise ValueError(f"The sample is {sample!r}: give one of {', '.join(ROW_USES)}.")
    if not (1 < n <= MOST_ROWS and alpha <= MOST_ALPHA):
        raise ValueError(
            f"n is {n} and alpha {alpha}: give n above 1, at most {MOST_ROWS:.0e}, and alpha of at"
            f" most {MOST_ALPHA:g} (eta = n)."
        )
    if sample == "reused" and gradient_phi is not None:
        raise ValueError(
            "The rows of the gradient were counted apart, but they are those of the head: give the"
            " sample 'fresh', or leave their number out."
        )
    if 0 < penalty < LEAST_PENALTY:
        raise ValueError(
            f"The penalty is {penalty}: give {LEAST_PENALTY:g} or more, which stands for none."
        )
    _check_target(activation, teacher, intercept)
    shape = (phi, psi, penalty, activation, teacher)
    fitted = _Fitted(rows=rows, intercept=intercept)
    traces = feature_limit(phi, psi, activation, rows, n).traces(penalty)
    plain = plain_errors(phi, penalty, activation, teacher, traces, intercept)
    in_limit = random_feature_errors(*shape, **fitted)
    eta, width = n**alpha, n * phi / psi
    of_gradient = phi if gradient_phi is None else gradient_phi
    degree = float(limit_degree(alpha))
    mean, slope, bend = np.abs(activation.hermite_coefficients(2)) > 1e-9
    constant = bool(bend and not mean and not intercept and teacher.mean != 0)
    directed = bool(slope) and eta > 0
    direction = gradient_direction(of_gradient, activation, teacher, residual, width)
    undirected = _CONSTANT if constant else _UNDIRECTED
    undirected = undirected if eta > 0 else _NO_STEP
    kept = _Kept(residual=residual, head=head, **fitted)
    if sample == "fresh":
        errors = finite_step_errors(*shape, eta=eta, n=n, gradient_phi=gradient_phi, **kept)
        limit = limit_errors(*shape, degree=degree, gradient_phi=gradient_phi, **kept)
    else:
        known = eta > 0 and alpha < 0.5
        errors = reused_sample_errors(*shape, eta=eta, n=n, **kept) if known else _unknown()
        errors = plain if eta == 0 else errors
        settled = degree == 1 or (degree == 2 and not activation.breakpoints)
        limit = reused_limit_errors(*shape, degree=int(degree), **kept) if settled else _unknown()
        limit = in_limit if degree == 0 else limit
    words = undirected
    if directed:
        known = bool(np.isfinite(errors.test_error))
        words = _regime(alpha, degree, sample, n, constant, sees_nothing(teacher), known)
        words += _few(alpha, of_gradient)
    level = penalty * psi / phi / float(traces.g) + moments(activation)[2]
    words += _of_few_inputs(
        n * phi, n, 1 - float(traces.m22 / traces.m1),
        float(cubic_share(phi, n * phi, traces.m1 * traces.g, activation)),
        float(plain.test_error / in_limit.test_error) - 1,
        sample == "reused" and eta > 0,
    )  # fmt: skip
    if sample == "fresh":
        share = rest_share(eta, width, of_gradient, direction, activation)
        if share > MOST_REST:
            words = _too_far(alpha) if directed else f"{words} {_too_far(alpha)}"
    elif eta > 0 and alpha < 0.5:
        own = ReusedRows.of(phi, activation, teacher, residual, width)
        spread = label_spread(eta, width, own, activation, level)
        words += _off_by_labels(label_share(eta, width, own, activation), spread)
        turned = turn(eta, width, own, activation)
        words += _off_by_bend(bend_share(activation), turned, n, constant)
    return Prediction(
        alpha,
        eta,
        errors,
        limit,
        plain,
        _rest(teacher),
        degree,
        float(direction.alignment) if directed else math.nan,
        words + _of_lengths(activation, n * phi),
    )


def _check_target(activation: Activation, teacher: Teacher, intercept: bool) -> None:
    if np.ndim(teacher.noise) > 0:
        raise ValueError(f"The noise has shape {np.shape(teacher.noise)}: give one number.")
    carried = intercept or abs(float(activation.hermite_coefficients(0)[0])) > 1e-9
    power = float(teacher.power)
    if not power - carried * teacher.coefficients[0] ** 2 > 1e-12 * power:
        raise ValueError(
            "Nothing of y is left to predict beside the constant, if any, that the activation's"
            " mean or an intercept carries: give a target that varies, or noise."
        )


def _rest(teacher: Teacher) -> float:
    """Test error of the best linear model: 0, and not what rounding leaves, of a linear target."""
    rest = float(teacher.beyond_linear) - teacher.coefficients[0] ** 2
    return rest if rest > 1e-12 * float(teacher.power) else 0.0


def _unknown() -> RidgeErrors:
    return RidgeErrors(*(np.full((), np.nan) for _ in range(3)))


def _few(alpha: float, gradient_phi: float) -> str:
    """What few rows of the gradient do, as measured (docs/theory/one-step)."""
    if alpha < LARGE or gradient_phi <= 1:
        return ""
    return (
        f" The gradient's rows are {1 / gradient_phi:.3g} times the inputs: what a neuron's"
        " gradient has beside X beta lies in their span, and theory takes it to be alike in all"
        " directions. At half as many rows as inputs and eta = sqrt(N) simulated test errors are 2"
        " to 4 % above the prediction."
    )


def sees_nothing(teacher: Teacher) -> bool:
    """Whether E[y x] = 0 but for rounding: the step's direction is noise.

    >>> sees_nothing(Teacher.single((1.0, 0.0, 1.0))), sees_nothing(Teacher.single((0.0, 1.0)))
    (True, False)
    """
    return bool(teacher.linear**2 <= 1e-9 * (teacher.target_power - teacher.mean**2))


def _too_far(alpha: float) -> str:
    return (
        f"alpha = {alpha:.4g} is too large a step, as what a neuron's gradient has beside X beta"
        f" and w_j is above {MOST_REST:g} of w_j in square, and not alike in all directions, as"
        " theory takes it; no errors are predicted."
    )


def _of_few_inputs(
    d: float, n: float, second: float, third: float, change: float, reused: bool
) -> str:
    """What features of degree 2 and 3 do where n is of the order of d^2/2."""
    few = f" With {d:,.0f} inputs, {n:,.0f} rows learn functions of degree"
    if third > MOST_CUBIC:
        return (
            f"{few} 3: features hold {100 * third:.0f} % of one. Theory has those of degree 1 and 2"
            f" alone: above {100 * MOST_CUBIC:g} % no errors are predicted."
        )
    if reused and second > MOST_QUADRATIC:
        return (
            f"{few} 2: features hold {100 * second:.0f} % of one. On the gradient's own rows theory"
            f" has not what the step does to them: above {100 * MOST_QUADRATIC:g} % no errors are"
            " predicted."
        )
    said = ""
    if abs(change) > LEAST_CHANGE:
        said = (
            f"{few} 2: features hold {100 * second:.0f} % of one, which changes the test error of"
            f" random features by {100 * change:+.0f} % and is in the predictions, but not in the"
            " limit."
        )
    if reused and second > LEAST_QUADRATIC:
        said += (
            " What the step does to features of degree 2 on the gradient's own rows is left out:"
            f" simulated errors are up to about {120 * second:.0f} % below the prediction."
        )
    return said


def _off_by_labels(share: float, spread: float) -> str:
    if share > MOST_LABELS:
        return (
            f" A row's own label moves its features by {share:.2g} of their variance, more than"
            f" the {MOST_LABELS:g} up to which the bulk is taken to be that of random features; no"
            " errors are predicted."
        )
    if spread > MOST_SPREAD:
        return (
            " A row's own label moves its features by an amount that varies over neurons by"
            f" {spread:.2g} of what the bulk has of a row alone, more than the {MOST_SPREAD:g} up"
            " to which the bulk is taken to be that of random features; no errors are predicted."
        )
    for least, training, test in LABEL_ERRORS:
        if share >= least:
            return (
                f" A row's own label moves its features by {share:.2g} of their variance, which is"
                " in the columns and not in the bulk: in simulations training loss and error were"
                f" off by up to {training} %, the test error by up to {test} %."
            )
    return ""


def _off_by_bend(share: float, turned: float, n: float, constant: bool) -> str:
    """What c_2 does on reused rows, as measured (docs/theory/one-step)."""
    if share > MOST_BEND:
        return (
            f" 4 c_2^2 is {100 * share:.0f} % of E sigma'^2, and through c_2 the labels of the"
            " other rows reach a row's features by an amount that falls with the rows alone: above"
            f" {100 * MOST_BEND:g} % no errors are predicted."
        )
    if turned > MOST_TURN:
        return (
            f" Through c_2 the labels of all rows turn a neuron by up to {turned:.2g} of its"
            f" length, which is not in the bulk: above {MOST_TURN:g} no errors are predicted."
        )
    if turned < LEAST_TURN:
        return ""
    # Measured at 400 rows and a turn of .45, at 160 and .25, and a mean of y at 300 to 2,400 rows.
    rise = (400 / n) ** 0.5 * max(turned / 0.45, 0.6) * (2 if constant else 1)
    return (
        f" Through c_2 the labels of all rows turn a neuron by up to {turned:.2g} of its length,"
        f" which is not in the bulk: simulated training errors are up to about {12 * rise:.0f} %"
        f" above the prediction and test errors {6 * rise:.0f} %, beside other differences."
    )


def _of_lengths(activation: Activation, d: float) -> str:
    """What rows of different lengths do to an activation that grows faster than a line.

    E sigma(w.x)^2 of a row goes as |x|^{2 D}, and |x|^2/d varies by 2/d.
    """
    change = 1e-3
    scales = np.sqrt([1 - change, 1 + change])
    low, high = scaled_coefficients(activation, scales, 0, np.zeros(2))[1]
    growth = math.log(high / low) / (2 * change)
    bias = 2 * growth**2 / d
    if growth < GROWING or bias < LEAST_BIAS:
        return ""
    return (
        " The activation grows faster than a line, so that rows' lengths matter at"
        f" {d:,.0f} inputs: in simulations test errors are up to about {100 * bias:.0f} % above the"
        " prediction, a difference that falls as 1/d, and training errors up to five times as much."
    )


def _regime(
    alpha: float, degree: float, sample: str, n: float, constant: bool, noise: bool, known: bool
) -> str:
    if sample == "reused" and not alpha < 0.5:
        return (
            "With the gradient's own rows in the head the errors are derived for alpha < 1/2, where"
            " the step adds columns to random features and leaves their bulk."
        )
    if sample == "reused" and degree > 1:
        return (
            f"alpha = {alpha:g} adds {degree:g} columns; with the gradient's own rows in the head"
            f" they hold the labels{', and the prediction keeps all their powers' * known}. The"
            " limit is known for one column, and for two where sigma has no kinks."
        )
    if math.isnan(degree) and alpha < 0.5:
        return (
            f"alpha = {alpha:g} is an edge, where the number of columns changes and the limit is"
            f" nan{'; the prediction at this n holds' * known}."
        )
    if math.isnan(degree):
        return (
            f"alpha = {alpha:g} is 1/2 or more: the limit's expansion in powers of X beta does not"
            f" end, so the limit is nan.{' The prediction at finite n keeps all powers.' * known}"
        )
    if degree == 0:
        return "alpha < 0: the step is too small to change random features in the limit."
    if degree > 12:
        return f"The limit has l = {degree:g} powers; stairs above 12 are not computed (nan)."
    powers = (
        "the column X beta" if degree == 1 else f"the columns (X beta)^1 to (X beta)^{degree:g}"
    )
    its = "its direction, which is noise here" if noise else "its direction"
    beside = ", and a constant, which finds the target's mean" if constant else ""
    low, high = (degree - 1) / (2 * degree), degree / (2 * degree + 2)
    here = f"; the prediction has its finite size at n = {n:,.0f}" * known
    return (
        f"{low:.3g} < alpha < {high:.3g}: to the features the step adds {powers}, beta"
        f" {its}, of each degree at which sigma's Hermite coefficient is not 0{beside}. In the"
        f" limit such a column has no penalty{here}."
    )
