"""Predictions that are no finite numbers, counted: none is handed on."""

# Apart: rows in memory and streamed rows are refused with the same sentence.

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gradfeat.rows.sources.tables import Tables
from gradfeat.rows.sources.words import counted
from gradfeat.table.errors import TableError


@dataclass(frozen=True)
class NotFinite:
    """Some rows in order, and those whose predictions are no finite numbers.

    Attributes
    ----------
    rows : int
        How many rows there are.
    lost : int
        How many of them have such a prediction.
    first : int
        The first of these.
    """

    rows: int = 0
    lost: int = 0
    first: int = 0

    @classmethod
    def of(cls, f: NDArray[np.float64]) -> NotFinite:
        """Of predictions (n,), or probabilities (n, K).

        Examples
        --------
        >>> NotFinite.of(np.array([1.0, np.nan, np.inf]))
        NotFinite(rows=3, lost=2, first=1)
        """
        wrong = ~np.isfinite(f if f.ndim == 1 else f.sum(axis=1))
        return cls(len(f), int(wrong.sum()), int(wrong.argmax()) if len(f) else 0)

    def then(self, later: NotFinite) -> NotFinite:
        """With the rows that come after.

        Examples
        --------
        >>> NotFinite(5).then(NotFinite(2, 1, 1))
        NotFinite(rows=7, lost=1, first=6)
        """
        first = self.first if self.lost else self.rows + later.first
        return NotFinite(self.rows + later.rows, self.lost + later.lost, first)

    def refuse(self, table: Tables) -> None:
        """Nothing where all predictions are finite.

        Raises
        ------
        TableError
            With the number of rows and the place of the first.
        """
        if not self.lost:
            return
        raise TableError(
            f"The predictions of {counted(self.lost, 'row')} of {self.rows:,} are no finite "
            f"numbers (the first is {table.place(self.first)}): values there are too far from "
            "those of the training rows; mend them, or leave these rows out."
        )
