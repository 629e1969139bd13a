"""What the benchmark scripts share: alternating repetitions, medians, the machine in words."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def alternate(
    runs: dict[str, Callable[[], Any]],
    repetitions: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Time each run `repetitions` times, the order turning with each round; last results.

    ``time.process_time`` counts processor seconds: fairer on a shared machine, for one thread.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Any] = {}
    names = list(runs)
    for round_ in range(repetitions):
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
            start = clock()
            results[name] = runs[name]()
            seconds[name].append(clock() - start)
    return seconds, results


def median(values: list[float]) -> float:
    """Median seconds."""
    return statistics.median(values)


def machine() -> str:
    """Processor, thread count, versions."""
    return (
        f"{platform.machine()}, {torch.get_num_threads()} thread(s), Python "
        f"{platform.python_version()}, torch {torch.__version__}"
    )


def r2(y: torch.Tensor, f: torch.Tensor) -> float:
    """1 - residual sum of squares / total sum of squares."""
    return float(1 - (y - f).square().sum() / (y - y.mean()).square().sum())
