"""What one comparison on a table found: plain values, no behaviour.

Written by :mod:`gradfeat.table.compare`; read by plots, reports and the command line.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

Family = Literal["fixed", "learned", "reference"]

#: Does learning features help? *Same*: by less than is worth naming; *uneven*: the methods saw
#: different numbers of rows, which may be what makes the difference.
Answer = Literal["yes", "no", "same", "unclear", "uneven"]

#: Rows that the neurons fire on which find a direction.
Part = Literal["most", "few", "both"]


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95 % interval: bootstrap over test rows, exact of shares."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class MethodResult:
    """One row of the comparison.

    `scores` maps a score's printed name (``R2``, ``RMSE``; ``accuracy``, ``log-loss``, ``AUC``)
    to its interval; the first one ranks. `family` says whether the method's features are
    ``fixed``, ``learned`` by gradients, or a ``reference`` outside that question (trees).
    It was fitted to `rows_used` of `rows_there`. `sampled` says whether that was a sample of a
    table that streams: of rows that it needs in memory, or in the time that it had.
    """

    name: str
    label: str
    family: Family
    scores: dict[str, Interval]
    fit_seconds: float
    rows_used: int
    settings: dict[str, str]
    error: str = ""
    sampled: bool = False
    rows_there: int = 0


@dataclass(frozen=True)
class Verdict:
    """Does the best learned-feature method beat the best fixed-feature one? (paired bootstrap)."""

    answer: Answer
    sentence: str
    score: str
    difference: Interval
    learned: str
    fixed: str


@dataclass(frozen=True)
class Bars:
    """What directions are made of, a bar each: ``weights`` (b, r) of ``names`` (b,).

    A number has the weight of its standardised column, which is how far one standard deviation
    moves a row; a level its distance from the average row times the root of its share of the rows.
    Their squares are parts of the variance of positions. Texts, of which nothing is more or less,
    and hours or weekdays of dates, which are cyclic, have no sign (``signed``).
    """

    names: tuple[str, ...]
    weights: np.ndarray
    signed: tuple[bool, ...]


@dataclass(frozen=True)
class Directions:
    """What the best learned-feature method reads from the inputs.

    ``loadings`` (d, r) are in standardised encoded columns, ``bars`` what people are shown of them,
    ``importances`` (p,) the share of AGOP on each of them.
    ``eigenvalues`` (d,) of the AGOP, normalised to sum 1, decreasing, with bootstrap bands.
    ``projections`` (n_test, 2) of the test rows on the first two directions.
    """

    method: str
    encoded: tuple[str, ...]
    columns: tuple[str, ...]
    loadings: np.ndarray
    bars: Bars
    importances: np.ndarray
    eigenvalues: np.ndarray
    eigenvalues_low: np.ndarray
    eigenvalues_high: np.ndarray
    n_effective: Interval
    projections: np.ndarray


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that say nearly the same: of each two the correlation is at least so large."""

    columns: tuple[str, ...]
    correlation: float


@dataclass(frozen=True)
class ColumnLoss:
    """By how much a score falls where these columns are shuffled together.

    One column, some that are correlated, or the `rest` that there was no time for.
    """

    columns: tuple[str, ...]
    loss: Interval
    rest: bool = False

    @property
    def sure(self) -> bool:
        """Whether it is beyond chance: the interval is above 0."""
        return self.loss.low > 0


@dataclass(frozen=True)
class Importances:
    """What a model loses without a column: permutation importance on test rows.

    ``losses`` of ``score`` (R2, accuracy or log-loss): those beyond chance, whose interval is
    above 0, then the others, of both the largest first; ``rows`` that were shuffled, in how many
    ``shuffles``; ``method`` the model's.
    """

    method: str
    score: str
    losses: tuple[ColumnLoss, ...]
    rows: int
    shuffles: int
    #: How many of the first losses these rows do not tell from the largest.
    tied: int = 1

    @property
    def worse(self) -> str:
        """What the score does where a model does worse."""
        return "rises" if self.score == "log-loss" else "falls"

    @property
    def lost(self) -> str:
        """How tables head the losses: ``R2 lost``, ``log-loss gained``."""
        return f"{self.score} {'gained' if self.worse == 'rises' else 'lost'}"

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Importances:
        """As ``dataclasses.asdict`` gave it, through JSON."""
        losses = tuple(
            ColumnLoss(tuple(one["columns"]), Interval(**one["loss"]), one["rest"])
            for one in record["losses"]
        )
        return Importances(**{**record, "losses": losses})


@dataclass(frozen=True)
class FirstStep:
    """What the first gradients of random neurons point along, in the training rows.

    One entry a direction, largest mass first: ``folded`` (p, q) signed weights of the standardised
    columns in what a neuron reads, summed back to the p original columns (without a sign where a
    column is encoded as several, ``signed``); ``mass`` the share of
    random neurons that point along it, with its 95 % interval over neurons; ``parts`` the rows
    that these neurons fire on. ``p`` and ``width`` are the least mass and the cone asked for,
    ``short`` and ``unexplained`` the shares of neurons with too short a gradient and in no cone,
    ``rows`` the training rows looked at, ``method`` the one whose set it is. Of several ``outputs``
    (classes) each neuron has a gradient for each: all shares are then of these gradients, so that
    they add up to at most one, and one counts for a direction in the class that has most of it.
    """

    method: str
    columns: tuple[str, ...]
    folded: np.ndarray
    mass: tuple[Interval, ...]
    parts: tuple[Part, ...]
    p: float
    width: float
    unexplained: float
    short: float
    rows: int
    outputs: int = 1
    signed: tuple[bool, ...] = ()


#: What remarks say of columns that alone explain the target.
NEARLY_ALL = "nearly all of"
#: What remarks say of rows whose copies are on both sides of the split.
TOO_GOOD = "scores may be too good for rows that are new"


@dataclass(frozen=True)
class Remark:
    """A sentence on data or fits: before the verdict, last, or last and on the page alone."""

    text: str
    place: Literal["first", "last", "page"] = "first"


#: What a column holds.
Kind = Literal["number", "numbers", "category", "text", "date", "time of day", "duration", "yes/no"]


@dataclass(frozen=True)
class ColumnNote:
    """One input column: what it holds and what was done to it.

    `word`: what says that values are missing, such as NA, in a share `word_share` of the cells.
    """

    name: str
    kind: Kind | Literal["dropped"]
    distinct: int
    missing: int
    treatment: str
    remark: str = ""
    word: str = ""
    word_share: float = 0.0


@dataclass(frozen=True)
class UnreadCells:
    """Cells of a column that are not what the column holds: taken as missing, or `read` otherwise.

    `what` they should be, or how they are read; `example` the first of them, `row` where it is
    (from 0), and `place` the same in words, such as ``line 17``.
    """

    column: str
    cells: int
    example: str
    what: str
    row: int
    place: str = ""
    read: bool = False


@dataclass(frozen=True)
class PassTime:
    """One pass: what for, and how many rows in how many seconds.

    No row where a pass was finished in an earlier run, which was interrupted.
    """

    label: str
    rows: int
    seconds: float


@dataclass(frozen=True)
class Streaming:
    """How rows were streamed: in how many pieces, by what, and what of them was held.

    `sample` are the rows by which columns are encoded and settings are chosen.
    """

    pieces: int
    engine: str
    sample: int
    passes: tuple[PassTime, ...]


@dataclass(frozen=True)
class FitReport:
    """Everything the report page and the terminal table show."""

    data: str
    target: str
    task: Literal["regression", "classification"]
    classes: tuple[str, ...]
    n_rows: int
    n_train: int
    n_test: int
    split: str
    columns: tuple[ColumnNote, ...]
    methods: tuple[MethodResult, ...]
    verdict: Verdict | None
    directions: Directions | None
    best: str
    y_true: np.ndarray
    y_pred: np.ndarray
    seed: int
    versions: dict[str, str]
    command: str
    seconds: float
    first_step: FirstStep | None = None
    streaming: Streaming | None = None
    unread: tuple[UnreadCells, ...] = ()
    importances: Importances | None = None
    groups: tuple[ColumnGroup, ...] = ()
    remarks: tuple[Remark, ...] = ()


@cache  # each reads a file of the package
def package_versions() -> dict[str, str]:
    """Of Python and of the packages that numbers depend on."""
    packages = ("gradfeat", "torch", "numpy", "scikit-learn", "pandas", "skrub")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}
