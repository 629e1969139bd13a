"""The scale on which a target is learned: as it is, or its logarithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew

from gradfeat.drawing.numbers import number
from gradfeat.table.errors import TableError

Floats = NDArray[np.float64]

Transform = Literal["none", "log"]

#: Skewness from which a target is heavy-tailed, and the share of it that logarithms may leave.
SKEWED, LEFT = 2.0, 0.5

#: Rows of which the tails say something.
FEWEST_ROWS = 20

#: The largest logarithm that is taken back, so that squares of predictions stay finite.
LARGEST_LOG = 345.0


#: What is above 0 where exp of a prediction is not.
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class TargetScale:
    """Methods are fitted to log(y + shift), or to y where there is no shift.

    Predictions are ``exp(f) - shift``: the median of y where f is that of its logarithm.

    >>> scale = TargetScale(1.0)
    >>> scale.back(scale.learned(np.array([0.0, 9.0]))).round(12).tolist()
    [0.0, 9.0]
    """

    shift: float | None = None

    def learned(self, y: Floats) -> Floats:
        """What methods are fitted to."""
        return y if self.shift is None else np.log(np.maximum(y + self.shift, SMALLEST))

    def back(self, f: Floats) -> Floats:
        """Predictions in the units of y."""
        if self.shift is None:
            return f
        return np.exp(np.minimum(f, LARGEST_LOG)) - self.shift

    def learned_name(self, target: str) -> str:
        """What is learned, as a formula: ``log(y)``."""
        if self.shift is None:
            return target
        return f"log({target})" if self.shift == 0 else f"log({number(self.shift, 0)} + {target})"

    def in_words(self, target: str) -> str:
        """What is learned and predicted, in a sentence; '' where y is learned as it is."""
        if self.shift is None:
            return ""
        return (
            f"Methods are fitted to {self.learned_name(target)}, and predict the median of "
            f"{target!r}: their predictions are taken back by exp. Scores are of {target!r} itself."
        )


#: A target that is learned as it is.
AS_IS = TargetScale()


def target_scale(asked: Transform, target: str, least: float, classes: bool) -> TargetScale:
    """The scale that was asked for; of a target that holds 0, log(1 + y)."""
    if asked == "none":
        return AS_IS
    if classes:
        raise TableError(
            f"--target-transform log is for quantities, and {target!r} holds classes: leave it "
            "out, or give --task regression."
        )
    if least < 0:
        raise TableError(
            f"--target-transform log is for targets of at least 0, and {target!r} goes down to "
            f"{least:.4g}: leave it out, or add a constant to the column."
        )
    return TargetScale(0.0 if least > 0 else 1.0)


def about_tails(target: str, y: Floats) -> list[str]:
    """A remark on a target y (n,) whose few largest values rule every squared error.

    >>> about_tails("y", np.linspace(1.0, 2.0, 100))
    []
    >>> about_tails("y", np.exp(2.0 * np.random.default_rng(0).normal(size=100)))[0][:25]
    "'y' is skewed to the righ"
    """
    if len(y) < FEWEST_ROWS or y.min() < 0 or np.ptp(y) == 0:
        return []
    logs = np.log(y + (0.0 if y.min() > 0 else 1.0))
    if np.ptp(logs) == 0 or skew(y) < SKEWED or abs(skew(logs)) > LEFT * skew(y):
        return []
    counts = bool((y % 1 == 0).all())
    squares = np.sort((y / y.max() - (y / y.max()).mean()) ** 2)
    share = squares[-max(1, len(y) // 100) :].sum() / squares.sum()
    what = "counts, skewed to the right" if counts else "skewed to the right"
    return [
        f"{target!r} is {what} (largest {number(float(y.max()))}, median "
        f"{number(float(np.median(y)))}): 1 % of the rows make {100 * share:.0f} % of its "
        "variance, so that few rows decide R2; --target-transform log learns its logarithm."
    ]
