"""Rows that tell of each other: of one time, or of one subject, on both sides of a random split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.drawing.numbers import listed, number, percent
from gradfeat.table.encode import TableEncoder
from gradfeat.table.leaks import FEWEST_ROWS, LEVELS, between, names_of
from gradfeat.table.row_sample import is_numbers

Floats = NDArray[np.float64]

#: Correlation of neighbours in time from which they tell of each other, and standard errors of it.
NEAR, BEYOND = 0.25, 5.0
#: Rows for each column of the linear model, and its penalty for columns of variance 1.
ROWS_A_COLUMN, PENALTY = 10, 1e-3

#: Groups that are subjects at least; shares of the target and of other columns that lie between
#: them; and in how many of the other columns.
FEWEST_GROUPS, SHARED_TARGET, SHARED, MOST_OF = 10, 0.5, 0.8, 0.5

_PARTS = (
    re.compile(r"(year|yr|yyyy)", re.IGNORECASE),
    re.compile(r"(month|mon|mnth|mo)", re.IGNORECASE),
    re.compile(r"(day|mday|dom|day_?of_?month|date_?of_?month)", re.IGNORECASE),
    re.compile(r"(hour|hr)", re.IGNORECASE),
)
_SUBJECT = re.compile(
    r"(?i:subject|patient|person|participant|individual|animal|household|student|user|customer|"
    r"client|(^|[_\W])id$)|[a-z](Id|ID)$"
)


def about_time(X: Floats, encoder: TableEncoder, code: Floats, target: str) -> list[str]:
    """A remark where rows that are neighbours in time have targets that go together.

    In the order of a date, ``r = sum_i e_i e_(i+1) / sum_i e_i^2`` of what a linear model leaves of
    the target's ranks, or of its classes; its columns are all but those that count time, and their
    squares: weekdays, months and hours are among them, years are not. Where rows are independent r
    has a standard error of 1/sqrt(n).

    `X` (n, d) are training rows in random order, encoded; `code` (n, c) is their target.
    """
    if len(X) < FEWEST_ROWS:
        return []
    spread = ((code - code.mean(axis=0)) ** 2).sum()
    found: dict[str, tuple[float, float]] = {}
    for name, (clock, when) in _times(X, encoder).items():
        left = _left_by_linear(np.delete(X, clock, axis=1), code)[np.argsort(when, kind="stable")]
        share = (left**2).sum() / max(spread, 1e-300)
        found[name] = (left[1:] * left[:-1]).sum() / max((left**2).sum(), 1e-300), share
    name = max(found, key=lambda n: found[n], default="")
    chance = BEYOND / np.sqrt(len(X))
    if not name or found[name][0] < max(NEAR, chance):
        return []
    r, share = found[name]
    whole = name in map(repr, encoder.columns_)
    how = f"--time-column {name}" if whole else "A column of whole dates as --time-column"
    return [
        f"In the order of {name} neighbouring rows have similar {target!r} (correlation "
        f"{number(r)} of what a linear model of the other columns leaves, {percent(share)} of the "
        f"variance; by chance below {number(chance)}): rows that are tested on lie in time between "
        "rows that are learned from, and the scores below may not hold for later rows. "
        f"{how} tests on the last."
    ]


def _times(X: Floats, encoder: TableEncoder) -> dict[str, tuple[list[int], Floats]]:
    """What may order the rows in time, quoted: the places that count time, and the time (n,)."""
    place = {name: i for i, name in enumerate(encoder.feature_names_)}
    dates = [n.name for n in encoder.notes_ if n.kind == "date" and f"{n.name}_seconds" in place]
    parts = [next((n for n in place if part.fullmatch(n.strip())), "") for part in _PARTS]
    years = [*(f"{date}_year" for date in dates), parts[0]]
    clock = [place[n] for n in (*(f"{date}_seconds" for date in dates), *years) if n in place]
    found = {repr(date): (clock, X[:, place[f"{date}_seconds"]]) for date in dates}
    named = [name for name in parts if name]
    if len(named) > 1 and parts[1]:
        order = np.lexsort([X[:, place[name]] for name in reversed(named)])
        found[listed([repr(name) for name in named])] = (clock, order.argsort().astype(np.float64))
    return found


def _left_by_linear(X: Floats, code: Floats) -> Floats:
    """What ridge regression of `code` (n, c) on columns of X (n, d) and their squares leaves."""
    X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)  # the largest numbers have no squares
    Z = np.hstack([X, (X - X.mean(axis=0)) ** 2])[:, : max(1, len(X) // ROWS_A_COLUMN)]
    Z = Z - Z.mean(axis=0)
    size = Z.std(axis=0)
    Z = Z[:, size > 0] / size[size > 0]
    y = code - code.mean(axis=0)
    gram = Z.T @ Z / len(Z) + PENALTY * np.eye(Z.shape[1])
    return y - Z @ np.linalg.solve(gram, Z.T @ y / len(Z))


def subjects(read: Mapping[str, pd.Series], code: Floats, names: Sequence[str]) -> dict[str, str]:
    """Columns whose values are subjects that come again, with the evidence.

    Of ten subjects or more, with two rows each at least, the targets `code` (n, c) agree, as half
    of their variance lies between subjects; and they are called subjects, or most other columns
    agree too. `read` are the columns as they are read.
    """
    found: dict[str, str] = {}
    for name in names:
        column = read[name].iloc[: len(code)]
        group, values = pd.factorize(column, use_na_sentinel=False)
        if not FEWEST_GROUPS <= len(values) <= len(group) // 2 or _fractions(column):
            continue
        share = between(group, code)
        others = [n for n in names if n != name]
        if share >= SHARED_TARGET and (
            _SUBJECT.search(name) or (not is_numbers(column) and _agree(read, others, group))
        ):
            found[name] = f"{len(values):,} groups by {name!r} ({percent(share)}"
    return found


def _fractions(column: pd.Series) -> bool:
    return is_numbers(column) and bool((column.dropna() % 1 != 0).any())


def _agree(read: Mapping[str, pd.Series], names: Sequence[str], group: NDArray[np.intp]) -> bool:
    """Whether most of the columns vary little within groups."""
    shares = [between(group, _numbers(read[n].iloc[: len(group)])) for n in names]
    return len(shares) > 1 and float(np.mean(np.array(shares) >= SHARED)) >= MOST_OF


def _numbers(column: pd.Series) -> Floats:
    """A column as numbers (n, c): themselves, or 0/1 of its most frequent levels."""
    if is_numbers(column):
        return column.fillna(column.median()).to_numpy(dtype=np.float64)[:, None]
    return np.array([column == level for level in column.value_counts().index[:LEVELS]], float).T


def about_subjects(found: Mapping[str, str], target: str) -> list[str]:
    """A remark on rows of one subject on both sides of a random split."""
    if not found:
        return []
    return [
        f"Rows come in {names_of([*found.values()], quoted=True)} of the variance of {target!r} "
        "lies between them): rows of the same group are learned from and tested on, and the scores "
        "below may not hold for new groups. GroupKFold of scikit-learn with a TableModel tests on "
        "groups that were not learned from."
    ]
