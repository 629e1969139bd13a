"""RFM of gradfeat against the RFM of xrfm, all settings equal.

    python benchmarks/rfm_vs_xrfm.py [--repetitions 5] [--rows 2000,5000] [--columns 20,50]

Single-index data y = He_2(u.x)/2 + He_4(u.x)/sqrt 48; Laplace kernel, bandwidth 10, 5 updates of M
and a final fit, penalty 1e-3, float32, M = AGOP / max, the round with the least error on the same
1,000 held-out rows; R2 on 5,000 further rows. One thread, processor seconds, alternating order,
medians. xrfm's default solver is LU ("solve"); its Cholesky option is timed as well.
"""

from __future__ import annotations

import argparse
import itertools
import time

import torch
from common import alternate, machine, median, r2
from xrfm.rfm_src import RFM as XRFM

from gradfeat.maths.streams import stream
from gradfeat.models.kernels.radial import Laplace
from gradfeat.models.rfm import RFM
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.single_index import SingleIndex, he2_he4

BANDWIDTH, PENALTY, ROUNDS = 10.0, 1e-3, 5


def data(n: int, d: int, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Training, held-out and test rows in float32."""
    task = SingleIndex(d, he2_he4(), seed=seed)
    sets = []
    for name, rows in (("train", n), ("held out", 1000), ("test", 5000)):
        sample = task.sample(rows, stream(seed, name))
        sets.append((sample.X.float(), sample.y.float()))
    return sets


def ours(sets: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Test R2 of gradfeat's RFM, its round chosen on the held-out rows."""
    (X, y), (Xv, yv), (Xt, yt) = sets
    learner = RFM(Laplace(BANDWIDTH), PENALTY, n_iter=ROUNDS, normalisation="max")
    best = min(learner.fit_path(in_memory(X, y)), key=lambda f: float((f(Xv) - yv).square().mean()))
    return r2(yt, best(Xt))


def theirs(sets: list[tuple[torch.Tensor, torch.Tensor]], solver: str) -> float:
    """Test R2 of xrfm's RFM."""
    train, held, (Xt, yt) = sets
    model = XRFM(
        kernel="l2", iters=ROUNDS, bandwidth=BANDWIDTH, device="cpu", verbose=False, solver=solver
    )
    model.fit(train, held, reg=PENALTY, early_stop_rfm=False, verbose=False, solver=solver)
    return r2(yt, model.predict(Xt))


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rows", default="2000,5000")
    parser.add_argument("--columns", default="20")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    sizes = (map(int, text.split(",")) for text in (options.rows, options.columns))
    for n, d in itertools.product(*sizes):
        sets = data(n, d, seed=0)
        runs = {
            "gradfeat": lambda sets=sets: ours(sets),
            "xrfm": lambda sets=sets: theirs(sets, "solve"),
            "xrfm cholesky": lambda sets=sets: theirs(sets, "cholesky"),
        }
        seconds, found = alternate(runs, options.repetitions, time.process_time)
        base = median(seconds["gradfeat"])
        for name in runs:
            t = median(seconds[name])
            print(
                f"n = {n:5d}  d = {d:2d}  {name:14s} {t:7.3f} s  {t / base:5.2f} x"
                f"  R2 {found[name]:.5f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
