"""Training and test error of ridge on random features with extra columns, from one formula.

With q the least training loss over lambda, the envelope theorem gives the training error
-lambda^2 q'(lambda), and generalised cross-validation (exact in the limit; a few columns do not
change a trace) the test error -q'(lambda)/s^2, s = (psi/phi) m_1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.activations import Activation
from ..maths.step_names import RowLaw, lengths_vary
from .feature_resolvent import FeatureLimit, Traces
from .teacher import Teacher

#: The largest share of a function of degree 3 that features may hold where errors are predicted.
MOST_CUBIC = 0.1


@dataclass(frozen=True)
class RidgeErrors:
    """What ridge regression on features loses, noise of the labels included."""

    training_loss: np.ndarray  #: (1/n)|y - F a|^2 + lambda |a|^2 at the minimum: L_tr.
    training_error: np.ndarray  #: (1/n)|y - F a|^2.
    test_error: np.ndarray  #: E (y - f(x))^2 on new rows: L_te.

    def __sub__(self, other: RidgeErrors) -> RidgeErrors:
        """The differences: what `other` gains."""
        return RidgeErrors(
            self.training_loss - other.training_loss,
            self.training_error - other.training_error,
            self.test_error - other.test_error,
        )


def errors_from(q: np.ndarray, dq: np.ndarray, traces: Traces, penalty: ArrayLike) -> RidgeErrors:
    """Errors from q = training loss/lambda and its slope in lambda."""
    penalty = np.asarray(penalty, dtype=np.float64)
    return RidgeErrors(penalty * q, -(penalty**2) * dq, -dq / traces.s**2)


def moments(activation: Activation) -> tuple[float, float, float]:
    """c_0, c_1^2 and c_{>1}^2 = E sigma^2 - c_0^2 - c_1^2 of an activation.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> [round(m, 4) for m in moments(CentredReLU())]
    [0.0, 0.25, 0.0908]
    """
    mean, slope = (float(c) for c in activation.hermite_coefficients(1))
    rest = activation.second_moment() - mean**2 - slope**2
    return mean, slope**2, max(rest, 0.0)


def feature_limit(
    phi: ArrayLike,
    psi: ArrayLike,
    activation: Activation,
    rows: RowLaw = "sphere",
    n: ArrayLike = np.inf,
) -> FeatureLimit:
    """Random features of this activation, in the limit or at n rows."""
    _, linear, nonlinear = moments(activation)
    square = float(activation.hermite_coefficients(2)[2]) ** 2
    return FeatureLimit(phi, psi, linear, nonlinear, 2 * square * lengths_vary(rows), square, n)


def random_feature_errors(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    *,
    n: ArrayLike = np.inf,
    rows: RowLaw = "sphere",
    intercept: bool = False,
) -> RidgeErrors:
    """L_tr and L_te of ridge on F_0 = sigma(X W0^T), at n rows or in the limit.

    L_te = c_{*1}^2 A + (E y^2 - c_{*1}^2) B, A = -t'/s^2, B = -s'/s^2;
    L_tr = lambda [c_{*1}^2 t + (E y^2 - c_{*1}^2) s], with (s, t) = (psi/phi) (m_1, m_2).
    At n rows the target's part of degree 2 has a weight s_2 < s of its own in place of s, and s and
    t are those of features that hold such a part (`feature_resolvent`).
    An activation of mean c_0 != 0 carries an intercept, which takes c_{*0}^2 out of E y^2.

    A penalty of 1e-8 stands for none. `n`: rows, infinite where left out; `rows`: of W0, which
    matter to c_{*0} alone; `intercept`: whether the head has one.
    Regime: n, d, N large, x ~ N(0, I), n small beside the d^3/6 functions of degree 3: from d of 30
    on simulated test errors are within 4 %, losses within 6 %. The limit, n left out, is of n, d, N
    in proportion: at n = d^2/2 it is up to twice the simulated test error.
    Raises ValueError when a number is out of its range.
    Source: Moniri24, Section 4; Mei & Montanari 2022 for L_te; Defilippis, Loureiro &
    Misiakiewicz 2024 for equivalents at finite n, written here for parts of degree 1 and 2.
    Returns nan where features of degree 3 hold more than a tenth of a function (`cubic_share`):
    simulated errors are 15 to 60 % below.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> talk = Teacher.single((0.0, 1.0, 0.5**0.5))
    >>> random_feature_errors(0.5, 2 / 3, 0.01, CentredReLU(), talk).test_error.round(3)
    np.float64(3.021)
    >>> random_feature_errors(0.05, 0.1, 0.01, CentredReLU(), talk, n=1000).test_error.round(3)
    np.float64(1.131)
    """
    traces = feature_limit(phi, psi, activation, rows, n).traces(penalty)
    return plain_errors(phi, penalty, activation, teacher, traces, intercept)


def plain_errors(
    phi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    teacher: Teacher,
    traces: Traces,
    intercept: bool,
) -> RidgeErrors:
    """Errors of random features from their traces."""
    carried = intercept or abs(moments(activation)[0]) > 1e-9
    q, dq = plain_losses(teacher, traces, carried)
    known = np.where(
        cubic_share(phi, traces.inputs, traces.m1 * traces.g, activation) > MOST_CUBIC, np.nan, 1.0
    )
    return errors_from(q * known, dq * known, traces, penalty)


def cubic_share(phi: ArrayLike, d: ArrayLike, u: ArrayLike, activation: Activation) -> np.ndarray:
    """What features hold of a function of degree 3, were it let in as degree 2 is; u = g m_1.

    >>> from gradfeat.maths.activations import Tanh
    >>> found = feature_limit(1 / 30, 1 / 30, Tanh(), n=600).traces(0.01)
    >>> cubic_share(1 / 30, 20, found.m1 * found.g, Tanh()).round(2)
    np.float64(0.14)
    """
    third = float(activation.hermite_coefficients(3)[3])
    per_row = np.multiply(phi, (np.add(d, 1)) * np.add(d, 2))
    held = 36 * third**2 / per_row * np.asarray(u)
    return held / (1 + held)


def learned_shares(
    phi: ArrayLike,
    psi: ArrayLike,
    penalty: ArrayLike,
    activation: Activation,
    n: ArrayLike = np.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """What ridge on F_0 has of c_{*1} He_1(b.x) and of c_{*2} He_2(b.x), in shares of each.

    E[f(x) b.x]/c_{*1} -> g c_1^2 m_2/phi, and E[f He_2(b.x)]/(2 c_{*2}) = 1 - m_22/m_1, but for the
    share 1/d of He_2(b.x) along |x|^2, of which they have 1 - 1/(1 + (2 c_2^2/psi) g s).

    `n`: rows; in the limit the second share is 0.
    Regime: n, d, N large, x ~ N(0, I), n small beside d^3/6.
    Source: one neuron left out of the resolvent; Mei & Montanari 2022 for the first.

    >>> from gradfeat.maths.activations import CentredReLU
    >>> shares = learned_shares(0.5, 2 / 3, 0.01, CentredReLU(), 500)
    >>> [round(float(share), 3) for share in shares]
    [0.643, 0.006]
    """
    traces = feature_limit(phi, psi, activation, n=n).traces(penalty)
    along = np.minimum(1 / traces.inputs, 1.0)
    linear = traces.g * traces.linear * traces.m2 / phi
    missed = (1 - along) * traces.s2 + along * traces.of_lengths[0]
    return linear, 1 - missed / traces.s


def plain_losses(
    teacher: Teacher, traces: Traces, intercept: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """q = c_{*1}^2 t + |f_2|^2 s_2 + c_{*0}^2 s_0 + the rest of E y^2 times s, and its slope.

    An intercept takes the constant's term away. (tr C_2)^2/(2 d) of |f_2|^2 is along |x|^2.
    """
    linear, mean, (second, trace) = teacher.linear**2, teacher.mean**2, teacher.quadratic
    along = np.minimum(trace**2 / (2 * traces.inputs), second)
    rest, level = teacher.beyond_linear - mean - second, 0.0 if intercept else mean
    lengths, slope = traces.of_lengths
    second = second - along
    return (
        linear * traces.t + second * traces.s2 + along * lengths
        + rest * traces.s + level * traces.s0,
        linear * traces.dt + second * traces.ds2 + along * slope
        + rest * traces.ds + level * traces.ds0,
    )  # fmt: skip
