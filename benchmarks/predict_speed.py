"""Microseconds a row that predictions take, against gradient boosting, in one run.

    python benchmarks/predict_speed.py [--sizes 4000,30000]
        [--families multi-index,thresholds,diamonds] [--repetitions 7] [--predicted 1000000]
    python benchmarks/predict_speed.py --kernels

Fits `RFMRegressor()`, CatBoost (where it is installed) and HistGradientBoosting with their defaults
to the tables of `growth.py`, then predicts the same 4,000 test rows with each in turn: processor
seconds of one thread, medians, ratios to HistGradientBoosting; then MB that a prediction takes
beside the rows, processor seconds of the fit, 1 - R2, and the centres with
their float type. `--predicted`: so many rows in one call, the test rows again and again.

`--kernels`: instead, sums of 4,000 kernels of 12 and of 26 columns in float32, in turn.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import importlib.util
import re
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from growth import problem
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score

from gradfeat import RFMRegressor
from gradfeat.models.predictors import machine_of
from gradfeat.models.search.kernel_space import kernel

#: Points of the sums of `--kernels`, and what they are sums of.
CENTRES, KERNELS = 4000, ("gaussian", "matern52", "matern32", "laplace", "laplace-l1")


def seconds(work: Callable[[], Any]) -> float:
    """Of the processor."""
    start = time.process_time()
    work()
    return time.process_time() - start


def models() -> dict[str, Any]:
    """Those that are installed."""
    found: dict[str, Any] = {"gradfeat": RFMRegressor(), "hist": HistGradientBoostingRegressor()}
    if importlib.util.find_spec("catboost"):
        from catboost import CatBoostRegressor

        found["catboost"] = CatBoostRegressor(
            verbose=False, thread_count=1, allow_writing_files=False
        )
    return found


def centres(model: Any) -> str:
    """How many points a fit of gradfeat is a sum over, and in which type."""
    if not hasattr(model, "predictor_"):
        return ""
    types = {str(t.dtype) for n, t in model.predictor_.tensors().items() if n.endswith("Z")}
    return f"{model.settings_['points']:,} {', '.join(sorted(types))}".replace("torch.", "")


def memory(what: str) -> float:
    """MB of this process: VmRSS now, VmHWM at most since that was set back."""
    return int(re.findall(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) / 1024


def grown(work: Callable[[], Any]) -> float:
    """MB that work takes beside what the process has."""
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    work()
    return memory("VmHWM") - before


def compare(family: str, n: int, repetitions: int, predicted: int) -> None:
    """One row of the table a model."""
    rows = problem(family, n, 0)
    if rows is None:
        return
    fitted = models()
    fits = {name: seconds(lambda m=m: m.fit(rows.X, rows.y)) for name, m in fitted.items()}
    X = np.resize(rows.X_test, (predicted, rows.X_test.shape[1]))
    extra = {name: grown(lambda m=model: m.predict(X)) for name, model in fitted.items()}
    taken: dict[str, list[float]] = {name: [] for name in fitted}
    for _ in range(repetitions):
        for name, model in fitted.items():
            taken[name].append(seconds(lambda m=model: m.predict(X)))
    each = {name: statistics.median(t) / len(X) * 1e6 for name, t in taken.items()}
    for name, model in fitted.items():
        score = r2_score(rows.y_test, model.predict(rows.X_test))
        print(
            f"| {family} | {n:,} | {name} | {each[name]:.2f} | {each[name] / each['hist']:.2f} | "
            f"{extra[name]:.0f} | {fits[name]:.1f} | {1 - score:.5f} | {centres(model)} |",
            flush=True,
        )


def kernels(repetitions: int) -> None:
    """One row of the table a kernel and number of columns."""
    print("| columns | kernel | us a row |")
    print("|---" * 3 + "|")
    g = torch.Generator().manual_seed(0)
    for d in (12, 26):
        X, Z = (torch.randn(CENTRES, d, generator=g) / d**0.5 for _ in range(2))
        c, none = torch.randn(CENTRES, 1, generator=g), torch.zeros(1)
        of = {name: kernel(name, 2.0) for name in KERNELS}
        rounded, on_grid = of["laplace-l1"].rounded(Z)
        each = {name: machine_of(k, Z, c, none) for name, k in of.items()}
        each["laplace-l1, rounded"] = machine_of(rounded, on_grid, c, none)
        taken: dict[str, list[float]] = {name: [] for name in each}
        for _ in range(1 + repetitions):  # the first one prepares
            for name, f in each.items():
                taken[name].append(seconds(partial(f, X)))
        for name, t in taken.items():
            print(f"| {d} | {name} | {statistics.median(t[1:]) / len(X) * 1e6:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=lambda t: [int(n) for n in t.split(",")], default=[4000])
    parser.add_argument(
        "--families",
        type=lambda t: t.split(","),
        default=["multi-index", "thresholds", "diamonds"],
    )
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--predicted", type=int, default=4000)
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.kernels:
        kernels(options.repetitions)
        return
    print("| family | rows | model | us a row | against hist | MB | fit s | 1 - R2 | centres |")
    print("|---" * 9 + "|")
    for family in options.families:
        for n in options.sizes:
            compare(family, n, options.repetitions, options.predicted)


if __name__ == "__main__":
    main()
