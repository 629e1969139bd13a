"""Recursive feature machines and passes over rows on a GPU: the same numbers, and how fast.

    python benchmarks/gpu.py [--device cuda] [--rfm-rows 5000,20000,40000] [--columns 50]
        [--million 1000000] [--pass-rows 1000000] [--width 4096]

Prints a line of JSON a measurement, within six minutes on an H100; `--small` takes sizes for any
processor, and `--device cpu` compares the CPU with itself:

- `same`: float64 and float32 fits on the device against those on the CPU, largest difference of
  predictions in standard deviations of the targets, and its bound (rounding of sums times the
  condition 1 / alpha of the matrices: 1e-8 and 1e-2);
- `rfm`: seconds of 5 updates of M and a last fit, Laplace kernel, bandwidth 10, penalty 1e-3,
  float32, of gradfeat, of the same in bare torch (Cholesky), and of xRFM where it is installed
  (anchors on an H100 at d = 50: xRFM .137 / 1.45 / 7.7 s, bare .038 / .61 / 3.6 s);
- `default`: `RFMRegressor()` on so many rows; `passes`: rows a second of the three passes of a
  gradient feature fit, with their share of the peak of matrix products.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "scale")]

from common import machine, r2
from passes import flops

from gradfeat import GradientFeatureRegressor, RFMRegressor
from gradfeat.maths.streams import stream
from gradfeat.models.kernels.radial import Laplace
from gradfeat.models.rfm import RFM
from gradfeat.rows import Devices, from_arrays
from gradfeat.rows.engine import Tick
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.single_index import SingleIndex, he2_he4

BANDWIDTH, PENALTY, ROUNDS = 10.0, 1e-3, 5
#: Differences that rounding may make, in standard deviations of the targets.
BOUNDS = {torch.float64: 1e-8, torch.float32: 1e-2}
SMALL = {"rfm_rows": [500], "columns": 10, "million": 400, "pass_rows": 4000, "width": 64}


def tell(what: str, **values: Any) -> None:
    print(json.dumps({"what": what} | values), flush=True)


def waited(device: str) -> None:
    """Until the device has done what it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Wall seconds, with the wait for the device, and what came."""
    waited(device)
    start = time.perf_counter()
    found = work()
    waited(device)
    return time.perf_counter() - start, found


def drawn(n: int, d: int, dtype: torch.dtype, device: str, name: str) -> tuple[Tensor, Tensor]:
    sample = SingleIndex(d, he2_he4()).sample(n, stream(0, name))
    return sample.X.to(device, dtype), sample.y.to(device, dtype)


def ours(X: Tensor, y: Tensor, T: Tensor) -> Tensor:
    learner = RFM(Laplace(BANDWIDTH), PENALTY, n_iter=ROUNDS, normalisation="max")
    return learner.fit(in_memory(X, y))(T)


def bare(X: Tensor, y: Tensor, T: Tensor) -> Tensor:
    """The same algorithm in a few lines of torch."""
    M, offset = torch.eye(X.shape[1]).to(X), y.mean(0)

    def distances(P: Tensor, Q: Tensor, rest: Tensor) -> Tensor:
        PM = P @ rest
        squares = (PM * P).sum(1, keepdim=True) + ((Q @ rest) * Q).sum(1) - 2 * PM @ Q.T
        return squares.clamp_(min=0).sqrt_()

    for update in range(ROUNDS + 1):
        D = distances(X, X, M)
        K = (-D / BANDWIDTH).exp()
        factor = K.clone()
        factor.diagonal().add_(PENALTY)
        torch.linalg.cholesky(factor, out=factor)
        c = torch.cholesky_solve(y - offset, factor)
        if update == ROUNDS:
            return (-distances(T, X, M) / BANDWIDTH).exp() @ c + offset
        S = torch.where(D > 1e-4, K / D, 0) * (-1 / BANDWIDTH) * c.T
        G = (S.sum(1, keepdim=True) * X - S @ X) @ M
        M = G.T @ G
        M = M / M.abs().max()
    raise AssertionError


def xrfm(X: Tensor, y: Tensor, T: Tensor) -> Tensor:
    from xrfm.rfm_src import RFM as XRFM

    model = XRFM(
        kernel="l2", iters=ROUNDS, bandwidth=BANDWIDTH, device=str(X.device), verbose=False
    )
    held = X[:100], y[:100]
    model.fit((X, y), held, reg=PENALTY, early_stop_rfm=False, verbose=False)
    return model.predict(T)


def check_same(options: argparse.Namespace) -> bool:
    """Whether the device's predictions are the CPU's but for rounding."""
    good = True
    for dtype, bound in BOUNDS.items():
        n = min(2000, options.rfm_rows[0])
        X, y = drawn(n, options.columns, dtype, "cpu", "train")
        T, _ = drawn(1000, options.columns, dtype, "cpu", "test")
        here = ours(X, y, T)
        there = ours(*(t.to(options.device) for t in (X, y, T))).cpu()
        gap = float((here - there).abs().max() / y.std())
        good &= gap <= bound
        tell("same", dtype=str(dtype), rows=n, gap=gap, bound=bound, holds=gap <= bound)
    return good


def time_rounds(options: argparse.Namespace) -> None:
    methods = {"gradfeat": ours, "bare": bare}
    if importlib.util.find_spec("xrfm"):
        methods["xrfm"] = xrfm
    for n in options.rfm_rows:
        X, y = drawn(n, options.columns, torch.float32, options.device, "train")
        T, truth = drawn(2000, options.columns, torch.float32, options.device, "test")
        for name, method in methods.items():
            method(X[:200], y[:200], T)  # libraries are loaded
            took, f = seconds(lambda m=method, X=X, y=y, T=T: m(X, y, T), options.device)
            score = r2(truth, f.reshape(truth.shape))
            tell("rfm", method=name, rows=n, columns=options.columns, seconds=took, r2=score)


def time_default(options: argparse.Namespace) -> None:
    X, y = (t.numpy() for t in drawn(options.million, 20, torch.float32, "cpu", "train"))
    T, truth = drawn(5000, 20, torch.float32, "cpu", "test")
    model = RFMRegressor(device=options.device)
    took, _ = seconds(lambda: model.fit(X, y[:, 0]), options.device)
    said, f = seconds(lambda: model.predict(T.numpy()), options.device)
    score = r2(truth[:, 0], torch.as_tensor(f))
    each = said / len(T) * 1e6
    tell("default", rows=options.million, seconds=took, r2=score, microseconds_a_prediction=each)


def peak(device: str, dtype: torch.dtype, size: int) -> float:
    """Operations a second of matrix products."""
    A = torch.randn(size, size, dtype=dtype, device=device)
    torch.mm(A, A)
    took, _ = seconds(lambda: [torch.mm(A, A) for _ in range(5)], device)
    return 5 * 2 * size**3 / took


def time_passes(options: argparse.Namespace) -> None:
    d, seen = options.columns, {}

    def keep(tick: Tick) -> None:
        seen[tick.label] = tick

    X, y = (t.numpy() for t in drawn(options.pass_rows, d, torch.float64, "cpu", "train"))
    rows = from_arrays(X, y, piece_rows=65_536).on(Devices((options.device,), report=keep))
    GradientFeatureRegressor(width=options.width, whiten=True, penalty_by="gcv", search=None).fit(
        rows
    )
    best = peak(options.device, torch.float64, 256 if options.small else 8192)
    for label, tick in seen.items():
        rate = tick.rows / tick.seconds
        share = flops(label, d, options.width) * rate / best
        tell("pass", label=label, width=options.width, rows_a_second=rate, share_of_peak=share)


def main(words: list[str] | None = None) -> int:
    """All measurements; 1 where the device's numbers are not the CPU's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument(
        "--rfm-rows",
        type=lambda t: [int(n) for n in t.split(",")],
        default=[5000, 20_000, 40_000],
    )
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--million", type=int, default=1_000_000)
    parser.add_argument("--pass-rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=4096)
    options = parser.parse_args(words)
    if options.small:
        vars(options).update(SMALL)
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print("there is no GPU that PyTorch sees here: give --device cpu --small.", file=sys.stderr)
        return 2
    start = time.perf_counter()
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else machine()
    tell("device", name=name)
    good = check_same(options)
    for part in (time_rounds, time_default, time_passes):
        part(options)
    tell("all", seconds=time.perf_counter() - start)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
