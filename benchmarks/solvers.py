"""Solvers of kernel ridge: Nystrom centres on one thread, and 100,000 rows on two cores.

    python benchmarks/solvers.py choose         # bandwidths and penalties, on validation rows
    python benchmarks/solvers.py small          # 5,000 x 20 and 10,000 x 26, 1,000 centres
    python benchmarks/solvers.py large          # direct at 20,000 against the others at 100,000

Every fit of `large` runs in a process of its own, whose peak resident memory is told.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import torch
from common import machine, median
from torch import Tensor

from gradfeat.maths.streams import stream
from gradfeat.models.base import Kernel
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.solvers.base import Solver
from gradfeat.models.solvers.direct import Direct
from gradfeat.models.solvers.eigenpro import EigenPro
from gradfeat.models.solvers.nystrom import Nystrom
from gradfeat.models.solvers.nystrom_cg import NystromCG
from gradfeat.rows.rows import in_memory

#: What `choose` prints: least squared error on 5,000 validation rows of fits on 5,000 others.
KERNELS: dict[str, tuple[Kernel, float]] = {
    "laplace": (Laplace(20.0), 0.003),
    "gaussian": (Gaussian(6.0), 0.01),
}
GB = 10**9
SOLVERS: dict[str, Solver] = {
    "direct": Direct(),
    "nystrom": Nystrom(centres=4000, tolerance=1e-2, memory_limit=int(2.5 * GB)),
    "nystrom_cg": NystromCG(rank=1000, tolerance=1e-2, memory_limit=int(2.5 * GB)),
    "eigenpro": EigenPro(tolerance=1e-2, max_iter=6, memory_limit=int(2.5 * GB)),
}
NOISE = 0.3
#: Bandwidths and penalties that `choose` compares.
CANDIDATES: dict[str, list[Kernel]] = {
    "laplace": [Laplace(b) for b in (5.0, 10.0, 20.0, 40.0)],
    "gaussian": [Gaussian(b) for b in (4.0, 6.0, 8.0, 12.0)],
}
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def rows(n: int, d: int, name: str, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Gaussian inputs, a smooth target of five of them with noise, and the target itself."""
    g = stream(0, name)
    X = torch.randn(n, d, generator=g, dtype=torch.float64)
    f = torch.sin(X[:, :1] + X[:, 1:2] / 2) + X[:, 2:3] * X[:, 3:4] / 2 + torch.cos(X[:, 4:5])
    y = f + NOISE * torch.randn(n, 1, generator=g, dtype=torch.float64)
    return X.to(dtype), y.to(dtype), f.to(dtype)


def error(kernel: Kernel, alpha: float, solver: Solver, n: int, d: int, dtype: torch.dtype) -> dict:
    """Fit and mean squared distance to the noiseless target, with times and memory."""
    X, y, _ = rows(n, d, "train", dtype)
    test, _, f = rows(5000, d, "test", dtype)
    start, cpu = time.perf_counter(), time.process_time()
    machine_ = KernelRidge(kernel, alpha, solver).fit(in_memory(X, y))
    took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    wrong = float((machine_(test) - f).square().mean() / (f - f.mean()).square().mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GB
    return {**took, "error": wrong, "peak_GB": peak}


def choose(n: int = 5000, d: int = 20) -> None:
    """Squared error of every candidate on validation rows with noise, the best one last."""
    X, y, _ = rows(n, d, "choice", torch.float32)
    V, v, _ = rows(n, d, "validation", torch.float32)
    for name, kernels in CANDIDATES.items():
        found: list[tuple[float, Kernel, float]] = []
        for kernel in kernels:
            for alpha in PENALTIES:
                wrong = KernelRidge(kernel, alpha).fit(in_memory(X, y))(V) - v
                found.append((float(wrong.square().mean()), kernel, alpha))
                print(name, *found[-1], flush=True)
        print(f"{name}: {min(found, key=lambda one: one[0])}")


def small(repetitions: int) -> None:
    """One thread, 1,000 centres, Gaussian kernel: medians of wall and of processor seconds."""
    torch.set_num_threads(1)
    kernel, alpha = KERNELS["gaussian"]
    print(machine())
    for n, d in ((5000, 20), (10_000, 26)):
        for dtype in (torch.float32, torch.float64):
            runs = [
                error(kernel, alpha, Nystrom(centres=1000, tolerance=1e-2), n, d, dtype)
                for _ in range(repetitions)
            ]
            wall, cpu = (median([run[key] for run in runs]) for key in ("seconds", "cpu"))
            best = min(run["cpu"] for run in runs)
            full = error(kernel, alpha, Direct(), n, d, dtype)["error"]
            print(
                f"{n:,} x {d} {dtype}: {wall:.3f} s, processor {cpu:.3f} s (least {best:.3f}), "
                f"error {runs[0]['error']:.4f}, all points as centres {full:.4f}"
            )


def large(kernels: list[str], names: list[str], sizes: list[int]) -> None:
    """One thread (two spin on products this small), float32, d = 20: direct at 20,000 rows."""
    for kernel in kernels:
        for name in names:
            for n in [20_000] if name == "direct" else sizes:
                command = [sys.executable, __file__, "one", name, kernel, str(n)]
                out = subprocess.run(command, capture_output=True, text=True, check=True)
                print(
                    f"{kernel} {name} {n:,}: {out.stdout.strip()} {out.stderr.strip()}", flush=True
                )


def one(name: str, kernel: str, n: int) -> None:
    """One fit of `large`, with the errors on the way of a solver that iterates long."""
    torch.set_num_threads(1)
    k, alpha = KERNELS[kernel]
    told = error(k, alpha, SOLVERS[name], n, 20, torch.float32)
    print(json.dumps({key: round(value, 4) for key, value in told.items()}))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("choose", "small", "large", "one"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS))
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000])
    given = parser.parse_args()
    match given.what:
        case "choose":
            choose()
        case "small":
            small(given.repetitions)
        case "large":
            large(given.kernels, given.solvers, given.sizes)
        case _:
            one(given.rest[0], given.rest[1], int(given.rest[2]))


if __name__ == "__main__":
    main()
