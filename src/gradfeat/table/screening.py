"""What to know of the columns before a score is read: identifiers, leaks, copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, skew

from gradfeat.maths.streams import column_hash, numpy_stream
from gradfeat.rows.sources.tables import selected
from gradfeat.table.encode import TableEncoder
from gradfeat.table.identifiers import (
    NO_USE,
    about_identifiers,
    about_named,
    about_order,
    about_stems,
    about_subjects,
    identifiers,
    numbers_of_rows,
    subjects,
)
from gradfeat.table.leaks import (
    FEWEST_ROWS,
    LEVELS,
    MOST_ROWS,
    about_leaks,
    about_named_classes,
    explained,
    names_of,
)
from gradfeat.table.reading.plan import cell_text
from gradfeat.table.results import TOO_GOOD, ColumnGroup, ColumnNote
from gradfeat.table.row_sample import RowSample, column_of, frame_hash, is_numbers
from gradfeat.table.sums import about_sums
from gradfeat.wording import number, percent

Floats = NDArray[np.float64]

#: Rows that are compared with each other, to count equal ones once.
MOST_COMPARED = 200_000


@dataclass(frozen=True, eq=False)
class Screened:
    """Columns to leave out, each with the reason, and what there is to say before a verdict."""

    left_out: Mapping[str, str]
    remarks: tuple[str, ...]


def screen(
    inputs: pd.DataFrame,
    y: Floats,
    target: str,
    classes: int,
    rows: int,
    keep: bool,
    option: bool = True,
    encoder: TableEncoder | None = None,
    labels: Sequence[str] = (),
) -> Screened:
    """Look at each input column alone, on training rows.

    Left out, unless they are to be kept, are identifiers: texts that are all different and of one
    word, or tell nothing of the target; whole numbers that are all different and called numbers of
    rows, or that count the rows or are called an id and explain less than a tenth of the target.
    Remarked on are these, columns that alone explain the target, and copies of others.

    `inputs` (n, p) are training rows in random order, `y` (n,) targets, or codes of `classes`
    (0 for numbers), and `rows` those of the whole table. `keep` says whether identifiers stay,
    `option` whether the command has an option for that, to name; `labels` are those of the
    classes. `encoder` reads cells as those of the fit are read.
    """
    if len(inputs) < FEWEST_ROWS:
        return Screened({}, ())
    texts = inputs.select_dtypes(["str", "string", "category", object])
    inputs = inputs.assign(**{str(name): cell_text(column) for name, column in texts.items()})
    names = [str(name) for name in inputs.columns]
    code = target_codes(y[:MOST_ROWS], classes)
    once, encoder = _each_once(inputs, y), encoder or TableEncoder()
    read = _read(inputs, encoder)
    alone = {n: explained(column.iloc[:MOST_ROWS], code) for n, column in read.items()}
    different = round(rows * len(once) / len(inputs))
    found = identifiers(inputs, once, different, alone, code, encoder)
    left_out = {} if keep or len(found) == len(names) else found
    same = [name for name in names if column_of(inputs, name).nunique(dropna=False) < 2]
    empty = [name for name in same if column_of(inputs, name).isna().all()]
    alike = [name for name in same if name not in empty]
    known = {*left_out, *same}
    others = [name for name in names if name not in known]
    counting = numbers_of_rows(inputs, others, rows)
    numbers = {name: more for name, more in counting.items() if alone[name] > NO_USE}
    again = subjects(read, code, [n for n in others if n not in numbers])
    telling = [n for n in others if n not in numbers and n not in again]
    sentences = [n for n in texts if n in telling and _many(column_of(inputs, n))]
    remarks = [
        *([f"Left out, without a value in training rows: {names_of(empty)}."] if empty else []),
        *([f"Left out, the same in every row: {names_of(alike)}."] if alike else []),
        *about_identifiers(found, bool(left_out), option),
        *about_order(numbers, alone, target),
        *about_named([n for n in others if n not in numbers], once, alone, target, option),
        *about_subjects(again, target),
        *_about_rows_behind(inputs, once, y, [*left_out]),
        *about_stems(inputs, [*left_out], code, target),
        *about_leaks({n: read[n] for n in telling}, alone, y, code, target, classes),
        *about_named_classes(selected(inputs, sentences), y, labels, target),
        *([] if classes else about_sums({n: read[n] for n in others}, y, target)),
        *_about_copies(selected(inputs, others)),
    ]
    return Screened(left_out, tuple(remarks))


#: Share of rows that are copies from which this is said.
EQUAL_ROWS = 0.1


def _about_rows_behind(
    inputs: pd.DataFrame, once: pd.DataFrame, y: Floats, left_out: Sequence[str]
) -> list[str]:
    """A remark on rows that are copies but for identifiers; `once` are rows without full copies."""
    if not left_out or len(left_out) == inputs.shape[1]:
        return []
    rest = inputs.drop(columns=list(left_out))
    share = 1 - len(_each_once(rest, y)) / len(inputs)
    if share - (1 - len(once) / len(inputs)) < EQUAL_ROWS:
        return []
    return [
        f"{percent(share)} of the rows are copies of others in every column but "
        f"{names_of(left_out)}: some are learned from and some tested on, so that {TOO_GOOD}."
    ]


#: Digits below the range of a column's middle half by which rows are compared; one more must leave
#: so much of the copies that fewer of them find, as chance leaves a tenth.
DIGITS, LEFT_BY_ONE_MORE = (4, 5), 0.6


def about_equal_rows(sample: RowSample) -> list[str]:
    """A remark on rows that come again, so that some of them are learned from and tested on.

    Rows that come again to within rounding count too, as where a file was merged with its export.
    """
    rows = max(1, int(sample.count.sum()))
    share = 1 - len(sample.hash) / rows
    which = "copies of others in every column: of equal rows"
    if share < EQUAL_ROWS:
        share = 1 - (len(sample.hash) - _near_copies(sample.frame)) / rows
        which = "copies of others to within rounding: of these"
    if share < EQUAL_ROWS:
        return []
    return [
        f"{percent(share)} of the rows are {which} some are learned from and some tested on, so "
        f"that {TOO_GOOD}."
    ]


def _near_copies(frame: pd.DataFrame) -> int:
    """Rows of a frame without copies that agree with one before them to within rounding.

    Beyond those that do by chance: as many as where each column is shuffled by itself.
    """
    turns = [numpy_stream(k, "near copies") for k in range(frame.shape[1])]
    numbers = [str(name) for name, column in frame.items() if is_numbers(column)]
    others = frame_hash(frame.drop(columns=numbers), 0).astype(np.uint64)
    X = [column_of(frame, name).to_numpy(dtype=np.float64, na_value=np.nan) for name in numbers]
    ranges = [_middle_range(x) for x in X]

    def found(digits: int, shuffled: bool = False) -> int:
        h = others
        for x, reach, turn in zip(X, ranges, turns, strict=False):
            step = reach * 10.0**-digits
            x = turn.permutation(x) if shuffled else x
            with np.errstate(over="ignore"):
                h = column_hash(np.round(x / step) if 0 < step < np.inf else x, h)
        return len(h) - len(np.unique(h))

    for digits in DIGITS:
        near = found(digits)
        if near < EQUAL_ROWS / 2 * len(frame):
            return 0  # finer digits find fewer
        if found(digits + 1) >= LEFT_BY_ONE_MORE * near:
            return near - found(digits, shuffled=True)
    return 0


def _middle_range(x: Floats) -> float:
    """Of the middle half of finite values (n,), or the middle 90 % where that half is one value."""
    finite = x[np.isfinite(x)] / 2  # whose range does not overflow
    if not len(finite):
        return 0.0
    fifth, first, third, last = np.quantile(finite, (0.05, 0.25, 0.75, 0.95))
    return 2 * float(third - first or last - fifth)


def left_out_notes(inputs: pd.DataFrame, left_out: Mapping[str, str]) -> list[ColumnNote]:
    """A note on each column that is left out."""
    columns = {name: column_of(inputs, name) for name in left_out}
    return [
        ColumnNote(n, "dropped", c.nunique(), int(c.isna().sum()), f"an identifier: {left_out[n]}")
        for n, c in columns.items()
    ]


def _read(inputs: pd.DataFrame, encoder: TableEncoder) -> dict[str, pd.Series]:
    """The columns by name; of the first rows alone where they are amounts or moments in text."""
    columns = {str(name): column_of(inputs, str(name)) for name in inputs.columns}
    first = {n: c.iloc[:MOST_ROWS] for n, c in columns.items() if not is_numbers(c)}
    many = {n: c for n, c in first.items() if _many(c)}
    return columns | (encoder.in_order(pd.DataFrame(many)) if many else {})


def _many(column: pd.Series) -> bool:
    return column.nunique() > LEVELS


def target_codes(y: Floats, classes: int) -> Floats:
    """The target as columns (n, c): ranks of numbers, 0/1 of classes."""
    if classes:
        return (y[:, None] == np.arange(classes)).astype(np.float64)
    return rankdata(y)[:, None]


def _each_once(inputs: pd.DataFrame, y: Floats) -> pd.DataFrame:
    """The rows without their copies, which would hide that a column has no value twice.

    Rows of another target are none, and a level that comes again is none of a single column.
    """
    if not inputs.shape[1] > 1 or len(inputs) > MOST_COMPARED:
        return inputs
    copies = pd.concat([inputs, pd.Series(y, inputs.index)], axis=1).duplicated()
    return inputs.loc[~copies]


def _about_copies(inputs: pd.DataFrame) -> list[str]:
    """Columns that hold the same values as one before them, or stand for the same."""
    first: dict[bytes, str] = {}
    copies: list[str] = []
    for name, column in inputs.items():
        if column.count() < FEWEST_ROWS:
            continue
        code, values = pd.factorize(column)
        same = code.tobytes()
        exact, unit = same + repr([*values[:3]]).encode(), _without_unit(column)
        if exact in first and column.equals(inputs[first[exact]]):
            copies.append(f"{str(name)!r} of {first[exact]!r}")
        elif same in first and _stand_for_each_other(column, column_of(inputs, first[same])):
            copies.append(f"{str(name)!r} of {first[same]!r}, written otherwise")
        elif unit in first:
            copies.append(f"{str(name)!r} of {first[unit]!r} in another unit")
        for key in (same, exact, unit):
            first.setdefault(key, str(name))
    return [f"Columns that are copies: {names_of(copies, quoted=True)}."] if copies else []


def _stand_for_each_other(one: pd.Series, other: pd.Series) -> bool:
    """Whether each value of a column goes with one of the other, and that tells something.

    Nothing is told by values most of which come once, nor by two measures of subjects that come
    again: of two columns of numbers the larger has to be the larger, or the smaller, in both.
    """
    pairs = pd.DataFrame({"one": one, "other": other}).dropna()
    each = pairs.drop_duplicates().sort_values("one")
    if 2 * len(each) > len(pairs):
        return False
    ordered = each["other"].is_monotonic_increasing or each["other"].is_monotonic_decreasing
    return ordered or not (is_numbers(one) and is_numbers(other))


def _without_unit(column: pd.Series) -> bytes:
    """The first numbers of a column from its first one, in units of the step to the second."""
    if not is_numbers(column) or column.nunique() < FEWEST_ROWS:
        return str(column.name).encode()
    x = column.to_numpy(dtype=np.float64, na_value=np.nan)[:MOST_ROWS]
    with np.errstate(over="ignore"):  # between 1e308 and -1e308, or in units of 1e-3
        x = x - x[np.isfinite(x)][:1].sum()
        steps = x[np.isfinite(x) & (x != 0)]
        if not len(steps):
            return str(column.name).encode()
        return (np.round(x / steps[0], 4) + 0.0).tobytes()


def about_groups(groups: Sequence[ColumnGroup]) -> list[str]:
    """Which columns say nearly the same, in a sentence."""
    each = [f"{names_of(one.columns)} ({one.correlation:.3g})" for one in groups]
    return [f"Correlated, and so shuffled together: {names_of(each, quoted=True)}."] if each else []


#: Skewness from which a target is heavy-tailed, and the share of it that logarithms may leave; the
#: variance in 1 % of the rows from which values to either side are named.
SKEWED, LEFT, IN_FEW = 2.0, 0.5, 0.5


def about_tails(target: str, y: Floats) -> list[str]:
    """A remark on a target y (n,) whose few largest or farthest values rule every squared error.

    >>> about_tails("y", np.linspace(1.0, 2.0, 100))
    []
    >>> about_tails("y", np.exp(2.0 * np.random.default_rng(0).normal(size=100)))[0][:25]
    "'y' is skewed to the righ"
    """
    if len(y) < FEWEST_ROWS or np.ptp(y) == 0:
        return []
    scaled = y / np.abs(y).max()
    squares = (scaled - scaled.mean()) ** 2
    share = np.sort(squares)[-max(1, len(y) // 100) :].sum() / squares.sum()
    few = f"1 % of the rows make {100 * share:.0f} % of its variance, so that few rows decide R2"
    median = number(float(np.median(y)))
    if _logarithms_help(y):
        counts = bool((y % 1 == 0).all())
        what = "whole numbers, skewed to the right" if counts else "skewed to the right"
        return [
            f"{target!r} is {what} (largest {number(float(y.max()))}, median {median}): {few}; "
            "--target-transform log learns its logarithm."
        ]
    if share < IN_FEW:
        return []
    far = number(float(y[np.abs(scaled - np.median(scaled)).argmax()]))
    return [
        f"{target!r} has values far from all others (the farthest {far}, median {median}): {few}. "
        "Where they are mistakes, mend them or leave those rows out."
    ]


def _logarithms_help(y: Floats) -> bool:
    """Whether values (n,), none negative, are skewed to the right, and their logarithms not."""
    if y.min() < 0:
        return False
    logs = np.log(y + (0.0 if y.min() > 0 else 1.0))
    return bool(np.ptp(logs) > 0 and skew(y) >= SKEWED and abs(skew(logs)) <= LEFT * skew(y))
