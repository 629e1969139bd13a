"""Small tables and short runs of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gradfeat.cli import app, guarded

QUICK = ("--methods", "linear,rfm", "--time", "2")


@dataclass(frozen=True)
class Ran:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str


def gradfeat(capsys: Any, *words: object) -> Ran:
    """Run the command in this process."""
    capsys.readouterr()
    code = guarded(app, [str(word) for word in words])
    said = capsys.readouterr()
    return Ran(code, said.out, said.err)


def _remarks(_: str, contents: Any) -> str:
    return "".join(one.text for one in contents["report"].remarks)


@contextmanager
def without_pages() -> Iterator[None]:
    """Of the page of a fit its remarks alone: figures take most of the time of a small one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradfeat.interface.page.page", _remarks)
        yield


def quantity(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Numbers with gaps, categories, dates, and y = a^2 + b."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    frame = pd.DataFrame({"a": a, "b": b, "kind": rng.choice(list("pqr"), n)})
    frame["when"] = pd.date_range("2024-01-01", periods=n, freq="7h").astype(str)
    frame["y"] = a**2 + b
    frame.loc[frame.index[::9], "b"] = None
    return frame


def classes(n: int = 60, K: int = 2, seed: int = 0) -> pd.DataFrame:
    """The same columns; y names the K quantiles of a^2 + b."""
    frame = quantity(n, seed)
    codes = pd.qcut(frame["y"], K, labels=False)
    return frame.assign(y=[f"class {code}" for code in codes])


def written(frame: pd.DataFrame, folder: Path, name: str = "table.csv") -> Path:
    """`frame` as CSV."""
    path = folder / name
    frame.to_csv(path, index=False)
    return path


def results(out: Path) -> dict[str, Any]:
    """results.json, strictly: nan and infinities are no JSON."""
    return json.loads((out / "results.json").read_text(), parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
