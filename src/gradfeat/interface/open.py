"""What users give as a table: a data frame of any library, or where files are."""

# Apart: diagnose opens tables by it too.

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

from gradfeat.drawing.numbers import count
from gradfeat.rows.source import PIECE_ROWS
from gradfeat.rows.sources.in_memory import FrameTables
from gradfeat.rows.sources.tables import Tables
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.notes import layout_sentence
from gradfeat.table.read import as_frame
from gradfeat.table.run_options import RunOptions, opened


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table as it was given: where it is, or its rows; its name is that of the file or type."""

    name: str
    path: str | None = None
    frame: pd.DataFrame | None = None

    def open(self, run: RunOptions, text: TextOptions) -> tuple[Tables, str]:
        """The rows, and why they stream, in words; empty where they are held."""
        why = run.why_streamed(self.path)
        if self.frame is None:
            return opened(self.path or "", text, streamed=bool(why)), why
        rows = PIECE_ROWS if why else max(1, len(self.frame))
        return FrameTables(self.frame, rows), why

    def in_words(self, table: Tables, target: str, why: str) -> str:
        """``t.csv: 240 rows, 7 columns; target y``."""
        rows = "rows not counted yet" if table.rows is None else count(table.rows, "row")
        pieces = "" if table.count is None else f" in {count(table.count, 'piece')}"
        how = f"streamed{pieces}: {why}" if why else f"target {target}"
        layout = f". {layout_sentence(table.remarks)}" if table.remarks else ""
        return f"{self.name}: {rows}, {count(len(table.names), 'column')}; {how}{layout}"

    def call(self, function: Callable[..., Any], target: str, **options: Any) -> str:
        """How Python has the same again: the call, with the options that are not the defaults.

        Examples
        --------
        >>> UserTable("t.csv", path="t.csv").call(given, "y", data=3)
        "gradfeat.given('t.csv', 'y', data=3)"
        """
        usual = {name: one.default for name, one in signature(function).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in options.items() if value != usual[name]]
        words = [repr(self.path) if self.path else "table", repr(target), *changed]
        return f"gradfeat.{function.__name__}({', '.join(words)})"


def given(data: Any) -> UserTable:
    """What users give as a table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> given(pa.table({"x": [1, 2]})).frame["x"].tolist(), given("rows/t.csv").name
    ([1, 2], 't.csv')
    """
    match data:
        case str() | os.PathLike():
            return UserTable(Path(data).name, path=os.fspath(data))
        case _:
            return UserTable(type(data).__name__, frame=as_frame(data))
