"""What the experiments on adaptivity share: a target, a kernel and its theory, a network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final, final

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from gradfeat.experiments.claims import Check, Verdict
from gradfeat.experiments.intervals import limits_of
from gradfeat.experiments.kernel_training import tuned_ridge
from gradfeat.experiments.rows import Where, described
from gradfeat.experiments.slopes import slopes_by_seed
from gradfeat.experiments.verdicts import UNDECIDED, undecided
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.links import sum_of_series
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.models.base import Predictor
from gradfeat.models.gradient_step import GradientStep
from gradfeat.models.kernels.radial import Gaussian
from gradfeat.theory.gaussian_spectrum import gaussian_law
from gradfeat.theory.kernel_law import tuned_risk

#: Bandwidths between which the kernel chooses, times the root-mean-square norm of the inputs.
BANDWIDTHS: Final = (0.5, 1.0)
_PHASE: Final = math.pi / 4


@final
@dataclass(frozen=True)
class ShiftedSines:
    """g = sum_{i <= r} (sin(w z_i + pi/4) - mean)/(size sqrt(r)): E g = 0, E g^2 = 1.

    Half of the variance of each sine is of even degree, half of odd degree, about w^2 of them
    matter, and H = E grad^2 g has full rank: nothing hides a direction from a gradient step.

    Parameters
    ----------
    r : int
        Number of variables.
    frequency : float
        w, above 0.

    Raises
    ------
    ValueError
        When r is below 1, or `frequency` is not above 0 and finite.

    Examples
    --------
    >>> g = ShiftedSines(2, 1.0)
    >>> g.series.information_exponent(), round(g.series.norm_squared(), 9)
    (1, 1.0)
    """

    r: int
    frequency: float

    def __post_init__(self) -> None:
        if self.r < 1:
            raise ValueError(f"r is {self.r}: give 1 or more.")
        if not (math.isfinite(self.frequency) and self.frequency > 0):
            raise ValueError(f"frequency is {self.frequency}: give a finite number above 0.")

    @property
    def mean(self) -> float:
        """E sin(w z + pi/4)."""
        return math.exp(-(self.frequency**2) / 2) * math.sin(_PHASE)

    @property
    def size(self) -> float:
        """Its standard deviation; E sin^2 = 1/2 as cos(pi/2) = 0."""
        return math.sqrt(1 / 2 - self.mean**2)

    @property
    def series(self) -> MultiHermite:
        """Exact up to degree 20."""
        w, first = self.frequency, math.exp(-(self.frequency**2) / 2) / self.size
        c = [first * w**k * math.sin(_PHASE + k * math.pi / 2) / math.factorial(k)
             for k in range(1, 21)]  # fmt: skip
        one = HermiteSeries((0.0, *c)) * (1 / math.sqrt(self.r))
        return sum_of_series([one] * self.r)

    def single(self, z: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """One sine, E = 0 and E square = 1."""
        return (np.sin(self.frequency * z + _PHASE) - self.mean) / self.size

    def __call__(self, z: Float[np.ndarray, "p r"]) -> Float[np.ndarray, " p"]:
        """Values at the rows of z."""
        return self.single(z).sum(axis=1) / math.sqrt(self.r)


def tuned_gaussian(size: float, X: Tensor, y: Tensor, seed: int) -> Predictor:
    """Ridge with the Gaussian kernel; bandwidth (times `size`) and penalty by leave-one-out."""
    return tuned_ridge([Gaussian(size * b) for b in BANDWIDTHS], X, y, seed)


def network(m: int, steps: int, X: Tensor, y: Tensor, seed: int) -> Predictor:
    """A gradient step on m ReLU neurons, then `steps` - 1 updates by AGOP; the head by ridge."""
    return GradientStep(m, n_steps=steps).fit(X, y, seed=seed)


@cache
def gaussian_risk(
    g: ShiftedSines, d: int, n: int, size: float, noise: float, ambient: float = 1.0
) -> float:
    """E (f - f*)^2 of `tuned_gaussian` on n rows x ~ N(0, I_r) x N(0, ambient^2 I_{d-r}).

    Examples
    --------
    >>> near, far = (gaussian_risk(ShiftedSines(1, 1.0), d, 200, d**0.5, 0.1) for d in (2, 20))
    >>> near < 0.02 < 0.2 < far
    True
    """
    laws = [gaussian_law(g.single, g.r, d, size * b, ambient=ambient) for b in BANDWIDTHS]
    return float(tuned_risk(laws, n, noise))


def steeper(
    metric: str, factor: str, where: Where, than_where: Where, margin: float = 0.0
) -> Check:
    """Does log metric fall faster along log factor in some cells than in others, by `margin`?

    Rule: the difference of the least-squares slopes of a seed; holds if the lower one-sided 95 %
    limit over seeds (Student's t) is at least the margin, fails if the upper one is below it.

    Examples
    --------
    >>> table = pd.DataFrame({"s": [0, 0, 1, 1] * 2, "n": [1, 4] * 4, "seed": [0] * 4 + [1] * 4,
    ...     "loss": [1.0, 0.5, 1.0, 0.25, 1.0, 0.5, 1.0, 0.24]})
    >>> steeper("loss", "n", {"s": 1}, {"s": 0}, 0.3)(table).outcome
    'holds'
    """

    def check(table: pd.DataFrame) -> Verdict:
        fast = slopes_by_seed(table, metric, factor, where)
        slow = slopes_by_seed(table, metric, factor, than_where)
        values = np.array([slow[s] - fast[s] for s in fast.index if s in slow.index])
        label = (
            f"slope of log {metric} on log {factor} ({described(than_where)}) - slope "
            f"({described(where)})"
        )
        match limits_of(values, "mean") if len(values) else "no rows match":
            case str() as reason:
                return undecided(f"{label}: {reason}", len(values))
            case limits:
                numbers = f"{limits.estimate:.3g} [{limits.low:.3g}, {limits.high:.3g}]"
                words = f"{label} {numbers} over {len(values)} seeds; bound {margin:g}"
                below = "fails" if limits.high < margin else UNDECIDED
                outcome = "holds" if limits.low >= margin else below
                return Verdict(
                    outcome, limits.estimate, limits.low, limits.high, words, len(values)
                )

    return check
