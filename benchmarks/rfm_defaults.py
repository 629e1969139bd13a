"""RFMRegressor against xRFM and CatBoost, each as it comes: time, memory, R2.

    python benchmarks/rfm_defaults.py [--seeds 3] [--rows 5000]

Single-index data y = He_2(u.x)/2 + He_4(u.x)/sqrt 48, d = 20, R2 on 5,000 further rows and the
absolute cosine of the leading direction with u; and log price of diamonds, 10,000 training rows
(numbers by gradfeat's encoder, R2 on 4,000 others). xRFM is given a fifth of its rows to choose its
rounds, as its documentation does; `--methods` leaves some out. One thread, processor seconds; every
fit in a process of its own, peak memory of the process, the data and libraries included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine, median

sys.path.insert(0, str(Path(__file__).parent / "tabular"))

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def single_index(seed: int, n: int) -> tuple[Arrays, np.ndarray]:
    """Training and test rows, and u."""
    from gradfeat.maths.streams import stream
    from gradfeat.tasks.single_index import SingleIndex, he2_he4

    task = SingleIndex(20, he2_he4(), seed=seed)
    a, b = task.sample(n, stream(seed, "train")), task.sample(5000, stream(seed, "test"))
    arrays = (a.X.numpy(), a.y[:, 0].numpy(), b.X.numpy(), b.y[:, 0].numpy())
    return arrays, task.directions[:, 0].numpy()


def diamonds(seed: int) -> tuple[Arrays, None]:
    """Training and test rows."""
    from splits import problem
    from table_list import TABLES

    table = next(table for table in TABLES if table.name == "diamonds-10k")
    p = problem(table, seed, 10_000)
    return (p.X, p.y, p.X_test, p.y_test), None


def ours(X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """RFMRegressor as it comes; its leading direction."""
    from gradfeat.estimators import RFMRegressor

    model = RFMRegressor().fit(X, y)
    return model.predict, lambda: model.leading_directions(1)[:, 0]


def theirs(X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """xRFM as it comes, on standardised inputs and targets."""
    from xrfm import xRFM

    mean, scale = X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0)
    Z, centre, size = (X - mean) / scale, y.mean(), y.std()
    held = len(Z) // 5
    parts = [torch.tensor(a, dtype=torch.float32) for a in (Z, (y[:, None] - centre) / size)]
    model: Any = xRFM(device="cpu", random_state=0, verbose=False)
    model.fit(parts[0][held:], parts[1][held:], parts[0][:held], parts[1][:held])

    def predict(X: np.ndarray) -> np.ndarray:
        inputs = torch.tensor((X - mean) / scale, dtype=torch.float32)
        return np.asarray(model.predict(inputs)).ravel() * size + centre

    return predict, None


def boosted(X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """CatBoost as it comes, on one thread."""
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(thread_count=1, verbose=False, allow_writing_files=False).fit(X, y)
    return model.predict, None


METHODS = {"gradfeat": ours, "xrfm": theirs, "catboost": boosted}


def fit_one(name: str, method: str, seed: int, rows: int) -> dict[str, float]:
    """One fit: processor seconds, R2, cosine, peak megabytes."""
    torch.set_num_threads(1)
    (X, y, X_test, y_test), u = diamonds(seed) if name == "diamonds" else single_index(seed, rows)
    start = time.process_time()
    predict, direction = METHODS[method](X, y)
    seconds = time.process_time() - start
    errors = (predict(X_test) - y_test) ** 2
    line = {
        "seconds": seconds,
        "R2": float(1 - errors.sum() / ((y_test - y_test.mean()) ** 2).sum()),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if u is not None and direction is not None:
        v = direction()
        line["cosine"] = float(abs(v @ u) / np.linalg.norm(v))
    return line


def main() -> None:
    """Print a row for each data set and method: medians over seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        name, method, seed = options.one
        print(json.dumps(fit_one(name, method, int(seed), options.rows)))
        return
    torch.set_num_threads(1)
    print(machine())
    for name in ("single-index", "diamonds"):
        lines: dict[str, list[dict[str, float]]] = {m: [] for m in options.methods}
        for seed in range(options.seeds):
            for method in list(lines) if seed % 2 == 0 else list(lines)[::-1]:
                command = [sys.executable, __file__, "--rows", str(options.rows)]
                command += ["--one", name, method, str(seed)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                lines[method].append(json.loads(done.stdout.splitlines()[-1]))
        for method, found in lines.items():
            values = {key: median([line[key] for line in found]) for key in found[0]}
            worst = min(line["R2"] for line in found)
            said = "  ".join(f"{key} {value:.5g}" for key, value in values.items())
            print(f"{name:13s} {method:9s} {said}  least R2 {worst:.5f}", flush=True)


if __name__ == "__main__":
    main()
