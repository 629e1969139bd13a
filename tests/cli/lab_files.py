"""A small experiment in a file of one's own, and a folder to run it in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from cli.tables import Ran, gradfeat
from gradfeat.lab import Store

#: Three settings x two seeds; the trial notes each call, n = 9 fails until it is mended.
GROWS = """
import pathlib, random
from matplotlib.figure import Figure
from gradfeat.lab import Experiment, above, below

HERE = pathlib.Path(__file__).parent

def trial(n: int, noise: float = 0.5, kind: str = "plain", *, seed: int):
    with (HERE / "calls").open("a") as calls:
        calls.write(f"{n} {seed}\\n")
    if n == 9 and not (HERE / "mended").exists():
        raise ArithmeticError(f"no nine with [seed] {seed}")
    return {"value": n + noise * random.Random(100 * n + seed).random(), "twice": 2.0 * n}

def figure(table, theory):
    drawn = Figure()
    drawn.subplots().plot(table["n"], table["value"])
    return drawn

EXPERIMENT = Experiment(
    "grows", "Does it grow?", trial, {"quick": {"n": [1, 2, 3]}, "paper": {"n": [1, 2, 9]}},
    seeds=2, figure=figure,
    checks={
        "Three is large. [Theorem 1]": above("value", 2.0, {"n": 3}),
        "One is small. [Page 2]": below("value", 2.0, {"n": 1}),
    },
)
"""

#: In place of "    if n == 9": cells after the first six leave a test the time to interrupt them.
HELD = """
    import time
    time.sleep(0.5 if len((HERE / "calls").read_text().splitlines()) > 6 else 0)
    if n == 9"""
FAILS = GROWS.replace('below("value", 2.0, {"n": 1})', 'above("value", 9.0, {"n": 1})')
UNDECIDED = GROWS.replace('below("value", 2.0, {"n": 1})', 'above("value", 9.0, {"n": 7})')


def grows(folder: Path, text: str = GROWS) -> str:
    """Write the experiment; return its name on the command line."""
    (folder / "grows.py").write_text(text)
    return "grows.py"


def calls(folder: Path) -> list[str]:
    """Calls of the trial so far."""
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def stored(folder: Path, name: str = "gradfeat.sqlite") -> pd.DataFrame:
    """What the store has of the experiment."""
    with Store.open(folder / name, readonly=True) as store:
        return store.table("grows")


def well(capsys: Any, *words: object) -> str:
    """Run a command that must succeed without a word on stderr; return what it printed."""
    ran = gradfeat(capsys, *words)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.out


def refused(capsys: Any, *words: object) -> str:
    """Run a command that must end with code 2 and one line on stderr; return that line."""
    ran: Ran = gradfeat(capsys, *words)
    line = ran.err.strip()
    assert ran.code == 2, ran
    assert line.startswith("gradfeat: ")
    assert len(line.splitlines()) == 1, line
    assert line[-1] in ".?", line
    return line
