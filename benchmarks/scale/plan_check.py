"""Planned against measured seconds of each pass, at three sizes and two widths, on this machine.

    OMP_NUM_THREADS=1 python benchmarks/scale/plan_check.py FOLDER --rows 100000 300000 1000000

Gradient features with whitening and a penalty by GCV on Parquet folders of benchmarks/scale/data.py
in the page cache, in one thread beside the one that reads. Before each fit the machine is
calibrated anew; planned and measured alternate, and medians are compared. Plans are for machines of
their own: where others use this one, seconds by the clock are longer, so processor seconds of the
process are compared too, with what is planned for computing and reading together. Those of
workers of a cluster (--workers) are not seen from here: compare the clock alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import data

from gradfeat import GradientFeatureRegressor
from gradfeat.planning.calibration import SECONDS, calibrate
from gradfeat.planning.job import Job
from gradfeat.planning.plan import Plan, plan_of
from gradfeat.rows import DaskEngine, Rows, Threads, from_parquet
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Engine, Tick

COLUMNS = 50
TOGETHER = "all"


#: Seconds by the clock, and of processors.
Spent = tuple[float, float]


def planned(job: Job, seconds: float) -> tuple[dict[str, Spent], Plan]:
    """Seconds of each pass (without the driver after it), and of the fit."""
    found = plan_of(job, calibrate(job, seconds=seconds))
    parse = job.rows * found.rates.read_row_cpu.value
    passes = {
        one.label: (one.times.total - one.times.driver, one.times.compute + parse)
        for one in found.passes
    }
    driver = sum(one.times.driver for one in found.passes) + found.other
    processor = driver + sum(spent[1] for spent in passes.values())
    return passes | {TOGETHER: (found.seconds, processor)}, found


def measured(rows: Rows, engine_of: type[Threads] | None, width: int, client: object) -> dict:
    """Seconds of each pass, as the engine tells, and of the fit."""
    seen: dict[str, Spent] = {}
    begun: dict[str, float] = {}

    def tell(tick: Tick) -> None:
        begun.setdefault(tick.label, time.process_time())
        seen[tick.label] = (tick.seconds, time.process_time() - begun[tick.label])

    engine: Engine = Threads(1, report=tell)
    if engine_of is None:
        engine = DaskEngine(client, report=tell)
    model = GradientFeatureRegressor(width=width, whiten=True, penalty_by="gcv", search=None)
    start, before = time.perf_counter(), time.process_time()
    model.fit(rows.on(engine))
    spent = time.perf_counter() - start, time.process_time() - before
    return seen | {TOGETHER: spent}


def compared(rows: Rows, job: Job, width: int, times: int, seconds: float, client: object) -> dict:
    """Medians of planned and measured, their ratio, and the spread of what was seen."""
    plans, fits, peaks = [], [], []
    for _ in range(times):
        plan, found = planned(job, seconds)
        plans.append(plan)
        peaks.append(found.rates.peak.value / 1e9)
        fits.append(measured(rows, None if job.on_cluster else Threads, width, client))
    out = {}
    for label in fits[0]:
        row = {}
        for k, name in enumerate(("clock", "processor")):
            ours = statistics.median(plan[label][k] for plan in plans)
            theirs = sorted(fit[label][k] for fit in fits)
            row[name] = {
                "planned": round(ours, 2),
                "measured": [round(seconds, 2) for seconds in theirs],
                "ratio": round(ours / statistics.median(theirs), 2),
            }
        out[label] = row
    return out | {"peak_gflops": [round(min(peaks), 1), round(max(peaks), 1)]}


def main() -> None:
    """All sizes, as JSON, one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--workers", type=int, default=1, help="more than 1: a local Dask cluster")
    args = parser.parse_args()
    for n in args.rows:
        data.write(args.folder / f"rows{n}", n, COLUMNS)
        rows = from_parquet(str(args.folder / f"rows{n}"), "y")
        for width in args.widths:
            job = Job(rows=n, columns=COLUMNS, width=width, workers=args.workers)
            about = {"rows": n, "width": width, "workers": args.workers}
            if args.workers > 1:
                with local_cluster(args.workers) as client:
                    found = compared(rows, job, width, args.times, args.seconds, client)
            else:
                found = compared(rows, job, width, args.times, args.seconds, None)
            print(json.dumps(about | found), flush=True)


if __name__ == "__main__":
    main()
