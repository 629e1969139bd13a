"""One fit, however the rows come: largest differences from the fit to arrays as one piece.

    python benchmarks/scale/same_answer.py

Gradient features of width 256 on 200,000 rows x 20, penalty given, and chosen by GCV: as arrays,
Parquet in 1, 7 and 1,000 pieces, shuffled, in threads, in processes and on Dask with two workers.
Prints the largest difference of the coefficients (relative to the largest one of the same tensor)
and of predictions at 10,000 new rows (relative to their spread), beside the bound from rounding:
eps * max(e) / lambda for coefficients, its root times sqrt(eps) for predictions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from gradfeat import GradientFeatureRegressor
from gradfeat.rows import DaskEngine, InProcess, Pool, Rows, Threads, from_arrays, from_parquet
from gradfeat.rows.dask_client import local_cluster

N, COLUMNS, WIDTH = 200_000, 20, 256


def written(folder: Path, X: np.ndarray, y: np.ndarray, pieces: int) -> Rows:
    """Rows as a Parquet folder of so many pieces."""
    path = folder / f"{pieces}.parquet"
    names = [f"x{j}" for j in range(X.shape[1])]
    size = -(-len(X) // pieces)
    pq.write_table(pa.table([*X.T, y], names=[*names, "y"]), path, row_group_size=size)
    return from_parquet(str(path), "y", piece_rows=size)


def ways(
    folder: Path, X: np.ndarray, y: np.ndarray, stack: ExitStack
) -> Iterator[tuple[str, Rows]]:
    """The same rows by every road."""
    yield "arrays, 1 piece", from_arrays(X, y, piece_rows=N).on(InProcess())
    yield "arrays, 65,536 rows a piece", from_arrays(X, y).on(InProcess())
    for pieces in (1, 7, 1000):
        rows = written(folder, X, y, pieces)
        yield f"Parquet, {pieces:,} pieces", rows.on(InProcess())
    order = np.random.default_rng(0).permutation(N)
    yield "Parquet, 7 pieces, shuffled rows", written(folder, X[order], y[order], 7)
    rows = written(folder, X, y, 7)
    yield "Parquet, 7 pieces, 2 threads", rows.on(Threads(2))
    yield "Parquet, 7 pieces, 2 processes", rows.on(stack.enter_context(Pool(2)))
    client = stack.enter_context(local_cluster(2))
    yield "Parquet, 7 pieces, 2 Dask workers", rows.on(DaskEngine(client))


def gap(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Largest difference of any tensor, relative to its largest entry."""
    return max(
        float(np.abs(one[name] - other[name]).max() / np.abs(one[name]).max())
        for name in one
        if np.abs(one[name]).max() > 0
    )


def main() -> None:
    """Every road at two ways of choosing the penalty, as JSON lines."""
    X, y = (a.astype(np.float64) for a in data.rows(0, N, COLUMNS))
    new = data.rows(1, 10_000, COLUMNS)[0].astype(np.float64)
    for options in ({"alpha": 100.0}, {"penalty_by": "gcv"}):
        model = GradientFeatureRegressor(width=WIDTH, whiten=True, search=None, **options)
        first: tuple[dict[str, np.ndarray], np.ndarray] | None = None
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            for way, rows in ways(Path(folder), X, y, stack):
                model.fit(rows)
                tensors = {k: t.numpy() for k, t in model.predictor_.tensors().items()}
                said = model.predict(new)
                first = (tensors, said) if first is None else first
                line = {
                    "penalty": options,
                    "rows": way,
                    "coefficients": gap(first[0], tensors),
                    "predictions": float(np.abs(said - first[1]).max() / first[1].std()),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
