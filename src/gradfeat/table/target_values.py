"""What the target of a table is, from sums over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from gradfeat.table.errors import TableError
from gradfeat.table.reading.cells import as_text
from gradfeat.table.row_sample import column_of, is_numbers
from gradfeat.table.target import MOST_CLASSES

#: Distinct values that are kept: one more than there may be classes, and one that says "more".
MOST_VALUES = MOST_CLASSES + 2


@dataclass(frozen=True, eq=False)
class TargetValues:
    """Distinct values of a column with their counts, as far as they are few.

    Attributes
    ----------
    missing, infinite : int
        Rows without a value, and with an infinite one.
    least, greatest : float
        Of numbers that are not infinite; inf and -inf where there are none.
    table : DataFrame
        ``key`` (increasing: the number or the text), ``value`` as it came, ``count``; the first
        `MOST_VALUES` of all.
    """

    missing: int
    infinite: int
    least: float
    greatest: float
    table: pd.DataFrame

    @classmethod
    def of(cls, column: pd.Series) -> TargetValues:
        """Those of a column.

        Examples
        --------
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
        infinite = len(key) - len(finite) if numbers else 0
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

    def check(self, target: str) -> None:
        """Refuse infinite values.

        Raises
        ------
        TableError
            With their number.
        """
        if self.infinite:
            raise TableError(
                f"The target {target!r} has {self.infinite:,} infinite value"
                f"{'s' * (self.infinite > 1)}: put numbers there or leave the cells empty to drop "
                "the rows."
            )

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
