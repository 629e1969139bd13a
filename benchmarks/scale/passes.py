"""Time, memory and share of the machine's peak of the passes of one fit to a Parquet folder.

    python benchmarks/scale/data.py rows7 --rows 10000000
    python benchmarks/scale/passes.py rows7

Gradient features (Algorithm 1) of width 1,024 with whitening and a penalty by GCV: three passes.
The peak is that of products of 2,048 x 2,048 float64 matrices by as many threads of one BLAS thread
each as the fit has, measured before and after the fit. Memory is the largest resident size of the
process.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import data
import numpy as np
import pyarrow.parquet as pq
import torch
from threadpoolctl import threadpool_limits

from gradfeat import GradientFeatureRegressor
from gradfeat.rows import InProcess, Pool, Rows, Threads, from_parquet
from gradfeat.rows.engine import Tick

TEST_ROWS = 100_000


def peak(threads: int, size: int = 2048, times: int = 3) -> float:
    """Floating-point operations a second of matrix products, all threads together."""
    A = torch.randn(size, size, dtype=torch.float64)

    def multiply(_: int) -> None:
        torch.set_num_threads(1)
        out = torch.empty_like(A)
        for _ in range(times):
            torch.mm(A, A, out=out)

    before = torch.get_num_threads()
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        rates = []
        for _ in range(3):
            start = time.perf_counter()
            list(pool.map(multiply, range(threads)))
            rates.append(2 * size**3 * times * threads / (time.perf_counter() - start))
    torch.set_num_threads(before)
    return float(np.median(rates))


def flops(label: str, d: int, m: int) -> float:
    """Multiplications and additions a row: what the pass cannot do without."""
    return {
        "moments": d * (d + 1) + 2 * d,
        "gradient": 4 * (m // 2) * d,  # the start is antisymmetric: half of the neurons
        "normal equations": 2 * m * d + m * (m + 1) + 2 * m,
    }[label]


def engine_of(name: str, threads: int, seen: dict[str, Tick]) -> Threads | InProcess | Pool:
    """The engine, telling `seen`."""

    def tell(tick: Tick) -> None:
        seen[tick.label] = tick

    match name:
        case "threads":
            return Threads(threads, report=tell)
        case "pool":
            return Pool(threads, report=tell)
    return InProcess(report=tell)


def main() -> None:
    """One fit, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engine", choices=["threads", "pool", "inprocess"], default="threads")
    args = parser.parse_args()
    before, seen = peak(args.threads), {}
    opened: Rows = from_parquet(str(args.folder), "y")
    engine = engine_of(args.engine, args.threads, seen)
    model = GradientFeatureRegressor(width=args.width, whiten=True, penalty_by="gcv", search=None)
    start = time.perf_counter()
    model.fit(opened.on(engine))
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    d, best = len(opened.columns.inputs), (before + peak(args.threads)) / 2
    X, y = data.rows(-1, TEST_ROWS, d)
    f = data.target(X.astype(np.float64), data.directions(d))
    said = model.predict(X.astype(np.float64))
    U, M = data.directions(d), model.leading_directions(2)
    files = sorted(args.folder.glob("*.parquet"))
    report = {
        "rows": sum(pq.ParquetFile(path).metadata.num_rows for path in files),
        "bytes": sum(path.stat().st_size for path in files),
        "width": args.width,
        "engine": f"{args.engine} {args.threads}",
        "seconds": round(seconds, 1),
        "peak_gflops": round(best / 1e9, 1),
        "memory_mb": round(memory / 1e6),
        "largest_worker_mb": round(workers / 1e6) if args.engine == "pool" else None,
        "test_r2": round(1 - float(((y - said) ** 2).mean() / y.var()), 4),
        "test_r2_possible": round(1 - float(((y - f) ** 2).mean() / y.var()), 4),
        "least_cosine": round(float(np.linalg.svd(U.T @ M)[1].min()), 4),
        "passes": {
            label: {
                "seconds": round(tick.seconds, 1),
                "rows_a_second": round(tick.rows / tick.seconds),
                "share_of_peak": round(
                    flops(label, d, args.width) * tick.rows / tick.seconds / best, 3
                ),
            }
            for label, tick in seen.items()
        },
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
