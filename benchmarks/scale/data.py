"""A Parquet folder of any number of rows from a law that is known: columns x0, ..., and y.

x ~ N(0, I), y = sqrt(2/3) (He_2(u_1.x) + u_2.x He_1(u_1.x)) / 2^{1/2} + 0.5 noise: two directions
that a gradient step finds. Numbers are written as float32, in files of 500,000 rows with row groups
of 65,536; each file has a generator of its own, so folders of different sizes begin alike.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS, GROUP_ROWS = 500_000, 65_536
NOISE = 0.5


def directions(columns: int) -> np.ndarray:
    """Two orthonormal directions (columns, 2)."""
    return np.linalg.qr(np.random.default_rng(1).standard_normal((columns, 2)))[0]


def target(X: np.ndarray, U: np.ndarray) -> np.ndarray:
    """E[y|x]: degree 2 in two directions, variance 1."""
    u, v = X @ U[:, 0], X @ U[:, 1]
    return ((u**2 - 1) / 2**0.5 + u * v) / 2**0.5


def rows(number: int, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of file `number` (-1: test rows)."""
    rng = np.random.default_rng([number + 1, columns])
    X = rng.standard_normal((n, columns), dtype=np.float32)
    y = target(X.astype(np.float64), directions(columns))
    return X, (y + NOISE * rng.standard_normal(n)).astype(np.float32)


def write(folder: Path, n: int, columns: int) -> None:
    """The folder, unless it is there already."""
    done = folder / "_DONE"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        X, y = rows(number, min(FILE_ROWS, n - start), columns)
        names = [f"x{j}" for j in range(columns)]
        table = pa.table([*X.T, y], names=[*names, "y"])
        path = folder / f"part-{number:04d}.parquet"
        pq.write_table(
            table, path, row_group_size=GROUP_ROWS, compression="none", use_dictionary=False
        )
    done.touch()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    args = parser.parse_args()
    write(args.folder, args.rows, args.columns)
