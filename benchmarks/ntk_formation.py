"""Forming NTK and NNGP matrices: gradfeat against neural-tangents, same precision, alternating.

neural-tangents needs an older jax than other extras, so it runs in its own environment
(`pip install neural-tangents==0.6.5 jax==0.4.30 jaxlib==0.4.30 "numpy<2" "scipy<1.14"`), named by
--peer; both processes stay up, and only one computes at a time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from typing import Any

import numpy as np
import torch
from common import alternate, machine, median

from gradfeat.maths.activations import Erf, ReLU
from gradfeat.models.kernels.network import NetworkKernel

#: Run by the other interpreter: forms a kernel at each line of its input, and keeps the last one.
PEER = """
import sys, numpy as np, jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", sys.argv[2] == "float64")
from neural_tangents import stax
X = jnp.asarray(np.load(sys.argv[1]).astype(sys.argv[2]))
forms = {}
for name, layer in (("relu", stax.Relu), ("erf", stax.Erf)):
    kernel = stax.serial(stax.Dense(1, 1.0, 1.0), layer(), stax.Dense(1, 1.0, 1.0))[2]
    forms[name] = jax.jit(kernel, static_argnames=("get",))
print("ready", flush=True)
for line in sys.stdin:
    sigma, get = line.split()
    K = forms[sigma](X, None, get).block_until_ready()
    np.save(sys.argv[3], np.asarray(K[:64], dtype="float64"))
    print("done", flush=True)
"""

#: Name, activation, trained, name of the quantity there.
CASES = [("relu", ReLU(), "all", "ntk"), ("relu", ReLU(), "head", "nngp"),
         ("erf", Erf(), "all", "ntk")]  # fmt: skip


def start_peer(python: str, dtype: str, threads: int) -> subprocess.Popen[str]:
    """The other process, warm up to its first compilation."""
    one = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    flags = one if threads == 1 else ""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    command = [python, "-c", PEER, "ntk_inputs.npy", dtype, "ntk_peer.npy"]
    peer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=env,
    )  # fmt: skip
    answer(peer)
    return peer


def answer(peer: subprocess.Popen[str], request: str = "") -> None:
    """Send a line, wait for one."""
    assert peer.stdin
    assert peer.stdout
    if request:
        peer.stdin.write(request + "\n")
        peer.stdin.flush()
    if not peer.stdout.readline():
        raise SystemExit("the other process ended: is neural-tangents installed there?")


def compare(peer: subprocess.Popen[str], X: torch.Tensor, repetitions: int) -> None:
    """One line a case."""
    for name, sigma, trained, get in CASES:
        k: Any = NetworkKernel(sigma, bias=1.0, trained=trained)
        runs = {"gradfeat": lambda k=k: k(X, X), "peer": lambda r=f"{name} {get}": answer(peer, r)}
        for run in runs.values():
            run()
        seconds, found = alternate(runs, repetitions)
        theirs = torch.from_numpy(np.load("ntk_peer.npy"))
        error = float((found["gradfeat"][:64].double() - theirs).abs().max() / theirs.abs().max())
        ours, other = median(seconds["gradfeat"]), median(seconds["peer"])
        print(f"| {str(X.dtype)[6:]} | {torch.get_num_threads()} | {name} {get} | {ours:.3f} | "
              f"{other:.3f} | {other / ours:.2f} | {error:.0e} |", flush=True)  # fmt: skip


def main() -> None:
    """Both precisions, one thread and the default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="python that has neural-tangents")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    print(machine())
    print("| precision | threads | kernel | gradfeat s | neural-tangents s | ratio | difference |")
    rows = torch.randn(options.rows, 20, generator=torch.Generator().manual_seed(0)).double()
    np.save("ntk_inputs.npy", rows.numpy())
    default = torch.get_num_threads()
    try:
        for threads in dict.fromkeys((1, default)):
            torch.set_num_threads(threads)
            for dtype in (torch.float64, torch.float32):
                with start_peer(options.peer, str(dtype)[6:], threads) as peer:
                    compare(peer, rows.to(dtype), options.repetitions)
                    peer.stdin.close() if peer.stdin else None
    finally:
        os.remove("ntk_inputs.npy")
        os.remove("ntk_peer.npy")


if __name__ == "__main__":
    main()
