"""What the engine costs a cell: trivial cells in-process, into stores of growing size.

python benchmarks/engine_overhead.py [--rows 100000]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import machine

from gradfeat.lab import Experiment, Progress, Store, run
from gradfeat.lab.outcomes import Outcome


def trial(n: int, *, seed: int) -> dict[str, float]:
    """Nothing to speak of."""
    return {"value": float(n + seed)}


EXPERIMENT = Experiment("trivial", "?", trial, {"quick": {"n": 0}}, seeds=1)


def timed(store: Path, first: int, cells: int) -> tuple[float, float]:
    """Return milliseconds a cell of a run, all in; and the median between two commits."""
    moments: list[float] = []

    def report(_: Progress) -> None:
        moments.append(time.perf_counter())

    start = time.perf_counter()
    run(EXPERIMENT, store=store, n=range(first, first + cells), progress=report)
    total = time.perf_counter() - start
    steps = [b - a for a, b in itertools.pairwise(moments)]
    return total / cells * 1e3, statistics.median(steps) * 1e3


def fill(store: Path, first: int, last: int) -> None:
    """Add rows in large transactions."""
    with Store.open(store) as opened:
        number = opened.begin(EXPERIMENT, {})
        for start in range(first, last, 5000):
            points = EXPERIMENT.points("quick", None, {"n": range(start, min(start + 5000, last))})
            outcome = Outcome('{"value": 1.0}', (), None, 0.0)
            opened.save(EXPERIMENT, number, [(point, outcome) for point in points])
        opened.end(number)


def sizes(most: int) -> Iterator[int]:
    """0, then thousands up to the most."""
    yield from (size for size in (0, 1000, 10_000, 30_000, 100_000) if size <= most)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--cells", type=int, default=1000)
    chosen = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        timed(Path(folder) / "warm.db", 0, 100)
        alone, _ = timed(Path(folder) / "many.db", 0, 10_000)
        print(f"10,000 cells into a new store: {alone:.3f} ms a cell, start and table included")
        store, rows = Path(folder) / "growing.db", 0
        print("rows in the store   ms a cell, all in   ms between commits (median)")
        for size in sizes(chosen.rows):
            fill(store, rows, size)
            whole, step = timed(store, size, chosen.cells)
            rows = size + chosen.cells
            print(f"{size:17,}   {whole:17.3f}   {step:17.3f}")


if __name__ == "__main__":
    main()
