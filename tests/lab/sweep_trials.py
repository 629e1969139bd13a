"""Trials that the tests of the engine run, in a module that worker processes can import."""

# ruff: noqa: ARG001

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_info

from gradfeat.lab import Experiment


def note(words: str) -> None:
    """Append a line to the file that the test named."""
    path = os.environ.get("GRADFEAT_TEST_LOG")
    if path:
        with Path(path).open("a") as log:
            log.write(words + "\n")


def held() -> bool:
    """Whether as many cells have begun as the test lets pass: the others leave it time to act."""
    enough = os.environ.get("GRADFEAT_TEST_HELD_AFTER")
    log = os.environ.get("GRADFEAT_TEST_LOG")
    return bool(enough and log) and len(Path(log).read_text().splitlines()) > int(enough)


def measured(n: int, noise: float = 0.5, kind: str = "plain", *, seed: int) -> dict:
    note(f"{n} {seed}")
    rng = np.random.default_rng([n, seed])
    return {"value": n + noise * rng.standard_normal(), "draws": rng.standard_normal((2, n))}


def measured_together(
    n: int, noise: float = 0.5, kind: str = "plain", *, seeds: Sequence[int]
) -> list[dict]:
    note(f"batch {n} {list(seeds)}")
    return [measured(n, noise, kind, seed=seed) for seed in seeds]


def slow(n: int, *, seed: int) -> dict:
    note(f"{n} {seed}")
    time.sleep(0.5 if held() else 0.01)
    return {"value": float(n * 100 + seed)}


def odd_fails(n: int, *, seed: int) -> dict:
    note(f"{n} {seed}")
    if n % 2 and os.environ.get("GRADFEAT_TEST_MENDED") is None:
        raise ArithmeticError(f"no odd {n}")
    return {"value": float(n)}


def too_large(n: int, *, seed: int) -> dict:
    return {"value": float(torch.empty(n, dtype=torch.float64)[0])}


def one_seed_fails(n: int, seeds: Sequence[int]) -> list[dict]:
    if 1 in seeds:
        raise ArithmeticError("seed 1 is bad")
    return [{"value": float(n + seed)} for seed in seeds]


def stepped(n: int, eta: float = 0.0, *, seed: int) -> dict:
    note(f"one {n} {eta:g} {seed}")
    if (n, eta, seed) == (2, 1.0, 1):
        raise ArithmeticError("no such step")
    if n == 4 and eta == 2.0:
        os._exit(9)
    return {"value": 100 * n + 10 * eta + seed, "draws": np.full(2, eta)}


def stepped_together(n: int, eta: list[float], *, seeds: Sequence[int]) -> list[list[dict]]:
    note(f"batch {n} {eta} {list(seeds)}")
    return [[stepped(n, value, seed=seed) for value in eta] for seed in seeds]


def dies(n: int, *, seed: int) -> dict:
    if n == 3:
        os._exit(9)
    return {"value": float(n), "threads": max(torch.get_num_threads(), *_threads())}


def _threads() -> list[int]:
    """Those of every library, SciPy's own BLAS included, which a worker loads when it is needed."""
    importlib.import_module("scipy.linalg")
    return [library["num_threads"] for library in threadpool_info()]


def unbounded(n: int, *, seed: int) -> dict:
    return {"a": [np.nan, np.inf, -np.inf][n], "b": np.float32(1.5), "c": np.int64(2), "d": True}


def twice(n: int) -> dict:
    return {"value": 2.0 * n}


def make(trial=measured, **options) -> Experiment:
    """Return an experiment over n = 1, 2, 3 with two seeds unless told otherwise."""
    settings = {"grids": {"quick": {"n": [1, 2, 3]}, "paper": {"n": 10}}, "seeds": 2} | options
    return Experiment("test", "Does the engine work?", trial, **settings)


def make_stepped(trial=stepped, batch=stepped_together, **options) -> Experiment:
    """Return an experiment whose batch takes all values of eta."""
    grids = {"quick": {"n": [1, 3], "eta": [0, 1, 2]}}
    return make(trial, **{"grids": grids, "batch": batch, "along": "eta", "seeds": 3, **options})


SLOW = make(slow, grids={"quick": {"n": range(20)}}, seeds=3)
