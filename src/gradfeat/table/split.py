"""Which rows are learned from and which are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from gradfeat.errors import TableError
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.reading.missing import DistinctTexts
from gradfeat.table.reading.numbers import find_numbers
from gradfeat.table.reading.plan import cell_text
from gradfeat.table.row_sample import FEWEST_ROWS, frame_hash, has_value
from gradfeat.wording import counted, near_names


@dataclass(frozen=True)
class Split:
    """Positions of the `train` and `test` rows, increasing, and how they were chosen.

    `units` (k,): the group or stretch of time of each test row, 0, 1, ...; itself elsewhere.
    """

    train: np.ndarray
    test: np.ndarray
    description: str
    units: np.ndarray


def split_rows(
    n: int,
    y: np.ndarray,
    task: Literal["regression", "classification"],
    seed: int = 0,
    time: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Split:
    """Hold out about a quarter of n rows.

    With `time` the last rows, and whole groups with `groups`; rows of equal time or of one group
    stay on one side. Otherwise at random; for classification the same share of each class, at least
    one row of each on both sides.

    `y` (n,) are targets or codes of classes, `time` (n,) the order of the rows, from `parse_time`,
    `groups` (n,) that of their groups, from `parse_groups`.

    >>> split = split_rows(8, np.zeros(8), "regression", time=np.arange(8.0))
    >>> split.train.tolist(), split.test.tolist()
    ([0, 1, 2, 3, 4, 5], [6, 7])
    """
    if n < FEWEST_ROWS:
        raise TableError(
            f"The table has {n} usable row{'s' * (n != 1)}, and at least {FEWEST_ROWS} are needed "
            "to learn from some and test on others: give more rows."
        )
    if time is not None:
        later = _latest(time)
        if not later.any():
            raise TableError(
                "The time column has the same value in every row: give one that orders the rows, "
                "or leave out --time-column."
            )
        units = time_blocks(time[later])
        return _apart(later, y, task, "--time-column", "the last by the time column", units)
    if groups is not None:
        later = _latest(groups)
        later = later if 2 * later.sum() <= n else ~later  # a group of most rows is learned from
        units = numbered(groups[later])
        how = f"whole groups ({number_of(units):,}), seed {seed}"
        return _apart(later, y, task, "--group-column", how, units)
    generator = np.random.default_rng(seed)
    if task == "regression":
        test = generator.permutation(n)[: _held_out(n)]
        return _split(n, test, f"random, seed {seed}")
    rows = [generator.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    test = np.concatenate([of_class[: _held_out(len(of_class))] for of_class in rows])
    return _split(n, test, f"random within each class, seed {seed}")


def _held_out(n: int) -> int:
    return min(max(round(0.25 * n), 1), n - 1)


def _split(n: int, test: np.ndarray, how: str, units: np.ndarray | None = None) -> Split:
    held = np.zeros(n, dtype=bool)
    held[test] = True
    share = f"{held.sum():,} of {n:,} rows held out: "
    units = np.arange(held.sum()) if units is None else units
    return Split(np.flatnonzero(~held), np.flatnonzero(held), share + how, units)


def numbered(values: np.ndarray) -> np.ndarray:
    """The place of each of `values` (n,) among the different ones: 0, 1, ..., equal ones alike.

    >>> numbered(np.array([7.0, 3.0, 7.0])).tolist()
    [1, 0, 1]
    """
    return np.unique(values, return_inverse=True)[1]


def number_of(units: np.ndarray) -> int:
    """How many units (n,), numbered 0, 1, ..., there are.

    >>> number_of(np.array([1, 0, 1]))
    2
    """
    return int(units.max()) + 1


def time_blocks(time: np.ndarray) -> np.ndarray:
    """Stretches of time of about as many rows (n,), 0, 1, ...: about sqrt n, from 10 to 50.

    Rows of equal time are in one; rows that lie near in time err together, those of different
    stretches hardly.
    """
    wanted = min(max(round(len(time) ** 0.5), 10), 50, len(time))
    place = np.searchsorted(np.sort(time), time) * wanted // len(time)
    return numbered(place)


def _latest(order: np.ndarray) -> np.ndarray:
    """The last rows, those of equal order together: (n,), none where all are equal."""
    rising = np.sort(order)
    cut = rising[len(order) - _held_out(len(order))]
    return order >= cut if cut > rising[0] else order > cut


def _apart(
    test: np.ndarray, y: np.ndarray, task: str, option: str, how: str, units: np.ndarray
) -> Split:
    if task == "classification" and np.unique(y[~test]).size < 2:
        raise TableError(
            f"The rows that {option} leaves to learn from hold a single class, so nothing can be "
            "learned from them: leave it out, or give rows of every class."
        )
    return _split(len(y), np.flatnonzero(test), how, units)


def _named(frame: pd.DataFrame, column: str, what: str) -> pd.Series:
    columns = {str(name): values for name, values in frame.items()}
    if column not in columns:
        raise TableError(f"The table has no {what} column {column!r}{near_names(column, columns)}")
    return columns[column]


def parse_groups(frame: pd.DataFrame, column: str, seed: int) -> np.ndarray:
    """Return the place of each row's group in a random order: (n,) float64, equal in a group.

    >>> parse_groups(pd.DataFrame({"who": ["a", "b", "a"]}), "who", 0).argsort().tolist()[0]
    1
    """
    values = _named(frame, column, "group")
    known = has_value(values)
    if not known.all():
        missing = int((~known).sum())
        raise TableError(
            f"The group column {column!r} is missing in {counted(missing, 'row')}: fill it in, or "
            "drop those rows."
        )
    found = frame_hash(values.to_frame(), seed).astype(np.float64)
    if (found == found[0]).all():
        raise TableError(
            f"The group column {column!r} has the same value in every row: give one with two "
            "groups or more, or leave out --group-column."
        )
    return found


def parse_time(frame: pd.DataFrame, column: str, dates: DateOrder = "") -> np.ndarray:
    """Return what orders the rows: (n,) float64, the numbers or the seconds since 1970.

    `dates` tells the day from the month where the column does not.

    >>> parse_time(pd.DataFrame({"when": ["1970-01-02", "1970-01-01"]}), "when").tolist()
    [86400.0, 0.0]
    >>> parse_time(pd.DataFrame({"month": ["01", "12", "02", "03"] * 3}), "month")[:4].tolist()
    [1.0, 12.0, 2.0, 3.0]
    """
    values = _named(frame, column, "time")
    plan = plan_column(column, values, dates)
    if not plan.ordered:  # codes such as 01 are in order too
        plan = find_numbers(column, DistinctTexts.of(cell_text(values))) or plan
    if not plan.ordered:
        example = values.dropna().iloc[0]
        raise TableError(
            f"The time column {column!r} holds neither numbers nor dates (such as "
            f"{str(example)!r}): write dates as 2024-01-31 or 2024-01-31 18:00."
        )
    block = plan.encode(values)
    time = next(iter(block.parts.values()))
    missing = int(np.isnan(time).sum())
    if missing:
        unread = "".join(f" or no {one.what} ({one.example!r})" for one in block.unread)
        raise TableError(
            f"The time column {column!r} is missing{unread} in {missing} "
            f"row{'s' * (missing > 1)}: fill it in, or drop those rows."
        )
    return time


def stretches(time: np.ndarray, n: int) -> np.ndarray:
    """In which of `n` stretches of time each row lies, of about as many rows each.

    `time` (n,) may be the order of groups too. Raises TableError where too many rows have the same
    value for that.

    >>> stretches(np.array([5.0, 1.0, 1.0, 9.0, 7.0, 6.0]), 3).tolist()
    [1, 0, 0, 2, 2, 1]
    """
    ends = np.sort(time)[[len(time) * k // n for k in range(1, n)]]
    found = np.searchsorted(ends, time, side="right")
    if len(np.unique(found)) < n:
        raise TableError(
            f"The column that rows are held out by has so many equal values that it makes no {n} "
            "parts: give one with more values, or leave it out."
        )
    return found
