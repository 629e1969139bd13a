"""Small tables of mixed columns, and what a first pass finds in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.first_pass import Summarise, TableSummary
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.request import Request


def mixed(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers with gaps, levels, dates, truth values, free text, and y = a^2 + b + 0.1 noise."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n))
    frame = pd.DataFrame({"a": a, "b": b, "whole": rng.integers(0, 50, n)})
    frame["kind"] = rng.choice(np.array(["p", "q", "r", None], dtype=object), n)
    frame["name"] = [f"name {k}" for k in rng.integers(0, 90, n)]
    frame["when"] = pd.date_range("2024-01-01", periods=n, freq="7h")
    frame["flag"] = rng.random(n) < 0.3
    frame["y"] = a**2 + b + 0.1 * noise
    frame.loc[frame.index[::9], "b"] = None
    return frame


def looked(
    frame: pd.DataFrame, piece_rows: int = 60, size: int = 10_000, seed: int = 0
) -> TableSummary:
    """The summary for y."""
    look = Summarise("y", size, seed)
    return look.finish(InProcess().state(look, FrameTables(frame, piece_rows)))


def parted(frame: pd.DataFrame, piece_rows: int = 50, **options: Any) -> Prepared:
    """Test rows, sample and streamed rows for y."""
    request = Request("table", "y", **options)
    return prepare(FrameTables(frame, piece_rows), request, InProcess())
