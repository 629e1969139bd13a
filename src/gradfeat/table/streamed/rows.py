"""Encoded training rows of a table as a source of blocks."""

from __future__ import annotations

from gradfeat.rows.source import Columns
from gradfeat.rows.sources.numeric import numbered
from gradfeat.rows.sources.tables import Convert, OverTables, Tables
from gradfeat.table.streamed.coding import Coding


class EncodedRows(OverTables):
    """Training rows of a table.

    Parameters
    ----------
    tables : Tables
        With the columns that the rows were looked at with.
    coding : Coding
        What they are turned into.
    rows : int
        Number of training rows.
    """

    def __init__(self, tables: Tables, coding: Coding, rows: int) -> None:
        self.tables = tables
        self.coding = coding
        self._rows = rows

    @property
    def convert(self) -> Convert:
        """Blocks of training rows."""
        return self.coding.blocks

    @property
    def rows(self) -> int:
        """Training rows."""
        return self._rows

    @property
    def columns(self) -> Columns:
        """Numbers in the place of names, as encoded rows in memory have."""
        return numbered(len(self.coding.encoder.feature_names_), 1)

    @property
    def fingerprint(self) -> str:
        """That of the table, and of what its rows are turned into."""
        coding = self.coding
        what = (coding.signature, coding.target, coding.classes, coding.seed, coding.threshold)
        return f"{self.tables.fingerprint}\nencoded {what}"
