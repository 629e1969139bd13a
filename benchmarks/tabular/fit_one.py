"""One fit in a process of its own: `python fit_one.py METHOD SPLIT.npz SECONDS`.

Prints a JSON line. Seconds are the processor's (with one thread the wall's, on a machine without
other work); more of them than the limit end the process. Memory is the peak resident size above
what was resident when the packages and the data were in.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from methods import METHODS, Method
from problem import Array, Problem
from search import Searched


def main() -> None:
    """Fit, predict, score, print."""
    method = next(m for m in METHODS if m.name == sys.argv[1])
    problem = Problem.load(Path(sys.argv[2]))
    importlib.import_module(method.module)
    import sklearn.kernel_approximation
    import sklearn.linear_model
    import sklearn.metrics
    import sklearn.model_selection  # noqa: F401

    _limit(float(sys.argv[3]))
    print(json.dumps(measured(method, problem)))


def measured(method: Method, problem: Problem) -> dict[str, Any]:
    """Scores, seconds, MB, settings and versions of one fit."""
    before = _peak_mb()
    wall, start = time.perf_counter(), time.process_time()
    fitted = method.run(problem)
    middle = time.process_time()
    outputs = fitted(problem.X_test)
    end, wall = time.process_time(), time.perf_counter() - wall
    peak = _peak_mb() - before
    row: dict[str, Any] = {"rows": len(problem.X), "inputs": problem.X.shape[1]}
    row |= {k: round(v, 6) for k, v in scores(problem, outputs).items()}
    row |= {"fit_s": round(middle - start, 3), "predict_s": round(end - middle, 4)}
    row |= {"wall_s": round(wall, 3)}
    row |= {"peak_mb": round(peak, 1), "version": f"{method.package} {version(method.package)}"}
    return row | ({"settings": dict(fitted.settings)} if isinstance(fitted, Searched) else {})


def scores(problem: Problem, outputs: Array) -> dict[str, float]:
    """R2; or accuracy, log loss, area under the ROC curve (one class against the others)."""
    from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score

    y = problem.y_test
    if not np.isfinite(outputs).all():
        raise ValueError("outputs that are not finite")
    if not problem.classes:
        return {"score": float(r2_score(y, outputs))}
    labels = np.arange(outputs.shape[1])
    sharp = outputs.astype(float) / outputs.sum(axis=1, keepdims=True)
    of_class = sharp[:, 1] if len(labels) == 2 else sharp
    return {
        "score": float(accuracy_score(y, sharp.argmax(axis=1))),
        "log_loss": float(log_loss(y, sharp, labels=labels)),
        "auc": float(roc_auc_score(y, of_class, multi_class="ovr", labels=labels)),
    }


def _limit(seconds: float) -> None:
    """End this process (SIGXCPU) after so many more processor seconds."""
    until = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, until + 5))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
