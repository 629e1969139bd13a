"""The default RFM on many rows of a single-index model: time, memory, accuracy.

    python benchmarks/rfm_large.py 100000
    python benchmarks/rfm_large.py 1000000

y = He_2(u.x)/2 + He_4(u.x)/sqrt 48, d = 20, no noise, 5,000 test rows. Memory is the process's
peak, and its growth beyond the table itself (float32). Several sizes in one call share the peak:
give one size a process.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch

from gradfeat import RFMRegressor
from gradfeat.maths.streams import stream
from gradfeat.tasks.single_index import SingleIndex, he2_he4


def peak() -> float:
    """Peak resident memory in GB so far (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def report(n: int, d: int, options: dict[str, object]) -> None:
    """Fit once and print a line."""
    task = SingleIndex(d, he2_he4())
    train, test = task.sample(n, stream(0, "train")), task.sample(5000, stream(0, "test"))
    X, y = train.X.float().numpy(), train.y[:, 0].float().numpy()
    before, wall, processor = peak(), time.perf_counter(), time.process_time()
    model = RFMRegressor(**options).fit(X, y)  # type: ignore[arg-type]
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    grown = peak()
    start = time.perf_counter()
    f = model.predict(test.X.numpy())
    predicting = time.perf_counter() - start
    truth = test.y[:, 0].numpy()
    R2 = 1 - np.mean((f - truth) ** 2) / truth.var()
    cosine = abs(model.leading_directions(1)[:, 0] @ task.directions[:, 0].numpy())
    print(
        f"n {n:,}: wall {wall:.1f} s, processor {processor:.1f} s, peak {grown:.2f} GB "
        f"({before:.2f} before the fit), R2 {R2:.5f}, |cos| {cosine:.6f}, "
        f"{len(test.X):,} predictions {predicting:.3f} s",
        model.settings_,
        flush=True,
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="+")
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--search", choices=("fast", "full", "none"), default="fast")
    parser.add_argument("--rfm", action="store_true", help="directions=None: the RFM's own fit")
    parser.add_argument("--memory-limit", type=int, help="bytes of kernel matrices")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    options: dict[str, object] = {"memory_limit": chosen.memory_limit}
    if chosen.search != "fast":
        options["search"] = None if chosen.search == "none" else chosen.search
    if chosen.rfm:
        options["directions"] = None
    for n in chosen.rows:
        report(n, chosen.inputs, options)


if __name__ == "__main__":
    main()
