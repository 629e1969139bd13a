"""The second gradient of a first layer, on fresh rows or on the rows of the first, in the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..maths.activations import Activation
from ..maths.hermite import RealFunction, gauss_hermite, gauss_legendre
from ..maths.step_names import ROW_USES, RowUse
from .activation_coefficients import blurred_coefficients

#: Panels of 8 nodes for the target's input and for a neuron's pre-activation; nodes of label noise.
_PANELS, _LABEL = (28, 20), 12
#: Beyond it a normal variable is left out: 1e-18. Points among which jumps of the target are found.
_REACH, _GRID, _HALVINGS = 9.0, 1_801, 45
#: Steps of A: in the scale of sigma' and in the noise's; how many are even before they widen.
_STEP, _SHARE, _EVEN = 0.1, 0.125, 50
#: Where functions of h change on a scale of 1, however large the noise is.
_CENTRE = (-8.0, -2.0, -0.5, 0.0, 0.5, 2.0, 8.0)


@dataclass(frozen=True)
class SecondGradient:
    """G_2 of one neuron: its parts along u, w and the first gradient's noise, and its length."""

    signal: float  #: G_2.u, u the direction of the target.
    own: float  #: G_2.w.
    first: float  #: Along the part of G_1 that is neither in u nor in w.
    norm_squared: float  #: |G_2|^2.

    @property
    def overlap(self) -> float:
        """cos(G_2, u)."""
        return self.signal / math.sqrt(self.norm_squared)


def second_gradient(
    g: RealFunction,
    activation: Activation,
    phi: float,
    eta: float,
    *,
    noise: float = 0.0,
    rows: RowUse = "reused",
) -> SecondGradient:
    """Limit of G_2 = (1/n) sum y_i sigma'(w_1.x_i) x_i, w_1 = w + eta/n sum y_k sigma'(w.x_k) x_k.

    On row i the first step moved the pre-activation z = w.x_i of its neuron to

        h = (1 + eta q) z + eta [m s + phi y sigma'(z) + sqrt(phi) nu xi],

    s = u.x_i, m = E[y sigma'(z) s], q = E[y sigma'(z) z], nu^2 = E[y^2 sigma'(z)^2], xi ~ N(0, 1)
    from the other rows. phi y sigma'(z) is the row's own part, |x_i|^2/n -> phi, and is not there
    on fresh rows. With c = y sigma'(z) and r = y sigma'(h),

        G_2.u = E[r s],  G_2.w = E[r z],  along the rest of G_1: E[r xi] + sqrt(phi) E[r c]/nu,
        |G_2|^2 = the sum of their squares + phi (E r^2 - E[r c]^2/nu^2),

    where fresh rows have no E[r c]. So reused rows see T(y) = E[y sigma'(h) | y], a function of the
    label that is not linear: the overlap is not 0 where E[T(y) s] is not, which the information
    exponent does not ask (`gradfeat.theory.generative_exponent`). On fresh rows y enters once, and
    an information exponent of 2 or more leaves overlap 0, of order d^{-1/2} at a finite d.

    `g`, `noise`: y = g(s) + noise eps, where g may jump; `phi`: d/n; `eta`: step size times the
    neuron's a, of either sign.
    Raises ValueError where one of them cannot be.
    Regime: n, d -> infinity with d/n -> phi; |w| = 1, w.u -> 0, eta = Theta(1), residual y (a head
    too small to answer).
    Source: derived here, by leaving row i out; Dandi et al. 2024 and Lee et al. 2024 for the effect
    of reuse.

    >>> from gradfeat.maths.activations import Tanh
    >>> from gradfeat.maths.hermite import HermiteSeries
    >>> He3 = HermiteSeries((0, 0, 0, 6**-0.5))
    >>> round(second_gradient(He3, Tanh(), 0.25, 2.0).overlap, 3)
    -0.396
    >>> round(abs(second_gradient(He3, Tanh(), 0.25, 2.0, rows="fresh").overlap), 9)
    0.0
    """
    _checked(phi, eta, noise, rows)
    s, z, eps, weights = _rule(g, noise, activation)
    y = _labels(g, s) + noise * eps
    c = y * activation.derivative_values(z)
    m, q, power = (float((weights * c * other).sum()) for other in (s, z, c))
    spread, again = math.sqrt(phi * power), float(rows == "reused")
    if not spread:
        raise ValueError("y sigma'(w.x) is 0: give a target and an activation that are not flat.")
    centre = (1 + eta * q) * z + eta * (m * s + again * phi * c)
    mean, slope, square_mean = _blurred(activation, centre, abs(eta) * spread)
    signal, own, apart, with_c, square = (
        float((weights * y * part).sum())
        for part in (mean * s, mean * z, math.copysign(1, eta) * slope, mean * c, y * square_mean)
    )
    parts = (signal, own, apart + again * phi * with_c / spread)
    rest = phi * (square - again * with_c**2 / power)
    return SecondGradient(*parts, sum(part**2 for part in parts) + rest)


def step_outliers(alpha_1: float, alpha_2: float) -> float:
    """How many singular values of W leave the bulk after two steps eta_i = n^{alpha_i}.

    With a ~ N(0, I/N), row j of the second gradient is, in powers of eta_1 a_j beta.x,

        W_2 - W_0 = sum_k [eta_2 eta_1^{k-1}/(k-1)!] c_k k! a_j^k M_k + ...,  k >= 1,

    (the first term with eta_1 + eta_2), M_k = E[y (beta.x)^{k-1} x] on fresh rows; on reused ones
    the own part of each row adds E[y^j ...], j <= k. |(a_j^k)_j| ~ N^{-(k-1)/2}, so term k is above
    the bulk, whose norm is O(1), where alpha_2 + (k - 1) alpha_1 > (k - 1)/2 (k = 1: where one of
    the steps grows). Steps of equal size have the number of Moniri24's spikes in the features after
    one: k > l where alpha > (l - 1)/(2 l). A small first step and a large second one have fewer
    than the reverse: alpha_1 counts k - 1 times.

    nan on the edges, where constants decide.
    Regime: n, d, N -> infinity in proportion, 0 <= alpha_1, alpha_2 < 1/2; rows of W_0 of length 1,
    c_k != 0 for each k, label moments finite; outside it ValueError.
    Source: derived here; for one step Moniri24, Theorem 3.3.

    >>> step_outliers(0.1, 0.1), step_outliers(0.3, 0.3), step_outliers(0.35, 0.4)
    (1.0, 2.0, 3.0)
    """
    if not (0 <= alpha_1 < 0.5 and 0 <= alpha_2 < 0.5):
        raise ValueError(
            f"The exponents of the steps are {alpha_1} and {alpha_2}: give numbers from 0 to below"
            " 1/2, as larger steps move every weight by more than its length."
        )
    powers = alpha_2 / (0.5 - alpha_1)  # k - 1 below it
    edge = max(1, round(powers))
    if max(alpha_1, alpha_2) == 0 or abs(alpha_2 - edge * (0.5 - alpha_1)) < 1e-12:
        return math.nan
    return 1.0 + math.floor(powers)


def _rule(
    g: RealFunction, noise: float, activation: Activation
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Float[np.ndarray, "s z e"]]:
    """Nodes of s, of z and of the label noise, for products of all, and their weights."""
    rules = [
        _panels(_PANELS[0], (0.0, *_jumps(g))),
        _panels(_PANELS[1], activation.breakpoints or (0.0,)),
        gauss_hermite(_LABEL if noise else 1),
    ]
    s, z, eps = np.ix_(*(nodes for nodes, _ in rules))
    ws, wz, we = np.ix_(*(weights for _, weights in rules))
    return s, z, eps, ws * wz * we


def _jumps(g: RealFunction) -> np.ndarray:
    """Where g jumps: parts of a grid that keep their difference, however often they are halved."""
    grid = np.linspace(-_REACH, _REACH, _GRID)
    values = _labels(g, grid)
    left, right, low, high = grid[:-1], grid[1:], values[:-1], values[1:]
    least = 1e-6 * np.ptp(values)
    for _ in range(_HALVINGS):
        kept = np.abs(high - low) > least
        left, right, low, high = left[kept], right[kept], low[kept], high[kept]
        middle = (left + right) / 2
        at = _labels(g, middle)
        first = np.abs(at - low) > np.abs(high - at)
        left, right = np.where(first, left, middle), np.where(first, middle, right)
        low, high = np.where(first, low, at), np.where(first, at, high)
    return right


def _panels(count: int, breakpoints: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels of a normal variable; none goes across a breakpoint."""
    inner = [b for b in breakpoints if abs(b) < _REACH]
    edges = np.unique(np.r_[np.linspace(-_REACH, _REACH, count + 1), inner])
    nodes, weights = gauss_legendre(8)
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half * (1 + nodes)).ravel()
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return z, (half * weights).ravel() * density


def _labels(g: RealFunction, s: np.ndarray) -> np.ndarray:
    y = np.broadcast_to(np.asarray(g(s.ravel()), dtype=np.float64), s.size).reshape(s.shape)
    if not np.isfinite(y).all():
        raise ValueError(f"The target is not finite on |s| < {_REACH}: give one that is.")
    return y


def _blurred(activation: Activation, A: np.ndarray, spread: float) -> list[np.ndarray]:
    """E sigma'(A + spread xi), the same times xi, and E sigma'^2: splines over values of A."""
    from scipy.interpolate import CubicSpline

    spread = max(spread, 1e-9)
    even = _EVEN * max(_STEP, _SHARE * spread)  # steps widen beyond
    end = math.asinh(float(np.abs(A).max()) / even)
    at = even * np.sinh(np.linspace(-end, end, 2 * math.ceil(_EVEN * end) + 9))
    turn = spread * np.sinh(np.linspace(-5.0, 5.0, 81))
    at = np.unique(np.concatenate([at, *(b + turn for b in activation.breakpoints)]))
    slope, breaks = activation.derivative_values, (*_CENTRE, *activation.breakpoints)
    found, square = blurred_coefficients(slope, breaks, np.full(len(at), spread), 1, at)
    return [CubicSpline(at, values)(A) for values in (*found.T, square)]


def _checked(phi: float, eta: float, noise: float, rows: str) -> None:
    if not 0 < phi < math.inf:
        raise ValueError(f"phi is {phi}: give d/n, finite and above 0.")
    if not math.isfinite(eta):
        raise ValueError(f"eta is {eta}: give a finite step size.")
    if not 0 <= noise < math.inf:
        raise ValueError(f"The noise is {noise}: give 0 or more.")
    if rows not in ROW_USES:
        raise ValueError(f"The rows are {rows!r}: give {' or '.join(map(repr, ROW_USES))}.")
