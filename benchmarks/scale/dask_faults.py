"""A worker killed in each pass of a fit, and the scheduler killed in the second: what it costs.

    python benchmarks/scale/dask_faults.py [--folder DIR] [--rows 300000]

Gradient features of width 256 with whitening and a penalty by GCV on a Parquet folder: three passes
(moments, gradient, normal equations) on two Dask workers. In the middle of each pass one worker is
killed by SIGKILL; coefficients are compared with those of the undisturbed fit, of two threads and
of this process. Then the scheduler is killed in the second pass of a fit with a checkpoint, and the
same fit runs on a new cluster. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np
from threadpoolctl import threadpool_limits

from gradfeat import GradientFeatureRegressor
from gradfeat.rows import (
    Checkpoint,
    DaskEngine,
    EngineError,
    InProcess,
    Rows,
    Threads,
    from_parquet,
)
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Engine, Tick

PASSES = ("moments", "gradient", "normal equations")
SCHEDULER = """
import sys
from gradfeat.rows.dask_client import local_cluster
if __name__ == "__main__":
    with local_cluster(2) as client:
        print(client.scheduler.address, flush=True)
        sys.stdin.read()
"""

Tensors = dict[str, np.ndarray]


def fitted(rows: Rows, engine: Engine) -> Tensors:
    """Coefficients of the fit on an engine."""
    model = GradientFeatureRegressor(width=256, whiten=True, penalty_by="gcv", search=None)
    model.fit(rows.on(engine))
    return {name: t.numpy() for name, t in model.predictor_.tensors().items()}


def difference(one: Tensors, other: Tensors) -> dict[str, Any]:
    """Whether all bits are the same, and the largest difference relative to the largest number."""
    gaps = [
        float(np.abs(one[name] - other[name]).max() / np.abs(one[name]).max())
        for name in one
        if np.abs(one[name]).max() > 0
    ]
    same = all(one[name].tobytes() == other[name].tobytes() for name in one)
    return {"same_bits": same, "largest_relative": max(gaps)}


def at_middle(label: str, strike: Callable[[], None]) -> Callable[[Tick], None]:
    """A report that strikes once, when half of the pieces of a pass are summed."""
    left = [label]

    def report(tick: Tick) -> None:
        if left and tick.label == label and tick.of and tick.rows and 2 * tick.pieces >= tick.of:
            left.clear()
            strike()

    return report


def killed_in(label: str, client: Any, rows: Rows) -> tuple[Tensors, dict[str, Any]]:
    """The fit, one of whose workers is killed in this pass."""
    killed: list[int] = []

    def strike() -> None:
        pids = client.run(os.getpid)
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    start = time.perf_counter()
    found = fitted(rows, DaskEngine(client, report=at_middle(label, strike)))
    return found, {"killed_pids": len(killed), "seconds": round(time.perf_counter() - start, 1)}


def without_scheduler(rows: Rows, kept: Path, undisturbed: Tensors) -> dict[str, Any]:
    """The scheduler is killed in the second pass; the same fit on a new cluster."""
    script = kept / "scheduler.py"
    script.write_text(SCHEDULER)
    checkpoint = Checkpoint(kept / "checkpoint", every=0.0)
    command = [sys.executable, str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        report = at_middle("gradient", scheduler.kill)
        start = time.perf_counter()
        try:
            fitted(rows, DaskEngine(address, report=report, checkpoint=checkpoint))
            sentence = "the scheduler was not missed"
        except EngineError as error:
            sentence = str(error)
        seconds = time.perf_counter() - start
    files = [path for path in (kept / "checkpoint").rglob("*") if path.is_file()]
    found: dict[str, Any] = {
        "sentence": sentence,
        "seconds_until_it_came": round(seconds, 1),
        "kept_files": len(files),
        "kept_mb": round(sum(path.stat().st_size for path in files) / 1e6, 2),
    }
    first: dict[str, int] = {}
    last: dict[str, Tick] = {}

    def watch(tick: Tick) -> None:
        first.setdefault(tick.label, tick.pieces)
        last[tick.label] = tick

    with local_cluster(2) as client:
        again = fitted(rows, DaskEngine(client, report=watch, checkpoint=checkpoint))
    return found | {
        "rerun_begins_at_piece": first,
        "rerun_rows_summed": {label: tick.rows for label, tick in last.items()},
        "rerun_against_undisturbed": difference(undisturbed, again),
    }


def main() -> None:
    """All of it, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rows", type=int, default=300_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, threadpool_limits(1):
        folder = args.folder or Path(scratch) / "rows"
        data.write(folder, args.rows, 20)
        rows = from_parquet(str(folder), "y", piece_rows=8192)
        result: dict[str, Any] = {"rows": args.rows, "pieces": rows.source.count}
        with local_cluster(2) as client:
            start = time.perf_counter()
            plain = fitted(rows, DaskEngine(client))
            result["undisturbed_seconds"] = round(time.perf_counter() - start, 1)
        for label in PASSES:
            with local_cluster(2) as client:
                found, told = killed_in(label, client, rows)
            result[f"worker killed in {label}"] = told | difference(plain, found)
        result["2 threads"] = difference(plain, fitted(rows, Threads(2)))
        result["in process"] = difference(plain, fitted(rows, InProcess()))
        result["scheduler killed in gradient"] = without_scheduler(rows, Path(scratch), plain)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
