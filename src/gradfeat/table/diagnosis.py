"""What a diagnosis of a table found: plain values, no behaviour.

Written by :mod:`gradfeat.table.diagnose`; read by plots, reports and the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradfeat.table.results import ColumnNote, Interval, Remark
from gradfeat.wording import percent

#: Of fewer groups too few patterns of signs differ for the tests to pass their level by.
FEWEST_UNITS = 12


@dataclass(frozen=True)
class Share:
    """A part of the target's variance, out of sample.

    `found` says whether the interval lies above zero, and the share is 0.1 % or more.
    """

    name: Literal["linear", "quadratic", "higher"]
    share: Interval
    found: bool

    @property
    def in_words(self) -> str:
        """``47 %``, or that there is no evidence of any.

        >>> Share("linear", Interval(0.47, 0.4, 0.5), True).in_words
        '47 %'
        """
        return percent(self.share.estimate) if self.found else "no evidence"


@dataclass(frozen=True)
class Shares:
    """Variance that each class of functions adds to the ones before it.

    ``total`` is what all of them explain, ``settings`` what the flexible model was in each fold.
    """

    parts: tuple[Share, ...]
    total: Interval
    rows: int
    folds: int
    settings: tuple[str, ...]


@dataclass(frozen=True)
class DegreeFinding:
    """One Hermite degree: its strength as a share of the variance, against chance.

    ``null`` (2,) is the middle 95 % of chance, ``visible_from`` the strength that would count.
    ``without`` is the highest lower degree that was taken out first.
    """

    degree: int
    strength: float
    null_low: float
    null_high: float
    visible_from: float
    p_value: float
    found: bool
    without: int


@dataclass(frozen=True)
class Curvature:
    """Eigenvalues of H = E[grad^2 f], largest first, against what chance gives.

    In standard deviations of the target for one standard deviation of a whitened input, squared.
    ``signed`` is False where H of several classes is summed in squares.
    """

    eigenvalues: np.ndarray
    low: np.ndarray
    high: np.ndarray
    threshold: float
    p_value: float
    signed: bool


@dataclass(frozen=True)
class FoundDirections:
    """Directions beyond chance.

    ``loadings`` (p, r): correlation of each original column with the position along each
    direction (the norm over the encoded parts of a column, with the sign of the largest one).
    ``degrees`` were looked at, ``left_out`` are too large to.
    """

    number: int
    columns: tuple[str, ...]
    loadings: np.ndarray
    degrees: tuple[int, ...]
    left_out: tuple[int, ...]


@dataclass(frozen=True)
class SampleSize:
    """Rows that theory's rates suggest for one kind of learner, every constant set to 1."""

    learner: str
    rate: str
    rows: float


@dataclass(frozen=True)
class DiagnosisReport:
    """Everything that the report page and the terminal show."""

    data: str
    target: str
    task: Literal["regression", "classification"]
    classes: tuple[str, ...]
    n_rows: int
    n_tested: int
    n_encoded: int
    n_inputs: int
    columns: tuple[ColumnNote, ...]
    shares: Shares
    degrees: tuple[DegreeFinding, ...]
    exponent: int | None
    #: The lowest degree that the target or a function of it shows: the generative exponent.
    generative: int | None
    curvature: Curvature
    directions: FoundDirections
    sample_sizes: tuple[SampleSize, ...]
    level: float
    draws: int
    seed: int
    versions: dict[str, str]
    command: str
    seconds: float
    remarks: tuple[Remark, ...] = ()
    #: Degrees below the exponent of functions of the target, where there are others than the line.
    transformed: tuple[DegreeFinding, ...] = ()
    #: Columns that move most with the distance of the target from its median, where functions of
    #: the target show a signal and neither its mean nor any model does.
    spread: tuple[str, ...] = ()
    #: Groups or stretches of time that the tests exchange, and what these are; 0 for single rows.
    units: int = 0
    units_are: str = ""

    @property
    def informative(self) -> bool:
        """Whether the first gradient step is: information exponent 1 or 2."""
        return self.exponent in (1, 2)

    @property
    def few_units(self) -> bool:
        """Whether the tests exchange too few to tell anything from chance."""
        return bool(self.units_are) and self.units < FEWEST_UNITS

    @property
    def mean_unseen(self) -> bool:
        """Whether functions of the target show a signal, and neither its mean nor any model does.

        Errors that are larger for some rows than for others do so: the law of the target depends on
        the inputs, and no prediction gains by it.
        """
        models = any(part.found for part in self.shares.parts)
        return self.exponent is None and self.generative is not None and not models
