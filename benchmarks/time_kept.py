"""Seconds asked of `gradfeat fit`, and the wall and processor seconds that it took.

    python benchmarks/time_kept.py [--time 20] [--only 60x2500,189x502]

Ten tables of all shapes, drawn here; each command in a process of its own.
The bound is 20 % and 5 s over what was asked, all in: imports, reading, fits, figures, page.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

#: Rows, columns, classes (0: a number is predicted).
SHAPES = (
    (60, 2500, 2),
    (189, 502, 3),
    (150, 4, 3),
    (1_000, 10, 0),
    (1_000, 300, 0),
    (300, 5_000, 2),
    (5_000, 20, 0),
    (20_000, 50, 2),
    (100_000, 10, 0),
    (50_000, 8, 12),
)


def table(n: int, d: int, classes: int) -> pd.DataFrame:
    """Correlated blocks of ten columns; three of them matter."""
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.standard_normal((n, d // 10 + 1)), 10, axis=1)[:, :d]
    X = 0.8 * shared + 0.6 * rng.standard_normal((n, d))
    f = X[:, 0] + X[:, 1] ** 2 + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(n)
    y = [f"c{k}" for k in pd.qcut(f, classes, labels=False)] if classes else f
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(d)]).assign(y=y)


def taken(command: list[str]) -> tuple[float, float, int]:
    """Wall and processor seconds of a command, and its exit status."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(command, capture_output=True, check=False).returncode
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def main() -> None:
    """Print a line a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print(
        "| rows x columns | target | asked | wall | processor | kept |\n|---|---|---|---|---|---|"
    )
    for n, d, classes in SHAPES:
        name = f"{n}x{d}"
        if asked.only and name not in asked.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.csv"
            table(n, d, classes).to_csv(path, index=False)
            options = ["--target", "y", "--time", str(asked.time), "--out", f"{folder}/out"]
            entry = "from gradfeat.cli import main; main()"
            wall, cpu, status = taken([sys.executable, "-c", entry, "fit", str(path), *options])
        kept = "failed" if status else "yes" if wall <= 1.2 * asked.time + 5 else "no"
        what = f"{classes} classes" if classes else "number"
        print(f"| {n:,} x {d:,} | {what} | {asked.time:g} | {wall:.1f} | {cpu:.1f} | {kept} |")


if __name__ == "__main__":
    main()
