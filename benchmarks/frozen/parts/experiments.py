"""Experiments of the catalogue: metrics of small cells, theory, verdicts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fits import Note
from small_cells import CELLS, LATER, small
from trees import named

#: What the frozen tree could do, by name.
KEPT = json.loads((Path(__file__).parents[1] / "capabilities.json").read_text())

#: Metrics that are seconds or memory: not reproducible.
TIMES = ("second", "bytes", "peak", "memory", "time")

#: A cell of the quick grid is run where it took less than this in the tree that was frozen.
QUICK_SECONDS = 4.0


def _note_table(note: Note, name: str, found: Any, table: pd.DataFrame) -> None:
    own = {"seed", "experiment", *found.factors}
    for column in sorted(set(table.columns) - own):
        if not any(word in str(column) for word in TIMES):
            values = table[column]
            kept = values.tolist() if values.dtype.kind == "O" else values.to_numpy()
            note(f"{name}/{column}", _flat(kept), "1e-9")


def _flat(values: Any) -> Any:
    """Arrays of several shapes as one row of numbers."""
    parts = [np.ravel(np.asarray(value)) for value in values]
    return np.concatenate(parts) if parts else np.zeros(0)


def lab(note: Note, folder: Path) -> None:
    """Two seeds of small cells of every experiment, its theory there, verdicts of its claims."""
    del folder
    experiment, run, judge = (named("experiment", "loading"), *_lab("run", "judge"))
    for name in named("names", "loading")():
        found = experiment(name)
        whole = run(found, seeds=2, arrays=True, **small(found))
        table = whole[~whole.isin(LATER.get(name, {})).any(axis=1)]
        table = table.sort_values([*_factors(found), "seed"])
        _note_table(note, name, found, table)
        cells = table[list(found.factors)].drop_duplicates().to_dict("records")
        theory = found.theory_table(cells)
        if theory is not None:
            for column in sorted(set(theory.columns) - set(found.factors)):
                note(f"{name}/theory {column}", theory[column].to_numpy(), "1e-12")
        verdicts = [verdict for _, verdict in judge(found, whole)]
        if not _timed(found):
            note(f"{name}/verdicts", [verdict.outcome for verdict in verdicts])
            ends = [[v.estimate, v.low, v.high] for v in verdicts]
            note(f"{name}/estimates", np.array(ends, dtype=float), "1e-6")


def _factors(found: Any) -> list[str]:
    """Those that the frozen tree has too: the order of cells in a grid is no number."""
    mark = f"experiment/{found.name}/factor/"
    then = [name.removeprefix(mark).split(":")[0] for name in KEPT if name.startswith(mark)]
    return sorted(then or found.factors)


def _lab(*names: str) -> list[Any]:
    return [named(name, "lab") for name in names]


def _timed(found: Any) -> bool:
    """Whether its claims are about seconds."""
    return found.name == "kernel-cost"


def quick_cells(note: Note, folder: Path) -> None:
    """One cell of each quick grid, the first one, seed 0, where it is done in a few seconds."""
    del folder
    experiment, run = named("experiment", "loading"), _lab("run")[0]
    for name in QUICK:
        found = experiment(name)
        cell = found.cells("quick")[0]
        start = time.perf_counter()
        table = run(found, seeds=1, **cell)
        if time.perf_counter() - start > QUICK_SECONDS:
            print(f"  {name}: {time.perf_counter() - start:.1f} s")
        _note_table(note, name, found, table)


QUICK: tuple[str, ...] = tuple(CELLS)
