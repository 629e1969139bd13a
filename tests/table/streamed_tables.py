"""Small tables of mixed columns, and what a look sees in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.frames import FrameTables
from gradfeat.table.request import Request
from gradfeat.table.streamed.frames import FrameRows
from gradfeat.table.streamed.look import Look, Seen
from gradfeat.table.streamed.parts import Parts, parts


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


def looked(frame: pd.DataFrame, piece_rows: int = 60, size: int = 10_000, seed: int = 0) -> Seen:
    """The look at y."""
    look = Look("y", size, seed)
    return look.finish(InProcess().state(look, FrameRows(FrameTables(frame, piece_rows))))


def parted(frame: pd.DataFrame, size: int = 10_000, **options: Any) -> Parts:
    """Test rows, sample and coding for y."""
    seed = options.get("seed", 0)
    return parts(looked(frame, size=size, seed=seed), Request("table", "y", **options), size)
