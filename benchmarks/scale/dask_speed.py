"""Two Dask workers against one: seconds of each pass, in alternating pairs.

    python benchmarks/scale/dask_speed.py [--rows 1000000] [--columns 50] [--width 512] [--pairs 3]

The fit is that of `passes.py`. Both clusters are up from the start, one after the other computes,
and the order changes from pair to pair. Prints JSON: medians of the seconds, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import data
import numpy as np

from gradfeat import GradientFeatureRegressor
from gradfeat.rows import DaskEngine, Rows, from_parquet
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Tick


def seconds(rows: Rows, client: Any, width: int) -> dict[str, float]:
    """Seconds of each pass of a fit."""
    last: dict[str, Tick] = {}

    def watch(tick: Tick) -> None:
        last[tick.label] = tick

    model = GradientFeatureRegressor(width=width, whiten=True, penalty_by="gcv", search=None)
    model.fit(rows.on(DaskEngine(client, report=watch)))
    return {label: tick.seconds for label, tick in last.items()}


def main() -> None:
    """All pairs, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    runs: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch) / "rows"
        data.write(folder, args.rows, args.columns)
        rows = from_parquet(str(folder), "y")
        with local_cluster(1) as one, local_cluster(2) as two:
            clients = {1: one, 2: two}
            for client in clients.values():  # imports, and the files in the page cache
                seconds(rows, client, 8)
            for pair in range(args.pairs):
                for n in (1, 2) if pair % 2 == 0 else (2, 1):
                    runs[n].append(seconds(rows, clients[n], args.width))
    medians = {
        n: {label: float(np.median([run[label] for run in of_n])) for label in of_n[0]}
        for n, of_n in runs.items()
    }
    print(
        json.dumps(
            {
                "rows": args.rows,
                "columns": args.columns,
                "width": args.width,
                "pairs": args.pairs,
                "seconds": {
                    f"{n} workers": {k: round(v, 2) for k, v in of_n.items()}
                    for n, of_n in medians.items()
                },
                "ratio": {k: round(medians[1][k] / medians[2][k], 2) for k in medians[1]},
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
