"""A random sample of the rows of a table that does not depend on their order or their files.

And the distinct values of a column. By the same hash rows are held out to test on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray
from pandas.api import types
from pandas.core.util.hashing import hash_array, hash_pandas_object
from scipy import stats

from gradfeat.maths.streams import copies_apart, started, with_bits
from gradfeat.table.reading.plan import as_text, most_levels

#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

_DAY, _CLOCK = r"^(\d{4}-\d{2}-\d{2})", r"(\d{2}:\d{2}:\d{2})"
_MOMENT = _DAY + r"[T ]\d{2}:\d{2}"
_ONE_WAY = (
    (_DAY + r"[T ](\d{2}:\d{2})$", r"\1 \2:00"),
    (_DAY + r"[T ]" + _CLOCK + r"(?:\.0+)?$", r"\1 \2"),
    (_DAY + r"[T ]" + _CLOCK + r"(\.\d*[1-9])0*$", r"\1 \2\3"),
    (_DAY + r" 00:00:00$", r"\1"),
)

#: Values of a hash.
HASHES = 2**63


def frame_hash(frame: pd.DataFrame, seed: int) -> NDArray[np.int64]:
    """Hash (n,) of the values of each row, uniform on 0 to 2^63 - 1.

    Numbers of any width with the same value are the same, and so are truth values and moments
    and their text (of moments as ISO 8601 has it): what a column's type is may depend on which rows
    are read together, and on the kind of file.
    """
    h = started(len(frame), seed)
    for _, column in frame.items():
        h = with_bits(h, _hashes(column))
    return (h >> np.uint64(1)).astype(np.int64)


def copy_order(h: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of rows with hashes `h` (n,) in a random order, in which equal rows lie apart.

    Where the copies of a row stay together, the first rows of an order hold all copies of some
    contents and none of others: what is noise among the copies then looks like signal.

    >>> copy_order(np.array([7, 7, 3])).tolist()[0]
    2
    """
    return np.argsort(copies_apart(h), kind="stable")


def _hashes(column: pd.Series) -> NDArray[np.uint64]:
    if is_numbers(column):
        return hash_array(column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0)
    if types.is_datetime64_dtype(column.dtype):
        text = pa.array(column).cast(pa.string())
    else:
        kept = types.is_string_dtype(column.dtype) and column.dtype != object
        text = pa.array(column if kept else as_text(column), pa.string())
    plain = pd.Series(_same_moments(text).to_pandas(), dtype="str")
    return hash_pandas_object(plain, index=False).to_numpy()


def _same_moments(text: Any) -> Any:
    """Texts of moments written in one way: no midnight, no zeros behind seconds."""
    if not pc.any(pc.match_substring_regex(text, _MOMENT), min_count=0).as_py():
        return text
    for pattern, instead in _ONE_WAY:
        text = pc.replace_substring_regex(text, pattern, instead)
    return text


def is_numbers(column: pd.Series) -> bool:
    """Whether it is stored as real numbers (truth values are not).

    >>> is_numbers(pd.Series([1, 2])), is_numbers(pd.Series([True]))
    (True, False)
    """
    return column.dtype.kind in "iuf" and types.is_numeric_dtype(column.dtype)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column by its name."""
    return cast(pd.Series, frame[name])


def has_value(column: pd.Series) -> NDArray[np.bool_]:
    """Which rows (n,) are neither missing nor blank."""
    return (column if is_numbers(column) else as_text(column)).notna().to_numpy(dtype=bool)


@dataclass(frozen=True, eq=False)
class RowSample:
    """Distinct rows with the least hashes.

    `hash` (k,): increasing; `count` (k,): how many rows are equal to each.
    """

    hash: NDArray[np.int64]
    count: NDArray[np.int64]
    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, seed: int, size: int) -> RowSample:
        """The `size` distinct rows of least hash.

        Source: Broder 1997 (bottom-k sketches).
        """
        return cls(frame_hash(frame, seed), np.ones(len(frame), np.int64), frame).least(size)

    def least(self, size: int) -> RowSample:
        """Equal rows once, and the `size` of least hash."""
        distinct, first, group = np.unique(self.hash, return_index=True, return_inverse=True)
        count = np.zeros(len(distinct), np.int64)
        np.add.at(count, group, self.count)
        frame = self.frame.iloc[first[:size]].reset_index(drop=True)
        return RowSample(distinct[:size], count[:size], frame)

    def union(self, other: RowSample, size: int) -> RowSample:
        if not len(self.hash):
            return other
        if not len(other.hash):
            return self
        frame = pd.concat([self.frame, other.frame], ignore_index=True)
        both = (np.concatenate([self.hash, other.hash]), np.concatenate([self.count, other.count]))
        return RowSample(*both, frame).least(size)

    def rows(self, times: NDArray[np.int64]) -> pd.DataFrame:
        """Each row so many `times` (k,), in :func:`copy_order`."""
        places = np.repeat(np.arange(len(times)), times)
        return cast(pd.DataFrame, self.frame.iloc[places[copy_order(self.hash[places])]])

    def some(self, count: NDArray[np.int64], wanted: int, draw: int = 0) -> NDArray[np.int64]:
        """So many of each row, of `count` (k,), that they are about `wanted` together.

        Each copy of a row is drawn by itself: their number is binomial, its quantile that of a
        hash of the row and of `draw`, and the share the same for all. The same share of each row
        would give test rows the targets of the training rows wherever rows come again. Rows that
        occur once are those of least hash.

        >>> found = RowSample.of(pd.DataFrame({"x": [*range(8), *[9] * 92]}), seed=0, size=50)
        >>> some = found.some(found.count, 25)
        >>> int(some.sum()), int(some.max()) > 10
        (25, True)
        """
        if wanted >= count.sum():
            return count
        again = np.flatnonzero(count > 1)
        u = self.hash / (self.hash[-1] + 1.0)
        bits = np.full(len(again), draw + 1, np.uint64)
        own = (with_bits(self.hash[again].astype(np.uint64), bits) / 2.0**64).clip(2.0**-53)

        def drawn(share: float) -> NDArray[np.int64]:
            found = np.where((u < share) & (count > 0), 1, 0).astype(np.int64)
            found[again] = stats.binom.ppf(own, count[again], share)
            return found

        low, high = 0.0, 1.0
        for _ in range(60):
            share = (low + high) / 2
            some = drawn(share)
            if some.sum() == wanted:  # shares that draw as many rows draw the same ones
                return some
            low, high = (low, share) if some.sum() > wanted else (share, high)
        return drawn(low)


#: Classes that a target may have.
MOST_CLASSES = 100
#: Distinct values that are kept: one more than there may be classes, and one that says "more".
MOST_VALUES = MOST_CLASSES + 2


@dataclass(frozen=True, eq=False)
class TargetValues:
    """Distinct values of a column with their counts, as far as they are few.

    `missing`, `infinite`: rows without a value, and with an infinite one; `least`, `greatest`: of
    numbers that are not infinite; inf and -inf where there are none; `table`: ``key`` (increasing:
    the number or the text), ``value`` as it came, ``count``; the first `MOST_VALUES` of all.
    """

    missing: int
    infinite: int
    least: float
    greatest: float
    table: pd.DataFrame

    @classmethod
    def of(cls, column: pd.Series) -> TargetValues:
        """Those of a column.

        >>> found = TargetValues.of(pd.Series(["b", None, "a", "b"]))
        >>> found.missing, found.table["key"].tolist(), found.table["count"].tolist()
        (1, ['a', 'b'], [1, 2])
        """
        numbers = is_numbers(column)
        key = column.astype(np.float64) if numbers else as_text(column)
        known = key.notna()
        key, value = key.loc[known], column.loc[known]
        if value.dtype in ("str", "string"):
            value = key
        finite = key.loc[np.isfinite(key)] if numbers else key.iloc[:0]
        least = float(finite.min()) if len(finite) else np.inf
        greatest = float(finite.max()) if len(finite) else -np.inf
        of_objects = value.dtype == object and value.isin([np.inf, -np.inf])
        infinite = len(key) - len(finite) if numbers else int(np.sum(of_objects))
        table = pd.DataFrame({"key": key, "value": value, "count": 1})
        return cls(int((~known).sum()), infinite, least, greatest, _distinct(table))

    def union(self, other: TargetValues) -> TargetValues:
        """Of the rows of both."""
        tables = [t for t in (self.table, other.table) if len(t)]
        return TargetValues(
            self.missing + other.missing,
            self.infinite + other.infinite,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            _distinct(pd.concat(tables, ignore_index=True)) if tables else self.table,
        )

    @property
    def many(self) -> bool:
        """Whether there are more values than classes may be."""
        return len(self.table) > MOST_CLASSES

    def examples(self) -> pd.Series:
        """Every value that is kept, twice where it occurs twice, and the extremes of numbers."""
        twice = np.minimum(self.table["count"].to_numpy(), 2)
        values = column_of(self.table, "value").iloc[np.repeat(np.arange(len(twice)), twice)]
        if self.many and is_numbers(values):
            ends = pd.Series([self.least, self.greatest])
            values = pd.concat([values.astype(np.float64), ends])
        return values.reset_index(drop=True)


def _distinct(table: pd.DataFrame) -> pd.DataFrame:
    grouped = table.groupby("key", sort=True)
    found = grouped.agg(value=("value", "first"), count=("count", "sum")).head(MOST_VALUES)
    return found.reset_index()


#: Usable rows, some to learn from and others to test on.
FEWEST_ROWS = 4
#: Rows that are tested on, and rows by which columns are encoded and settings chosen, at most.
TEST_ROWS, SAMPLE_ROWS = 50_000, 22_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How many rows of each content are tested on; all others are learned from.

    `hash` (k,) are those of contents that have test rows, increasing; of the `of` (k,) rows with
    each, `tested` (k,) are test rows.
    """

    seed: int
    hash: NDArray[np.int64]
    tested: NDArray[np.int64]
    of: NDArray[np.int64]

    @property
    def fingerprint(self) -> str:
        """Text that changes with the rows that are held out."""
        parts = (self.hash, self.tested, self.of)
        return blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()

    def weights(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The share (n,) of each row that is learned from: equal rows are interchangeable."""
        place, found = self._places(frame_hash(frame, self.seed))
        share = 1.0 - self.tested[place] / self.of[place]
        return np.where(found, share, 1.0)

    def training(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Positions of the rows of a whole table that are learned from, in :func:`copy_order`."""
        h = frame_hash(frame, self.seed)
        order = np.argsort(h, kind="stable")
        h = h[order]
        place, found = self._places(h)
        earlier = np.arange(len(h)) - np.searchsorted(h, h)
        kept = ~found | (earlier >= self.tested[place])
        return order[kept][copy_order(h[kept])]

    def _places(self, h: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        place = np.searchsorted(self.hash, h).clip(max=len(self.hash) - 1)
        return place, self.hash[place] == h


def held_out(
    sample: RowSample, known: int, size: int, groups: Sequence[NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """How many of each row in a sample are tested on: about a quarter of the `known` rows.

    Of every group (a class, or all rows) the same share, at least one row on either side. Of a
    table with more distinct rows than the `size` of the sample so many that enough are left of it
    to choose settings by.
    """
    held, tested = int(sample.count.sum()), np.zeros(len(sample.count), np.int64)
    wanted = min(round(known / 4), TEST_ROWS)
    if len(sample.hash) == size:
        wanted = min(wanted, held * TEST_ROWS // (TEST_ROWS + SAMPLE_ROWS))
    for group in groups:
        count = np.where(group, sample.count, 0)
        rows = int(count.sum())
        share = max(1, min(round(wanted * rows / held), rows - 1))
        tested += sample.some(count, share)
    return tested


def few_levels(names: Iterable[str], frame: pd.DataFrame, target: str) -> list[str]:
    """Inputs of these `names` that are levels in any case, as a category of a data frame is."""
    inputs, most = [n for n in names if n in frame and n != target], most_levels(len(frame))
    return [n for n in inputs if int(column_of(frame, n).nunique()) <= most]


#: What the values of a target are whose classes are told as text.
LabelKind = Literal["text", "integer", "number", "boolean"]


def label_kind(column: pd.Series) -> LabelKind:
    """What the values of a target of classes are, by their dtype."""
    if column.dtype == "category":
        column = column.astype(column.cat.categories.dtype)
    if types.is_bool_dtype(column.dtype):
        return "boolean"
    if not types.is_numeric_dtype(column.dtype):
        return "text"
    return "integer" if types.is_integer_dtype(column.dtype) else "number"


def typed(classes: Sequence[str], kind: LabelKind) -> NDArray[Any]:
    """The classes as values of their kind.

    >>> typed(["0", "1"], "integer"), typed(["False", "True"], "boolean")
    (array([0, 1]), array([False,  True]))
    """
    match kind:
        case "integer":
            return np.array([int(label) for label in classes])
        case "number":
            return np.array([float(label) for label in classes])
        case "boolean":
            return np.array([label == "True" for label in classes])
    return np.array(classes, dtype=object)
